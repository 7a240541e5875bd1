//! The symmetric heap: one plan for all PEs.

use core::ffi::c_void;

use oxshmem_runtime as runtime;

use crate::Error;
use crate::threads::ThreadPe;

pub(crate) unsafe fn allocate(
    here: &ThreadPe,
    call: &'static str,
    bytes: usize,
    content: Option<u64>,
) -> Result<*mut c_void, Error> {
    let mine = [bytes as u64, content.unwrap_or_default()].map(u64::to_le_bytes).concat();
    let all = here.exchange(runtime::TeamHandle::world(), call, mine);
    here.same_everywhere(call, &all);
    let offset = here.first_of(&all, || here.job.store.allocate(bytes).unwrap_or(u64::MAX));
    if offset == u64::MAX {
        return Err(here.job.store.exhausted(call, bytes));
    }
    Ok(here.job.store.in_heap(here.me, offset).cast())
}

pub(crate) unsafe fn free(here: &ThreadPe, call: &'static str, ptr: *mut c_void) {
    let offset = here.job.store.locate(here.me, ptr.cast(), 1).map_or(u64::MAX, |(_, offset)| offset);
    let all = here.exchange(runtime::TeamHandle::world(), call, offset.to_le_bytes().into());
    here.same_everywhere(call, &all);
    here.first_of(&all, || match here.job.store.free(offset) {
        Ok(()) => 0,
        Err(error) => here.fail(&error),
    });
}
