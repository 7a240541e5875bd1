//! Files and folders, with errors that name them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Outcome;

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The paths of all that lies in a folder, in alphabetical order.
pub(crate) fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

pub(crate) fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub(crate) fn remove(path: &Path) -> Outcome {
    fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The files and links of a tree, by their paths in it.
pub(crate) fn files(tree: &Path) -> Outcome<BTreeSet<PathBuf>> {
    let (mut found, mut open) = (BTreeSet::new(), vec![tree.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for path in entries(&folder)? {
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(tree).expect("it lies in the tree").to_path_buf());
            }
        }
    }
    Ok(found)
}

/// The path with this suffix.
pub(crate) fn added(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Writes a file, with the folders on the way to it.
pub(crate) fn write(path: &Path, text: &str) -> Outcome {
    make_folder(path.parent().unwrap_or(path))?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes `path` a symbolic link to `to`, whatever it was before, with the folders on the way to it.
pub(crate) fn link_to(to: &str, path: &Path) -> Outcome {
    make_folder(path.parent().unwrap_or(path))?;
    let _ = fs::remove_file(path);
    std::os::unix::fs::symlink(to, path).map_err(|error| format!("{}: {error}", path.display()))
}
