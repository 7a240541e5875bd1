//! Where the program called: the line that an interpreter tells ([`oxshmem_os::program_line`]), or the place in the compiled program.

use core::fmt;

use oxshmem_base::call_site::CallSite;
pub use oxshmem_os::program_line::program_line;
pub(crate) use oxshmem_os::program_line::{asked, text};

/// Where the program called: the interpreter's line if there is one, or the place in the compiled program.
#[derive(Debug)]
pub(crate) enum BlockPlace {
    Line(&'static str),
    Compiled(CallSite),
}

impl BlockPlace {
    /// The call that the thread is in.
    pub(crate) fn here() -> Self {
        asked().map_or_else(|| Self::Compiled(CallSite::here()), Self::Line)
    }
}

impl fmt::Display for BlockPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Compiled(site) => site.fmt(f),
        }
    }
}
