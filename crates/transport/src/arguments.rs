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
    /// How many bytes at the end are left after a lane's answer.
    #[inline(always)]
    pub fn left(&self, issued: Result<usize, Busy>) -> usize {
        left(self.n, issued)
    }

    /// The lane's answer, if `left` bytes at the end are left.
    #[inline(always)]
    pub fn answer(&self, left: usize) -> Result<usize, Busy> {
        answer(self.n, left)
    }
}

impl GetArguments {
    /// How many bytes at the end are left after a lane's answer.
    #[inline(always)]
    pub fn left(&self, issued: Result<usize, Busy>) -> usize {
        left(self.n, issued)
    }

    /// The lane's answer, if `left` bytes at the end are left.
    #[inline(always)]
    pub fn answer(&self, left: usize) -> Result<usize, Busy> {
        answer(self.n, left)
    }
}

#[inline(always)]
fn left(n: usize, issued: Result<usize, Busy>) -> usize {
    n.saturating_sub(issued.unwrap_or(0))
}

#[inline(always)]
fn answer(n: usize, left: usize) -> Result<usize, Busy> {
    if left > 0 && left == n { Err(Busy) } else { Ok(n - left) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;

    #[test]
    fn an_answer_and_what_it_leaves_say_the_same() {
        let to = Remote { pe: 1, region: Region::Heap, offset: 64 };
        let put = |n| PutArguments { to, source: std::ptr::null(), n };
        for (n, answer, left) in [(8, Ok(8), 0), (8, Ok(3), 5), (8, Err(Busy), 8), (0, Ok(0), 0)] {
            assert_eq!((put(n).left(answer), put(n).answer(left)), (left, answer));
            let get = GetArguments { dest: std::ptr::null_mut(), from: to, n };
            assert_eq!((get.left(answer), get.answer(left)), (left, answer));
        }
    }
}
