//! The last steps of a PE that leaves.

use std::cell::RefCell;

use oxshmem_ucx_sys::{UCS_INPROGRESS, ucs_status_t};

use super::*;

/// A step of a worker, by its address.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum WorkerStep {
    Flush(usize),
    Destroy(usize),
}

thread_local! {
    static STEPS: RefCell<Vec<WorkerStep>> = const { RefCell::new(Vec::new()) };
}

fn note(step: WorkerStep) {
    STEPS.with_borrow_mut(|steps| steps.push(step));
}

unsafe extern "C" fn flush(worker: ucp_worker_h, param: *const ucp_request_param_t) -> ucs_status_ptr_t {
    note(WorkerStep::Flush(worker.addr()));
    let flush = load::library().expect("it is open").worker_flush;
    // SAFETY: the arguments of a call of UCX's go unchanged to it.
    unsafe { flush(worker, param) }
}

/// UCX's answer where a peer has left before it has acknowledged what was sent to it: the flush is under way for ever.
unsafe extern "C" fn flush_to_nobody(worker: ucp_worker_h, _param: *const ucp_request_param_t) -> ucs_status_ptr_t {
    note(WorkerStep::Flush(worker.addr()));
    ptr::without_provenance_mut(4096)
}

unsafe extern "C" fn never(_request: *mut c_void) -> ucs_status_t {
    UCS_INPROGRESS
}

unsafe extern "C" fn let_go(_request: *mut c_void) {}

unsafe extern "C" fn destroy(worker: ucp_worker_h) {
    note(WorkerStep::Destroy(worker.addr()));
    let destroy = load::library().expect("it is open").worker_destroy;
    // SAFETY: the argument of a call of UCX's goes unchanged to it.
    unsafe { destroy(worker) }
}

/// Whether the last worker that goes, which serves, was flushed before, over what `change` makes of UCX.
fn flushes_before_it_goes(change: impl FnOnce(&mut Ucx)) -> bool {
    let change = |ucx: &mut Ucx| {
        (ucx.worker_flush, ucx.worker_destroy) = (flush, destroy);
        change(ucx);
    };
    let played = alone_over(&Settings::default(), &mut [7_u8; 8], change, |stage| {
        assert_eq!(stage.fetch(HEAP, |_| {}), SEVENS);
    });
    STEPS.with_borrow(|steps| match steps[..] {
        [.., WorkerStep::Flush(flushed), WorkerStep::Destroy(destroyed)] => flushed == destroyed,
        _ => played.is_none(),
    })
}

/// UCX calls an answer sent when it has copied it. One that its card had not sent went with the worker.
#[test]
fn the_last_answers_are_flushed_before_their_worker_goes() {
    assert!(flushes_before_it_goes(|_| {}));
}

#[test]
fn a_pe_leaves_although_a_flush_of_its_last_answers_never_ends() {
    let change = |ucx: &mut Ucx| {
        (ucx.worker_flush, ucx.request_check_status, ucx.request_free) = (flush_to_nobody, never, let_go);
    };
    assert!(flushes_before_it_goes(change));
}
