//! The two forms of every call: with a context, or plain.

use core::ffi::c_int;

use crate::teams::context::ContextHandle;

/// How a call's PE number is meant, and the call's name for messages.
pub trait Via: Copy {
    /// The world number of the caller's `pe`, or a number that no window has.
    fn world(self, pe: c_int) -> u32;
    /// The context that the call names.
    fn context(self) -> ContextHandle;
    /// The name of the C call.
    fn call(self) -> &'static str;
}

/// The plain calls: the default context, PE numbers of the world. Holds the call's name.
#[derive(Clone, Copy)]
pub struct InWorld(pub &'static str);

impl Via for InWorld {
    #[inline(always)]
    fn world(self, pe: c_int) -> u32 {
        pe as u32
    }
    #[inline(always)]
    fn context(self) -> ContextHandle {
        ContextHandle::default_context()
    }
    #[inline(always)]
    fn call(self) -> &'static str {
        self.0
    }
}

/// The calls with a context: PE numbers of the context's team. Holds the handle and the call's name.
#[derive(Clone, Copy)]
pub struct On(pub ContextHandle, pub &'static str);

impl Via for On {
    #[inline(always)]
    fn world(self, pe: c_int) -> u32 {
        self.0.world(pe)
    }
    #[inline(always)]
    fn context(self) -> ContextHandle {
        self.0
    }
    #[inline(always)]
    fn call(self) -> &'static str {
        self.1
    }
}
