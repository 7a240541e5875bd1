//! Active messages: each is a datagram, which begins with its sender, its kind and the length of its header.

use std::ffi::{c_uint, c_void};
use std::{ptr, slice};

use oxshmem_ucx_sys as ucx;

use crate::endpoint_of;
use crate::worker::{InstantName, InstantWorker};

/// The words before header and data.
const WORDS: usize = 4;
const HEAD: usize = WORDS * size_of::<u64>();

/// Messages that one call takes at most.
const AT_ONCE: usize = 16;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_set_am_recv_handler(
    worker: ucx::ucp_worker_h,
    param: *const ucx::ucp_am_handler_param_t,
) -> ucx::ucs_status_t {
    // SAFETY: a worker of this library, and the caller's argument.
    unsafe { (*worker.cast::<InstantWorker>()).handlers.insert((*param).id, ((*param).cb, (*param).arg)) };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_am_send_nbx(
    endpoint: ucx::ucp_ep_h,
    id: c_uint,
    header: *const c_void,
    header_length: usize,
    buffer: *const c_void,
    n: usize,
    _param: *const ucx::ucp_request_param_t,
) -> ucx::ucs_status_ptr_t {
    // SAFETY: an endpoint of this library, in whose worker the calling thread is alone; header and data are as long as the caller says.
    unsafe {
        let endpoint = endpoint_of(endpoint);
        let worker = &mut *endpoint.worker;
        let mut bytes = Vec::with_capacity(HEAD + header_length + n);
        for word in [worker.name.process, worker.name.number, id.into(), header_length as u64] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(slice::from_raw_parts(header.cast::<u8>(), header_length));
        if n > 0 {
            bytes.extend_from_slice(slice::from_raw_parts(buffer.cast::<u8>(), n));
        }
        // Messages of one worker stay in order.
        if !worker.unsent.is_empty() || !worker.send(endpoint.peer, &bytes) {
            worker.unsent.push_back((endpoint.peer, bytes));
        }
    }
    ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_progress(worker: ucx::ucp_worker_h) -> c_uint {
    let worker = worker.cast::<InstantWorker>();
    // SAFETY: a worker of this library, in which the calling thread is alone. No reference to it is held while a handler runs, which may
    // send.
    unsafe {
        let mut done = (*worker).send_waiting();
        while done < AT_ONCE
            && let Some(bytes) = (*worker).receive()
        {
            done += 1;
            take(worker, &bytes);
        }
        done as c_uint
    }
}

/// Hands a message to its handler. One without words only wakes.
///
/// # Safety
/// The calling thread is alone in the worker.
unsafe fn take(worker: *mut InstantWorker, bytes: &[u8]) {
    let Some((head, body)) = bytes.split_at_checked(HEAD) else { return };
    let word = |i: usize| u64::from_le_bytes(head[8 * i..][..8].try_into().expect("eight bytes"));
    let (header, data) = body.split_at(word(3) as usize);
    // SAFETY: the calling thread is alone in the worker, by the caller's promise; header and data live during the call.
    unsafe {
        let reply_ep = InstantWorker::endpoint(worker, InstantName { process: word(0), number: word(1) }).cast();
        let recv_attr = ucx::UCP_AM_RECV_ATTR_FIELD_REPLY_EP.into();
        let param = ucx::ucp_am_recv_param_t { recv_attr, reply_ep };
        let handler = (*worker).handlers.get(&(word(2) as u32)).copied();
        if let Some((Some(call), arg)) = handler {
            let (header, length) = (header.as_ptr().cast(), header.len());
            call(arg, header, length, data.as_ptr().cast_mut().cast(), data.len(), &raw const param);
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_arm(worker: ucx::ucp_worker_h) -> ucx::ucs_status_t {
    // SAFETY: a worker of this library, in which the calling thread is alone.
    let worker = unsafe { &*worker.cast::<InstantWorker>() };
    if worker.has_news() || !worker.unsent.is_empty() { ucx::UCS_ERR_BUSY } else { ucx::UCS_OK }
}

/// UCX's function of this name: a message without words.
///
/// # Safety
/// As UCX's header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_signal(worker: ucx::ucp_worker_h) -> ucx::ucs_status_t {
    // SAFETY: a worker of this library; nothing of it is changed.
    let worker = unsafe { &*worker.cast::<InstantWorker>() };
    worker.send(worker.name, &[]);
    ucx::UCS_OK
}

/// UCX's function of this name. No message is announced.
#[unsafe(no_mangle)]
pub extern "C" fn ucp_am_recv_data_nbx(
    _worker: ucx::ucp_worker_h,
    _data: *mut c_void,
    _buffer: *mut c_void,
    _count: usize,
    _param: *const ucx::ucp_request_param_t,
) -> ucx::ucs_status_ptr_t {
    ptr::without_provenance_mut(isize::from(ucx::UCS_ERR_UNSUPPORTED).cast_unsigned())
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_am_data_release(_worker: ucx::ucp_worker_h, _data: *mut c_void) {}
