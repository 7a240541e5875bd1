//! Functions for other parts of the installation: the Python module and the recorder of profiles. No header declares them.

use core::ffi::c_char;

/// The word of the calling thread in which an interpreter says where in its program it is: see [`oxshmem_runtime::program_line`].
#[unsafe(no_mangle)]
extern "C" fn oxshmem_program_line() -> *mut *const c_char {
    oxshmem_runtime::program_line()
}

/// The end of the highest block that the PE's symmetric heap has ever had, in bytes; 0 outside of the library's life.
#[unsafe(no_mangle)]
extern "C" fn oxshmem_heap_high_water() -> u64 {
    oxshmem_runtime::heap_high_water()
}
