//! The handle objects whose addresses are constants of the C header.
//!
//! They are defined in C, where the compiler knows how to name an object that the executable may have copied
//! (`crates/shmem-c/shim`). A Rust program without the C library gets the definitions below.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// The object behind a handle: zero until init makes a context (`context`) or a team (`team`) of it.
#[repr(C, align(8))]
pub(crate) struct Object([AtomicU64; 8]);

impl Object {
    const fn zero() -> Self {
        Self([const { AtomicU64::new(0) }; 8])
    }
}

/// The addresses, filled before anything else by the library that defines the objects.
struct Handles {
    context: AtomicPtr<Object>,
    world: AtomicPtr<Object>,
    shared: AtomicPtr<Object>,
    node: AtomicPtr<Object>,
}

static CONTEXT: Object = Object::zero();
static WORLD: Object = Object::zero();
static SHARED: Object = Object::zero();
static NODE: Object = Object::zero();

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
pub(crate) fn default_context() -> *const Object {
    HANDLES.context.load(Relaxed)
}

#[inline(always)]
pub(crate) fn world() -> *const Object {
    HANDLES.world.load(Relaxed)
}

#[inline(always)]
pub(crate) fn shared() -> *const Object {
    HANDLES.shared.load(Relaxed)
}

#[inline(always)]
pub(crate) fn node() -> *const Object {
    HANDLES.node.load(Relaxed)
}
