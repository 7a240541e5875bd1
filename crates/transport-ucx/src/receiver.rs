//! Receives messages that come by rendezvous.

use std::ffi::c_void;

use oxshmem_ucx_sys::inline::{Started, started};
use oxshmem_ucx_sys::{
    UCP_OP_ATTR_FIELD_CALLBACK, UCP_OP_ATTR_FIELD_USER_DATA, Ucx, ucp_request_param_t,
    ucp_request_param_t__bindgen_ty_1 as Callback, ucp_worker_h, ucs_status_t,
};

use crate::objects::{Worker, blank};

/// A message whose data UCX has not received: its description, as a callback has received it, and how long it is.
pub(crate) struct AnnouncedData {
    pub(crate) descriptor: *mut c_void,
    pub(crate) bytes: usize,
}

/// Receives the data of messages to a worker, for the worker's callbacks.
#[derive(Clone, Copy)]
pub(crate) struct Receiver {
    ucx: &'static Ucx,
    worker: ucp_worker_h,
}

// SAFETY: callbacks of the worker use it, and one thread at a time moves a worker on.
unsafe impl Send for Receiver {}
// SAFETY: its methods are called by callbacks of the worker only, so by one thread at a time.
unsafe impl Sync for Receiver {}

/// The callback of data that has been received: its request, its status, its length, and the receipt's own.
pub(crate) type Received = unsafe extern "C" fn(*mut c_void, ucs_status_t, usize, *mut c_void);

impl Receiver {
    pub(crate) fn of(worker: &Worker) -> Self {
        Self { ucx: worker.context.ucx, worker: worker.handle }
    }

    /// Begins to receive. If that is under way when the call returns, UCX hands `owned` to `over`.
    ///
    /// # Safety
    /// The caller is a callback of the worker, and the data has not been received. `place` is writable for it until it is. `over` takes
    /// its last argument as a `Box<T>`.
    pub(crate) unsafe fn receive<T>(
        self,
        announced: &AnnouncedData,
        place: *mut u8,
        owned: Box<T>,
        over: Received,
    ) -> Started {
        let owned = Box::into_raw(owned);
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
            cb: Callback { recv_am: Some(over) },
            user_data: owned.cast(),
            ..blank()
        };
        let &AnnouncedData { descriptor, bytes } = announced;
        // SAFETY: the worker is live in its callback; the caller vouches for the data and the place.
        let receipt = unsafe { (self.ucx.am_recv_data)(self.worker, descriptor, place.cast(), bytes, &param) };
        let outcome = started(receipt);
        if !matches!(outcome, Started::Request(_)) {
            // SAFETY: the box was leaked above, and UCX calls `over` for requests only.
            drop(unsafe { Box::from_raw(owned) });
        }
        outcome
    }

    /// Drops data that is not wanted, after the callback for it has returned.
    ///
    /// # Safety
    /// The caller is a callback of the worker, and the data has not been received.
    pub(crate) unsafe fn release(self, announced: AnnouncedData) {
        // SAFETY: the worker is live in its callback; the caller vouches for the description.
        unsafe { (self.ucx.am_data_release)(self.worker, announced.descriptor) }
    }
}
