//! Ranges of an array. Their parts, which several PEs have, are under way at the same time, and one wait ends the transfers of all.

use core::mem;
use core::ops::Range;

use oxshmem_runtime as runtime;

use super::Array;
use crate::backend::{number, rma};
use crate::collective::complete;
use crate::{Plain, Symmetric};

impl<T: Plain> Array<'_, T> {
    /// The parts of a range by PE, with the index of the first element of each.
    pub(super) fn parts(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &Symmetric<[T]>, usize)> {
        let size = self.block.max(1);
        (range.start / size..range.end.div_ceil(size)).filter_map(move |member| {
            let block = self.block_of(member);
            let (begin, end) = (range.start.max(block.start), range.end.min(block.end));
            (begin < end).then(|| (self.pe(member), &self.blocks[begin - block.start..end - block.start], begin))
        })
    }
}

/// The calls whose parts these transfers are, as messages name them.
const GET: runtime::InWorld = runtime::InWorld("Symmetric::get_vec");
const PUT: runtime::InWorld = runtime::InWorld("Symmetric::put_slice");

/// Gets of elements that will lie one behind the other.
pub(super) struct JoinedGets<T> {
    /// Has room for all elements, and none until they are there.
    all: Vec<T>,
    /// How many have been asked for.
    asked: usize,
    /// Whether some of them may be on their way.
    under_way: bool,
}

impl<T: Plain> JoinedGets<T> {
    /// Gets of so many elements.
    pub(super) fn with_room(elements: usize) -> Self {
        Self { all: Vec::with_capacity(elements), asked: 0, under_way: false }
    }

    /// Begins to read all of `pe`'s copy of a part.
    ///
    /// # Safety
    /// There is room for it behind what has been asked for.
    #[cfg_attr(feature = "race", track_caller)]
    pub(super) unsafe fn get(&mut self, part: &Symmetric<[T]>, pe: usize) {
        let dest = self.all.as_mut_ptr().wrapping_add(self.asked);
        // SAFETY: a place is symmetric or the call ends the job; the caller promises room for the elements, which stays until they
        // are there. The program orders bulk transfers with other uses of the place.
        let under_way = unsafe { rma::begin_get(GET, dest, part.as_ptr(), part.len(), number(pe)) };
        self.under_way |= under_way;
        self.asked += part.len();
    }

    /// Waits until all elements are there, and gives them.
    pub(super) fn wait(mut self) -> Vec<T> {
        self.complete();
        // SAFETY: so many elements are there.
        unsafe { self.all.set_len(self.asked) };
        mem::take(&mut self.all)
    }
}

impl<T> JoinedGets<T> {
    fn complete(&mut self) {
        complete(GET, mem::take(&mut self.under_way));
    }
}

impl<T> Drop for JoinedGets<T> {
    fn drop(&mut self) {
        self.complete();
    }
}

/// Puts whose sources are free when this is dropped.
#[derive(Default)]
pub(super) struct JoinedPuts {
    /// Whether the network may still read some of them.
    under_way: bool,
}

impl JoinedPuts {
    /// Begins to write the first `source.len()` elements of `pe`'s copy of a part.
    ///
    /// # Safety
    /// The source stays as it is until this is dropped.
    #[track_caller]
    pub(super) unsafe fn put<T: Plain>(&mut self, part: &Symmetric<[T]>, source: &[T], pe: usize) {
        part.fits("Symmetric::put_slice", source.len());
        // SAFETY: a place is symmetric or the call ends the job, and both sides have the elements; the caller promises that the
        // source stays. The program orders bulk transfers with what others do there.
        let under_way = unsafe { rma::begin_put(PUT, part.as_ptr(), source.as_ptr(), source.len(), number(pe)) };
        self.under_way |= under_way;
    }
}

impl Drop for JoinedPuts {
    fn drop(&mut self) {
        if self.under_way {
            // SAFETY: the default context is never destroyed.
            unsafe { runtime::calls::rma::complete_locally(PUT) }
        }
    }
}
