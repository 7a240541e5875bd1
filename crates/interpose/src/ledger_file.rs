//! The file of a ledger, and the machine that it is on.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use oxshmem_base::output;
use oxshmem_os::memory;

/// Bytes at the start of a file whose pages are made before they are used.
const TOUCHED: usize = 16 << 20;

/// A file of so many words, all zero, in memory that is shared with a child of a fork, which leaves it alone (`in_child`).
pub(crate) fn mapped(path: &Path, words: usize) -> io::Result<&'static [AtomicU64]> {
    let bytes = words * 8;
    // The kernel ends a process that goes beyond this limit.
    if longest_file() < bytes as u64 {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    let file = output::fresh(path)?;
    // Without room on the disk, a store into the mapping would end the process.
    let make_room = |start: u64, len: u64| {
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), start as libc::off_t, len as libc::off_t) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    };
    // A file without a record is useless, and other files may need the room.
    let remove = || drop(std::fs::remove_file(path));
    memory::in_pieces(0, bytes as u64, make_room).inspect_err(|_| remove())?;
    let (protection, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping at an address that the system chooses touches no other memory.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, kind, file.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        remove();
        return Err(error);
    }
    // The first touch of a page costs a hundred events: the kernel makes what most jobs need in one go. A kernel that cannot
    // (before 5.14) makes pages when they are touched.
    // SAFETY: the range is part of the new mapping, which this function alone knows; its bytes stay what they are.
    unsafe { libc::madvise(address, bytes.min(TOUCHED), libc::MADV_POPULATE_WRITE) };
    // SAFETY: the mapping has so many words, is aligned as a page is, and stays until the process ends.
    Ok(unsafe { std::slice::from_raw_parts(address.cast(), words) })
}

/// The limit of the length of a file (`ulimit -f`).
fn longest_file() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // If it cannot be asked for, the limit stays infinite.
    // SAFETY: the call writes one `rlimit`, which lives until it returns.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    limit.rlim_cur
}

/// The name of the host.
pub(crate) fn host() -> Vec<u8> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().as_bytes().to_vec()
}

/// Which start of the machine this is.
pub(crate) fn boot() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    [0..16, 16..32].map(|part| digits.get(part).and_then(|part| u64::from_str_radix(part, 16).ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::Duration;

    use super::*;

    extern "C" fn nothing(_signal: libc::c_int) {}

    /// Some kernels give up for a signal while they make room in a file of `/dev/shm`.
    #[test]
    fn a_file_is_made_while_signals_come() {
        const WORDS: usize = 1 << 20;
        let path = Path::new("/dev/shm").join(format!("oxshmem-ledger-{}", std::process::id()));
        // SAFETY: the handler is a function of this type that does nothing; no other test has this signal.
        unsafe { libc::signal(libc::SIGUSR2, nothing as *const () as libc::sighandler_t) };
        // SAFETY: the call only asks for the number of this thread.
        let here = unsafe { libc::pthread_self() };
        let is_made = AtomicBool::new(false);
        let made = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_made.load(Relaxed) {
                    // SAFETY: the thread of the test is there until this one has ended.
                    unsafe { libc::pthread_kill(here, libc::SIGUSR2) };
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
            let made = mapped(&path, WORDS);
            is_made.store(true, Relaxed);
            made
        });
        // The file may not be there.
        let _ = std::fs::remove_file(&path);
        assert_eq!(made.map(<[AtomicU64]>::len).map_err(|error| error.to_string()), Ok(WORDS));
    }
}
