//! A routine and a call of it, as the wrappers in C pass them.

use std::ffi::{CStr, c_char};

use oxshmem_profile::layout::RoutineKind;

/// A routine: its name and its category.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct WrappedRoutine {
    symbol: *const c_char,
    name: *const c_char,
    category: u32,
    reserved: u32,
}

// SAFETY: the rows of the generated table are constants, and so are the strings that they name.
unsafe impl Sync for WrappedRoutine {}

impl WrappedRoutine {
    /// The name for the linker.
    pub(crate) fn symbol(&self) -> &CStr {
        // SAFETY: the generated table has two strings in each of its rows.
        unsafe { CStr::from_ptr(self.symbol) }
    }

    /// The name as programs spell it.
    pub(crate) fn name(&self) -> &CStr {
        // SAFETY: the generated table has a string in each of its rows.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// The category.
    pub(crate) fn category(&self) -> RoutineKind {
        RoutineKind::of(self.category.into()).unwrap_or(RoutineKind::Other)
    }
}

/// A call that has begun: its site + 1, or 0 if it is not recorded; and when, or 0 if it is not timed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Begun {
    pub(crate) site: u64,
    pub(crate) start: u64,
}
