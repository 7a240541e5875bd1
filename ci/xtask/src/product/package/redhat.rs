//! Packages of Fedora, Red Hat and SUSE, by rpmbuild.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Product;
use super::parts::{PackagePart, part};
use crate::disk::{self, write};
use crate::product::notices;
use crate::product::recipe::VERSION;
use crate::{Outcome, command, top};

pub(super) fn make(product: &Product) -> Outcome<Vec<PathBuf>> {
    if !command::exists("rpmbuild") {
        println!("not made: rpm packages: there is no rpmbuild here (package rpm of Debian, rpm-build of Fedora)");
        return Ok(Vec::new());
    }
    let work = product.scratch.join("rpm");
    for (part, list) in [(PackagePart::Tools, "tools.list"), (PackagePart::Development, "devel.list")] {
        write_list(product, part, &product.scratch.join(list))?;
    }
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--target", product.toolchain.processor()]);
    for (name, value) in [
        ("_topdir", work.display().to_string()),
        ("_rpmdir", product.output.display().to_string()),
        ("_rpmfilename", "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm".into()),
        ("_buildhost", "localhost".into()),
        ("use_source_date_epoch_as_buildtime", "1".into()),
        ("clamp_mtime_to_source_date_epoch", "1".into()),
        ("our_version", VERSION.into()),
        ("tree", product.tree.display().to_string()),
        ("lists", product.scratch.display().to_string()),
    ] {
        build.arg("--define").arg(format!("{name} {value}"));
    }
    command::read(build.arg(top().join("ci/packages/oxshmem.spec")).env("SOURCE_DATE_EPOCH", &product.time))?;
    let processor = product.toolchain.processor();
    Ok(["", "-devel"].map(|kind| product.output.join(format!("oxshmem{kind}-{VERSION}-1.{processor}.rpm"))).to_vec())
}

/// The files of a package, as the spec file reads them. Programs and their library are one package.
fn write_list(product: &Product, wanted: PackagePart, list: &Path) -> Outcome {
    let files = disk::files(&product.tree)?;
    let ours = files.iter().filter(|file| !file.starts_with(notices::FOLDER));
    let of_part = ours.filter(|file| match part(file) {
        PackagePart::Library => wanted == PackagePart::Tools,
        other => other == wanted,
    });
    write(list, &text_of(of_part.map(PathBuf::as_path)))
}

/// Files with their folders: one that no package owns stays behind when the packages are removed.
fn text_of<'a>(files: impl Iterator<Item = &'a Path>) -> String {
    let (mut folders, mut text) = (BTreeSet::<&Path>::new(), String::new());
    for file in files {
        folders.extend(file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()));
        text += &format!("\"%{{_libdir}}/oxshmem/{}\"\n", file.display());
    }
    text.extend(folders.iter().map(|folder| format!("%dir \"%{{_libdir}}/oxshmem/{}\"\n", folder.display())));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_owns_the_folders_of_its_files() {
        let files = ["bin/oshrun", "share/man/man1/oshrun.1", "share/man/man7/oxshmem.7"].map(Path::new);
        let text = text_of(files.into_iter());
        let owned: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("%dir ")).collect();
        let folders = ["bin", "share", "share/man", "share/man/man1", "share/man/man7"];
        assert_eq!(owned, folders.map(|folder| format!("\"%{{_libdir}}/oxshmem/{folder}\"")));
        assert!(text.starts_with("\"%{_libdir}/oxshmem/bin/oshrun\"\n"), "{text}");
    }
}
