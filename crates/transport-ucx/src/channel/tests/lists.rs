//! Short messages over TCP, which UCX is given as lists.

use std::cell::RefCell;

use oxshmem_ucx_sys::UCP_OP_ATTR_FIELD_DATATYPE;
use oxshmem_ucx_sys::inline::ucp_dt_make_iov;

use super::*;
use crate::tcp::LISTED;

thread_local! {
    /// Whether each message with data was a list. Channels and tests share a thread.
    static LISTS: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn noted_message(
    endpoint: ucp_ep_h,
    id: c_uint,
    header: *const c_void,
    header_length: usize,
    data: *const c_void,
    n: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: the parameters of a call are valid.
    let given = unsafe { &*param };
    if n > 0 {
        let is_list = given.op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE != 0 && given.datatype == ucp_dt_make_iov();
        LISTS.with_borrow_mut(|lists| lists.push(is_list));
    }
    let send = load::library().expect("it is open").am_send;
    // SAFETY: the arguments of a call of UCX's go unchanged to it.
    unsafe { send(endpoint, id, header, header_length, data, n, param) }
}

#[test]
fn short_messages_are_lists_and_arrive_whole() {
    let source: Vec<u8> = (0..=LISTED).map(|at| (at % 251) as u8).collect();
    for (n, is_list) in [(1, true), (LISTED, true), (LISTED + 1, false)] {
        let mut target = vec![0_u8; LISTED + 1];
        LISTS.take();
        let played = alone_over(
            &Settings::default(),
            &mut target,
            |ucx| ucx.am_send = noted_message,
            |stage| {
                stage.channel.longest_message = usize::MAX;
                stage.put_unacknowledged(HEAP, &source[..n], None);
                stage.complete();
            },
        );
        if played.is_some() {
            assert_eq!(LISTS.take(), [is_list], "a message of {n} bytes");
            assert!(target[..n] == source[..n], "{n} bytes have not arrived whole");
        }
    }
}
