//! The same packages made twice from clean, in folders of different names and lengths: they must be the same bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::PackageArguments;
use super::archive::CHECKSUMS;
use crate::{Outcome, command, disk, target, top};

/// Clones the revision that is checked out into two folders, makes the packages in each, and compares their checksums.
pub(super) fn make(arguments: &PackageArguments) -> Outcome {
    let folder = target().join("twice");
    let _ = fs::remove_dir_all(&folder);
    let trees = ["one", "the-other/in-a-folder-with-a-longer-name"].map(|name| folder.join(name));
    // Both before the first is made, which takes minutes: another revision may be checked out meanwhile.
    for tree in &trees {
        command::run(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(top()).arg(tree))?;
    }
    let sums = trees.iter().map(|tree| made_in(tree, arguments)).collect::<Outcome<Vec<String>>>()?;
    compare(&sums[0], &sums[1])?;
    print!("made twice, the same bytes:\n{}", sums[0]);
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The checksums of the packages that the clone in this folder makes.
fn made_in(tree: &Path, arguments: &PackageArguments) -> Outcome<String> {
    let output: PathBuf = tree.join("target/packages");
    let mut package = command::cargo();
    // The folders of this cargo are not those of the other.
    package.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_MANIFEST_DIR").current_dir(tree);
    let kinds = arguments.kinds.iter().filter_map(clap::ValueEnum::to_possible_value);
    package.args(["xtask", "package"]).args(kinds.map(|kind| kind.get_name().to_owned()));
    if let Some(target) = &arguments.target {
        package.args(["--target", target]);
    }
    command::run(package.arg("--output").arg(&output))?;
    disk::read(&output.join(CHECKSUMS))
}

/// Names the packages whose checksums differ.
fn compare(one: &str, other: &str) -> Outcome {
    let differing: Vec<&str> = one.lines().filter(|line| !other.lines().any(|twin| twin == *line)).collect();
    if differing.is_empty() && one.lines().count() == other.lines().count() {
        Ok(())
    } else {
        Err(format!(
            "the packages of two builds differ, so something in them tells where or when they were made:\n{}\nand\n{other}\
             compare the trees in target/twice with diffoscope",
            differing.join("\n")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn a_package_that_differs_or_is_missing_is_named() {
        assert_eq!(compare("1 a\n2 b\n", "1 a\n2 b\n"), Ok(()));
        assert!(compare("1 a\n2 b\n", "1 a\n3 b\n").is_err_and(|why| why.contains("2 b") && !why.contains("1 a\nand")));
        assert!(compare("1 a\n", "1 a\n2 b\n").is_err());
    }
}
