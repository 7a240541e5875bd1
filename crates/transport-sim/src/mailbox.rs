//! The layout of the question that is put to the memory of a PE, in shared memory.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use oxshmem_transport::{Amo, OutOfRange, Region, RegisteredMemory, Width};

/// The most bytes of a question; what is longer is asked for in parts.
pub(crate) const MOST_BYTES: usize = 64 << 10;

/// Word that says in which state the mailbox is. Stored with release after the other words, loaded with acquire before them.
#[repr(C)]
pub(crate) struct MemoryMailbox {
    pub(crate) state: AtomicU32,
    pub(crate) kind: AtomicU32,
    pub(crate) region: AtomicU32,
    pub(crate) width: AtomicU32,
    pub(crate) offset: AtomicU64,
    /// Bytes of a put or get; the kind of an atomic. The answer's error: how long the region is.
    pub(crate) count: AtomicU64,
    pub(crate) operands: [AtomicU64; 2],
    pub(crate) data: [AtomicU64; MOST_BYTES / 8],
}

pub(crate) const IDLE: u32 = 0;
pub(crate) const ASKED: u32 = 1;
pub(crate) const DONE: u32 = 2;
pub(crate) const OUT_OF_RANGE: u32 = 3;

pub(crate) const PUT: u32 = 0;
pub(crate) const GET: u32 = 1;
pub(crate) const AMO: u32 = 2;

impl MemoryMailbox {
    pub(crate) fn access(&self, memory: &RegisteredMemory) -> Result<u64, OutOfRange> {
        let region = Region::try_from(self.region.load(Relaxed) as u8).expect("a question names a region");
        let (offset, count) = (self.offset.load(Relaxed), self.count.load(Relaxed) as usize);
        match self.kind.load(Relaxed) {
            PUT => {
                let mut bytes = vec![0; count];
                self.read(&mut bytes);
                // SAFETY: the source is the vector, which is as long as the access.
                unsafe { memory.put(region, offset, bytes.as_ptr(), count).map(|()| 0) }
            }
            GET => {
                let mut bytes = vec![0; count];
                // SAFETY: the destination is the vector, which is as long as the access.
                unsafe { memory.get(bytes.as_mut_ptr(), region, offset, count)? };
                self.write(&bytes);
                Ok(0)
            }
            _ => {
                let [value, cond] = self.operands.each_ref().map(|word| word.load(Relaxed));
                let amo = Amo::from_parts(count as u8, value, cond).expect("a question names an atomic");
                let width = Width::try_from(self.width.load(Relaxed) as u8).expect("a question names a width");
                memory.amo(region, offset, width, amo)
            }
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) {
        for (word, part) in self.data.iter().zip(bytes.chunks(8)) {
            let mut value = [0; 8];
            value[..part.len()].copy_from_slice(part);
            word.store(u64::from_le_bytes(value), Relaxed);
        }
    }

    pub(crate) fn read(&self, bytes: &mut [u8]) {
        for (word, part) in self.data.iter().zip(bytes.chunks_mut(8)) {
            part.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..part.len()]);
        }
    }
}
