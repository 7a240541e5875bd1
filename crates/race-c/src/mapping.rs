//! How PEs come to share memory for their detectors: one makes it, and the others open it through the first one's descriptors.
//!
//! They tell each other about it in a symmetric block, by the library's own transfers: PEs of one machine may be on several of the
//! library's nodes, which share nothing. The calls in here are collective, and each ends with the same verdict on all PEs.

use std::ffi::{c_int, c_void};
use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsRawFd, OwnedFd};

use oxshmem_os::memory::{AddressRange, Pages, SharedMemory};
use oxshmem_os::program;
use oxshmem_race::access::MOST_PES;

use crate::standard;

/// A PE's message to the others: the PE writes it into its own block before a barrier, and they read it after the barrier.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Notice {
    /// See [`common_reach`].
    reach: u64,
    /// See [`programs`].
    program: u64,
    /// The machine, as far as processes can be named across it.
    machine: u64,
    /// Where the memory is, on the first PE.
    process: u64,
    descriptor: u64,
    /// Not 0 if the PE cannot use the memory.
    failed: u64,
}

/// Tells the others, and learns what they tell.
fn exchange(block: *mut c_void, pes: &[c_int], own: Notice) -> Vec<Notice> {
    // SAFETY: all PEs have allocated the block with room for a notice; the barriers separate its writer from its readers.
    unsafe { block.cast::<Notice>().write(own) };
    standard::pshmem_barrier_all();
    let read = |&pe: &c_int| {
        let mut notice = Notice::default();
        // SAFETY: the block is symmetric and has room for a notice, and the result goes to a variable of that size.
        unsafe { standard::pshmem_getmem((&raw mut notice).cast(), block, size_of::<Notice>(), pe) };
        notice
    };
    let notices = pes.iter().map(read).collect();
    standard::pshmem_barrier_all();
    notices
}

/// Whether `all` PEs of the world run one program. If not, PEs look up each other's calls in the wrong one: `Ok` with the reason where each
/// node, of which `node` is the caller's, runs a program of its own, and an error with it where one does not.
pub(crate) fn programs(block: *mut c_void, all: &[c_int], node: &[c_int]) -> Result<Option<String>, String> {
    let notices = exchange(block, all, Notice { program: program::layout(), ..Notice::default() });
    let of = |pe: c_int| notices[pe as usize].program;
    let other = |pes: &[c_int]| pes.iter().copied().find(|&pe| of(pe) != of(pes[0]));
    let own = Notice { failed: other(node).is_some().into(), ..Notice::default() };
    let is_mixed = exchange(block, all, own).iter().any(|notice| notice.failed != 0);
    let why = other(all).map(|pe| format!("PE {pe} runs another program than PE {}", all[0]));
    match why {
        Some(why) if is_mixed => Err(why),
        why => Ok(why),
    }
}

/// How many bytes of each heap all PEs watch: as many as the one that can watch fewest.
pub(crate) fn common_reach(block: *mut c_void, pes: &[c_int], reach: usize) -> usize {
    let notices = exchange(block, pes, Notice { reach: reach as u64, ..Notice::default() });
    notices.iter().map(|notice| notice.reach).min().map_or(reach, |reach| reach as usize)
}

/// Memory of `len` bytes, zero at first, that all these PEs have mapped for ever. The first one also gets what it has made.
pub(crate) fn share(
    block: *mut c_void,
    pes: &[c_int],
    me: usize,
    len: usize,
) -> Result<(*mut u8, Option<SharedMemory>), String> {
    let machine = this_machine();
    let mut own = Notice { machine, process: std::process::id().into(), ..Notice::default() };
    // The descriptor is open until the second exchange is over.
    let made = (me == 0).then(|| SharedMemory::create(c"oxshmem race", len as u64, Pages::Small));
    if let Some(Ok(memory)) = &made {
        own.descriptor = memory.fd().as_raw_fd() as u64;
    }
    let notices = exchange(block, pes, own);
    let first = notices[0];
    let range = match made {
        _ if pes.len() > MOST_PES => Err(format!("{} PEs are more than the {MOST_PES} that are told apart", pes.len())),
        Some(memory) => {
            memory.and_then(|memory| Ok((mapped(&memory, len)?, Some(memory)))).map_err(|why| why.to_string())
        }
        None if first.machine != machine => Err(format!("PE {} is on another machine than PE {}", pes[me], pes[0])),
        None => opened(&first)
            .and_then(|memory| Ok((mapped(&memory, len)?, None)))
            .map_err(|why| format!("PE {} cannot open memory of PE {} ({why})", pes[me], pes[0])),
    };
    let notices = exchange(block, pes, Notice { failed: range.is_err().into(), ..Notice::default() });
    match (range, notices.iter().position(|notice| notice.failed != 0)) {
        (Ok((range, memory)), None) => Ok((range.leak(), memory)),
        (Err(why), _) => Err(why),
        (Ok(_), Some(pe)) => Err(format!("PE {} cannot share memory with PE {}", pes[pe], pes[0])),
    }
}

/// The same number where one kernel, and one space of process numbers, holds the processes; 0 nowhere.
fn this_machine() -> u64 {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mut hash = DefaultHasher::new();
    (boot, space).hash(&mut hash);
    hash.finish() | 1
}

fn opened(first: &Notice) -> std::io::Result<SharedMemory> {
    let path = format!("/proc/{}/fd/{}", first.process, first.descriptor);
    SharedMemory::from_fd(OwnedFd::from(OpenOptions::new().read(true).write(true).open(path)?))
}

fn mapped(memory: &SharedMemory, len: usize) -> std::io::Result<AddressRange> {
    if memory.len() != len as u64 {
        return Err(std::io::Error::other(format!("it has {} bytes, not {len}", memory.len())));
    }
    let mut range = AddressRange::reserve(len, 64)?;
    range.map(0, memory, 0, len)?;
    Ok(range)
}
