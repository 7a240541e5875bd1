//! Puts, gets and atomics: each is over when its call returns.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::OnceLock;

use oxshmem_ucx_sys as ucx;

use crate::endpoint_of;

/// Copies between this process and a peer. Returns UCX's answer.
///
/// # Safety
/// An endpoint of this library; `local` has `n` bytes, which the copy may read or write.
unsafe fn reach<const WRITES: bool>(
    endpoint: ucx::ucp_ep_h,
    local: *const c_void,
    n: usize,
    at: u64,
) -> ucx::ucs_status_ptr_t {
    let copy = if WRITES { libc::process_vm_writev } else { libc::process_vm_readv };
    let local = libc::iovec { iov_base: local.cast_mut(), iov_len: n };
    let remote = libc::iovec { iov_base: at as *mut c_void, iov_len: n };
    // SAFETY: the local bytes are the caller's promise; the kernel checks the remote ones.
    let copied = unsafe {
        let peer = endpoint_of(endpoint).peer.process as libc::pid_t;
        copy(peer, &raw const local, 1, &raw const remote, 1, 0)
    };
    let status = if copied == n as isize { ucx::UCS_OK } else { ucx::UCS_ERR_INVALID_ADDR };
    ptr::without_provenance_mut(isize::from(status).cast_unsigned())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put_nbx(
    endpoint: ucx::ucp_ep_h,
    buffer: *const c_void,
    n: usize,
    at: u64,
    _key: ucx::ucp_rkey_h,
    _param: *const ucx::ucp_request_param_t,
) -> ucx::ucs_status_ptr_t {
    // SAFETY: an endpoint of this library; the caller's buffer has `n` bytes.
    unsafe { reach::<true>(endpoint, buffer, n, at) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_nbx(
    endpoint: ucx::ucp_ep_h,
    buffer: *mut c_void,
    n: usize,
    at: u64,
    _key: ucx::ucp_rkey_h,
    _param: *const ucx::ucp_request_param_t,
) -> ucx::ucs_status_ptr_t {
    // SAFETY: an endpoint of this library; the caller's buffer has `n` bytes.
    unsafe { reach::<false>(endpoint, buffer, n, at) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_op_nbx(
    endpoint: ucx::ucp_ep_h,
    op: ucx::ucp_atomic_op_t,
    buffer: *const c_void,
    _count: usize,
    at: u64,
    _key: ucx::ucp_rkey_h,
    param: *const ucx::ucp_request_param_t,
) -> ucx::ucs_status_ptr_t {
    static TURN: OnceLock<File> = OnceLock::new();
    let turn = TURN.get_or_init(|| File::open("/proc/self/exe").expect("the program's file")).as_raw_fd();
    // SAFETY: the caller's arguments, which live during the call; the lock is held from the read to the write.
    unsafe {
        let param = &*param;
        // Contiguous elements: their size is in the bits above the class.
        let n = (param.datatype >> 3) as usize;
        let wanted = param.op_attr_mask & ucx::UCP_OP_ATTR_FIELD_REPLY_BUFFER != 0;
        let reply = param.reply_buffer.cast::<u8>();
        let (mut there, mut operand, mut new) = (0_u64, 0_u64, 0_u64);
        buffer.cast::<u8>().copy_to_nonoverlapping((&raw mut operand).cast(), n);
        libc::flock(turn, libc::LOCK_EX);
        let mut answer = reach::<false>(endpoint, (&raw mut there).cast(), n, at);
        match op {
            ucx::UCP_ATOMIC_OP_ADD => new = there.wrapping_add(operand),
            ucx::UCP_ATOMIC_OP_SWAP => new = operand,
            ucx::UCP_ATOMIC_OP_AND => new = there & operand,
            ucx::UCP_ATOMIC_OP_OR => new = there | operand,
            ucx::UCP_ATOMIC_OP_XOR => new = there ^ operand,
            _ if there == operand => reply.copy_to_nonoverlapping((&raw mut new).cast(), n),
            _ => new = there,
        }
        if answer.is_null() {
            answer = reach::<true>(endpoint, (&raw const new).cast(), n, at);
        }
        libc::flock(turn, libc::LOCK_UN);
        if wanted {
            (&raw const there).cast::<u8>().copy_to_nonoverlapping(reply, n);
        }
        answer
    }
}
