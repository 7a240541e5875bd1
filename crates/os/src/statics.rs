//! The executable's own global and static variables as shared memory.
//!
//! Before `main`, while the process has one thread, the writable static data of the executable is copied into a memory
//! file and the file is mapped in its place. The program notices nothing; a process that maps the same file reads and
//! writes the variables. Unlike pages copied at need, this works for every store the program makes from then on.

mod fork;

pub use fork::refuse_harmful_forks_by;

use crate::bystanders;
use crate::descriptors;
pub use crate::executable::SEGMENTS_APART;
use crate::executable::{Executable, Writable, WritableParts};
use crate::kernel_text;
use crate::mappings;
use crate::memory::{Pages, SharedMemory, page_size};
use crate::uninterrupted;
use std::ffi::{CStr, c_int, c_void};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::OnceLock;

/// The name of the memory file, for debuggers and for another copy of the library.
const FILE: &CStr = c"oxshmem statics";

/// The static data of this process.
#[derive(Debug)]
pub struct Statics {
    /// The address at which it begins, a whole page.
    pub start: usize,
    /// Its size in bytes, whole pages.
    pub len: usize,
    /// The memory behind it.
    pub memory: SharedMemory,
    /// PROT_READ and so on, as the executable had it.
    access: c_int,
    /// This copy of the library has mapped it, so this copy gives a child its own.
    is_ours: bool,
    /// Whether every fork of this program is one of [`fork::around_kernel`].
    is_wrapped: bool,
}

impl Statics {
    /// The memory, unless the program has closed its descriptor.
    fn file(&self) -> Option<&SharedMemory> {
        self.memory.is_there().then_some(&self.memory)
    }
}

/// The shared static data, or the reason why it is not shared.
pub fn region() -> Result<&'static Statics, &'static str> {
    if fork::is_child() {
        return Err("this process is the child of a fork and has variables of its own");
    }
    match STATE.get() {
        None => Err("the library was not there when the program started"),
        Some(Ok(statics)) if statics.file().is_none() => Err("the program has closed the descriptor of their memory"),
        Some(Ok(statics)) => Ok(statics),
        Some(Err(reason)) => Err(reason),
    }
}

/// Where the loader has put the executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The offset that the loader added to every address of the file.
    pub bias: usize,
    /// The end of the highest part.
    pub end: usize,
    /// Where the static data begins, and how long it is: what [`region`] shares where it does.
    pub statics: (usize, usize),
}

/// The executable of this process, if its static data is in one piece. For tools that are no part of the library.
pub fn executable() -> Option<Loaded> {
    let executable = Executable::this()?;
    let data = executable.writable(page_size()).ok()?.extent();
    Some(Loaded { bias: executable.bias(), end: data.end, statics: (data.start, data.len()) })
}

/// Written once by the constructor, when there are no other threads.
static STATE: OnceLock<Result<Statics, &'static str>> = OnceLock::new();

/// Has the static data of the program shared that this is part of. It stands in the library, and not here, because tools
/// that use this crate are no PEs.
///
/// The loader calls what stands in this section before `main`; in a shared library, before the constructors of the
/// program. The low number comes before the constructors of an executable that contains the library, which may start
/// threads.
#[macro_export]
macro_rules! share_statics {
    () => {
        #[used]
        #[unsafe(link_section = ".init_array.00099")]
        static BEFORE_MAIN: extern "C" fn() = $crate::statics::before_main;
    };
}

/// The functions that [`share_statics!`](crate::share_statics) has called before `main`.
pub extern "C" fn before_main() {
    descriptors::occupy_standard_streams();
    // In a static executable this variable lies in the static data itself. That is why it is set only here, after the
    // copy has taken the place of the original.
    let _ = STATE.set(share());
}

fn share() -> Result<Statics, &'static str> {
    if !wanted() {
        return Err("SHMEM_STATICS turns it off");
    }
    let executable = Executable::this().ok_or("the program headers of the executable are not known")?;
    let data = executable.writable(page_size())?;
    let (start, len, access) = (data.extent().start, data.extent().len(), protection(data.flags()));
    let another = mappings::memory_file_at(start, FILE);
    if let Ok(Some(number)) = another {
        let memory = file_of_another_copy(number)
            .ok_or("another copy of the library shares the static variables, and has closed its descriptor")?;
        fork::watch()?;
        return Ok(Statics { start, len, memory, access, is_ours: false, is_wrapped: false });
    }
    if another.is_err() && mappings::is_shared(start) {
        return Err(
            "another copy of the library shares the static variables, and /proc, which has their file, cannot be read",
        );
    }
    has_one_thread(threads())?;
    let memory = SharedMemory::create(FILE, len as u64, Pages::Small)
        .map_err(|_| "the system refused a memory file for the static variables")?;
    let pagemap = File::open("/proc/self/pagemap").ok();
    fork::watch()?;
    replace(&data, access, &memory, pagemap.as_ref()).map_err(|_| "the static variables could not be mapped shared")?;
    Ok(Statics { start, len, memory, access, is_ours: true, is_wrapped: fork::is_wrapped(&executable) })
}

/// A descriptor of the memory file with this number, which another copy of the library has put in the place of the static data: a program that
/// contains the library may open another one that needs it. A second file would separate the program from what its
/// peers have mapped.
fn file_of_another_copy(number: u64) -> Option<SharedMemory> {
    // Nothing else is opened and closed: that would give back locks on other files of this process.
    let is_it = |path: &Path| {
        let named = fs::read_link(path).is_ok_and(|target| mappings::is_memory_file(&target.to_string_lossy(), FILE));
        named && fs::metadata(path).is_ok_and(|file| file.ino() == number)
    };
    let entry = fs::read_dir("/proc/self/fd").ok()?.flatten().find(|entry| is_it(&entry.path()))?;
    let descriptor: c_int = entry.file_name().to_str()?.parse().ok()?;
    // SAFETY: the call takes no pointers.
    let copy = unsafe { syscall!(fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3)) }.ok()?;
    // SAFETY: the descriptor is new, so nobody else owns it.
    SharedMemory::from_fd(unsafe { OwnedFd::from_raw_fd(copy) }).ok()
}

/// Puts the memory file in the place of the static data.
///
/// Nothing in here may write to the static data or allocate: in a static executable the allocator's state, and ours,
/// lies in the very pages that are copied.
fn replace(data: &WritableParts, access: c_int, memory: &SharedMemory, pagemap: Option<&File>) -> io::Result<()> {
    let whole = data.extent();
    for part in data.iter() {
        copy(part, part.start - whole.start, memory, pagemap)?;
    }
    let (place, flags) = (whole.start as *mut c_void, libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE);
    // SAFETY: the range is exactly the executable's writable data, with the pages that the linker left empty between two parts. The
    // loader keeps these for the executable, or they lie where the kernel puts no mapping of its own choice.
    // The file has its bytes, and this is the only thread, so nothing changed since they were copied: to the program
    // the mapping looks as before.
    unsafe { syscall!(mmap(place, whole.len(), access, flags, memory.fd().as_raw_fd(), 0)) }.map(drop)
}

/// Copies a part of the static data to the file, where it begins at `offset`.
fn copy(data: &Writable, offset: usize, memory: &SharedMemory, pagemap: Option<&File>) -> io::Result<()> {
    let from_file = data.file_end.clamp(data.start, data.end);
    write_all(memory, offset, data.start, from_file - data.start)?;
    let page = page_size();
    for first in (from_file..data.end).step_by(PAGES_AT_ONCE * page) {
        let mut room = [[0; 8]; PAGES_AT_ONCE];
        let entries = &mut room[..PAGES_AT_ONCE.min((data.end - first).div_ceil(page))];
        let is_known = pagemap.is_some_and(|pagemap| {
            pagemap.read_exact_at(entries.as_flattened_mut(), (first / page * 8) as u64).is_ok()
        });
        for (address, entry) in (first..data.end).step_by(page).zip(entries) {
            // An untouched page reads as zero, as the file does; a big array that is not used costs nothing.
            if !(is_known && is_untouched(*entry)) && holds_content(address, page) {
                write_all(memory, offset + address - data.start, address, page)?;
            }
        }
    }
    Ok(())
}

/// Writes `len` bytes of this process's memory to the file.
fn write_all(memory: &SharedMemory, mut offset: usize, mut address: usize, mut len: usize) -> io::Result<()> {
    while len > 0 {
        let (fd, from) = (memory.fd().as_raw_fd(), address as *const c_void);
        // Not by the C library's function: AddressSanitizer's takes its place, and objects to the gaps between variables.
        // SAFETY: the kernel reads `len` bytes of static data, which is mapped and readable.
        let write = || unsafe { syscall!(syscall(libc::SYS_pwrite64, fd, from, len, offset)) };
        let written = uninterrupted(write)? as usize;
        (offset, address, len) = (offset + written, address + written, len - written);
    }
    Ok(())
}

/// The pages of which one call asks the kernel: a program may have gigabytes of static arrays. The answers take 32 KiB of the stack.
const PAGES_AT_ONCE: usize = 4096;

/// Whether the kernel says in `/proc/self/pagemap` that it has provided no page yet.
fn is_untouched(entry: [u8; 8]) -> bool {
    const PRESENT_OR_SWAPPED: u64 = 0b11 << 62;
    u64::from_ne_bytes(entry) & PRESENT_OR_SWAPPED == 0
}

/// Whether there is something else than zeros in a page, which the kernel provides if it has not yet.
fn holds_content(address: usize, page: usize) -> bool {
    // SAFETY: the page is static data: mapped, readable, aligned, and with one thread nobody writes it meanwhile.
    let words = unsafe { std::slice::from_raw_parts(address as *const usize, page / size_of::<usize>()) };
    words.iter().any(|&word| word != 0)
}

/// Reads the variable without the library's settings, which are not read yet. The runtime of Rust is not up either.
fn wanted() -> bool {
    // SAFETY: there is one thread, so nobody changes the environment; the result is null or a C string in it.
    let value = unsafe {
        let value = libc::getenv(c"SHMEM_STATICS".as_ptr());
        if value.is_null() {
            return true;
        } else {
            CStr::from_ptr(value)
        }
    };
    oxshmem_base::knobs::is_on(&value.to_string_lossy())
}

/// The flags of a segment in the executable's header, as flags of `mmap`.
fn protection(flags: u32) -> c_int {
    let all = [(libc::PF_R, libc::PROT_READ), (libc::PF_W, libc::PROT_WRITE), (libc::PF_X, libc::PROT_EXEC)];
    all.iter().filter(|(flag, _)| flags & flag != 0).fold(0, |access, (_, bit)| access | bit)
}

/// Why static data cannot be copied because of other threads, if they are `known` to be there. Without /proc the kernel
/// is asked to separate the process from its other threads: it refuses where there are some, and has nothing to do
/// otherwise.
fn has_one_thread(known: Option<u32>) -> Result<(), &'static str> {
    const SEVERAL: &str = "the program had more than one thread before main";
    match known {
        Some(1) => Ok(()),
        Some(_) => Err(SEVERAL),
        // SAFETY: the call takes no pointers.
        None => match unsafe { syscall!(unshare(libc::CLONE_THREAD)) } {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Err(SEVERAL),
            Err(_) => Err("the system does not tell whether the program has one thread: /proc is not mounted"),
        },
    }
}

/// How many threads this process has.
fn threads() -> Option<u32> {
    u32::try_from(bystanders::field(&kernel_text::read("/proc/self/stat").ok()?, bystanders::COUNT)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{has_one_thread, threads};

    #[test]
    fn other_threads_are_found_without_proc() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        // The test drops its end.
        let other = std::thread::spawn(move || ended.recv().is_err());
        assert!(threads().is_some_and(|count| count > 1));
        assert!(has_one_thread(threads()).is_err() && has_one_thread(None).is_err() && has_one_thread(Some(1)).is_ok());
        drop(end);
        assert!(other.join().expect("it only waits"));
    }
}
