//! Memory that processes share: anonymous files, the addresses they are mapped at, and how much of it there is.

use crate::{OwnDescriptor, cgroup, uninterrupted};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use oxshmem_base::{Error, size};
use rustix::fs::{FallocateFlags, MemfdFlags};
use rustix::io::Errno;

/// The pages behind a memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The system's usual pages.
    Small,
    /// Pages of this many bytes from the system's reserve of huge pages.
    Huge(u64),
}

/// An anonymous memory file. It has no name in any directory and vanishes with its last descriptor and mapping.
#[derive(Debug)]
pub struct SharedMemory {
    file: OwnDescriptor,
    len: u64,
}

impl SharedMemory {
    /// Makes a file of `len` bytes, all zero and none of them backed by memory yet. The size is a multiple of the huge
    /// page if there is one; the name is only for debuggers.
    pub fn create(name: &CStr, len: u64, pages: Pages) -> io::Result<Self> {
        let huge = match pages {
            Pages::Small => MemfdFlags::empty(),
            Pages::Huge(size) if size.is_power_of_two() => {
                MemfdFlags::HUGETLB | MemfdFlags::from_bits_retain(size.trailing_zeros() << libc::MFD_HUGE_SHIFT)
            }
            Pages::Huge(_) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let file = create_allowed(|more| rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | huge | more))?;
        within_limit(len, rustix::process::getrlimit(rustix::process::Resource::Fsize).current)?;
        uninterrupted(|| Ok(rustix::fs::ftruncate(&file, size_of_file(len)?)?))?;
        Self::from_fd(file)
    }

    /// Takes over a memory file that another process made.
    pub fn from_fd(file: OwnedFd) -> io::Result<Self> {
        let len = rustix::fs::fstat(&file)?.st_size as u64;
        Ok(SharedMemory { file: OwnDescriptor::new(file)?, len })
    }

    /// The descriptor, to hand to another process.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether the descriptor is that of the memory: the program may have closed it, and another file may have its number.
    pub fn is_there(&self) -> bool {
        self.file.is_there()
    }

    /// Its size in bytes, backed or not.
    #[allow(clippy::len_without_is_empty, reason = "a file, not a collection")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Backs a part of the file with memory, so that touching it later cannot fail. What is there already stays.
    ///
    /// Shortage is an error (and may leave the first bytes of the part backed), except where a control group's limit is
    /// hit: then the kernel kills. Look at the [limits](crate::limits::Limits) before.
    pub fn commit(&self, offset: u64, len: u64) -> io::Result<()> {
        let end = offset.checked_add(len).filter(|&end| end <= self.len).ok_or(io::ErrorKind::InvalidInput)?;
        in_pieces(offset, end, |start, len| self.allocate(FallocateFlags::empty(), start, len))
    }

    /// Gives the memory behind a part of the file back; it reads as zero from now on. The file keeps its size.
    pub fn release(&self, offset: u64, len: u64) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        uninterrupted(|| self.allocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len))
    }

    fn allocate(&self, mode: FallocateFlags, offset: u64, len: u64) -> io::Result<()> {
        let (offset, len) = (size_of_file(offset)?, size_of_file(len)?);
        if !self.is_there() {
            return Err(io::Error::other("the descriptor of this memory has been closed"));
        }
        Ok(rustix::fs::fallocate(&self.file, mode, offset, len)?)
    }
}

/// The file that `create` makes with some more flags. There are systems that refuse memory files which could be executed
/// (`vm.memfd_noexec=2`); kernels before Linux 6.3 refuse the flag by which a file cannot be.
fn create_allowed(create: impl Fn(MemfdFlags) -> Result<OwnedFd, Errno>) -> io::Result<OwnedFd> {
    match create(MemfdFlags::empty()) {
        Err(Errno::ACCESS | Errno::INVAL) => Ok(create(MemfdFlags::NOEXEC_SEAL)?),
        created => Ok(created?),
    }
}

/// An error where files may not have `len` bytes. The kernel would refuse the size too, but end the process by a signal
/// (SIGXFSZ).
fn within_limit(len: u64, limit: Option<u64>) -> io::Result<()> {
    let Some(limit) = limit.filter(|&limit| limit < len) else { return Ok(()) };
    let [len, limit] = [len, limit].map(size::display);
    Err(io::Error::other(
        Error::new("the memory that PEs share cannot be made")
            .because(format!("it counts as a file of {len}, and a file may have {limit} (ulimit -f)"))
            .fix("raise the limit of the size of files: ulimit -f unlimited"),
    ))
}

/// Has `act` back `start..end` in consecutive parts, each given by its start and its length. Some kernels take back
/// what a part has got when a signal comes, and a profiler sends a thousand signals a second. So parts become smaller
/// until one is done before the next signal.
pub fn in_pieces(mut start: u64, end: u64, mut act: impl FnMut(u64, u64) -> io::Result<()>) -> io::Result<()> {
    const LEAST: u64 = 64 << 10;
    let mut piece = 64 << 20;
    while start < end {
        let bytes = (end - start).min(piece);
        match act(start, bytes) {
            Ok(()) => start += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => piece = (bytes / 2).max(LEAST),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// `bytes`, if the system can have a file of that size.
fn size_of_file(bytes: u64) -> io::Result<u64> {
    libc::off_t::try_from(bytes).map(|_| bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// A contiguous range of addresses that nothing else in this process uses. Touching a part of it before something is
/// mapped there is a fault.
#[derive(Debug)]
pub struct AddressRange {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the range is a pair of numbers; the code that dereferences `base` answers for what it reads and writes.
unsafe impl Send for AddressRange {}
// SAFETY: a shared reference only reads the two numbers; changing the mappings needs `&mut`.
unsafe impl Sync for AddressRange {}

/// How many places on each side of the one that the system chose are tried for addresses that must be aligned.
const PLACES: usize = 64;

/// Puts private memory of zeros in the place of a mapping; where the system counts its memory strictly, addresses that
/// cannot be used. Only makes system calls, so that it may run in the child of a fork.
///
/// # Safety
/// The range is one mapping of the caller's, and no code relies on what it holds.
pub unsafe fn detach(base: usize, len: usize) -> io::Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let replace = |access| {
        // SAFETY: replaces a mapping of the caller's, by its promise.
        unsafe { syscall!(mmap(base as *mut libc::c_void, len, access, flags, -1, 0)) }.map(drop)
    };
    replace(libc::PROT_READ | libc::PROT_WRITE).or_else(|_| replace(libc::PROT_NONE))
}

/// How many addresses the limit on them (`RLIMIT_AS`) leaves this process. `None`: there is no limit.
pub fn addresses_left() -> Option<u64> {
    let limit = crate::process::addresses()?;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').next().and_then(|pages| pages.parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(pages.saturating_mul(page_size() as u64)))
}

impl AddressRange {
    /// Reserves `len` bytes of addresses that begin at a multiple of `align`, a power of two. Costs no memory, and no more
    /// addresses than these, not even for a moment: where they are limited, there may be no more.
    pub fn reserve(len: usize, align: usize) -> io::Result<Self> {
        let page = page_size();
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let len = len.checked_next_multiple_of(page).filter(|&len| len > 0).ok_or_else(invalid)?;
        let align = Some(align.max(page)).filter(|align| align.is_power_of_two()).ok_or_else(invalid)?;
        let anywhere = Self::reserve_at(None, len)?;
        let start = anywhere.base() as usize;
        if start.is_multiple_of(align) {
            return Ok(anywhere);
        }
        drop(anywhere);
        // The system gives addresses from above to below or from below to above, so there is room on one side.
        let below = start & !(align - 1);
        let steps = (0..PLACES).map_while(|step| align.checked_mul(step));
        let above = |step| below.checked_add(align)?.checked_add(step);
        let places = steps.flat_map(|step| [below.checked_sub(step), above(step)]);
        for place in places.flatten().filter(|&place| place > 0) {
            match Self::reserve_at(Some(place), len) {
                Ok(range) if range.base() as usize == place => return Ok(range),
                // Something is there, the process cannot have addresses so high, or the kernel is older than Linux 4.17.
                _ => {}
            }
        }
        Self::reserve_padded(len, align)
    }

    /// Reserves addresses where nothing is: at this place, or anywhere.
    fn reserve_at(place: Option<usize>, len: usize) -> io::Result<Self> {
        let fixed = if place.is_some() { libc::MAP_FIXED_NOREPLACE } else { 0 };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
        let place = place.unwrap_or(0) as *mut libc::c_void;
        // SAFETY: the system maps nothing where something is, by the flags.
        let base = unsafe { syscall!(mmap(place, len, libc::PROT_NONE, flags, -1, 0)) }?;
        Ok(AddressRange { base: NonNull::new(base.cast()).expect("the system maps nothing at null"), len })
    }

    /// The same as [`AddressRange::reserve`], with `align` more addresses for a moment.
    fn reserve_padded(len: usize, align: usize) -> io::Result<Self> {
        let padded = len.checked_add(align - page_size()).ok_or(io::ErrorKind::InvalidInput)?;
        let whole = Self::reserve_at(None, padded)?.leak();
        let before = whole.align_offset(align);
        let base = whole.wrapping_add(before);
        for (surplus, size) in [(whole, before), (base.wrapping_add(len), padded - len - before)] {
            if size > 0 {
                // SAFETY: the surplus is a part of what we just reserved and nobody knows its address.
                unsafe { syscall!(munmap(surplus.cast(), size)) }?;
            }
        }
        Ok(AddressRange { base: NonNull::new(base).expect("the system maps nothing at null"), len })
    }

    /// The first address. The range ends with this value, unless it is [leaked](Self::leak): code that reads or writes there does so
    /// before the drop, and where something has been mapped.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The number of addresses.
    #[allow(clippy::len_without_is_empty, reason = "addresses, not a collection")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Lets `len` bytes at `offset` be those at `file_offset` of `memory`, readable and writable, in place of what was
    /// mapped there before. Core files leave them out until [`show_in_core`] is called: to write them the kernel would back
    /// every page that has no memory yet.
    pub fn map(&mut self, offset: usize, memory: &SharedMemory, file_offset: u64, len: usize) -> io::Result<()> {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        let Ok(file_offset) = libc::off_t::try_from(file_offset) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if !inside {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let place = self.base().wrapping_add(offset).cast();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the place lies in the range that this value alone owns, so no other mapping is replaced.
        unsafe { syscall!(mmap(place, len, access, flags, memory.fd().as_raw_fd(), file_offset)) }?;
        hide_from_core(place as usize, len);
        Ok(())
    }

    /// Asks that the memory behind a part of the range comes from one NUMA node. For memory files this holds for the
    /// file, whichever process touches it first. Another node serves where this one is full: the alternative is a
    /// killed process.
    pub fn prefer_numa(&self, offset: usize, len: usize, node: u32) -> io::Result<()> {
        const BITS: usize = libc::c_ulong::BITS as usize;
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut nodes: Vec<libc::c_ulong> = vec![0; node as usize / BITS + 1];
        nodes[node as usize / BITS] = 1 << (node as usize % BITS);
        let place = self.base().wrapping_add(offset);
        // The kernel reads one bit less than it is told.
        let bits = nodes.len() * BITS + 1;
        // SAFETY: the part lies in our range, the mask has the bits it is said to have, and no contents change.
        unsafe { syscall!(syscall(libc::SYS_mbind, place, len, libc::MPOL_PREFERRED, nodes.as_ptr(), bits, 0)) }
            .map(drop)
    }

    /// Keeps the range and what is mapped in it until the process ends.
    pub fn leak(self) -> *mut u8 {
        std::mem::ManuallyDrop::new(self).base()
    }
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        // Through the C library, because network libraries watch its `munmap` to forget registered memory.
        // SAFETY: the range is ours alone, and code that has its address from `base` uses it before the drop, as the condition there demands.
        let unmapped = unsafe { syscall!(munmap(self.base().cast(), self.len)) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// The number of the NUMA node whose memory is behind an address that this process has touched, if the system tells.
pub fn numa_of(address: *const u8) -> Option<u32> {
    let page = (address as usize & !(page_size() - 1)) as *const libc::c_void;
    let mut node: libc::c_int = -1;
    let none = std::ptr::null::<libc::c_int>();
    // SAFETY: one page of this process (0), no place to move it to, one result, which is ours to write.
    unsafe { syscall!(syscall(libc::SYS_move_pages, 0, 1 as libc::c_ulong, &page, none, &mut node, 0)) }.ok()?;
    u32::try_from(node).ok()
}

/// The size of the system's usual pages.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// The size of the system's default huge pages, if it knows any.
pub fn huge_page_size() -> Option<u64> {
    cgroup::kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "Hugepagesize:")
}

/// The sizes of huge pages that the kernel knows, the smallest first.
pub fn huge_page_sizes() -> Vec<u64> {
    let folders = fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten();
    let kilobytes = |name: &str| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok();
    let mut sizes: Vec<u64> =
        folders.filter_map(|folder| Some(kilobytes(folder.file_name().to_str()?)? * 1024)).collect();
    sizes.sort_unstable();
    sizes
}

/// How many huge pages of this many bytes are neither in use nor promised. The kernel makes some of them when they are
/// asked for.
pub fn free_huge_pages(size: u64) -> u64 {
    let reserved = huge_page_count(size, "free_hugepages").saturating_sub(huge_page_count(size, "resv_hugepages"));
    reserved + huge_pages_to_make(size)
}

/// How many more huge pages of this many bytes the kernel makes when they are asked for.
pub(crate) fn huge_pages_to_make(size: u64) -> u64 {
    huge_page_count(size, "nr_overcommit_hugepages").saturating_sub(huge_page_count(size, "surplus_hugepages"))
}

/// How many huge pages of this many bytes there are.
pub(crate) fn huge_pages(size: u64) -> u64 {
    // Surplus pages are among the first number.
    huge_page_count(size, "nr_hugepages").saturating_sub(huge_page_count(size, "surplus_hugepages"))
        + huge_page_count(size, "nr_overcommit_hugepages")
}

fn huge_page_count(size: u64, what: &str) -> u64 {
    let file = format!("/sys/kernel/mm/hugepages/hugepages-{}kB/{what}", size / 1024);
    fs::read_to_string(file).ok().and_then(|text| cgroup::number(&text)).unwrap_or(0)
}

/// Lets a core file contain these addresses of a mapping that is [left out](AddressRange::map) of it.
pub fn show_in_core(address: usize, len: usize) {
    advise_core(address, len, libc::MADV_DODUMP);
}

/// Leaves these addresses out of core files again.
pub fn hide_from_core(address: usize, len: usize) {
    advise_core(address, len, libc::MADV_DONTDUMP);
}

/// Has the kernel provide the pages of these mapped addresses, so that no access has to fault for one later. Where it
/// cannot, they come when they are touched.
pub fn populate(address: usize, len: usize) {
    // The kernel refuses an address at which no page begins, and provides the last page whole.
    let start = address & !(page_size() - 1);
    let len = address - start + len;
    // SAFETY: this advice changes neither contents nor access of whatever is mapped there.
    let populated = unsafe { syscall!(madvise(start as *mut libc::c_void, len, libc::MADV_POPULATE_WRITE)) };
    // A kernel before 5.14 does not know it, and a full file system has no page: what cannot be had now is no reason to fail.
    drop(populated);
}

fn advise_core(address: usize, len: usize, advice: i32) {
    // SAFETY: this advice changes neither contents nor access of whatever is mapped there.
    let advised = unsafe { syscall!(madvise(address as *mut libc::c_void, len, advice)) };
    // A core file with too much or too little in it is no reason to fail.
    debug_assert!(advised.is_ok(), "{advised:?}");
}

#[cfg(test)]
mod tests;
