//! Collectives that return at once, and the requests by which a program completes them.
//!
//! Such a collective is the call that waits, set aside ([`crate::wait::aside`]) where it would wait. So it takes every way
//! that the call takes, on a node and between nodes, and members in different calls are found as they are there. Those of one
//! team run in the order in which they were issued, and a call that waits comes behind them.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::sync::Arc;

use oxshmem_reduce::{And, Max, Min, Operand, Or, Prod, Sum, Xor};

use crate::calls::order;
use crate::calls::p2p::polled;
use crate::calls::team::live;
use crate::collectives;
use crate::collectives::call::Call;
use crate::diagnosis::errors;
use crate::network;
use crate::teams::team::{Team, TeamState};
use crate::transfers::length::bytes;
use crate::wait::{self, Needs, Reason, aside};

/// Collectives of a team that are under way at once. A further one waits until the first of them is over.
const MOST: usize = 64;

/// A `shmem_req_h`: a collective that has been issued; null for `SHMEM_REQ_INVALID`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestHandle(*const RequestState);

// SAFETY: the state is made of atomics and of what never changes; whoever ends the request promises to be the only one.
unsafe impl Send for RequestHandle {}

struct RequestState {
    /// Stored with release when the collective is over, and read with acquire: it publishes the results.
    over: AtomicBool,
    team: &'static TeamState,
}

/// Begins a collective of a team.
fn issue(
    call: &'static str,
    team: &'static TeamState,
    request: *mut RequestHandle,
    run: impl FnOnce(Call<'static>) + Send + 'static,
) -> c_int {
    if request.is_null() {
        errors::invalid_handle(call, "request", "NULL");
    }
    let key = Call::key(team);
    if aside::pending(key) >= MOST {
        let reason = Reason { call, address: key, needs: team.needed() };
        wait::until(reason, None, || {
            aside::move_on();
            (aside::pending(key) < MOST).then_some(())
        });
    }
    let state = Arc::new(RequestState { over: AtomicBool::new(false), team });
    let its = state.clone();
    aside::issue(
        key,
        Box::new(move || {
            run(Call::new(team, call));
            its.over.store(true, Release);
        }),
    );
    // SAFETY: the caller passes a writable handle.
    unsafe { request.write(RequestHandle(Arc::into_raw(state))) };
    0
}

/// Looks whether a collective is over, and moves it on. Returns 0 if it is, which ends the request, and 1 if it is not.
///
/// # Safety
/// `request` is a handle that a collective has written, or `SHMEM_REQ_INVALID`, which counts as over. No other thread uses
/// it now.
pub unsafe fn test(request: *mut RequestHandle) -> c_int {
    // SAFETY: the caller passes a readable handle.
    let Some(state) = (unsafe { (*request).0.as_ref() }) else { return 0 };
    network::progress();
    aside::move_on();
    if !state.over.load(Acquire) {
        polled();
        return 1;
    }
    // SAFETY: the caller's handle is a request of its own.
    unsafe { end(request) };
    0
}

/// Returns when a collective is over, which ends the request.
///
/// # Safety
/// See [`test`].
pub unsafe fn wait(request: *mut RequestHandle) -> c_int {
    // SAFETY: the caller passes a readable handle.
    let Some(state) = (unsafe { (*request).0.as_ref() }) else { return 0 };
    let reason =
        Reason { call: "shmem_req_wait", address: core::ptr::from_ref(state) as usize, needs: state.team.needed() };
    wait::until(reason, None, || {
        aside::move_on();
        state.over.load(Acquire).then_some(())
    });
    // SAFETY: the caller's handle is a request of its own.
    unsafe { end(request) };
    0
}

/// # Safety
/// `request` is a handle that `issue` has written, and nobody else uses it.
unsafe fn end(request: *mut RequestHandle) {
    // SAFETY: the caller promises a handle of `issue`, which leaked the state into it.
    unsafe {
        drop(Arc::from_raw((*request).0));
        request.write(RequestHandle(core::ptr::null()));
    }
}

/// Begins `work`, blocking calls of a binding for one collective of a team. It comes in its turn among the team's collectives.
///
/// # Safety
/// As for [`sync`]; `work` keeps nothing that belongs to one thread while it waits, and what it uses is there until it is over.
pub unsafe fn start(call: &'static str, team: Team, work: Box<dyn FnOnce() + Send>) -> RequestHandle {
    let mut request = RequestHandle(core::ptr::null());
    issue(call, live(call, team), &raw mut request, |_| work());
    request
}

/// Moves collectives on, and looks whether this one is over. The request goes on.
///
/// # Safety
/// `request` has not ended, and does not while this runs.
pub unsafe fn look(request: RequestHandle) -> bool {
    network::progress();
    aside::move_on();
    // SAFETY: the caller promises a request that has not ended.
    unsafe { request.0.as_ref() }.is_none_or(|state| state.over.load(Acquire))
}

/// Returns when all collectives that this PE has issued are over.
pub(crate) fn complete_all(call: &'static str) {
    if aside::any() {
        wait::until(Reason { call, address: 0, needs: Needs::Anyone }, None, || {
            aside::move_on();
            (!aside::any()).then_some(())
        });
    }
}

/// Begins a synchronisation of a team.
///
/// # Safety
/// All members call, one thread of each, in the same order among the team's collectives; `request` is writable, and the
/// team is not destroyed before the request has ended. The functions below ask the same.
pub unsafe fn sync(team: Team, request: *mut RequestHandle) -> c_int {
    const NAME: &str = "shmemx_sync_nb";
    issue(NAME, live(NAME, team), request, collectives::synchronise)
}

/// Begins a barrier of all PEs: the operations of the default context are completed first.
///
/// # Safety
/// See [`sync`].
pub unsafe fn barrier_all(request: *mut RequestHandle) -> c_int {
    const NAME: &str = "shmemx_barrier_all_nb";
    issue(NAME, live(NAME, Team::world()), request, |call| {
        order::complete_default(NAME);
        collectives::synchronise(call);
    })
}

/// The arrays of a call, which its caller leaves alone until the request has ended.
#[derive(Clone, Copy)]
struct LentArrays<T>(*mut T, *const T);

// SAFETY: the addresses are used by the call that they were lent to, on whatever thread it is moved on.
unsafe impl<T> Send for LentArrays<T> {}

macro_rules! data {
    ($($what:literal $name:ident($($argument:ident: $type:ty),*) => $engine:ident($($pass:expr),*))*) => {$(
        #[doc = $what]
        ///
        /// # Safety
        /// See [`sync`]; both sides are symmetric and have the elements, do not overlap, and are left alone until the
        /// request has ended.
        pub unsafe fn $name<T: 'static>(
            team: Team, dest: *mut T, source: *const T, $($argument: $type,)* request: *mut RequestHandle,
        ) -> c_int {
            const NAME: &str = concat!("shmemx_", stringify!($name), "_nb");
            let lent = LentArrays(dest, source);
            issue(NAME, live(NAME, team), request, move |call| {
                let LentArrays(dest, source) = { lent };
                // SAFETY: the caller keeps the standard's promises, which are those of the engine, until the request ends.
                unsafe { collectives::$engine(call, dest.cast(), source.cast(), $($pass),*) };
            })
        }
    )*};
}

data! {
    "Begins a broadcast." broadcast(nelems: usize, root: c_int) => broadcast(bytes::<T>(nelems), root.into(), true)
    "Begins a concatenation of blocks of different sizes." collect(nelems: usize) => collect(bytes::<T>(nelems))
    "Begins a concatenation of blocks of one size." fcollect(nelems: usize) => fcollect(bytes::<T>(nelems))
    "Begins an exchange of blocks between all members." alltoall(nelems: usize) => alltoall(bytes::<T>(nelems))
}

macro_rules! reductions {
    ($($name:ident $op:ident)*) => {$(
        #[doc = concat!("Begins a reduction by ", stringify!($op), ".")]
        ///
        /// # Safety
        /// See [`sync`]; both sides are symmetric and have the elements, are the same or apart, and are left alone until the
        /// request has ended.
        pub unsafe fn $name<T: Operand<$op> + 'static>(
            team: Team, dest: *mut T, source: *const T, nreduce: usize, request: *mut RequestHandle,
        ) -> c_int {
            const NAME: &str = concat!("shmemx_", stringify!($name), "_nb");
            let lent = LentArrays(dest, source);
            issue(NAME, live(NAME, team), request, move |call| {
                let LentArrays(dest, source) = { lent };
                // SAFETY: the caller keeps the standard's promises, which are those of the engine, until the request ends.
                unsafe { collectives::reduce::<$op, T>(call, dest, source, nreduce) };
            })
        }
    )*};
}

reductions!(and_reduce And or_reduce Or xor_reduce Xor max_reduce Max min_reduce Min sum_reduce Sum prod_reduce Prod);
