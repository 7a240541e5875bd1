//! A folder in `/dev/shm` for files that other libraries make in a PE under names that tell nothing. The launcher removes it.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

use crate::descriptors::own_uid;

/// The variable in which the launcher gives its processes a mark: random, and the same for all of them on a host.
pub const MARK: &str = "OXSHMEM_JOB";

/// The folder of the processes with this mark.
pub fn path(mark: &OsStr) -> PathBuf {
    let mut name = OsStr::new("oxshmem-").to_owned();
    name.push(mark);
    PathBuf::from("/dev/shm").join(name)
}

/// The folder of this process, made now or by another one with the same mark; nothing without a mark, because no
/// launcher would remove the folder then.
pub fn own() -> Option<PathBuf> {
    let folder = std::env::var_os(MARK).map(|mark| path(&mark))?;
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
        _ => {}
    }
    let found = folder.symlink_metadata().ok()?;
    (found.is_dir() && found.uid() == own_uid()).then_some(folder)
}
