//! The memory that the detectors of a node share, and where symmetric memory lies.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Release};

use oxshmem_base::Error;
use oxshmem_os::memory::{AddressRange, Pages, SharedMemory, page_size};
use oxshmem_os::statics::{self, Loaded};
use oxshmem_race::access::{MOST_PES, MOST_STRANDS};
use oxshmem_race::cell::ShadowCell;
use oxshmem_race::clock::ClockShape;
use oxshmem_race::memory::{BUCKETS, PAIRS, bucket_words};
use oxshmem_race::{Detector, MemoryPart, SharedState, SignalList, Site, SymmetricPlace};
use parking_lot::Mutex;

use crate::standard;

/// A cell of 64 bytes stands for 8.
const SHADOW: usize = size_of::<ShadowCell>() / 8;
/// All shadows of heaps on a node have at most so many addresses.
const MOST_SHADOW: usize = 1 << 44;
/// A node has at most so many strands: clocks grow with the number, and with that of the PEs.
const ALL_STRANDS: usize = 4096;

/// One PE and what it shares with the others of its node.
pub(crate) struct RaceNode {
    pub(crate) detector: Detector<'static>,
    /// World numbers of the node's PEs.
    pub(crate) pes: Vec<c_int>,
    /// The number of the caller on the node.
    pub(crate) me: usize,
    /// Where each part of symmetric memory begins and how long it is, by address.
    windows: Vec<PartWindow>,
    /// Those of the caller.
    own: Vec<PartWindow>,
    /// The blocks of the heap: length and call site, by offset.
    pub(crate) blocks: Mutex<BTreeMap<usize, (usize, Site)>>,
    pub(crate) loaded: Loaded,
}

#[derive(Clone, Copy)]
struct PartWindow {
    start: usize,
    len: usize,
    pe: usize,
    segment: MemoryPart,
}

static NODE: AtomicPtr<RaceNode> = AtomicPtr::new(std::ptr::null_mut());

/// The windows as the shim looks at them.
#[repr(C)]
pub(crate) struct ShimWindow {
    start: usize,
    len: usize,
}

// SAFETY: no other object has these names; the shim declares them in the same layout and only reads them.
#[unsafe(no_mangle)]
static mut race_windows: [ShimWindow; 3] =
    [ShimWindow { start: 0, len: 0 }, ShimWindow { start: 0, len: 0 }, ShimWindow { start: 0, len: 0 }];

/// The state between init and the last finalize.
#[inline]
pub(crate) fn current() -> Option<&'static RaceNode> {
    // SAFETY: `open` leaks what it stores, and nothing ever frees it.
    unsafe { NODE.load(Acquire).as_ref() }
}

/// Opens the detector after the library was initialised. The calls in here are collective.
pub(crate) fn open() {
    if current().is_some() {
        return;
    }

    match make() {
        Ok(node) => {
            let hull = |windows: &mut dyn Iterator<Item = &PartWindow>| {
                let (start, end) = windows.fold((usize::MAX, 0), |(start, end), window| {
                    (start.min(window.start), end.max(window.start + window.len))
                });
                ShimWindow { start, len: end.saturating_sub(start) }
            };
            let of = |segment, own| {
                hull(&mut node.windows.iter().filter(|window| {
                    window.segment == segment && (own == (window.pe == node.me) || segment == MemoryPart::Heap)
                }))
            };
            let windows = [of(MemoryPart::Statics, true), of(MemoryPart::Heap, true), of(MemoryPart::Statics, false)];
            NODE.store(Box::into_raw(Box::new(node)), Release);
            // SAFETY: other threads only make the shim compare addresses with it, and a torn pair lets one access pass or
            // leads it to `resolve`, which looks again.
            unsafe { race_windows = windows };
        }
        Err(error) => {
            if standard::pshmem_my_pe() == 0 {
                eprintln!("oxshmem: {error}");
            }
        }
    }
}

/// Nothing is watched any more.
pub(crate) fn close() {
    // SAFETY: as when they were opened, a thread that still makes accesses of its own lets them pass or looks again.
    unsafe { race_windows = [const { ShimWindow { start: 0, len: 0 } }; 3] };
    NODE.store(std::ptr::null_mut(), Release);
}

fn unchecked(why: impl std::fmt::Display) -> Error {
    Error::new("races are not looked for in this job").because(why).fix("see \"Races\" in the book's page on debugging")
}

fn make() -> Result<RaceNode, Error> {
    // SAFETY: the library is initialised, and the team of the node lives until the last finalize.
    let (count, me) =
        unsafe { (standard::pshmem_team_n_pes(standard::shared()), standard::pshmem_team_my_pe(standard::shared())) };
    let (count, me) = (count as usize, me as usize);
    let pes: Vec<c_int> = (0..count as c_int).map(|pe| standard::world_pe(standard::shared(), pe)).collect();
    let scattered = count as c_int != standard::pshmem_n_pes();
    if scattered && standard::pshmem_my_pe() == 0 {
        let error = Error::new("data races between PEs of different nodes are not looked for")
            .because(format!(
                "{count} of {} PEs are on this node, and clocks do not travel between nodes",
                standard::pshmem_n_pes()
            ))
            .fix("run the job on one node, where its PEs share memory");
        eprintln!("oxshmem: {error}");
    }
    let loaded = statics::executable().ok_or_else(|| unchecked("the executable's static data is not in one piece"))?;
    // SAFETY: all PEs are in their first init and make this call.
    let block = unsafe { standard::pshmem_malloc(64) };
    if block.is_null() {
        return Err(unchecked("there is no symmetric heap, in which the PEs could meet"));
    }
    let node = meet(block, &pes, me, scattered, loaded);
    // SAFETY: all PEs have allocated the block, and nobody uses it any more: the call begins with a barrier.
    unsafe { standard::pshmem_free(block) };
    node
}

/// The first PE of the node makes the memory and tells the others, in the block, where it is.
fn meet(block: *mut c_void, pes: &[c_int], me: usize, scattered: bool, loaded: Loaded) -> Result<RaceNode, Error> {
    // The first block lies at the beginning of the heap, or after a redzone.
    let heap = block as usize & !(page_size() - 1);
    // SAFETY: the address is symmetric, and so are its copies.
    let heaps: Vec<usize> = pes.iter().map(|&pe| unsafe { standard::pshmem_ptr(heap as _, pe) } as usize).collect();
    let mut sorted = heaps.clone();
    sorted.sort_unstable();
    let stride = sorted.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(1 << 36);
    let reach = stride.min(MOST_SHADOW / SHADOW / pes.len()) & !(page_size() - 1);
    let (start, len) = loaded.statics;
    let mut windows = Vec::new();
    for (pe, (&world, &base)) in pes.iter().zip(&heaps).enumerate() {
        windows.push(PartWindow { start: base, len: reach, pe, segment: MemoryPart::Heap });
        // SAFETY: the call accepts any address; it answers null where this one is not symmetric.
        let base = unsafe { standard::pshmem_ptr(start as _, world) } as usize;
        if base != 0 {
            windows.push(PartWindow { start: base, len, pe, segment: MemoryPart::Statics });
        }
    }
    windows.sort_by_key(|window| window.start);
    let strands = (ALL_STRANDS / pes.len()).clamp(4, MOST_STRANDS);
    let layout = SharedLayout::new(ClockShape { pes: pes.len(), strands }, reach, len);
    let offset = block as usize & (page_size() - 1);
    let notice = (heaps[0] + offset) as *mut Notice;
    // SAFETY: the block has room for a notice, and its copy on the first PE of the node is mapped here.
    let notice = unsafe { &*notice };
    let shared = share(notice, me, pes.len(), layout.len);
    if let Err(error) = &shared {
        notice.failed.store(1, Release);
        eprintln!("oxshmem: {}", unchecked(format!("the PEs of the node cannot share memory: {error}")));
    }
    standard::pshmem_barrier_all();
    let failed = notice.failed.load(Acquire) != 0;
    // Nobody frees the block before all have looked.
    standard::pshmem_barrier_all();
    let (range, _memory) = match shared {
        Ok(shared) if !failed => shared,
        _ => return Err(unchecked("a PE of the node cannot share its memory")),
    };
    let base = range.leak();
    // SAFETY: the layout is that of the memory, which stays mapped, is zero at first, and is only touched through atomics.
    let state = unsafe { layout.state(base) };
    Ok(RaceNode {
        detector: Detector::new(me, scattered, state),
        pes: pes.to_vec(),
        me,
        own: windows.iter().filter(|window| window.pe == me).copied().collect(),
        windows,
        blocks: Mutex::new(BTreeMap::new()),
        loaded,
    })
}

/// Where the memory is, in the heap of the node's first PE. Stored before a barrier and loaded after it.
#[repr(C)]
struct Notice {
    process: AtomicU64,
    descriptor: AtomicU64,
    /// Not 0 if a PE cannot use the memory.
    failed: AtomicU64,
}

/// The memory of `len` bytes that the node's first PE makes, and its mapping here. Others open it while the first one has it
/// open, which is until all have met again.
fn share(notice: &Notice, me: usize, pes: usize, len: usize) -> std::io::Result<(AddressRange, SharedMemory)> {
    let mut made = None;
    if me == 0 {
        let memory = SharedMemory::create(c"oxshmem race", len as u64, Pages::Small);
        let descriptor = memory.as_ref().map_or(-1, |memory| std::os::fd::AsRawFd::as_raw_fd(&memory.fd()));
        notice.process.store(std::process::id().into(), Release);
        notice.descriptor.store(descriptor as u64, Release);
        notice.failed.store(0, Release);
        made = Some(memory);
    }
    standard::pshmem_barrier_all();
    if pes > MOST_PES {
        return Err(std::io::Error::other(format!("{pes} PEs on one node, more than {MOST_PES}")));
    }
    let memory = match made {
        Some(memory) => memory?,
        None => {
            let (process, descriptor) = (notice.process.load(Acquire), notice.descriptor.load(Acquire));
            let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"))?;
            SharedMemory::from_fd(OwnedFd::from(file))?
        }
    };
    let mut range = AddressRange::reserve(len, 64)?;
    range.map(0, &memory, 0, len)?;
    Ok((range, memory))
}

/// Where everything is in the shared memory.
struct SharedLayout {
    shape: ClockShape,
    heap_cells: usize,
    static_cells: usize,
    clocks: usize,
    buckets: usize,
    pairs: usize,
    signals: usize,
    shadows: usize,
    len: usize,
}

impl SharedLayout {
    fn new(shape: ClockShape, heap: usize, statics: usize) -> SharedLayout {
        let line = |offset: usize| offset.next_multiple_of(4096);
        let clocks = line((1 + shape.pes * shape.strands) * size_of::<AtomicU32>());
        let buckets = line(clocks + shape.pes * shape.strands * shape.words() * 4);
        let pairs = line(buckets + BUCKETS * bucket_words(shape) * 4);
        let signals = line(pairs + PAIRS * 8);
        let shadows = line(signals + shape.pes * size_of::<SignalList>());
        let (heap_cells, static_cells) = (heap / 8, statics / 8);
        let len = line(shadows + shape.pes * (heap_cells + static_cells) * size_of::<ShadowCell>());
        SharedLayout { shape, heap_cells, static_cells, clocks, buckets, pairs, signals, shadows, len }
    }

    /// # Safety
    /// `len` bytes at `base` stay mapped, were zero at first, and are touched only through what this function returns.
    unsafe fn state(&self, base: *mut u8) -> SharedState<'static> {
        // SAFETY: the parts lie in the memory one after another, by `new`; all of their types are atomics that may be zero,
        // and the caller promises the rest.
        unsafe fn part<T>(base: *mut u8, offset: usize, count: usize) -> &'static [T] {
            // SAFETY: by the promise of the function around it.
            unsafe { std::slice::from_raw_parts(base.add(offset).cast(), count) }
        }
        let (pes, words) = (self.shape.pes, self.shape.words());
        let of_pe = |pe: usize| self.shadows + pe * (self.heap_cells + self.static_cells) * size_of::<ShadowCell>();
        // SAFETY: offsets and counts are those of `new`, which has added them up to `len`.
        unsafe {
            SharedState {
                shape: self.shape,
                used: &part::<AtomicU32>(base, 0, 1)[0],
                kinds: part::<AtomicU32>(base, size_of::<AtomicU32>(), pes * self.shape.strands),
                clocks: part::<AtomicU32>(base, self.clocks, pes * self.shape.strands * words),
                buckets: part::<AtomicU32>(base, self.buckets, BUCKETS * bucket_words(self.shape)),
                pairs: part::<AtomicU64>(base, self.pairs, PAIRS),
                signals: part(base, self.signals, pes),
                shadows: (0..pes)
                    .map(|pe| {
                        let statics = of_pe(pe) + self.heap_cells * size_of::<ShadowCell>();
                        [part(base, of_pe(pe), self.heap_cells), part(base, statics, self.static_cells)]
                    })
                    .collect(),
            }
        }
    }
}

impl RaceNode {
    /// The place of an address in the caller's own symmetric memory.
    #[inline]
    pub(crate) fn own(&self, address: usize) -> Option<SymmetricPlace> {
        self.own.iter().find_map(|window| {
            let offset = address.wrapping_sub(window.start);
            (offset < window.len).then_some(SymmetricPlace { pe: window.pe, segment: window.segment, offset })
        })
    }

    /// Whose memory an address is, and where in it.
    #[inline]
    pub(crate) fn resolve(&self, address: usize) -> Option<SymmetricPlace> {
        let after = self.windows.partition_point(|window| window.start <= address);
        let window = self.windows.get(after.checked_sub(1)?)?;
        let offset = address - window.start;
        (offset < window.len).then_some(SymmetricPlace { pe: window.pe, segment: window.segment, offset })
    }

    /// The copy of an own symmetric object on a PE of the world, if that is on this node.
    pub(crate) fn copy_on(&self, address: usize, pe: c_int) -> Option<SymmetricPlace> {
        let place = self.resolve(address).filter(|place| place.pe == self.me)?;
        let pe = self.pes.iter().position(|&world| world == pe)?;
        Some(SymmetricPlace { pe, ..place })
    }
}
