//! The arguments of an operation in one place. The issuer of an operation, and the lane that takes it, need them again
//! only if a part of it is left, which is rare. If they were in registers, each function on the way would save and
//! restore them.

use crate::{Amo, Busy, Remote, Width};

/// The arguments of a put.
#[derive(Clone, Copy, Debug)]
pub struct PutArguments {
    /// Where the bytes go.
    pub to: Remote,
    /// Where they are.
    pub source: *const u8,
    /// How many.
    pub n: usize,
}

/// The arguments of a get.
#[derive(Clone, Copy, Debug)]
pub struct GetArguments {
    /// Where the bytes go.
    pub dest: *mut u8,
    /// Where they are.
    pub from: Remote,
    /// How many.
    pub n: usize,
}

/// The arguments of an atomic.
#[derive(Clone, Copy, Debug)]
pub struct AtomicArguments {
    /// The object.
    pub to: Remote,
    /// Its width.
    pub width: Width,
    /// The update.
    pub amo: Amo,
    /// Where the old value goes, unless it is null.
    pub old: *mut u8,
}

impl PutArguments {
    /// How many bytes at the end are left, if so many from the start were issued.
    #[inline(always)]
    pub fn left(&self, issued: Result<usize, Busy>) -> usize {
        self.n.saturating_sub(issued.unwrap_or(0))
    }

    /// The put of the last `left` bytes.
    pub fn rest(&self, left: usize) -> Self {
        let done = self.n - left;
        Self { to: self.to.plus(done), source: self.source.wrapping_add(done), n: left }
    }
}

impl GetArguments {
    /// How many bytes at the end are left, if so many from the start were issued.
    #[inline(always)]
    pub fn left(&self, issued: Result<usize, Busy>) -> usize {
        self.n.saturating_sub(issued.unwrap_or(0))
    }

    /// The get of the last `left` bytes.
    pub fn rest(&self, left: usize) -> Self {
        let done = self.n - left;
        Self { dest: self.dest.wrapping_add(done), from: self.from.plus(done), n: left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;

    #[test]
    fn what_was_issued_and_what_is_left_are_the_whole() {
        let to = Remote { pe: 1, region: Region::Heap, offset: 64 };
        for (n, issued, left) in [(8, Ok(8), 0), (8, Ok(3), 5), (8, Err(Busy), 8), (0, Ok(0), 0)] {
            let put = PutArguments { to, source: std::ptr::null(), n };
            let get = GetArguments { dest: std::ptr::null_mut(), from: to, n };
            assert_eq!((put.left(issued), get.left(issued)), (left, left));
            let (put, get) = (put.rest(left), get.rest(left));
            let done = n - left;
            assert_eq!((put.to, put.source.addr(), put.n), (to.plus(done), done, left));
            assert_eq!((get.from, get.dest.addr(), get.n), (to.plus(done), done, left));
        }
    }
}
