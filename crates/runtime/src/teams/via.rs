//! The two forms of every call: with a context, or plain.

use core::ffi::c_int;

use crate::teams::context::Context;

/// How a call's PE number is meant, and the call's name for messages.
pub trait Via: Copy {
    /// The world number of the caller's `pe`, or a number that no window has.
    fn world(self, pe: c_int) -> u32;
    /// The context that the call names.
    fn context(self) -> Context;
    /// The name of the C call.
    fn call(self) -> &'static str;
}

/// The plain calls: the default context, PE numbers of the world. Holds the call's name.
#[derive(Clone, Copy)]
pub struct World(pub &'static str);

impl Via for World {
    #[inline(always)]
    fn world(self, pe: c_int) -> u32 {
        pe as u32
    }
    #[inline(always)]
    fn context(self) -> Context {
        Context::default_context()
    }
    #[inline(always)]
    fn call(self) -> &'static str {
        self.0
    }
}

/// The calls with a context: PE numbers of the context's team. Holds the handle and the call's name.
#[derive(Clone, Copy)]
pub struct On(pub Context, pub &'static str);

impl Via for On {
    #[inline(always)]
    fn world(self, pe: c_int) -> u32 {
        self.0.world(pe)
    }
    #[inline(always)]
    fn context(self) -> Context {
        self.0
    }
    #[inline(always)]
    fn call(self) -> &'static str {
        self.1
    }
}
