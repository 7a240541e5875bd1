//! Fences, quiets, and the barriers of all.

use core::ffi::c_int;

use oxshmem_runtime as runtime;
use oxshmem_runtime::Via;

use crate::threads::ThreadPe;

pub(crate) unsafe fn fence<V: Via>(here: &ThreadPe, via: V) {
    here.turns().step(here.me);
    here.on(via.context(), |stream| {
        here.issuer(&*stream.issued).fence();
        stream.fenced = true;
    });
}

/// Completes a context when it goes. The turn may end in a panic, because the world has failed; the buffers of the context's
/// transfers end with it.
struct QuietAtEnd<'p>(&'p ThreadPe, runtime::ContextHandle);

impl Drop for QuietAtEnd<'_> {
    fn drop(&mut self) {
        self.0.on(self.1, |stream| stream.complete(self.0));
    }
}

pub(crate) unsafe fn quiet<V: Via>(here: &ThreadPe, via: V) {
    let complete = QuietAtEnd(here, via.context());
    here.turns().step(here.me);
    drop(complete);
    here.turns().changed();
}

pub(crate) unsafe fn pe_quiet<V: Via>(here: &ThreadPe, via: V, _target_pes: *const c_int, n: usize) {
    if n > 0 {
        // SAFETY: the caller promises that the context has not been destroyed.
        unsafe { quiet(here, via) }
    }
}

pub(crate) unsafe fn barrier_all(here: &ThreadPe) {
    const CALL: &str = "shmem_barrier_all";
    // SAFETY: the default context is never destroyed.
    unsafe { quiet(here, runtime::InWorld(CALL)) };
    here.exchange(runtime::TeamHandle::world(), CALL, Vec::new());
}

pub(crate) unsafe fn sync_all(here: &ThreadPe) {
    here.exchange(runtime::TeamHandle::world(), "shmem_sync_all", Vec::new());
}
