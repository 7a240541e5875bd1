//! Where the program called: the line that an interpreter tells, or the place in the compiled program.

pub use oxshmem_os::program_line::program_line;
pub(crate) use oxshmem_os::program_line::{BlockPlace, asked, text};
