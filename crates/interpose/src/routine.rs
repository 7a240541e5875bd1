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
    /// A row of a test, whose names are the same.
    #[cfg(test)]
    pub(crate) const fn of(name: &'static CStr, category: RoutineKind) -> Self {
        Self { symbol: name.as_ptr(), name: name.as_ptr(), category: category as u32, reserved: 0 }
    }

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
    pub(crate) site: u32,
    /// The site + 1 of the call in which this one is made: a handler of signals runs inside of a wait. 0 if there is none. It fits beside
    /// the site, so that a call that has begun travels in two registers.
    pub(crate) outer: u32,
    pub(crate) start: u64,
}
