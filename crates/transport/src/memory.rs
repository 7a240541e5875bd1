//! This PE's registered memory, and what the processor does to it on behalf of peers. Providers whose target's
//! processor takes part use this, so that each of them bounds, copies and updates in the same way.

use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::{fmt, ptr};

use oxshmem_base::Error;

use crate::limits::WORD_BY_WORD;
use crate::{Amo, Position, Region, Segment, SignalUpdate, Width};

/// One atomic update at an address, in the words of the width.
macro_rules! update {
    ($Atomic:ident, $word:ident, $at:expr, $amo:expr) => {{
        let object = $Atomic::from_ptr($at.cast());
        let order = Ordering::SeqCst;
        let old = match $amo {
            Amo::Fetch => object.load(order),
            Amo::Swap(value) => object.swap(value as $word, order),
            Amo::Add(value) => object.fetch_add(value as $word, order),
            Amo::And(value) => object.fetch_and(value as $word, order),
            Amo::Or(value) => object.fetch_or(value as $word, order),
            Amo::Xor(value) => object.fetch_xor(value as $word, order),
            Amo::CompareSwap { cond, value } => {
                object.compare_exchange(cond as $word, value as $word, order, order).unwrap_or_else(|old| old)
            }
        };
        u64::from(old)
    }};
}

/// The registered segments of one PE. The caller that registers a segment promises that it stays mapped while the
/// fabric is open.
#[derive(Default)]
pub struct RegisteredMemory {
    parts: [RegisteredPart; Region::ALL.len()],
}

/// `base` is written once, before the first `len` that is not zero; `len` is stored with Release and loaded with
/// Acquire, so that a thread that sees a length sees the base.
#[derive(Default)]
struct RegisteredPart {
    base: AtomicPtr<u8>,
    len: AtomicUsize,
}

/// An access that no registered segment holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfRange {
    /// Where.
    pub region: Region,
    /// From which byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: usize,
    /// How long the region is.
    pub registered: usize,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, offset, bytes, registered } = self;
        write!(f, "{bytes} bytes at offset {offset} of region {region:?}, which is {registered} bytes long there")
    }
}

impl OutOfRange {
    /// The error of the lane that asked.
    pub fn error(self, pe: u32) -> Error {
        Error::new(format!("an operation on PE {pe} is outside its registered memory or not aligned"))
            .because(self)
            .fix("report this: a PE number, an address or a length is wrong")
    }
}

impl RegisteredMemory {
    /// Lets peers reach `segment`; a second call for a region lengthens it.
    pub fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        let part = &self.parts[region as usize];
        let len = part.len.load(Ordering::Acquire);
        if len == 0 {
            part.base.store(segment.base, Ordering::Relaxed);
        } else if part.base.load(Ordering::Relaxed) != segment.base || segment.len < len {
            return Err(Error::new(format!(
                "region {region:?} cannot be registered again at another place or shorter"
            ))
            .because(format!("it has {len} bytes, the new segment has {}", segment.len)));
        }
        part.len.store(segment.len, Ordering::Release);
        Ok(())
    }

    /// The address of `bytes` bytes of a region.
    pub fn find(&self, region: Region, offset: u64, bytes: usize) -> Result<*mut u8, OutOfRange> {
        let part = &self.parts[region as usize];
        let registered = part.len.load(Ordering::Acquire);
        match usize::try_from(offset).ok().and_then(|start| Some((start, start.checked_add(bytes)?))) {
            Some((start, end)) if end <= registered => Ok(part.base.load(Ordering::Relaxed).wrapping_add(start)),
            _ => Err(OutOfRange { region, offset, bytes, registered }),
        }
    }

    /// The address where bytes of a peer are about to arrive without a copy. As with [`Self::put`], a PE that sees them also sees what
    /// this thread has written before.
    pub fn landing(&self, region: Region, offset: u64, bytes: usize) -> Result<*mut u8, OutOfRange> {
        fence(Ordering::Release);
        self.find(region, offset, bytes)
    }

    /// The address of an aligned object.
    pub fn object(&self, region: Region, offset: u64, width: Width) -> Result<*mut u8, OutOfRange> {
        let at = self.find(region, offset, width.bytes())?;
        if at.addr().is_multiple_of(width.bytes()) {
            return Ok(at);
        }
        let registered = self.parts[region as usize].len.load(Ordering::Relaxed);
        Err(OutOfRange { region, offset, bytes: width.bytes(), registered })
    }

    /// Writes to a region what a peer sent. An aligned word is one store: a PE that waits for it never sees a part of it.
    /// A PE that sees the word also sees what was written before. A short run of aligned 8-byte words is one store each,
    /// for PEs that look at every word.
    ///
    /// # Safety
    /// `source` is readable for `n` bytes.
    pub unsafe fn put(&self, region: Region, offset: u64, source: *const u8, n: usize) -> Result<(), OutOfRange> {
        let at = self.find(region, offset, n)?;
        // SAFETY: `find` bounds the access by a segment that its owner keeps mapped; atomics need no more than that and
        // the alignment, which `word` has checked. The caller vouches for the source.
        unsafe {
            match word(at, n) {
                Some(Width::Eight) => AtomicU64::from_ptr(at.cast()).store(unaligned(source), Ordering::Release),
                Some(Width::Four) => AtomicU32::from_ptr(at.cast()).store(unaligned(source), Ordering::Release),
                Some(Width::Two) => AtomicU16::from_ptr(at.cast()).store(unaligned(source), Ordering::Release),
                None if n <= WORD_BY_WORD && (at.addr() | n).is_multiple_of(8) => {
                    for i in (0..n).step_by(8) {
                        AtomicU64::from_ptr(at.add(i).cast()).store(unaligned(source.add(i)), Ordering::Release);
                    }
                }
                None => {
                    fence(Ordering::Release);
                    ptr::copy(source, at, n);
                }
            }
        }
        Ok(())
    }

    /// Writes what a peer sent, then updates the signal if there is one. Nothing is written if any of it is wrong.
    pub fn put_signal(
        &self,
        to: Position,
        data: &[u8],
        signal: Option<(Position, SignalUpdate)>,
    ) -> Result<(), OutOfRange> {
        if let Some((at, _)) = signal {
            self.object(at.region, at.offset, Width::Eight)?;
        }
        if !data.is_empty() {
            // SAFETY: the source is a slice.
            unsafe { self.put(to.region, to.offset, data.as_ptr(), data.len())? };
        }
        if let Some((at, update)) = signal {
            self.amo(at.region, at.offset, Width::Eight, update.amo())?;
        }
        Ok(())
    }

    /// Reads from a region what a peer asked for. An aligned word is one load.
    ///
    /// # Safety
    /// `dest` is writable for `n` bytes.
    pub unsafe fn get(&self, dest: *mut u8, region: Region, offset: u64, n: usize) -> Result<(), OutOfRange> {
        let at = self.find(region, offset, n)?;
        // SAFETY: `find` bounds the access by a segment that its owner keeps mapped; atomics need no more than that and the
        // alignment, which `word` has checked. The destination is writable, by the caller's promise.
        unsafe {
            match word(at, n) {
                Some(Width::Eight) => {
                    dest.cast::<u64>().write_unaligned(AtomicU64::from_ptr(at.cast()).load(Ordering::Acquire));
                }
                Some(Width::Four) => {
                    dest.cast::<u32>().write_unaligned(AtomicU32::from_ptr(at.cast()).load(Ordering::Acquire));
                }
                Some(Width::Two) => {
                    dest.cast::<u16>().write_unaligned(AtomicU16::from_ptr(at.cast()).load(Ordering::Acquire));
                }
                None => ptr::copy(at, dest, n),
            }
        }
        Ok(())
    }

    /// Appends to `bytes` what a peer asked for, as [`RegisteredMemory::get`] reads it.
    #[inline(never)]
    pub fn append(&self, from: Position, n: usize, bytes: &mut Vec<u8>) -> Result<(), OutOfRange> {
        // Before there is memory for them: their number is the peer's word.
        self.find(from.region, from.offset, n)?;
        let start = bytes.len();
        bytes.resize(start + n, 0);
        // SAFETY: the vector has `n` bytes from there on.
        unsafe { self.get(bytes[start..].as_mut_ptr(), from.region, from.offset, n) }
    }

    /// Updates an object with the processor's atomics; returns the old value.
    pub fn amo(&self, region: Region, offset: u64, width: Width, amo: Amo) -> Result<u64, OutOfRange> {
        let at = self.object(region, offset, width)?;
        // SAFETY: `object` found an aligned object inside a segment that its owner keeps mapped.
        Ok(unsafe {
            match width {
                Width::Two => update!(AtomicU16, u16, at, amo),
                Width::Four => update!(AtomicU32, u32, at, amo),
                Width::Eight => update!(AtomicU64, u64, at, amo),
            }
        })
    }
}

/// The error of an operation with PE `pe` for whose local bytes the system has found no memory; `fault` is its answer.
pub fn faulted(pe: u32, fault: impl fmt::Display) -> Error {
    Error::new(format!("an operation with PE {pe} uses memory that is not there"))
        .because(format!(
            "the system cannot read the source of a put to PE {pe}, or write the destination of a get from it: {fault}"
        ))
        .fix(WRONG_ARRAY)
}

/// The remedy where the system or the network cannot reach the bytes of an operation.
pub const WRONG_ARRAY: &str =
    "look for an array that is shorter than its count says, or that was freed before shmem_quiet";

/// Writes the old value of an atomic to where its caller wants it.
///
/// # Safety
/// `old` is null or writable for `width` bytes.
pub unsafe fn deliver_old(old: *mut u8, width: Width, value: u64) {
    if !old.is_null() {
        // SAFETY: `old` is writable for `width` bytes, of which there are at most eight; the low bytes come first on
        // little-endian machines.
        unsafe { ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), old, width.bytes()) }
    }
}

const _: () = assert!(cfg!(target_endian = "little"), "messages and memory share one byte order");

/// The word that `n` bytes at `at` are, if they are one.
fn word(at: *mut u8, n: usize) -> Option<Width> {
    let width = Width::try_from(u8::try_from(n).ok()?).ok()?;
    at.addr().is_multiple_of(n).then_some(width)
}

/// # Safety
/// `source` is readable for the size of `T`.
unsafe fn unaligned<T>(source: *const u8) -> T {
    // SAFETY: `source` is readable for the size of `T`; it need not be aligned.
    unsafe { source.cast::<T>().read_unaligned() }
}
