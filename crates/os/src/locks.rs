//! Locks on files, by which processes that know nothing of each other notice each other.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Locks the file until it is closed, which the end of the process does too. `false` if somebody else has locked it.
pub fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: takes no pointers.
    match unsafe { syscall!(flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB)) } {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Unlocks the file, also where a forked child still has it open.
pub(crate) fn unlock(file: &File) -> io::Result<()> {
    // SAFETY: takes no pointers.
    unsafe { syscall!(flock(file.as_raw_fd(), libc::LOCK_UN)) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_with_its_file() {
        let path = std::env::temp_dir().join(format!("oxshmem-lock-{}", std::process::id()));
        let open = || File::options().create(true).append(true).open(&path).expect("a file");
        let (first, second) = (open(), open());
        assert!(try_lock(&first).unwrap());
        assert!(!try_lock(&second).unwrap());
        drop(first);
        assert!(try_lock(&second).unwrap());
        std::fs::remove_file(&path).expect("our file");
    }
}
