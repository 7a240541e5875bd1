//! The two forms of every call: with a context, or plain.

use core::ffi::c_int;

use crate::teams::context::ContextHandle;

/// How a call's PE number is meant, and the call's name for messages.
pub trait Via: Copy {
    /// Whether the call is a plain one.
    const IN_WORLD: bool;
    /// The part of the context that a call passes to the function in which it continues: nothing for a plain call.
    type Given: Copy;
    /// The call of this name with that part.
    fn of(call: &'static str, given: Self::Given) -> Self;
    /// See [`Via::Given`].
    fn given(self) -> Self::Given;
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
    const IN_WORLD: bool = true;
    type Given = ();
    #[inline(always)]
    fn of(call: &'static str, _given: ()) -> Self {
        Self(call)
    }
    #[inline(always)]
    fn given(self) -> Self::Given {}
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
    const IN_WORLD: bool = false;
    type Given = ContextHandle;
    #[inline(always)]
    fn of(call: &'static str, given: ContextHandle) -> Self {
        Self(given, call)
    }
    #[inline(always)]
    fn given(self) -> ContextHandle {
        self.0
    }
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
