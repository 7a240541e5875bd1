//! A folder for files of one run of a tool. It lies among the temporary files of all users, so its name cannot be
//! guessed, and no other user can enter it.
//!
//! A run that is killed leaves its folder behind. The next run of the same tool removes it: a file in the folder is locked as long as
//! its run lives.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use oxshmem_base::Error;
use oxshmem_os::{descriptors, locks};

/// The file that a run has locked. It gets its name when it is locked.
const LOCK: &str = "lock";

/// The folder, which goes with this value.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    /// Locked. `None`: the file system has no locks, and nobody removes the folder of a run that was killed.
    _lock: Option<File>,
}

impl Scratch {
    /// A new folder for the tool of this name.
    pub(crate) fn new(tool: &str) -> Result<Scratch, Error> {
        let base = std::env::temp_dir();
        let unmade = |error| {
            Error::new(format!("no folder can be made in {}", base.display()))
                .because(error)
                .fix("set TMPDIR to a directory that can be written")
        };
        let mut random = [0; 8];
        oxshmem_os::random::fill(&mut random).map_err(unmade)?;
        let prefix = format!("oxshmem-{tool}-");
        remove_left_behind(&base, &prefix);
        let folder = base.join(format!("{prefix}{:016x}", u64::from_ne_bytes(random)));
        // A folder that is there belongs to another program.
        DirBuilder::new().mode(0o700).create(&folder).map_err(unmade)?;
        let lock = locked(&folder).ok();
        Ok(Scratch { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

/// The file of a new folder, locked.
fn locked(folder: &Path) -> io::Result<File> {
    let unnamed = folder.join("new-lock");
    let file = File::create(&unnamed)?;
    locks::try_lock(&file)?;
    fs::rename(unnamed, folder.join(LOCK))?;
    Ok(file)
}

/// Removes folders of this user whose runs are gone. What cannot be looked at stays.
fn remove_left_behind(base: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes())) {
        let folder = entry.path();
        let is_own = entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == descriptors::own_uid());
        if is_own && File::open(folder.join(LOCK)).is_ok_and(|lock| locks::try_lock(&lock).unwrap_or(false)) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_nobody_else_s_and_goes_with_its_files() {
        let (one, other) = (Scratch::new("test").unwrap(), Scratch::new("test").unwrap());
        let path = one.path().to_owned();
        assert_ne!(path, other.path());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(path.join("file"), "").unwrap();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }

    #[test]
    fn the_folder_of_a_run_that_was_killed_goes_with_the_next_run() {
        let killed = Scratch::new("test-killed").unwrap();
        let path = killed.path().to_owned();
        let lives = Scratch::new("test-killed").unwrap();
        assert!(path.exists(), "its run lives");
        // The end of a process closes its files.
        let mut killed = std::mem::ManuallyDrop::new(killed);
        killed._lock = None;
        let next = Scratch::new("test-killed").unwrap();
        assert!(!path.exists() && lives.path().exists() && next.path().exists());
    }
}
