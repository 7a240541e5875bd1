//! From sources to an installation.

use std::fs;
use std::path::{Path, PathBuf};

use crate::product::recipe::Recipe;
use crate::product::{installation, library, stage};
use crate::{Outcome, command, disk};

/// Builds everything with a cargo profile and installs it below `prefix`.
pub(crate) fn build(profile: &str, prefix: &Path) -> Outcome {
    install(&Recipe::new(profile), Path::new(""), prefix)
}

/// Builds everything and installs it for use below `prefix`, in a folder `root` that a package is made of, if one is named.
pub(crate) fn install(recipe: &Recipe, root: &Path, prefix: &Path) -> Outcome {
    let stage = staged(recipe)?;
    let folder = installation::below(root, prefix);
    installation::put(&stage, &folder, !root.as_os_str().is_empty())?;
    println!("oxshmem is in {}", folder.display());
    Ok(())
}

/// Builds the library and the tools and lays them out in a fresh folder, which is returned.
pub(crate) fn staged(recipe: &Recipe) -> Outcome<PathBuf> {
    // In one build: cargo would compile what they share once for each, where it chose other features.
    let packages = ["oxshmem-c", "oxshmem-race-c", "oxshmem-interpose", "oxshmem-launcher"];
    let selection: Vec<&str> = packages.iter().flat_map(|package| ["--package", package]).collect();
    // The detector's library has the calls of C; programs in Rust take the detector without them.
    let build = ["build", "--quiet", "--lib", "--bins", "--features", "oxshmem-race-c/c"];
    recipe.cargo(&[&build, &selection[..]].concat(), &[])?;
    launcher(recipe)?;
    let built = recipe.toolchain.built(recipe.profile);
    let folder = built.join("stage");
    let _ = fs::remove_dir_all(&folder);
    // The linker makes no folders; all later steps make theirs.
    disk::make_folder(&folder.join(recipe.libdir))?;
    library::link(recipe, &built.join("liboxshmem_c.a"), &folder.join(recipe.libdir))?;
    library::link_race(recipe, &built.join("liboxshmem_race_c.a"), &folder.join(recipe.libdir))?;
    library::link_recorder(recipe, &built.join("liboxshmem_interpose.a"), &folder.join(stage::HELPERS))?;
    stage::files(recipe, &built, &folder)?;
    Ok(folder)
}

/// Builds the C library alone, with the assertions of the protocols and the faults that are planted in them. Returns the folder for
/// `LD_LIBRARY_PATH`.
pub(crate) fn checked_library() -> Outcome<PathBuf> {
    let recipe = Recipe::new("checked");
    recipe.cargo(&["build", "--quiet", "--lib", "--package", "oxshmem-c"], &[])?;
    let built = recipe.toolchain.built(recipe.profile);
    let folder = built.join("lib");
    library::link_shared(&recipe, &built.join("liboxshmem_c.a"), &folder)?;
    Ok(folder)
}

/// Links `oshrun` anew, with the C library in it: `ssh` starts it on hosts of which nothing is known. The other tools open
/// libraries at run time, which a static program cannot.
fn launcher(recipe: &Recipe) -> Outcome {
    let asked = command::read(recipe.toolchain.cc().arg("-print-file-name=libc.a"))?;
    if !Path::new(asked.trim()).is_absolute() {
        println!("oshrun is linked dynamically: there is no libc.a here (packages libc6-dev, glibc-static)");
        return Ok(());
    }
    recipe.cargo(
        &["rustc", "--quiet", "--package", "oxshmem-launcher", "--bin", "oshrun"],
        &["--", "-C", "target-feature=+crt-static"],
    )
}
