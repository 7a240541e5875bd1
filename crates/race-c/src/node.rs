//! The PEs that look for races together, those of a machine, and where symmetric memory lies.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use oxshmem_base::Error;
use oxshmem_os::fortran_module;
use oxshmem_os::mappings;
use oxshmem_os::memory::{SharedMemory, page_size};
use oxshmem_os::process;
use oxshmem_os::statics::{self, Loaded};
use oxshmem_race::access::MOST_STRANDS;
use oxshmem_race::cell::CellHalf;
use oxshmem_race::clock::ClockShape;
use oxshmem_race::memory::extent;
use oxshmem_race::{Detector, EXTENTS, LentExtent, MemoryPart, Site, SymmetricPlace};
use parking_lot::Mutex;

use crate::layout::{CELL, SharedLayout};
use crate::mapping::{self, Notice};
use crate::standard;
use crate::teams::NamedTeams;

/// The bytes of shadow for one of memory.
const SHADOW: usize = CELL / 8;
/// Memory below this size is not worth a question about its shadow.
const FEW: usize = 64 << 10;
/// All shadows of heaps on a node have at most so many addresses.
const MOST_SHADOW: usize = 1 << 44;
/// A node has at most so many strands: clocks grow with the number, and with that of the PEs.
const ALL_STRANDS: usize = 4096;

/// One PE and what it shares with the others of its machine.
pub(crate) struct RaceNode {
    pub(crate) detector: Detector<'static>,
    /// Which life of the library this is, from 1 on.
    pub(crate) life: u32,
    /// World numbers of the node's PEs.
    pub(crate) pes: Vec<c_int>,
    /// The number of the caller on the node.
    pub(crate) me: usize,
    /// Where each part of symmetric memory begins and how long it is, by address.
    windows: Vec<PartWindow>,
    /// Those of the caller.
    own: Vec<PartWindow>,
    /// All of them with their cells, for the shim; and the caller's.
    parts: Vec<ShimPart>,
    pub(crate) reach: &'static ShimReach,
    /// The blocks of the heap: length and call site, by offset.
    pub(crate) blocks: Mutex<BTreeMap<usize, (usize, Site)>>,
    pub(crate) teams: NamedTeams,
    /// The memory of all detectors, and where the shadows are in it: until the life ends, on the PE that has made it.
    made: Mutex<Option<(SharedMemory, Range<u64>)>>,
    /// The PE's process. What it forks ends nothing.
    process: u32,
    pub(crate) loaded: Loaded,
    /// The code of the Fortran module: a call from there is made where the program calls the module.
    pub(crate) module: &'static Range<usize>,
}

#[derive(Clone, Copy)]
struct PartWindow {
    start: usize,
    len: usize,
    pe: usize,
    segment: MemoryPart,
}

static NODE: AtomicPtr<RaceNode> = AtomicPtr::new(std::ptr::null_mut());
/// How many lives of the library were looked at.
static LIVES: AtomicU32 = AtomicU32::new(0);
/// The memory that the last life has left on the PE that has made it: clocks that other PEs may still have asked when this PE had ended.
static LAST_LIFE: Mutex<Option<(SharedMemory, Range<u64>)>> = Mutex::new(None);

/// The windows as the shim looks at them.
#[repr(C)]
pub(crate) struct ShimWindow {
    start: usize,
    len: usize,
}

impl ShimWindow {
    /// From the first of some windows to the last; empty if there is none.
    fn around(windows: &[&PartWindow]) -> ShimWindow {
        let start = windows.iter().map(|window| window.start).min().unwrap_or(usize::MAX);
        let end = windows.iter().map(|window| window.start + window.len).max().unwrap_or(0);
        ShimWindow { start, len: end.saturating_sub(start) }
    }
}

// SAFETY: no other object has these names; the shim declares them in the same layout and only reads them.
#[unsafe(no_mangle)]
static mut race_windows: [ShimWindow; 3] =
    [ShimWindow { start: 0, len: 0 }, ShimWindow { start: 0, len: 0 }, ShimWindow { start: 0, len: 0 }];

/// A part of symmetric memory as the shim looks at it: a whole number of cells, and where their front halves are.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ShimPart {
    start: usize,
    len: usize,
    fronts: *const CellHalf,
}

/// The caller's memory in one life, heap and static variables, and the code that calls come from. It never changes and is never freed: a
/// thread that is late may still look at it.
#[repr(C)]
pub(crate) struct ShimReach {
    parts: [ShimPart; 2],
    code: usize,
    code_len: usize,
    /// See [`RaceNode::module`].
    module: usize,
    module_len: usize,
}

/// That of the present life; null if nothing is watched.
// SAFETY: no other object has this name; the shim reads it as the atomic pointer it is.
#[unsafe(no_mangle)]
static race_reach: AtomicPtr<ShimReach> = AtomicPtr::new(std::ptr::null_mut());

/// The extents of buffers in the present life: they stay for ever. Null if there is none.
// SAFETY: no other object has this name; the shim reads it as the atomic pointer it is.
#[unsafe(no_mangle)]
static race_lent: AtomicPtr<[LentExtent; EXTENTS]> = AtomicPtr::new(std::ptr::null_mut());

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
    let made = make();
    // All PEs have met in this life, so none looks at the clocks of the last one any more.
    if let Some((memory, rest)) = LAST_LIFE.lock().take() {
        release(&memory, &rest);
    }
    match made {
        Ok(node) => {
            let windows = shim_windows(&node);
            let reach = std::ptr::from_ref(node.reach).cast_mut();
            let node: &'static RaceNode = Box::leak(Box::new(node));
            race_lent.store(std::ptr::from_ref(node.detector.lent()).cast_mut(), Release);
            NODE.store(std::ptr::from_ref(node).cast_mut(), Release);
            race_reach.store(reach, Release);
            // SAFETY: other threads only make the shim compare addresses with it, and a torn pair lets one access pass or
            // leads it to `resolve`, which looks again.
            unsafe { race_windows = windows };
        }
        Err(error) => {
            if standard::pshmem_my_pe() == 0 {
                process::say(&format!("oxshmem: {error}\n"));
            }
        }
    }
}

/// All heaps, the caller's static variables, and those of the others, in the order in which the shim looks: most accesses to
/// symmetric memory are to a heap.
fn shim_windows(node: &RaceNode) -> [ShimWindow; 3] {
    let is_heap = |window: &&PartWindow| window.segment == MemoryPart::Heap;
    let (heaps, statics): (Vec<&PartWindow>, Vec<&PartWindow>) = node.windows.iter().partition(is_heap);
    let (own, others): (Vec<&PartWindow>, Vec<&PartWindow>) =
        statics.into_iter().partition(|window| window.pe == node.me);
    [heaps, own, others].map(|windows| ShimWindow::around(&windows))
}

/// The shim finds nothing that it would have to watch.
fn close_shim() {
    // SAFETY: as when they were opened, a thread that still makes accesses of its own lets them pass or looks again.
    unsafe { race_windows = [const { ShimWindow { start: 0, len: 0 } }; 3] };
    race_reach.store(std::ptr::null_mut(), Release);
    race_lent.store(std::ptr::null_mut(), Release);
}

/// Leaves everything to the parent of this process, the child of a fork. Takes no lock, and gives no memory back.
pub(crate) fn leave_to_parent() {
    close_shim();
    NODE.store(std::ptr::null_mut(), Release);
}

/// Nothing is watched any more.
pub(crate) fn close() {
    close_shim();
    if let Some(node) = current().filter(|node| node.process == std::process::id()) {
        if node.detector.has_run_out() {
            let error = Error::new(format!("PE {} has not looked for races to its end", node.pes[node.me]))
                .because("the numbers of its operations have come to their end after 4,294,967,295")
                .fix("look for races with a smaller problem, or fewer steps");
            process::say(&format!("oxshmem: {error}\n"));
        }
        node.detector.end();
        // The addresses stay, because others may still look there. Pages would add up from life to life, so the shadows' are released;
        // without shadows there are no reports.
        if let Some((memory, shadows)) = node.made.lock().take() {
            release(&memory, &shadows);
            *LAST_LIFE.lock() = Some((memory, 0..shadows.start));
        }
    }
    NODE.store(std::ptr::null_mut(), Release);
}

/// Gives pages back.
fn release(memory: &SharedMemory, part: &Range<u64>) {
    if let Err(error) = memory.release(part.start, part.end - part.start) {
        process::say(&format!("oxshmem: memory of the race detector stays in use: {error}\n"));
    }
}

/// The sentence that no PE looks for races.
pub(crate) fn unchecked(why: impl std::fmt::Display) -> Error {
    Error::new("races are not looked for in this job").because(why).fix("see the book's page \"Races between PEs\"")
}

fn make() -> Result<RaceNode, Error> {
    // SAFETY: the library is initialised, and the team of the node lives until the last finalize.
    let count = unsafe { standard::pshmem_team_n_pes(standard::shared()) };
    let node: Vec<c_int> = (0..count).map(|pe| standard::world_pe(standard::shared(), pe)).collect();
    let all: Vec<c_int> = (0..standard::pshmem_n_pes()).collect();
    let loaded = statics::executable().ok_or_else(|| unchecked("the executable's static data is not in one piece"))?;
    // SAFETY: all PEs are in their first init and make this call.
    let block = unsafe { standard::pshmem_malloc(size_of::<Notice>()) };
    if block.is_null() {
        return Err(unchecked("there is no symmetric heap, in which the PEs could meet"));
    }
    // Nodes of one machine, which a job for tests has, share memory for the detector though not for the library.
    let scattered = node.len() < all.len();
    let programs = mapping::programs(block, &all, &node);
    let mut made = match &programs {
        Ok(None) => meet(block, &all, false, loaded),
        Ok(Some(why)) | Err(why) => Err(why.clone()),
    };
    if let (Err(why), true, true) = (&made, scattered, programs.is_ok()) {
        if standard::pshmem_my_pe() == 0 {
            let error = Error::new("data races between PEs of different nodes are not looked for")
                .because(format!(
                    "{} of {} PEs are on this node, and clocks do not travel: {why}",
                    node.len(),
                    all.len()
                ))
                .fix(match &programs {
                    Ok(None) => {
                        "run the job on one machine, with --nodes if its PEs shall use the network, where PEs share memory"
                    }
                    _ => "let all PEs run one program",
                });
            process::say(&format!("oxshmem: {error}\n"));
        }
        made = meet(block, &node, true, loaded);
    }
    // SAFETY: all PEs have allocated the block, and no PE uses it any more: the call begins with a barrier.
    unsafe { standard::pshmem_free(block) };
    made.map_err(unchecked)
}

/// The view of the PEs with these world numbers, all of which make the call with equal arguments. All fail, or none.
fn meet(block: *mut c_void, pes: &[c_int], scattered: bool, loaded: Loaded) -> Result<RaceNode, String> {
    let me = pes.iter().position(|&pe| pe == standard::pshmem_my_pe()).expect("the caller is one of them");
    // The first block lies at the beginning of the heap, or after a redzone.
    let heap = block as usize & !(page_size() - 1);
    // SAFETY: the call accepts any address; it answers null where this one cannot be reached by loads and stores.
    let copy = |address: usize, pe| unsafe { standard::pshmem_ptr(address as _, pe) } as usize;
    let heaps: Vec<usize> = pes.iter().map(|&pe| copy(heap, pe)).collect();
    let mut sorted: Vec<usize> = heaps.iter().copied().filter(|&base| base != 0).collect();
    sorted.sort_unstable();
    // Windows lie one behind the other in one mapping. What follows the last one is no symmetric memory.
    let rest = sorted.last().and_then(|&base| mappings::rest_of_file(base)).unwrap_or(0);
    let stride = sorted.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(rest).min(rest);
    let reach = mapping::common_reach(block, pes, stride.min(MOST_SHADOW / SHADOW / pes.len()) & !(page_size() - 1));
    if reach == 0 {
        return Err("a PE cannot read in /proc/self/maps where its heap ends".into());
    }
    let (start, len) = loaded.statics;
    let mut windows = Vec::new();
    for (pe, (&world, &base)) in pes.iter().zip(&heaps).enumerate() {
        if base != 0 {
            windows.push(PartWindow { start: base, len: reach, pe, segment: MemoryPart::Heap });
        }
        let base = copy(start, world);
        if base != 0 {
            windows.push(PartWindow { start: base, len, pe, segment: MemoryPart::Statics });
        }
    }
    windows.sort_by_key(|window| window.start);
    let strands = (ALL_STRANDS / pes.len()).clamp(4, MOST_STRANDS);
    let layout = SharedLayout::new(ClockShape { pes: pes.len(), strands }, reach, len);
    let (base, memory) = mapping::share(block, pes, me, layout.len)?;
    // SAFETY: the layout is that of the memory, which stays mapped, is zero at first, and is only touched through atomics.
    let state = unsafe { layout.state(base) };
    let part = |window: &PartWindow| {
        let fronts = state.shadows[window.pe][(window.segment == MemoryPart::Statics) as usize].fronts();
        ShimPart { start: window.start, len: fronts.len() * 8, fronts: fronts.as_ptr() }
    };
    let parts: Vec<ShimPart> = windows.iter().map(part).collect();
    let own = |segment| {
        let at = windows.iter().position(|window| window.pe == me && window.segment == segment);
        at.map_or(ShimPart { start: 0, len: 0, fronts: std::ptr::null() }, |at| parts[at])
    };
    let module = fortran_module::code();
    let reach: &'static ShimReach = Box::leak(Box::new(ShimReach {
        parts: [own(MemoryPart::Heap), own(MemoryPart::Statics)],
        code: loaded.bias,
        code_len: loaded.end - loaded.bias,
        module: module.start,
        module_len: module.len(),
    }));
    Ok(RaceNode {
        detector: Detector::new(me, scattered, state),
        life: LIVES.fetch_add(1, Relaxed) + 1,
        pes: pes.to_vec(),
        me,
        own: windows.iter().filter(|window| window.pe == me).copied().collect(),
        windows,
        parts,
        reach,
        blocks: Mutex::new(BTreeMap::new()),
        teams: NamedTeams::default(),
        process: std::process::id(),
        made: Mutex::new(memory.map(|memory| (memory, layout.shadows as u64..layout.len as u64))),
        loaded,
        module,
    })
}

impl RaceNode {
    /// The place of an address in the caller's own symmetric memory.
    #[inline]
    fn own(&self, address: usize) -> Option<SymmetricPlace> {
        self.own.iter().find_map(|window| {
            let offset = address.wrapping_sub(window.start);
            (offset < window.len).then_some(SymmetricPlace { pe: window.pe, segment: window.segment, offset })
        })
    }

    /// Whose memory an address is, and where in it.
    #[inline]
    pub(crate) fn resolve(&self, address: usize) -> Option<SymmetricPlace> {
        self.own(address).or_else(|| {
            let window = &self.windows[self.window(address)?];
            Some(SymmetricPlace { pe: window.pe, segment: window.segment, offset: address - window.start })
        })
    }

    /// The number of the window that has an address.
    fn window(&self, address: usize) -> Option<usize> {
        let at = self.windows.partition_point(|window| window.start <= address).checked_sub(1)?;
        (address - self.windows[at].start < self.windows[at].len).then_some(at)
    }

    /// The part of another PE's memory that has an address.
    #[inline]
    pub(crate) fn far(&self, address: usize) -> Option<&ShimPart> {
        if self.own(address).is_some() {
            return None;
        }
        self.window(address).map(|at| &self.parts[at])
    }

    /// Whether `len` bytes at a symmetric address reach beyond the symmetric memory. The library refuses such a call, and accesses
    /// nothing.
    #[inline]
    pub(crate) fn leaves(&self, address: usize, len: usize) -> bool {
        self.pieces_leave(address, 0, len, 1)
    }

    /// [`RaceNode::leaves`] of `count` pieces of `len` bytes, whose beginnings are `stride` bytes apart.
    #[inline]
    pub(crate) fn pieces_leave(&self, address: usize, stride: isize, len: usize, count: usize) -> bool {
        let Some(window) = self.own.iter().find(|window| address.wrapping_sub(window.start) < window.len) else {
            return false;
        };
        let extent = extent(address - window.start, stride, len, count).filter(|extent| extent.end <= window.len);
        let Some(extent) = extent else { return true };
        // A window has room for more than the heap has so far, and the shadow of the rest would take memory.
        extent.len() > FEW && !standard::is_accessible(window.start + extent.end - 1)
    }

    /// The copy of an own symmetric object on a PE of the world, if that is on this node.
    pub(crate) fn copy_on(&self, address: usize, pe: c_int) -> Option<SymmetricPlace> {
        let place = self.resolve(address).filter(|place| place.pe == self.me)?;
        let pe = self.pes.iter().position(|&world| world == pe)?;
        Some(SymmetricPlace { pe, ..place })
    }
}
