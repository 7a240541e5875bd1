//! Atomics of peers, executed by this PE's processor with atomics of the object's width.

use oxshmem_transport::{Amo, OutOfRange, Region, Width};

use crate::region::Served;

impl Served<'_> {
    /// Updates an object and returns the old value.
    pub(crate) fn update(&self, region: Region, offset: u64, width: Width, amo: Amo) -> Result<u64, OutOfRange> {
        self.memory.amo(region, offset, width, amo)
    }
}
