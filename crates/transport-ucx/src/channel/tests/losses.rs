//! Failures of the network that end waits on all lanes.

use std::cell::Cell;

use oxshmem_ucx_sys::{UCS_ERR_CONNECTION_RESET, UCS_ERR_UNREACHABLE, ucp_ep_params_t, ucp_err_handler, ucs_status_t};

use super::*;

/// UCX's answer where the two PEs have no transport in common.
unsafe extern "C" fn connect_nowhere(
    _worker: ucp_worker_h,
    _params: *const ucp_ep_params_t,
    _endpoint: *mut ucp_ep_h,
) -> ucs_status_t {
    UCS_ERR_UNREACHABLE
}

/// A wait in a barrier asks no lane, so it learned nothing of a message that could not be sent.
#[test]
fn waits_learn_of_a_peer_that_cannot_be_reached() {
    let change = |ucx: &mut Ucx| ucx.ep_create = connect_nowhere;
    alone_over(&Settings::default(), &mut [0_u8; 8], change, |stage| {
        let options = LaneOptions { rarely_completed: true, ..LaneOptions::default() };
        let lane = UcxLane::new(stage.net.clone(), options).expect("there are workers");
        assert!(stage.net.losses.first().is_none(), "nothing was sent");
        // SAFETY: the source is static.
        let left = unsafe { lane.put(&put(HEAP, &TABLE[..8])) };
        assert_eq!(left, 0, "the call returns as if it had issued all");
        let lost = stage.net.losses.first().map(ToString::to_string).unwrap_or_default();
        assert!(lost.contains("PE 0 cannot be reached over UCX") && lost.contains("UCX_TLS"), "{lost}");
    });
}

thread_local! {
    /// The handler of the last endpoint.
    static HANDLER: Cell<Option<(ucp_ep_h, ucp_err_handler)>> = const { Cell::new(None) };
}

/// UCX's call, which notes the handler of the endpoint.
unsafe extern "C" fn connect_with_note(
    worker: ucp_worker_h,
    params: *const ucp_ep_params_t,
    endpoint: *mut ucp_ep_h,
) -> ucs_status_t {
    let create = load::library().expect("it is open").ep_create;
    // SAFETY: the arguments of a call of UCX's go unchanged to it, and are the caller's variables.
    unsafe {
        let made = create(worker, params, endpoint);
        HANDLER.set(Some((*endpoint, (*params).err_handler)));
        made
    }
}

/// Tells the channel that the connection of its last endpoint has closed.
fn close_last_connection() {
    let (endpoint, ucp_err_handler { cb, arg }) = HANDLER.get().expect("there is an endpoint");
    // SAFETY: UCX calls the handler so, and the channel of the endpoint lives.
    unsafe { cb.expect("there is a handler")(arg, endpoint, UCS_ERR_CONNECTION_RESET) };
}

/// The loss that waits learn of when a connection closes; with a good-bye before.
fn loss_by_a_closed_connection(leaves_before: bool) -> Option<Option<String>> {
    let change = |ucx: &mut Ucx| ucx.ep_create = connect_with_note;
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    alone_over(&Settings::default(), &mut target, change, |stage| {
        stage.put_in_the_end(HEAP, &source);
        stage.complete();
        if leaves_before {
            stage.net.leave();
        }
        close_last_connection();
        stage.net.losses.first().map(ToString::to_string)
    })
}

#[test]
fn waits_learn_of_a_connection_that_closes() {
    if let Some(lost) = loss_by_a_closed_connection(false) {
        let lost = lost.unwrap_or_default();
        assert!(lost.contains("PE 0 cannot be reached over UCX any more"), "{lost}");
    }
}

#[test]
fn connections_of_peers_that_have_our_good_bye_may_close() {
    assert_eq!(loss_by_a_closed_connection(true).flatten(), None);
}

/// An error of the program's is one of its lane.
#[test]
fn waits_do_not_learn_of_a_range_that_a_peer_does_not_have() {
    let source = [7_u8; 8];
    alone(&mut [0_u8; 8], |stage| {
        stage.put_in_the_end(HEAP, &source);
        stage.complete();
        let refused = loop {
            match stage.put(at(8), &source) {
                Err(NotIssued::Failed(error)) => break error.to_string(),
                _ => stage.turn(),
            }
        };
        assert!(refused.contains("outside"), "{refused}");
        assert!(stage.net.losses.first().is_none());
    });
}
