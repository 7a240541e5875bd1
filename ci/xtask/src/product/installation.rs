//! Puts a staged tree below a prefix, and takes it away again. A list of its files, which is one of them, remembers what is ours: also the
//! folders that were not there before.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::product::manual;
use crate::{Outcome, disk};

/// The list, below the prefix.
const LIST: &str = "share/oxshmem/files.txt";

/// The files and the folders of an installation, by their paths below the prefix.
#[derive(Default)]
struct InstalledTree {
    files: BTreeSet<PathBuf>,
    /// Those that an installation has made. Others, as `/usr/local/bin`, may be empty and stay.
    folders: BTreeSet<PathBuf>,
}

/// Copies a staged tree, and removes files of an earlier installation that it does not have. `is_package`: others install it, whose
/// index for apropos has the pages of all packages.
pub(crate) fn put(stage: &Path, prefix: &Path, is_package: bool) -> Outcome {
    let former = InstalledTree::listed(prefix);
    let mut tree = InstalledTree { files: disk::files(stage)?, folders: former.folders };
    tree.files.insert(LIST.into());
    tree.folders.extend(missing_folders(&tree.files, prefix));
    for file in tree.files.iter().filter(|file| *file != Path::new(LIST)) {
        copy(&stage.join(file), &prefix.join(file))?;
    }
    let pages = Path::new("share/man");
    if !is_package && prefix.join(pages).is_dir() {
        tree.files.extend(manual::index(&prefix.join(pages))?.map(|index| pages.join(index)));
    }
    former.files.difference(&tree.files).try_for_each(|file| remove(prefix, file))?;
    // Those that are empty have gone with the files.
    tree.folders = tree.folders.iter().rev().filter(|folder| !is_removed(prefix, folder)).cloned().collect();
    disk::write(&prefix.join(LIST), &tree.text())
}

/// Removes what [`put`] has put there, and folders of it that are empty then.
pub(crate) fn take_away(prefix: &Path) -> Outcome {
    let InstalledTree { files, folders } = InstalledTree::listed(prefix);
    if files.is_empty() {
        return Err(format!("nothing of oxshmem is known to be in {}: there is no {LIST}", prefix.display()));
    }
    files.iter().try_for_each(|file| remove(prefix, file))?;
    // Folders come behind those that they lie in.
    for folder in folders.iter().rev() {
        is_removed(prefix, folder);
    }
    println!("removed {} files of oxshmem from {}", files.len(), prefix.display());
    Ok(())
}

pub(crate) fn below(root: &Path, prefix: &Path) -> PathBuf {
    if root.as_os_str().is_empty() {
        prefix.to_path_buf()
    } else {
        root.join(prefix.strip_prefix("/").unwrap_or(prefix))
    }
}

/// Copies a file or a link. A running tool's file cannot be written over, but it can be replaced.
pub(crate) fn copy(from: &Path, to: &Path) -> Outcome {
    let copied = || {
        make_folders(to.parent().unwrap_or(Path::new("/")))?;
        if to.symlink_metadata().is_ok() {
            fs::remove_file(to)?;
        }
        if from.is_symlink() {
            return std::os::unix::fs::symlink(fs::read_link(from)?, to);
        }
        fs::copy(from, to)?;
        let mode = if from.metadata()?.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(to, fs::Permissions::from_mode(mode))
    };
    copied().map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// Makes a folder and those above it, which others may enter, as they may read the files: whatever the umask is.
fn make_folders(folder: &Path) -> std::io::Result<()> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    fs::create_dir_all(folder)?;
    missing.iter().try_for_each(|folder| fs::set_permissions(folder, fs::Permissions::from_mode(0o755)))
}

impl InstalledTree {
    /// That of the list below a prefix: a folder ends with a slash there.
    fn listed(prefix: &Path) -> Self {
        let mut tree = Self::default();
        for line in fs::read_to_string(prefix.join(LIST)).unwrap_or_default().lines() {
            match line.strip_suffix('/') {
                Some(folder) => tree.folders.insert(folder.into()),
                None => tree.files.insert(line.into()),
            };
        }
        tree
    }

    fn text(&self) -> String {
        let folders = self.folders.iter().map(|folder| format!("{}/\n", folder.display()));
        let files = self.files.iter().map(|file| format!("{}\n", file.display()));
        let mut lines: Vec<String> = folders.chain(files).collect();
        lines.sort();
        lines.concat()
    }
}

/// The folders of files that are not there yet.
fn missing_folders(files: &BTreeSet<PathBuf>, prefix: &Path) -> Vec<PathBuf> {
    let all: BTreeSet<&Path> = files.iter().flat_map(|file| file.ancestors().skip(1)).collect();
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !prefix.join(folder).exists();
    all.into_iter().filter(is_missing).map(PathBuf::from).collect()
}

/// Removes a file of ours, and what Python has made of it.
fn remove(prefix: &Path, file: &Path) -> Outcome {
    let path = prefix.join(file);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", path.display())),
        _ => {
            if path.extension().is_some_and(|ending| ending == "py") {
                remove_compiled(&path);
            }
            Ok(())
        }
    }
}

/// Removes the compiled forms of a source in Python, which the owner of an installation leaves there at the first import. With them a folder
/// would stay that Python takes for the module.
fn remove_compiled(source: &Path) {
    let folder = source.with_file_name("__pycache__");
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    for path in disk::entries(&folder).unwrap_or_default() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.strip_prefix(&*stem).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".pyc")) {
            let _ = fs::remove_file(path);
        }
    }
    let _ = fs::remove_dir(folder);
}

/// Removes a folder of ours, and says so; one that is not empty stays.
fn is_removed(prefix: &Path, folder: &Path) -> bool {
    fs::remove_dir(prefix.join(folder)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use oxshmem_faults::TestFolder;

    use super::*;
    use crate::command;
    use crate::disk::files;

    fn tree(at: &TestFolder, files: &[&str]) {
        for file in files {
            at.write(file, file);
        }
    }

    #[test]
    fn what_was_installed_is_removed_and_nothing_else() {
        let (stage, prefix) = (TestFolder::new("stage"), TestFolder::new("prefix"));
        tree(&stage, &["bin/oshrun", "lib/cmake/oxshmem/old.cmake"]);
        tree(&prefix, &["bin/other"]);
        put(&stage, &prefix, false).expect("installs");
        fs::remove_file(stage.join("lib/cmake/oxshmem/old.cmake")).expect("it was there");
        tree(&stage, &["lib/new"]);
        put(&stage, &prefix, false).expect("installs over the former one");
        assert!(!prefix.join("lib/cmake").exists(), "a file that the new version lacks goes, with its folders");
        take_away(&prefix).expect("it knows what is there");
        assert_eq!(files(&prefix).expect("a tree"), BTreeSet::from([PathBuf::from("bin/other")]));
        assert!(take_away(&prefix).is_err(), "there is nothing left");
    }

    #[test]
    fn empty_folders_that_were_there_before_stay() {
        let (stage, prefix) = (TestFolder::new("own-stage"), TestFolder::new("own-prefix"));
        tree(&stage, &["bin/oshrun", "lib/python/oxshmem/a.py", "share/man/man1/oshrun.1"]);
        for folder in ["bin", "lib"] {
            fs::create_dir(prefix.join(folder)).expect("a folder");
        }
        // The second installation finds the folders of the first one.
        for _ in 0..2 {
            put(&stage, &prefix, true).expect("installs");
        }
        for version in ["310", "311.opt-1"] {
            prefix.write(format!("lib/python/oxshmem/__pycache__/a.cpython-{version}.pyc"), "");
        }
        take_away(&prefix).expect("it knows what is there");
        let left = crate::disk::entries(&prefix).expect("a folder");
        assert_eq!(left, ["bin", "lib"].map(|folder| prefix.join(folder)));
        assert!(crate::disk::entries(&prefix.join("lib")).expect("a folder").is_empty());
    }

    #[test]
    fn others_may_enter_what_was_installed_under_a_strict_umask() {
        const MARK: &str = "XTASK_TEST_UMASK";
        if std::env::var_os(MARK).is_none() {
            // All threads of a process have one umask: so the test runs again in a process of its own.
            let name = "product::installation::tests::others_may_enter_what_was_installed_under_a_strict_umask";
            let mut again = Command::new("sh");
            again.args(["-c", "umask 077 && exec \"$0\" --exact \"$1\""]);
            again.arg(std::env::current_exe().expect("a test has a path")).arg(name).env(MARK, "077");
            let told = command::read(&mut again).expect("it passes there");
            assert!(told.contains("1 passed"), "{told}");
            return;
        }
        let folder = TestFolder::new("umask");
        folder.write("stage/bin/oshrun", "");
        let prefix = folder.join("opt/oxshmem");
        put(&folder.join("stage"), &prefix, false).expect("installs");
        for (name, wanted) in [("opt", 0o755), ("opt/oxshmem/bin", 0o755), ("opt/oxshmem/bin/oshrun", 0o644)] {
            let mode = fs::metadata(folder.join(name)).expect("it is there").permissions().mode() & 0o777;
            assert_eq!(mode, wanted, "{name}");
        }
    }

    #[test]
    fn a_package_has_no_index_of_the_manual() {
        let (stage, prefix) = (TestFolder::new("package-stage"), TestFolder::new("package-prefix"));
        tree(&stage, &["share/man/man3/shmem_put.3"]);
        put(&stage, &prefix, true).expect("installs");
        let expected = ["share/man/man3/shmem_put.3", LIST].map(PathBuf::from);
        assert_eq!(files(&prefix).expect("a tree"), BTreeSet::from(expected));
    }

    #[test]
    fn another_root_stands_before_the_prefix() {
        assert_eq!(below(Path::new("/stage"), Path::new("/usr")), Path::new("/stage/usr"));
        assert_eq!(below(Path::new(""), Path::new("/usr")), Path::new("/usr"));
    }
}
