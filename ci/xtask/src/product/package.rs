//! Packages: archives, Debian's and Red Hat's packages, a wheel for Python. All hold the same tree, built without paths of
//! this machine, and are the same bytes when they are made again from the same revision.

mod archive;
mod c_library;
mod debian;
mod parts;
mod redhat;
mod twice;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::product::recipe::{Recipe, VERSION};
use crate::product::toolchain::Toolchain;
use crate::product::{build, installation, notices};
use crate::{Outcome, command, disk, target, top};

/// The profile of cargo for packages. It has a folder of its own, because paths are mapped while it is built.
const PROFILE: &str = "dist";
/// The most that the programs in `bin` may have, in bytes.
const TOOLS_AT_MOST: u64 = 12 << 20;

/// The packages to make.
#[derive(Args)]
pub(crate) struct PackageArguments {
    /// Kinds of packages; all if none is named
    #[arg(value_enum)]
    kinds: Vec<PackageKind>,
    /// Build for another processor: aarch64-unknown-linux-gnu
    #[arg(long)]
    target: Option<String>,
    /// Folder of the packages [default: target/packages]
    #[arg(long)]
    output: Option<PathBuf>,
    /// Install each package that is made, and the source if no kind is named, in a bare Debian 12, and run a job of 4 PEs there; needs
    /// root and debootstrap
    #[arg(long)]
    prove: bool,
    /// Make them from clean in two folders, and fail unless they are the same bytes
    #[arg(long, conflicts_with_all = ["output", "prove"])]
    twice: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PackageKind {
    /// An archive of the sources
    Source,
    /// An archive that can be unpacked anywhere
    Tar,
    /// Packages of Debian and Ubuntu
    Deb,
    /// Packages of Fedora, Red Hat and SUSE
    Rpm,
    /// A wheel for pip
    Wheel,
}

impl PackageKind {
    /// The ways of `ci/packages/prove` that install such a package in a bare Debian.
    fn ways(self) -> &'static [&'static str] {
        match self {
            Self::Source => &["source"],
            Self::Tar => &["tar"],
            Self::Deb => &["deb"],
            Self::Rpm => &[],
            Self::Wheel => &["wheel", "container"],
        }
    }
}

type Maker = fn(&Product) -> Outcome<Vec<PathBuf>>;

/// The staged tree, and what every package says about it.
struct Product {
    tree: PathBuf,
    debug: PathBuf,
    toolchain: Toolchain,
    /// Seconds since 1970 for every file.
    time: String,
    scratch: PathBuf,
    /// Folder of the packages.
    output: PathBuf,
}

pub(crate) fn make(arguments: &PackageArguments) -> Outcome {
    if arguments.twice {
        return twice::make(arguments);
    }
    if arguments.kinds == [PackageKind::Source] {
        let output = output(arguments)?;
        let archive = archive::source(&output)?;
        println!("{}", archive.display());
        return archive::checksums(&output);
    }
    let product = product(arguments)?;
    let wanted = |kind| arguments.kinds.is_empty() || arguments.kinds.contains(&kind);
    let mut made = Vec::new();
    let makers: [(PackageKind, Maker); 5] = [
        (PackageKind::Source, |product| Ok(vec![archive::source(&product.output)?])),
        (PackageKind::Tar, archive::make),
        (PackageKind::Deb, debian::make),
        (PackageKind::Rpm, redhat::make),
        (PackageKind::Wheel, wheel::make),
    ];
    for (_, make) in makers.into_iter().filter(|(kind, _)| wanted(*kind)) {
        made.extend(make(&product)?);
    }
    let components = product.output.join(format!("oxshmem-{VERSION}.cdx.json"));
    installation::copy(&product.tree.join(notices::FOLDER).join(notices::COMPONENTS), &components)?;
    made.push(components);
    archive::checksums(&product.output)?;
    for file in &made {
        let bytes = fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?.len();
        println!("{:>6.1} MB  {}", bytes as f64 / 1e6, file.display());
    }
    if !arguments.prove {
        return Ok(());
    }
    let ways = arguments.kinds.iter().flat_map(|kind| kind.ways());
    command::run(Command::new(top().join("ci/packages/prove")).arg(&product.output).args(ways))
}

fn output(arguments: &PackageArguments) -> Outcome<PathBuf> {
    let folder = arguments.output.clone().unwrap_or_else(|| target().join("packages"));
    let folder = std::path::absolute(folder).map_err(|error| format!("--output: {error}"))?;
    disk::make_folder(&folder)?;
    Ok(folder)
}

/// Builds and stages what goes into the packages, and looks whether it may.
fn product(arguments: &PackageArguments) -> Outcome<Product> {
    let toolchain = Toolchain::of(arguments.target.as_deref())?;
    let built = toolchain.built(PROFILE);
    let output = output(arguments)?;
    let (debug, scratch) = (built.join("debug-files"), built.join("scratch"));
    for folder in [&debug, &scratch] {
        let _ = fs::remove_dir_all(folder);
    }
    disk::make_folder(&scratch)?;
    let mut recipe = Recipe::new(PROFILE);
    recipe.toolchain = toolchain;
    let mapped = mapped()?;
    recipe.environment = environment(&mapped);
    recipe.debug = Some(&debug);
    let tree = build::staged(&recipe)?;
    let programs = disk::files(&tree.join("bin"))?;
    let sizes = programs.iter().filter_map(|file| tree.join("bin").join(file).symlink_metadata().ok());
    let size: u64 = sizes.map(|file| file.len()).sum();
    if size > TOOLS_AT_MOST {
        return Err(format!("the programs in bin have {size} bytes, which is more than {TOOLS_AT_MOST}"));
    }
    println!("bin has {:.1} MB", size as f64 / 1e6);
    no_paths_of_this_machine(&tree, &mapped)?;
    plain_modes(&tree)?;
    Ok(Product { tree, debug, toolchain, time: time()?, scratch, output })
}

/// Folders of this machine, and what stands in their place in everything that is built. The first that fits counts, so that
/// the folder of the sources may lie in that of cargo.
fn mapped() -> Outcome<Vec<(PathBuf, &'static str)>> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let compiler = command::read(Command::new("rustc").args(["--print", "sysroot"]).current_dir(top()))?;
    Ok(vec![(target(), "/build"), (top(), "/oxshmem"), (cargo, "/cargo"), (compiler.trim().into(), "/rust")])
}

/// Variables that make rustc and the C compiler map these folders.
fn environment(mapped: &[(PathBuf, &'static str)]) -> Vec<(&'static str, String)> {
    // The last option that fits counts.
    let options = |option: &str| -> Vec<String> {
        mapped.iter().rev().map(|(from, to)| format!("{option}={}={to}", from.display())).collect()
    };
    // A folder may have blanks in its name, which would end an option.
    let quoted = |option: &String| format!("'{}'", option.replace('\'', "'\\''"));
    vec![
        ("CARGO_ENCODED_RUSTFLAGS", options("--remap-path-prefix").join("\x1f")),
        ("CFLAGS", options("-ffile-prefix-map").iter().map(quoted).collect::<Vec<_>>().join(" ")),
        ("CC_SHELL_ESCAPED_FLAGS", "1".into()),
    ]
}

/// Fails if a file of the tree names a folder of this machine.
fn no_paths_of_this_machine(tree: &Path, mapped: &[(PathBuf, &'static str)]) -> Outcome {
    for file in disk::files(tree)? {
        let path = tree.join(&file);
        if path.is_symlink() {
            continue;
        }
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for (folder, _) in mapped {
            let name = folder.as_os_str().as_encoded_bytes();
            if bytes.windows(name.len()).any(|window| window == name) {
                return Err(format!("{} has the path {} in it", file.display(), folder.display()));
            }
        }
    }
    Ok(())
}

/// Gives files and folders the modes that those of packages have, whatever the umask and the folder above were.
fn plain_modes(tree: &Path) -> Outcome {
    command::run(Command::new("chmod").args(["-R", "u=rwX,go=rX,a-s"]).arg(tree))
}

/// The time of the revision, or that of the variable which others use for this.
fn time() -> Outcome<String> {
    if let Ok(time) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(time);
    }
    let log = command::read(&mut command::git(&["log", "-1", "--format=%ct"]));
    // The first day that archives of the form ZIP can name.
    Ok(log.map_or_else(|_| "315532800".into(), |text| text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn recipes_for_packages_name_the_version() {
        for file in ["spack/package.py", "easybuild/oxshmem.eb", "apptainer.def", "Containerfile"] {
            let path = top().join("ci/packages").join(file);
            let text = fs::read_to_string(&path).expect("the recipe is there");
            assert!(text.contains(VERSION), "{file} names another version than {VERSION}");
        }
    }

    #[test]
    fn a_folder_with_a_blank_is_mapped_by_one_option() {
        let mapped = [(PathBuf::from("/my work/it's"), "/oxshmem"), (PathBuf::from("/rust"), "/rust")];
        let variables = environment(&mapped);
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        let rustc = "--remap-path-prefix=/rust=/rust\x1f--remap-path-prefix=/my work/it's=/oxshmem";
        assert_eq!(value("CARGO_ENCODED_RUSTFLAGS"), Some(rustc));
        let script = format!("printf '%s\\n' {}", value("CFLAGS").expect("the C compiler has options"));
        let words = command::read(Command::new("sh").args(["-c", &script])).expect("a shell reads them");
        assert_eq!(words, "-ffile-prefix-map=/rust=/rust\n-ffile-prefix-map=/my work/it's=/oxshmem\n");
    }

    #[test]
    fn a_path_of_this_machine_is_found() {
        let folder = oxshmem_faults::TestFolder::new("paths");
        folder.write("good", "/oxshmem/src/lib.rs");
        let mapped = [(PathBuf::from("/somebody/oxshmem"), "/oxshmem")];
        assert_eq!(no_paths_of_this_machine(&folder, &mapped), Ok(()));
        folder.write("bad", "\0/somebody/oxshmem/src/lib.rs");
        assert!(no_paths_of_this_machine(&folder, &mapped).is_err_and(|why| why.contains("bad")));
    }

    #[test]
    fn modes_in_packages_do_not_depend_on_the_umask() {
        let folder = oxshmem_faults::TestFolder::new("modes");
        folder.write("lib/data", "");
        folder.write("bin/oshrun", "");
        for (name, made, packed) in
            [("lib/data", 0o600, 0o644), ("lib", 0o700, 0o755), ("bin/oshrun", 0o700, 0o755), ("bin", 0o2775, 0o755)]
        {
            let path = folder.join(name);
            fs::set_permissions(&path, fs::Permissions::from_mode(made)).expect("its own file");
            plain_modes(&folder).expect("chmod is here");
            let mode = fs::metadata(&path).expect("it is there").permissions().mode() & 0o7777;
            assert_eq!(mode, packed, "{name}");
        }
    }
}
