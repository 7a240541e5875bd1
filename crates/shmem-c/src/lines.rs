//! A PE's standard output is flushed at the end of each line.
//!
//! Into a pipe the C library would hold them back until a buffer is full, so that a program which hangs has printed
//! nothing, and lines whose order the PEs enforce come in another one.

/// Runs before anything is written. The low number comes before the constructors of a program that contains the library.
#[used]
#[unsafe(link_section = ".init_array.00099")]
static BEGIN: extern "C" fn() = oxshmem_os::process::end_lines_at_once;
