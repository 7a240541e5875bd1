//! Descriptors in a process whose program may close them. Daemons close all descriptors, and files that are opened later get the numbers.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Which file a descriptor is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    /// That of the file of this descriptor.
    pub fn of(descriptor: &impl AsFd) -> io::Result<Self> {
        let found = rustix::fs::fstat(descriptor)?;
        Ok(Self { device: found.st_dev, number: found.st_ino })
    }

    /// Whether a descriptor is of the file: the program may have closed it, and another file may have its number.
    pub fn is_that_of(self, descriptor: &impl AsFd) -> bool {
        Self::of(descriptor).is_ok_and(|found| found == self)
    }
}

/// A descriptor that is closed with its owner, unless the program has closed it already: then another file may have its number.
#[derive(Debug)]
pub struct OwnDescriptor {
    file: ManuallyDrop<OwnedFd>,
    identity: FileIdentity,
}

impl OwnDescriptor {
    /// Takes a descriptor over.
    pub fn new(file: OwnedFd) -> io::Result<Self> {
        Ok(Self { identity: FileIdentity::of(&file)?, file: ManuallyDrop::new(file) })
    }

    /// Whether it is that of its file still.
    pub fn is_there(&self) -> bool {
        self.identity.is_that_of(&*self.file)
    }
}

impl AsFd for OwnDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for OwnDescriptor {
    fn drop(&mut self) {
        if self.is_there() {
            // SAFETY: the owner ends here, and nobody uses the descriptor after it.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::{Pages, SharedMemory};

    #[test]
    fn a_descriptor_ends_with_its_owner_unless_it_is_another_files() {
        let file = || SharedMemory::create(c"own descriptor", 4096, Pages::Small).expect("memory");
        let own = |of: &SharedMemory| OwnDescriptor::new(of.fd().try_clone_to_owned().expect("a descriptor"));
        let (ours, other) = (file(), file());
        let replaced = own(&ours).expect("an open descriptor");
        let number = replaced.as_fd().as_raw_fd();
        // SAFETY: both numbers are open, and the one that changes is this test's.
        assert_eq!(unsafe { libc::dup2(other.fd().as_raw_fd(), number) }, number);
        assert!(!replaced.is_there());
        drop(replaced);
        // SAFETY: the call takes no pointers.
        unsafe { syscall!(fcntl(number, libc::F_GETFD)) }.expect("the other file's descriptor is open");
        // SAFETY: the number is this test's alone.
        unsafe { syscall!(close(number)) }.expect("it was open");
        let kept = own(&ours).expect("an open descriptor");
        assert!(kept.is_there());
        let identity = FileIdentity::of(&kept).expect("an open descriptor");
        assert!(identity.is_that_of(&ours.fd()) && !identity.is_that_of(&other.fd()));
    }
}
