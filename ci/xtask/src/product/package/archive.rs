//! Archives that can be unpacked anywhere, and the list of checksums.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Product;
use crate::disk::{self, write};
use crate::product::recipe::VERSION;
use crate::{Outcome, command};

pub(super) const CHECKSUMS: &str = "SHA256SUMS";

/// The installation, and the debug files.
pub(super) fn make(product: &Product) -> Outcome<Vec<PathBuf>> {
    let stem = format!("oxshmem-{VERSION}-{}-linux", product.toolchain.processor());
    let [installed, debug] = ["", "-debug"].map(|kind| product.output.join(format!("{stem}{kind}.tar.xz")));
    pack(&product.tree, &installed, &product.time)?;
    pack(&product.debug, &debug, &product.time)?;
    Ok(vec![installed, debug])
}

/// The sources of the revision that is checked out.
pub(super) fn source(output: &Path) -> Outcome<PathBuf> {
    let archive = output.join(format!("oxshmem-{VERSION}.tar.xz"));
    let mut git = command::git(&["-c", "tar.tar.xz.command=xz -6 -T1 -c", "archive", "--format=tar.xz"]);
    command::run(git.arg(format!("--prefix=oxshmem-{VERSION}/")).arg("-o").arg(&archive).arg("HEAD"))?;
    Ok(archive)
}

/// Packs a tree below one folder. Names are sorted; owners, modes and times say nothing about this machine.
fn pack(tree: &Path, archive: &Path, time: &str) -> Outcome {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{time}")).arg(format!("--transform=flags=r;s,^\\.,oxshmem-{VERSION},"));
    // One thread: the size of blocks depends on their number otherwise.
    tar.args(["-I", "xz -6 -T1", "-cf"]).arg(archive).arg("-C").arg(tree).arg(".");
    command::run(&mut tar)
}

/// Writes the checksums of all packages in a folder, which may have folders beside them.
pub(super) fn checksums(folder: &Path) -> Outcome {
    let mut files = disk::entries(folder)?;
    files.retain(|path| path.is_file() && !path.ends_with(CHECKSUMS));
    let names = files.iter().filter_map(|path| path.file_name());
    let sums = command::read(Command::new("sha256sum").args(names).current_dir(folder))?;
    write(&folder.join(CHECKSUMS), &sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_beside_packages_has_no_checksum() {
        let folder = oxshmem_faults::TestFolder::new("checksums");
        folder.write("oxshmem.deb", "");
        folder.write("older/oxshmem.deb", "");
        // The second time its own list is there.
        for _ in 0..2 {
            checksums(&folder).expect("sha256sum is here");
            let sums = fs::read_to_string(folder.join(CHECKSUMS)).expect("the list");
            assert!(sums.lines().count() == 1 && sums.ends_with("  oxshmem.deb\n"), "{sums}");
        }
    }

    #[test]
    fn the_same_tree_gives_the_same_bytes_whenever_it_was_made() {
        if !command::exists("xz") {
            return oxshmem_faults::not_run("there is no xz here");
        }
        let folder = oxshmem_faults::TestFolder::new("archive");
        let packed = |name: &str, mode: u32| {
            let tree = folder.join(name);
            for file in if mode == 0o775 { ["oshrun", "a"] } else { ["a", "oshrun"] } {
                folder.write(format!("{name}/bin/{file}"), file);
            }
            fs::set_permissions(tree.join("bin/oshrun"), fs::Permissions::from_mode(mode)).expect("its own file");
            symlink("oshrun", tree.join("bin/other")).expect("a link");
            let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(mode));
            fs::File::open(tree.join("bin/a")).and_then(|file| file.set_modified(old)).expect("its own file");
            let archive = folder.join(format!("{name}.tar.xz"));
            pack(&tree, &archive, "1700000000").expect("tar is there");
            fs::read(archive).expect("the archive")
        };
        assert!(packed("one", 0o775) == packed("two", 0o755), "the archives differ");
        let listed = command::read(Command::new("tar").args(["-tvf"]).arg(folder.join("one.tar.xz"))).expect("a list");
        let program = listed.lines().find(|line| line.ends_with(&format!(" oxshmem-{VERSION}/bin/oshrun")));
        let program = program.expect("the program is in the archive");
        assert!(program.starts_with("-rwxr-xr-x 0/0 ") && program.contains("2023-11-14"), "{program}");
    }
}
