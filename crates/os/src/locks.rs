//! Locks on files, by which processes that know nothing of each other notice each other.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{self, FlockOperation};
use rustix::io::Errno;

/// Locks the file until it is closed, which the end of the process does too. `false` if it is locked already.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Locks one byte of the file for this process and no child of it. The lock ends with the process, with `exec` if the file is
/// closed there, and when this process closes any descriptor of the file. An error if another process has locked it.
pub fn hold_byte(file: &impl AsFd, byte: u64) -> io::Result<()> {
    let mut lock = byte_lock(byte)?;
    // SAFETY: the structure is ours, and the kernel only reads it.
    unsafe { syscall!(fcntl(file.as_fd().as_raw_fd(), libc::F_SETLK, &raw mut lock)) }.map(drop)
}

/// Whether another process has locked this byte.
pub fn is_byte_held(file: &impl AsFd, byte: u64) -> io::Result<bool> {
    let mut lock = byte_lock(byte)?;
    // SAFETY: the structure is ours, and the kernel writes nothing but it.
    unsafe { syscall!(fcntl(file.as_fd().as_raw_fd(), libc::F_GETLK, &raw mut lock)) }?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

fn byte_lock(byte: u64) -> io::Result<libc::flock> {
    // SAFETY: all zeros is a value of this plain C struct.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = libc::off_t::try_from(byte).map_err(|_| io::ErrorKind::InvalidInput)?;
    lock.l_len = 1;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn a_lock_ends_with_its_file() {
        let folder = TestFolder::new("lock");
        let path = folder.join("file");
        let open = || File::options().create(true).append(true).open(&path).expect("a file");
        let (first, second) = (open(), open());
        assert!(try_lock(&first).unwrap());
        assert!(!try_lock(&second).unwrap());
        drop(first);
        // A process that another test has just forked holds the first descriptor until it runs its program.
        let begun = std::time::Instant::now();
        while !try_lock(&second).unwrap() {
            assert!(begun.elapsed().as_secs() < 60, "the lock outlives its file");
            std::thread::yield_now();
        }
    }

    #[test]
    fn fault_W3_a_byte_is_held_until_its_process_ends_or_runs_another_program() {
        use std::io::{Read, Write};
        use std::os::unix::process::CommandExt;
        let folder = TestFolder::new("bytes");
        let file = File::options().create(true).read(true).append(true).open(folder.join("file")).expect("a file");
        let theirs = file.try_clone().expect("a descriptor");
        hold_byte(&file, 3).expect("a free byte");
        let mut child = std::process::Command::new("cat");
        let lock = move || {
            // Before exec the child sees its parent's lock and has one itself; its copy of the file is closed on exec.
            let seen = is_byte_held(&theirs, 3)? && !is_byte_held(&theirs, 4)?;
            hold_byte(&theirs, 4)?;
            if seen { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
        };
        // SAFETY: the closure makes system calls only.
        unsafe { child.pre_exec(lock) };
        let mut child =
            child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().expect("cat");
        let mut word = [0; 2];
        child.stdin.as_mut().expect("a pipe").write_all(b"ok").expect("it reads");
        child.stdout.as_mut().expect("a pipe").read_exact(&mut word).expect("it runs");
        assert!(!is_byte_held(&file, 4).unwrap(), "the child lives, as another program");
        assert!(!is_byte_held(&file, 3).unwrap(), "one's own lock is no other's");
        drop(child.stdin.take());
        child.wait().expect("our child");
    }
}
