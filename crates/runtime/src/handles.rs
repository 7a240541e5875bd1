//! The handle objects whose addresses are constants of the C header.
//!
//! They are defined in C, where the compiler knows how to name an object that the executable may have copied
//! (`crates/shmem-c/shim`). A Rust program without the C library gets the definitions below.

use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::context::ContextObject;
use crate::team::TeamObject;

/// The addresses, filled before anything else by whoever defines the objects.
struct Handles {
    context: AtomicPtr<ContextObject>,
    world: AtomicPtr<TeamObject>,
    shared: AtomicPtr<TeamObject>,
    node: AtomicPtr<TeamObject>,
}

static CONTEXT: ContextObject = ContextObject::empty();
static WORLD: TeamObject = TeamObject::empty();
static SHARED: TeamObject = TeamObject::empty();
static NODE: TeamObject = TeamObject::empty();

static HANDLES: Handles = Handles {
    context: AtomicPtr::new((&raw const CONTEXT).cast_mut()),
    world: AtomicPtr::new((&raw const WORLD).cast_mut()),
    shared: AtomicPtr::new((&raw const SHARED).cast_mut()),
    node: AtomicPtr::new((&raw const NODE).cast_mut()),
};

/// Makes the objects of the C library the ones that count.
///
/// # Safety
/// Each address is of a zeroed object, as large as the header says, that lives as long as the process. Called before
/// the first init.
pub unsafe fn use_objects(context: *mut u8, world: *mut u8, shared: *mut u8, node: *mut u8) {
    HANDLES.context.store(context.cast(), Relaxed);
    HANDLES.world.store(world.cast(), Relaxed);
    HANDLES.shared.store(shared.cast(), Relaxed);
    HANDLES.node.store(node.cast(), Relaxed);
}

#[inline(always)]
pub(crate) fn default_context() -> *const ContextObject {
    HANDLES.context.load(Relaxed)
}

#[inline(always)]
pub(crate) fn world() -> *const TeamObject {
    HANDLES.world.load(Relaxed)
}

#[inline(always)]
pub(crate) fn shared() -> *const TeamObject {
    HANDLES.shared.load(Relaxed)
}

#[inline(always)]
pub(crate) fn node() -> *const TeamObject {
    HANDLES.node.load(Relaxed)
}
