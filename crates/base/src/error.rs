//! The error of every control call: what happened, why, and what to do about it.

use std::fmt;
use std::panic::Location;

/// One line what happened, perhaps one where, one line why with the measured value, one line what to do.
///
/// ```
/// let error = oxshmem_base::Error::new("PE 3 cannot grow its symmetric heap to 2 GiB")
///     .because("1.4 GiB of memory are available (/sys/fs/cgroup/memory.max)")
///     .fix("set SHMEM_SYMMETRIC_SIZE=1.4G");
/// assert_eq!(error.to_string().lines().count(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    at: Option<&'static Location<'static>>,
    because: Option<String>,
    fix: Option<String>,
}

/// The kind of an error, for programs that act on it. The text is for people.
///
/// ```
/// use oxshmem_base::{Error, ErrorKind};
/// let full = Error::new("no room").of_kind(ErrorKind::out_of_memory(4096, 1024, 8192));
/// assert!(matches!(full.kind(), ErrorKind::OutOfMemory { asked: 4096, largest_free: 1024, .. }));
/// assert_eq!(Error::new("no room").kind(), ErrorKind::Other);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Only the text says more.
    #[default]
    Other,
    /// A symmetric allocation failed, on all PEs. If `asked` exceeds `largest_free`, the heap is too small for it; otherwise some
    /// node has no memory to back it.
    #[non_exhaustive]
    OutOfMemory {
        /// The bytes of the allocation.
        asked: u64,
        /// The bytes of the largest free block of the symmetric heap.
        largest_free: u64,
        /// The bytes of the symmetric heap.
        heap: u64,
    },
    /// The process has joined the job already.
    AlreadyInitialized,
    /// The PEs do not run one program.
    DifferentPrograms,
    /// The arguments describe nothing that could be made or reached.
    InvalidArgument,
    /// There are as many teams or contexts as the library can have.
    LimitReached,
    /// Bytes that are no value of the type that they should be.
    InvalidValue,
}

impl ErrorKind {
    /// [`ErrorKind::OutOfMemory`] with its numbers, in bytes.
    pub fn out_of_memory(asked: u64, largest_free: u64, heap: u64) -> Self {
        Self::OutOfMemory { asked, largest_free, heap }
    }
}

impl Error {
    /// Says what happened: who, which call, on what.
    pub fn new(what: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Other, what: what.into(), at: None, because: None, fix: None }
    }

    /// Says of which kind the error is.
    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Says why, with the value that was measured.
    #[must_use]
    pub fn because(mut self, why: impl fmt::Display) -> Self {
        self.because = Some(why.to_string());
        self
    }

    /// Says what the user can do: the exact command or variable.
    #[must_use]
    pub fn fix(mut self, what_to_do: impl fmt::Display) -> Self {
        self.fix = Some(what_to_do.to_string());
        self
    }

    /// Says where the program made the call.
    #[must_use]
    pub fn at(mut self, place: &'static Location<'static>) -> Self {
        self.at = Some(place);
        self
    }

    /// The first two parts, what happened and why, for a list.
    pub fn in_one_line(&self) -> String {
        let because = self.because.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        format!("{}{because}", self.what).replace('\n', " ")
    }

    /// The first line alone.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(place) = self.at {
            write!(f, "\n  at:      {place}")?;
        }
        if let Some(why) = &self.because {
            write!(f, "\n  because: {why}")?;
        }
        if let Some(fix) = &self.fix {
            write!(f, "\n  to fix:  {fix}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_call_follows_what_happened() {
        let place = Location::caller();
        assert_eq!(Error::new("a").because("b").at(place).to_string(), format!("a\n  at:      {place}\n  because: b"));
    }

    #[test]
    fn lines_that_are_not_known_are_not_shown() {
        assert_eq!(Error::new("a").to_string(), "a");
        assert_eq!(Error::new("a").fix("c").to_string(), "a\n  to fix:  c");
        assert_eq!(Error::new("a").fix("c").because(7).to_string(), "a\n  because: 7\n  to fix:  c");
    }
}
