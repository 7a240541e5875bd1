//! UCX's objects, owned: contexts, workers, requests.

use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{ptr, thread};

use oxshmem_base::Error;
use oxshmem_os::signals;
use oxshmem_ucx_sys::inline::{self, Started};
use oxshmem_ucx_sys::{
    UCP_AM_FLAG_WHOLE_MSG, UCP_AM_HANDLER_PARAM_FIELD_ARG, UCP_AM_HANDLER_PARAM_FIELD_CB,
    UCP_AM_HANDLER_PARAM_FIELD_FLAGS, UCP_AM_HANDLER_PARAM_FIELD_ID, UCP_EP_PARAM_FIELD_ERR_HANDLER,
    UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, UCP_ERR_HANDLING_MODE_NONE,
    UCP_FEATURE_AM, UCP_FEATURE_AMO32, UCP_FEATURE_AMO64, UCP_FEATURE_RMA, UCP_FEATURE_WAKEUP,
    UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL, UCP_OP_ATTR_FIELD_CALLBACK, UCP_OP_ATTR_FIELD_USER_DATA,
    UCP_PARAM_FIELD_ESTIMATED_NUM_EPS, UCP_PARAM_FIELD_FEATURES, UCP_PARAM_FIELD_MT_WORKERS_SHARED,
    UCP_WORKER_ATTR_FIELD_ADDRESS, UCP_WORKER_PARAM_FIELD_THREAD_MODE, UCS_INPROGRESS, UCS_OK, UCS_THREAD_MODE_MULTI,
    UCS_THREAD_MODE_SERIALIZED, Ucx, ucp_am_handler_param_t, ucp_am_recv_callback_t, ucp_context_h, ucp_ep_h,
    ucp_ep_params_t, ucp_err_handler, ucp_err_handler_cb_t, ucp_lib_attr_t, ucp_params_t, ucp_request_param_t,
    ucp_request_param_t__bindgen_ty_1 as Callback, ucp_worker_attr_t, ucp_worker_h, ucp_worker_params_t,
    ucs_status_ptr_t, ucs_status_t,
};

use crate::devices::Devices;
use crate::{eager, load, shared_files, tcp};

/// All-zero, for structs of UCX that say by a mask which of their members count.
pub(crate) fn blank<T>() -> T {
    // SAFETY: used for UCX's C structs only, which are numbers and pointers; zero is a value of each.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// The meaning of a status, in UCX's words.
pub(crate) fn meaning(ucx: &Ucx, status: ucs_status_t) -> String {
    // SAFETY: UCX returns a constant string for every status.
    unsafe { CStr::from_ptr((ucx.status_string)(status)) }.to_string_lossy().into_owned()
}

/// An error unless it went well.
pub(crate) fn check(ucx: &Ucx, what: &'static str, status: ucs_status_t) -> Result<(), Error> {
    match status {
        UCS_OK => Ok(()),
        status => Err(Error::new(format!("UCX: {what}")).because(meaning(ucx, status))),
    }
}

/// UCX in this process, for one job.
pub(crate) struct UcxContext {
    pub(crate) ucx: &'static Ucx,
    pub(crate) handle: ucp_context_h,
    pub(crate) devices: Devices,
    /// Between nodes it moves bytes by messages that the target's processor acknowledges.
    pub(crate) by_processors: bool,
    /// So lanes send unacknowledged messages of their own, whose order UCX keeps.
    pub(crate) sends_messages: bool,
}

// SAFETY: the context is made for several threads (`mt_workers_shared`), and the library has been asked whether it can.
unsafe impl Send for UcxContext {}
// SAFETY: UCX locks a context that was made with `mt_workers_shared`, so threads may share it.
unsafe impl Sync for UcxContext {}

impl UcxContext {
    /// `tls` names UCX's transports; without it the environment or UCX decides. With `atomics` UCX is asked for its own.
    pub(crate) fn new(tls: Option<&str>, devices: Devices, pes: u32, atomics: bool) -> Result<Arc<UcxContext>, Error> {
        let ucx = load::library()?;
        let mut level = ucp_lib_attr_t { field_mask: UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL.into(), ..blank() };
        // SAFETY: the struct says what is asked.
        check(ucx, "it does not say what it can", unsafe { (ucx.lib_query)(&mut level) })?;
        if level.max_thread_level < UCS_THREAD_MODE_MULTI {
            return Err(Error::new("UCX cannot be used")
                .because("it was built for one thread only")
                .fix("install a UCX that was configured with --enable-mt, or use another SHMEM_TRANSPORT"));
        }
        let mut config = ptr::null_mut();
        // SAFETY: no prefix, no file, and a place for the result.
        let read = unsafe { (ucx.config_read)(ptr::null(), ptr::null(), &mut config) };
        check(ucx, "its environment variables cannot be read", read)?;
        let widths = if atomics { UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64 } else { 0 };
        let params = ucp_params_t {
            field_mask: (UCP_PARAM_FIELD_FEATURES
                | UCP_PARAM_FIELD_MT_WORKERS_SHARED
                | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS)
                .into(),
            features: (UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP | widths).into(),
            mt_workers_shared: 1,
            estimated_num_eps: pes as usize,
            ..blank()
        };
        let mut handle = ptr::null_mut();
        // Names of devices that are ours may belong to transports that are not used: no reason for a warning of UCX's.
        let names = devices.names.as_deref();
        let quiet = names.map(|_| "n");
        let by_processors = tcp::is_all_there_is(tls);
        // UCX's own atomics are not atomic against those of the processor.
        let sends_messages = by_processors && !atomics;
        let one_lane = sends_messages.then_some("1");
        let settings =
            [(c"TLS", tls), (c"NET_DEVICES", names), (c"WARN_INVALID_CONFIG", quiet), (eager::LANES, one_lane)];
        let settings = settings.iter().filter_map(|(name, value)| Some((*name, CString::new((*value)?).ok()?)));
        // SAFETY: a configuration that was read above and is released once; strings that end in a zero byte; parameters
        // that say which of their members count.
        let made = unsafe {
            let mut settings = settings.map(|(name, value)| (ucx.config_modify)(config, name.as_ptr(), value.as_ptr()));
            let chosen = settings.find(|&status| status != UCS_OK).unwrap_or(UCS_OK);
            let folder = shared_files::setting(&version(ucx), tls);
            for (name, number) in rails(devices.cards)
                .chain(tcp::segments(&version(ucx), tls))
                .chain(folder)
                .chain(tcp::copying(sends_messages))
            {
                // Not every version has every one of them.
                (ucx.config_modify)(config, name.as_ptr(), number.as_ptr());
            }
            // UCX has threads of its own.
            let init = || inline::ucp_init(ucx, &params, config, &mut handle);
            let made = if chosen == UCS_OK { signals::keeping_signals_from_helpers(init) } else { chosen };
            (ucx.config_release)(config);
            made
        };
        check(ucx, "it finds no network that it could use here", made)?;
        Ok(Arc::new(UcxContext { ucx, handle, devices, by_processors, sends_messages }))
    }
}

/// The settings that make UCX spread transfers over this many cards, as far as the user has not made them.
fn rails(cards: usize) -> impl Iterator<Item = (&'static CStr, CString)> {
    let names = [c"MAX_RMA_RAILS", c"MAX_RNDV_RAILS"].into_iter().filter(move |_| cards > 1);
    let free = |name: &&CStr| std::env::var_os(format!("UCX_{}", name.to_string_lossy())).is_none();
    names.filter(free).filter_map(move |name| Some((name, CString::new(cards.to_string()).ok()?)))
}

pub(crate) fn version(ucx: &Ucx) -> String {
    // SAFETY: UCX returns a constant string.
    unsafe { CStr::from_ptr((ucx.version)()) }.to_string_lossy().into_owned()
}

impl Drop for UcxContext {
    fn drop(&mut self) {
        // SAFETY: workers and registrations hold the context, so they are gone.
        unsafe { (self.ucx.cleanup)(self.handle) }
    }
}

/// A worker: operations are issued through it by one thread at a time.
pub(crate) struct Worker {
    pub(crate) context: Arc<UcxContext>,
    pub(crate) handle: ucp_worker_h,
}

// SAFETY: made for use by several threads one after the other (`UCS_THREAD_MODE_SERIALIZED`).
unsafe impl Send for Worker {}

impl Worker {
    pub(crate) fn new(context: Arc<UcxContext>) -> Result<Self, Error> {
        let params = ucp_worker_params_t {
            field_mask: UCP_WORKER_PARAM_FIELD_THREAD_MODE.into(),
            thread_mode: UCS_THREAD_MODE_SERIALIZED,
            ..blank()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: a live context, parameters that say which of their members count, a place for the result.
        let create = || unsafe { (context.ucx.worker_create)(context.handle, &params, &mut handle) };
        let made = signals::keeping_signals_from_helpers(create);
        check(context.ucx, "no worker can be made", made)?;
        Ok(Self { context, handle })
    }

    /// The address by which a peer reaches it.
    pub(crate) fn address(&self) -> Result<Vec<u8>, Error> {
        let ucx = self.context.ucx;
        let mut attr = ucp_worker_attr_t { field_mask: UCP_WORKER_ATTR_FIELD_ADDRESS.into(), ..blank() };
        // SAFETY: a live worker; what is asked comes back as memory of UCX's, freed below after it has been copied.
        unsafe {
            check(ucx, "a worker has no address", (ucx.worker_query)(self.handle, &mut attr))?;
            let address = std::slice::from_raw_parts(attr.address.cast::<u8>(), attr.address_length).to_vec();
            (ucx.worker_release_address)(self.handle, attr.address);
            Ok(address)
        }
    }

    /// Has `call` called with `arg` for each whole message of kind `id`, from inside `progress`.
    ///
    /// # Safety
    /// `arg` is what `call` expects, as long as the worker lives.
    pub(crate) unsafe fn listen(&self, id: u32, call: ucp_am_recv_callback_t, arg: *mut c_void) -> Result<(), Error> {
        let param = ucp_am_handler_param_t {
            field_mask: (UCP_AM_HANDLER_PARAM_FIELD_ID
                | UCP_AM_HANDLER_PARAM_FIELD_CB
                | UCP_AM_HANDLER_PARAM_FIELD_ARG
                | UCP_AM_HANDLER_PARAM_FIELD_FLAGS)
                .into(),
            id,
            flags: UCP_AM_FLAG_WHOLE_MSG,
            cb: call,
            arg,
        };
        // SAFETY: a live worker; the caller vouches for callback and argument.
        let set = unsafe { (self.context.ucx.worker_set_am_recv_handler)(self.handle, &param) };
        check(self.context.ucx, "messages cannot be received", set)
    }

    /// An endpoint to the worker of this address, whose failure is told to `failed` where UCX notices it.
    ///
    /// UCX's handling of errors is not asked for. It excludes every protocol that cannot be stopped half-way: newer versions
    /// then send each put as a message that the target's software copies and answers, which takes twice as long over TCP, and
    /// use no shared memory. UCX promises to call `failed` only with this handling, but over TCP does so without it too.
    /// The launcher notices a dead peer in any case.
    ///
    /// # Safety
    /// `arg` is what `failed` expects, as long as the worker lives.
    pub(crate) unsafe fn connect(
        &self,
        address: &[u8],
        failed: ucp_err_handler_cb_t,
        arg: *mut c_void,
    ) -> Result<ucp_ep_h, Error> {
        let ucx = self.context.ucx;
        let params = ucp_ep_params_t {
            field_mask: (UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
                | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE
                | UCP_EP_PARAM_FIELD_ERR_HANDLER)
                .into(),
            address: address.as_ptr().cast(),
            err_mode: UCP_ERR_HANDLING_MODE_NONE,
            err_handler: ucp_err_handler { cb: failed, arg },
            ..blank()
        };
        let mut endpoint = ptr::null_mut();
        // SAFETY: a live worker, an address that a peer's worker gave; the caller vouches for callback and argument.
        let made = unsafe { (ucx.ep_create)(self.handle, &params, &mut endpoint) };
        check(ucx, "no endpoint can be made", made)?;
        Ok(endpoint)
    }

    /// Moves everything on; returns how much was done.
    pub(crate) fn progress(&self) -> usize {
        // SAFETY: a live worker, used by one thread at a time because nobody else has it.
        unsafe { (self.context.ucx.worker_progress)(self.handle) as usize }
    }

    /// Begins to complete all that was issued, here and at the targets.
    pub(crate) fn flush(&self) -> Started {
        // SAFETY: a live worker; no member of the parameters is set.
        inline::started(unsafe { (self.context.ucx.worker_flush)(self.handle, &blank::<ucp_request_param_t>()) })
    }

    /// Completes what has been issued, for `most` at most. Failures are no matter: peers may have gone.
    pub(crate) fn flush_within(&self, most: Duration) {
        let Started::Request(request) = self.flush() else { return };
        let (request, begun) = (UcxRequest(request), Instant::now());
        while request.outcome(self.context.ucx).is_none() && begun.elapsed() < most {
            if self.progress() == 0 {
                thread::yield_now();
            }
        }
        request.free(self.context.ucx);
    }

    /// The descriptor that becomes readable when something happens after the worker was armed; open as long as the worker.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        let mut descriptor: RawFd = -1;
        // SAFETY: a live worker and a place for the result.
        let status = unsafe { (self.context.ucx.worker_get_efd)(self.handle, &mut descriptor) };
        (status == UCS_OK).then_some(descriptor)
    }

    /// Asks for a sign of the next event, which [`Worker::descriptor`] gives; none if something has happened already.
    pub(crate) fn arm_to_sleep(&self) -> Option<RawFd> {
        let descriptor = self.descriptor()?;
        // SAFETY: a live worker.
        (unsafe { (self.context.ucx.worker_arm)(self.handle) } == UCS_OK).then_some(descriptor)
    }

    /// Wakes the thread that waits for the descriptor.
    pub(crate) fn wake(&self) {
        // SAFETY: a live worker.
        let status = unsafe { (self.context.ucx.worker_signal)(self.handle) };
        if status != UCS_OK {
            tracing::warn!("UCX: the progress thread cannot be woken: {}", meaning(self.context.ucx, status));
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: nobody else has it. Endpoints go with it, and keys are destroyed before.
        unsafe { (self.context.ucx.worker_destroy)(self.handle) }
    }
}

/// An operation under way.
pub(crate) struct UcxRequest(pub(crate) ucs_status_ptr_t);

impl UcxRequest {
    /// How it went, when it is over.
    pub(crate) fn outcome(&self, ucx: &Ucx) -> Option<ucs_status_t> {
        // SAFETY: a request that has not been freed.
        let status = unsafe { (ucx.request_check_status)(self.0) };
        (status != UCS_INPROGRESS).then_some(status)
    }

    /// Lets go of it: UCX takes it back when it is over.
    pub(crate) fn free(self, ucx: &Ucx) {
        // SAFETY: the request has not been freed, and is not used any more.
        unsafe { (ucx.request_free)(self.0) }
    }
}

/// The callback of an operation that is over: its request, its status, and the operation's own.
pub(crate) type CompletionCallback = unsafe extern "C" fn(*mut c_void, ucs_status_t, *mut c_void);

/// Starts an operation that needs `owned` until UCX is done with it. If that is when the call returns, `owned` comes back with the
/// outcome; otherwise UCX hands it to `over`.
///
/// # Safety
/// `over` takes its last argument as a `Box<T>`. `start` makes one call of UCX with the parameters that it is given.
pub(crate) unsafe fn start_owning<T>(
    owned: Box<T>,
    over: CompletionCallback,
    param: ucp_request_param_t,
    start: impl FnOnce(*mut T, &mut ucp_request_param_t) -> Started,
) -> (Started, Option<Box<T>>) {
    let owned = Box::into_raw(owned);
    let mut param = ucp_request_param_t {
        op_attr_mask: param.op_attr_mask | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        cb: Callback { send: Some(over) },
        user_data: owned.cast(),
        ..param
    };
    match start(owned, &mut param) {
        outcome @ Started::Request(_) => (outcome, None),
        // SAFETY: the box was leaked above, and UCX calls `over` for requests only.
        outcome => (outcome, Some(unsafe { Box::from_raw(owned) })),
    }
}

/// Frees the request of a callback; `failed` learns what went wrong with it.
///
/// # Safety
/// UCX has given the request to a callback, which does not use it any more.
pub(crate) unsafe fn finish(request: *mut c_void, status: ucs_status_t, failed: impl FnOnce(&str)) {
    let Ok(ucx) = load::library() else { return };
    if status != UCS_OK {
        failed(&meaning(ucx, status));
    }
    // SAFETY: the request is a callback's, by the caller's promise, and freed once.
    unsafe { (ucx.request_free)(request) }
}
