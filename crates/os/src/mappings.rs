//! Where mappings of this process lie.

use std::ffi::{CStr, c_void};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use crate::memory::{Pages, SharedMemory, page_size};
use crate::{kernel_text, uninterrupted};

/// How many bytes there are from `address` to the end of the mappings, without a gap, of the file that is mapped there. `None`: no file
/// is, or the system does not tell.
///
/// Parts of one file that the kernel lists one by one, because their protection differs, are one mapping here.
pub fn rest_of_file(address: usize) -> Option<usize> {
    rest_in(&kernel_text::read("/proc/self/maps").ok()?, address)
}

/// [`rest_of_file`] in a list of this form: `7f00-7f80 rw-s 00000000 00:01 1024 /memfd:name`, by address.
fn rest_in(maps: &str, address: usize) -> Option<usize> {
    let mut end = address;
    let mut file = None;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        let [from, to] = [usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?];
        // The device and the number of the file there.
        let this = (fields.nth(2)?, fields.next()?);
        let is_next = file.is_some_and(|file| file == this) && from == end;
        if (file.is_none() && (from..to).contains(&address)) || is_next {
            (end, file) = (to, Some(this));
        }
    }
    file.filter(|&(_, number)| number != "0").map(|_| end - address)
}

/// The path of the file that is mapped at `address`. `None`: no file is, or the system does not tell.
pub(crate) fn path_at(address: usize) -> Option<PathBuf> {
    path_in(&kernel_text::read("/proc/self/maps").ok()?, address)
}

/// [`path_at`] in a list as [`rest_in`] has it.
fn path_in(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (from, to) = line.split_ascii_whitespace().next()?.split_once('-')?;
        let [from, to] = [usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?];
        let path = (from..to).contains(&address).then(|| line.find('/')).flatten()?;
        Some(line[path..].into())
    })
}

/// Copies `len` bytes of this process from `start` to `copy`. The kernel does it, so that threads may write there meanwhile.
///
/// # Safety
/// `copy` is writable for `len` bytes, which no other code uses.
pub(crate) unsafe fn copy_own(start: usize, copy: *mut c_void, len: usize) -> io::Result<()> {
    // SAFETY: the caller promises the same.
    let copied = unsafe { copy_at_once(start, copy, len) };
    // Containers on kernels before 4.8 forbid the call.
    // SAFETY: the caller promises the same.
    copied.or_else(|_| unsafe { copy_through_file(start, copy, len) })
}

/// [`copy_own`] by the call that is made for it.
///
/// # Safety
/// As there.
unsafe fn copy_at_once(start: usize, copy: *mut c_void, len: usize) -> io::Result<()> {
    let own = std::process::id() as libc::pid_t;
    let mut done = 0;
    while done < len {
        let part = |base: *mut c_void| libc::iovec { iov_base: base.wrapping_byte_add(done), iov_len: len - done };
        let (to, from) = (part(copy), part(start as *mut c_void));
        // SAFETY: the caller promises that `copy` is writable to its end, and the kernel checks what it reads.
        match uninterrupted(|| unsafe { syscall!(process_vm_readv(own, &to, 1, &from, 1, 0)) })? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            copied => done += copied as usize,
        }
    }
    Ok(())
}

/// How much of a copy goes through a file at a time.
const PIECE: usize = 64 << 10;

/// [`copy_own`] by calls that no system forbids: the kernel writes the bytes to a memory file, and reads them from there.
///
/// # Safety
/// As there.
unsafe fn copy_through_file(start: usize, copy: *mut c_void, len: usize) -> io::Result<()> {
    let file = SharedMemory::create(c"oxshmem copy", PIECE as u64, Pages::Small)?;
    let fd = file.fd().as_raw_fd();
    let mut done = 0;
    while done < len {
        let (from, to) = ((start as *const c_void).wrapping_byte_add(done), copy.wrapping_byte_add(done));
        // SAFETY: the kernel checks what it reads.
        let written = uninterrupted(|| unsafe { syscall!(pwrite(fd, from, PIECE.min(len - done), 0)) })?;
        // SAFETY: no more comes back than was written, and the caller promises that `copy` is writable to its end.
        match uninterrupted(|| unsafe { syscall!(pread(fd, to, written as usize, 0)) })? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            copied => done += copied as usize,
        }
    }
    Ok(())
}

/// The number of the memory file of this name whose shared mapping begins at `address`. An error: the system does not tell.
pub(crate) fn memory_file_at(address: usize, name: &CStr) -> io::Result<Option<u64>> {
    Ok(memory_file_in(&kernel_text::read("/proc/self/maps")?, address, name))
}

/// Whether the page at this address, which begins there, is mapped shared. It needs no /proc: the kernel maps a page a second time only
/// if it is shared. Kernels before 4.14 give a private one a second mapping too, which then counts as shared.
pub(crate) fn is_shared(address: usize) -> bool {
    let (nothing, page, flags) = (0_usize, page_size(), libc::MREMAP_MAYMOVE as usize);
    // Not by the C library's function, whose place UCX's hook takes.
    // SAFETY: an old size of 0 leaves the mapping at the address as it is, and the kernel chooses a free address for the second one.
    let Ok(second) = (unsafe { syscall!(syscall(libc::SYS_mremap, address, nothing, page, flags)) }) else {
        return false;
    };
    // SAFETY: nobody else knows the second mapping, which has one page.
    unsafe { libc::munmap(second as *mut c_void, page) };
    true
}

/// [`memory_file_at`] in a list as [`rest_in`] has it.
fn memory_file_in(maps: &str, address: usize, name: &CStr) -> Option<u64> {
    maps.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let from = usize::from_str_radix(fields.next()?.split_once('-')?.0, 16).ok()?;
        // The child of a fork may have the file of its parent privately.
        let is_shared = fields.next()?.ends_with('s');
        let number = fields.nth(2)?.parse().ok()?;
        let path = line.find('/').map_or("", |begin| &line[begin..]);
        (from == address && is_shared && is_memory_file(path, name)).then_some(number)
    })
}

/// Whether the path by which the kernel shows a file is that of a memory file of this name.
pub(crate) fn is_memory_file(path: &str, name: &CStr) -> bool {
    let shown = path.strip_prefix("/memfd:").map(|shown| shown.strip_suffix(" (deleted)").unwrap_or(shown));
    shown.is_some_and(|shown| shown.as_bytes() == name.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    use crate::memory::AddressRange;

    #[test]
    fn parts_of_one_file_are_one_mapping_and_neighbours_are_not() {
        let maps = "\
            1000-2000 r--p 00000000 fe:00 7 /bin/program\n\
            5000-6000 rw-s 00000000 00:01 1024 /memfd:oxshmem heap (deleted)\n\
            6000-7000 ---s 00001000 00:01 1024 /memfd:oxshmem heap (deleted)\n\
            7000-8000 rw-s 00000000 00:01 1025 /memfd:oxshmem heap (deleted)\n\
            9000-a000 rw-s 00003000 00:01 1024 /memfd:oxshmem heap (deleted)\n\
            b000-c000 rw-p 00000000 00:00 0 [stack]\n";
        let told = [0x5000, 0x5008, 0x6fff, 0x7000, 0x1fff].map(|address| rest_in(maps, address));
        assert_eq!(told, [Some(0x2000), Some(0x1ff8), Some(1), Some(0x1000), Some(1)]);
        assert_eq!([0x2000, 0x8000, 0xb800, 0xc000].map(|address| rest_in(maps, address)), [None; 4]);
    }

    #[test]
    fn the_path_of_a_mapped_file_may_have_blanks() {
        let maps = "\
            1000-2000 r--p 00000000 fe:00 7                 /a folder/program\n\
            3000-4000 rw-p 00000000 00:00 0 \n\
            5000-6000 rw-p 00000000 00:00 0                 [heap]\n";
        let found = [0x0fff, 0x1000, 0x1fff, 0x2000, 0x3000, 0x5000].map(|address| path_in(maps, address));
        let program = || Some(PathBuf::from("/a folder/program"));
        assert_eq!(found, [None, program(), program(), None, None, None]);
    }

    #[test]
    fn a_memory_file_is_known_by_its_name_and_where_it_begins() {
        let maps = "\
            00404000-00405000 rw-s 00000000 00:01 1024 /memfd:oxshmem statics (deleted)\n\
            00405000-00406000 rw-s 00000000 00:01 1025 /memfd:oxshmem heap (deleted)\n\
            00406000-00407000 rw-p 00000000 00:00 0 \n\
            00407000-00408000 rw-s 00000000 fe:00 1026 /memfd:oxshmem statics of another\n\
            00408000-00409000 rw-p 00000000 00:01 1024 /memfd:oxshmem statics (deleted)\n";
        let found = [0x404000, 0x404800, 0x405000, 0x406000, 0x407000, 0x408000, 0x409000]
            .map(|address| memory_file_in(maps, address, c"oxshmem statics"));
        assert_eq!(found, [Some(1024), None, None, None, None, None, None]);
    }

    #[test]
    fn the_kernel_copies_memory_of_this_process() {
        let words: Vec<u8> = (0..100_000).map(|i| i as u8).collect();
        type Way = unsafe fn(usize, *mut c_void, usize) -> io::Result<()>;
        for way in [copy_own as Way, copy_through_file] {
            let mut copy = vec![0_u8; words.len()];
            // SAFETY: the copy is as long, and nothing else uses it.
            let copied = unsafe { way(words.as_ptr() as usize, copy.as_mut_ptr().cast(), words.len()) };
            copied.expect("this process may read its own memory");
            assert!(copy == words);
            // SAFETY: the copy has room for the byte.
            assert!(unsafe { way(0, copy.as_mut_ptr().cast(), 1) }.is_err(), "nothing is mapped there");
        }
    }

    #[test]
    fn the_kernel_tells_of_a_mapping() {
        let pages = 3 * page_size();
        let file = SharedMemory::create(c"oxshmem mappings", pages as u64, Pages::Small).expect("memory");
        let mut range = AddressRange::reserve(2 * pages, page_size()).expect("addresses");
        range.map(0, &file, 0, pages).expect("a mapping");
        let start = range.base() as usize;
        assert_eq!(rest_of_file(start + page_size()), Some(2 * page_size()));
        assert_eq!(rest_of_file(start + pages), None, "reserved, and no file");
        let found = |address| memory_file_at(address, c"oxshmem mappings").expect("a system with /proc");
        assert!(found(start).is_some() && found(start + page_size()).is_none());
        // The kernel tells this without /proc too.
        static PRIVATE: AtomicU8 = AtomicU8::new(1);
        let private = PRIVATE.as_ptr() as usize & !(page_size() - 1);
        let shared = [start, start + page_size(), start + pages, private].map(is_shared);
        assert_eq!(shared, [true, true, false, false]);
        assert_eq!((rest_of_file(start), PRIVATE.load(Relaxed)), (Some(3 * page_size()), 1), "all is as it was");
    }
}
