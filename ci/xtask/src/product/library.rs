//! The link step: from rustc's static library to liboxshmem.so and liboxshmem.a.
//!
//! Cargo's own `cdylib` would export Rust's names only: neither the weak aliases nor the C parts. So rustc makes a
//! `staticlib` and this step says what is visible.

use std::fs;
use std::path::Path;
use std::process::Command;

use oxshmem_api::expand::public_names;
use oxshmem_api::generate::profile_wrappers;

use crate::disk::{self, link_to, make_folder, write};
use crate::product::recipe::Recipe;
use crate::{Outcome, command, top};

/// The shared library's file name; the other names point to it.
pub(crate) const FILE: &str = "liboxshmem.so.1.0";
/// The library that records programs.
pub(crate) const RECORDER: &str = "liboxshmem-profile.so";
/// The name that programs ask the loader for.
const SONAME: &str = "liboxshmem.so.1";
/// The name that the linker looks for.
const DEVELOPMENT: &str = "liboxshmem.so";
/// The race detector's library.
const RACE: &str = "liboxshmem-race.so.1";
/// The GNU compilers proper get these options besides. They warn of fences, of which their own library knows nothing; the detector's does.
/// Those before version 11 have no such warning, and let a `-Wno-` pass that they do not know. Nor has clang.
const RACE_SPECS: &str = "*cc1_options:\n+ -fsanitize=thread -fno-tree-loop-distribute-patterns -Wno-tsan\n";
/// The system libraries that rustc's static libraries need.
pub(crate) const SYSTEM: &[&str] = &["-lgcc_s", "-lm", "-lpthread", "-ldl", "-lrt"];

/// Makes both libraries in `folder` from `archive`. The shared one still has what a debugger reads.
pub(crate) fn link(recipe: &Recipe, archive: &Path, folder: &Path) -> Outcome {
    shared(recipe, archive, folder)?;
    fixed(recipe, archive, folder)
}

/// Makes the shared library alone, in a folder from which jobs of the other lane may load it meanwhile: its names stand for a whole
/// library at any time.
pub(crate) fn link_shared(recipe: &Recipe, archive: &Path, folder: &Path) -> Outcome {
    let fresh = folder.join(format!("fresh-{}", std::process::id()));
    make_folder(&fresh)?;
    shared(recipe, archive, &fresh)?;
    for name in [FILE, SONAME, DEVELOPMENT] {
        let path = folder.join(name);
        fs::rename(fresh.join(name), &path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    fs::remove_dir(&fresh).map_err(|error| format!("{}: {error}", fresh.display()))
}

fn shared(recipe: &Recipe, archive: &Path, folder: &Path) -> Outcome {
    let mut linker = linker(recipe, archive, &folder.join(FILE), SONAME, &top().join("crates/shmem-c/liboxshmem.map"));
    command::run(linker.arg("-Wl,-z,nodelete").args(SYSTEM))?;
    link_to(FILE, &folder.join(SONAME))?;
    link_to(SONAME, &folder.join(DEVELOPMENT))
}

/// The linker with all of `archive` for a shared library of which the names in `map` can be seen.
fn linker(recipe: &Recipe, archive: &Path, library: &Path, name: &str, map: &Path) -> Command {
    let mut linker = recipe.toolchain.cc();
    linker.args(["-shared", "-o"]).arg(library).arg(format!("-Wl,-soname,{name}"));
    // Within `-Wl` a comma of the path would end it.
    linker.arg("-Xlinker").arg(format!("--version-script={}", map.display()));
    linker.arg("-Wl,--whole-archive").arg(archive).arg("-Wl,--no-whole-archive");
    linker.args(["-Wl,--gc-sections", "-Wl,--no-undefined", "-Wl,--as-needed", "-Wl,-z,now", "-Wl,-z,relro"]);
    linker
}

/// Makes the race detector's library, which `oshcc --race` links before the other one, in the same folder.
pub(crate) fn link_race(recipe: &Recipe, archive: &Path, folder: &Path) -> Outcome {
    let mut linker = linker(recipe, archive, &folder.join(RACE), RACE, &top().join("crates/race-c/race.map"));
    linker.arg(folder.join(FILE)).args(["-Wl,-rpath,$ORIGIN", "-Wl,-z,nodelete"]).args(SYSTEM);
    command::run(&mut linker)?;
    // How the GNU compilers are told to instrument a program without linking their own library.
    write(&folder.join("oxshmem-race.specs"), RACE_SPECS)
}

/// Makes the library that `oshrun --profile` loads in front of programs. It shows the names of routines and nothing else, without
/// a version: so a program takes them in place of those of the library.
pub(crate) fn link_recorder(recipe: &Recipe, archive: &Path, folder: &Path) -> Outcome {
    let map = folder.join("oxshmem-profile.map");
    let names: String = profile_wrappers().names.iter().map(|name| format!("    {name};\n")).collect();
    write(&map, &format!("{{\n  global:\n{names}  local: *;\n}};\n"))?;
    let mut linker = linker(recipe, archive, &folder.join(RECORDER), RECORDER, &map);
    command::run(linker.arg("-Wl,-z,nodelete").args(SYSTEM))?;
    disk::remove(&map)
}

/// The function that `fork` of a fully static program calls, by the linker's option that [`FORKS`] names.
pub(crate) const AROUND_FORK: &str = "__wrap__Fork";
/// The option that a fully static program passes to the linker beside the archive.
pub(crate) const FORKS: &str = "-Wl,--wrap=_Fork,-u,_Fork";

/// One relocatable object that shows the library's symbols and hides Rust's.
fn fixed(recipe: &Recipe, archive: &Path, folder: &Path) -> Outcome {
    let names = [public_names(), vec![AROUND_FORK.to_owned()]].concat();
    let [object, public, roots] = ["oxshmem.o", "public", "roots"].map(|name| folder.join(name));
    let library = folder.join("liboxshmem.a");
    write(&public, &names.join("\n"))?;
    write(&roots, &names.iter().map(|name| format!("-u{name}\n")).collect::<String>())?;
    let mut linker = recipe.toolchain.tool("ld");
    linker.args(["-r", "--gc-sections", "-o"]).arg(&object).arg(format!("@{}", roots.display()));
    command::run(linker.arg("--whole-archive").arg(archive))?;
    // The bitcode sections are of no use here, and binutils' plugin cannot read them.
    let mut objcopy = recipe.toolchain.tool("objcopy");
    objcopy.args(["--remove-section", ".llvmbc", "--remove-section", ".llvmcmd"]);
    if !recipe.is_for_debugging() {
        objcopy.arg("--strip-debug");
    }
    command::run(objcopy.arg(format!("--keep-global-symbols={}", public.display())).arg(&object))?;
    let _ = fs::remove_file(&library);
    command::run(recipe.toolchain.tool("ar").arg("crsD").arg(&library).arg(&object))?;
    [object, public, roots].iter().try_for_each(|path| disk::remove(path))
}
