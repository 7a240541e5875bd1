//! Programs that take the library from its archive.

use std::ffi::OsString;
use std::path::Path;

/// The wrappers' option for a program that is static only in this.
pub(super) const OPTION: &str = "-static-oxshmem";
/// The compiler's options for a fully static program.
const STATIC: [&str; 3] = ["-static", "-static-pie", "--static"];

/// Libraries that a fully static program needs beside the archive: those of Rust's standard library.
const STATIC_LIBRARIES: [&str; 5] = ["-lpthread", "-ldl", "-lm", "-lrt", "-lgcc_eh"];
/// The same for a program that only takes oxshmem itself from the archive.
const SYSTEM_LIBRARIES: [&str; 5] = ["-lpthread", "-ldl", "-lm", "-lrt", "-lgcc_s"];
/// Functions that gfortran's library calls in every program with threads, as which it counts ours, but names weakly: a
/// fully static program has only those that other code names strongly.
pub(super) const FORTRAN_THREADS: &str = "-Wl,-u,pthread_mutex_init,-u,pthread_mutex_destroy,\
     -u,pthread_mutex_trylock,-u,pthread_cond_init,-u,pthread_cond_destroy,-u,pthread_cond_wait,\
     -u,pthread_cond_broadcast,-u,pthread_join";

/// Has `fork` of a fully static program call the library, which gives the child static variables of its own before the C
/// library writes there.
pub(super) const FORKS: &str = "-Wl,--wrap=_Fork,-u,_Fork";

/// Whether the argument asks for the archive.
pub(super) fn is_asked_for(argument: &OsString) -> bool {
    argument == OPTION || is_static(argument)
}

fn is_static(argument: &OsString) -> bool {
    STATIC.iter().any(|option| argument == option)
}

/// The arguments that link the archive in `lib`, if the others ask for it.
pub(super) fn flags(arguments: &[OsString], lib: &Path, fortran: bool) -> Option<Vec<OsString>> {
    let archive = lib.join("liboxshmem.a").into_os_string();
    if arguments.iter().any(is_static) {
        let threads = fortran.then(|| FORTRAN_THREADS.into());
        let before = threads.into_iter().chain([FORKS.into(), archive]);
        return Some(before.chain(STATIC_LIBRARIES.map(OsString::from)).collect());
    }
    let is_asked = arguments.iter().any(is_asked_for);
    is_asked.then(|| [archive].into_iter().chain(SYSTEM_LIBRARIES.map(OsString::from)).collect())
}
