//! Collectives that return at once, and the requests by which a program completes them.
//!
//! Such a collective is the call that waits, suspended ([`crate::wait::suspended`]) where it would wait. So it takes every way
//! that the call takes, on a node and between nodes, and members in different calls are found as they are there. Those of one
//! team run in the order in which they were issued, and a call that waits comes after them.
//!
//! A request is a number in a table. A copy of a handle whose request has ended says that the collective is over, on any thread.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::sync::Arc;

use oxshmem_base::{Error, planted};
use oxshmem_reduce::{And, Max, Min, Operand, Or, Prod, Sum, Xor};

use crate::calls::order;
use crate::calls::team::live;
use crate::collectives;
use crate::collectives::call::Call;
use crate::diagnosis::errors;
use crate::network;
use crate::teams::numbered_handles::{self, NumberedHandle, NumberedHandles};
use crate::teams::team::{TeamHandle, TeamState};
use crate::teams::valid_handles;
use crate::transfers::length::bytes;
use crate::wait::{self, Collectives, Gathering, Needs, Reason, polls, suspended};
use parking_lot::Mutex;

/// A `shmem_req_h`: the number of a collective that has been issued; 0 for `SHMEM_REQ_INVALID`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestHandle(usize);

const INVALID: RequestHandle = RequestHandle(0);

/// A collective that has been issued, and whose request has not ended.
#[derive(Clone)]
struct IssuedCollective {
    /// Stored with release when the collective is over, and read with acquire: it publishes the results.
    over: Arc<AtomicBool>,
    /// Alive as long as the collective is not over.
    team: &'static TeamState,
    call: &'static str,
    /// Its number among the calls that are suspended.
    number: u64,
}

impl IssuedCollective {
    fn is_over(&self) -> bool {
        self.over.load(Acquire)
    }

    /// The needs of a call that looks whether it is over, as long as it is not.
    fn needs(&self) -> Needs<'static> {
        Needs::Collectives(Collectives::One(self.team, Call::key(self.team), self.call, self.number))
    }
}

static REQUESTS: Mutex<NumberedHandles<IssuedCollective>> = Mutex::new(NumberedHandles::new());

/// Begins a collective of a team.
fn issue(
    call: &'static str,
    team: &'static TeamState,
    request: *mut RequestHandle,
    run: impl FnOnce(Call<'static>) + Send + 'static,
) -> c_int {
    if request.is_null() {
        errors::null(call, "request");
    }
    let over = Arc::new(AtomicBool::new(false));
    let its = over.clone();
    let number = suspended::issue(
        Call::key(team),
        Box::new(move || {
            if planted!("request-over-too-early", false, true) {
                its.store(true, Release);
            }
            run(Call::new(team, call));
            its.store(true, Release);
        }),
    );
    let handle = REQUESTS.lock().insert(IssuedCollective { over, team, call, number });
    // SAFETY: the caller passes a writable handle.
    unsafe { request.write(RequestHandle(handle.unwrap_or_else(|| too_many(call)))) };
    0
}

#[cold]
fn too_many(call: &str) -> ! {
    errors::fail(
        &Error::new(format!("{call}: there is no number left for a request"))
            .because(format!("2^{} requests of this PE have not been waited for", numbered_handles::BITS))
            .fix("end requests with shmem_req_wait or shmem_req_test"),
    )
}

/// The collective behind a handle; `None` if it is over and the handle stands for nothing any more. A number that never was a
/// handle ends the job in the name of the call.
///
/// # Safety
/// `request` is null or readable.
unsafe fn find(call: &str, request: *mut RequestHandle) -> Option<(RequestHandle, IssuedCollective)> {
    if request.is_null() {
        errors::null(call, "request");
    }
    // SAFETY: the caller passes a readable handle.
    let handle = unsafe { request.read() };
    if handle == INVALID {
        return None;
    }
    let found = REQUESTS.lock().find(handle.0);
    match found {
        NumberedHandle::Live(found) => Some((handle, found)),
        NumberedHandle::Ended => None,
        NumberedHandle::Never => valid_handles::refuse_request(call, handle.0),
    }
}

/// Looks whether a collective is over, and moves it on. Returns 0 if it is, which ends the request, and 1 if it is not.
///
/// # Safety
/// `request` is readable and writable.
pub unsafe fn test(call: &'static str, request: *mut RequestHandle) -> c_int {
    // SAFETY: the caller passes a readable handle.
    if let Some((handle, issued)) = unsafe { find(call, request) } {
        network::progress();
        suspended::move_on();
        if !issued.is_over() {
            polls::test_failed(call, issued.needs());
            return 1;
        }
        REQUESTS.lock().remove(handle.0);
    }
    // SAFETY: the caller passes a writable handle.
    unsafe { request.write(INVALID) };
    0
}

/// Returns when a collective is over, which ends the request.
///
/// # Safety
/// See [`test`].
pub unsafe fn wait(call: &'static str, request: *mut RequestHandle) -> c_int {
    // SAFETY: the caller passes a readable handle.
    if let Some((handle, issued)) = unsafe { find(call, request) } {
        if !issued.is_over() {
            wait::until(Reason { call, address: 0, needs: issued.needs() }, None, || {
                suspended::move_on();
                issued.is_over().then_some(())
            });
        }
        REQUESTS.lock().remove(handle.0);
    }
    // SAFETY: the caller passes a writable handle.
    unsafe { request.write(INVALID) };
    0
}

/// Begins `work`, blocking calls of a binding for one collective of a team. It comes in its turn among the team's collectives.
///
/// # Safety
/// As for [`sync`]; `work` keeps nothing that belongs to one thread while it waits, and what it uses is there until it is over.
pub unsafe fn start(call: &'static str, team: TeamHandle, work: Box<dyn FnOnce() + Send>) -> RequestHandle {
    let mut request = INVALID;
    issue(call, live(call, team), &raw mut request, |_| work());
    request
}

/// Moves collectives on, and looks whether this one is over. The request goes on.
pub fn look(request: RequestHandle) -> bool {
    network::progress();
    suspended::move_on();
    let found = REQUESTS.lock().find(request.0);
    if let NumberedHandle::Live(issued) = found { issued.is_over() } else { true }
}

/// Ends the job with a message in the name of `call` if a task waits for this collective and a member is gone, or the job has lost one of
/// its PEs.
pub fn end_if_hopeless(call: &'static str, request: RequestHandle) {
    let found = REQUESTS.lock().find(request.0);
    if let NumberedHandle::Live(issued) = found
        && !issued.is_over()
    {
        wait::end_if_hopeless(Reason { call, address: 0, needs: issued.needs() }, || issued.is_over());
    }
}

/// Whether the caller is a collective that has been issued, and not the program.
pub fn is_in_one() -> bool {
    suspended::is_suspended()
}

/// Returns when all collectives that this PE has issued are over.
pub(crate) fn complete_all(call: &'static str) {
    while suspended::any() {
        // All others of its team end before it. While the wait names a team, it notices a member that is gone.
        let last = last_issued();
        let team = last.as_ref().map(|issued| -> &dyn Gathering { issued.team });
        let reason = Reason { call, address: 0, needs: Needs::Collectives(Collectives::All(team)) };
        wait::until(reason, None, || {
            suspended::move_on();
            let is_over = !suspended::any() || last.as_ref().is_some_and(IssuedCollective::is_over);
            is_over.then_some(())
        });
    }
}

/// The collective that was issued last of those that are not over.
fn last_issued() -> Option<IssuedCollective> {
    let requests = REQUESTS.lock();
    requests.values().filter(|issued| !issued.is_over()).max_by_key(|issued| issued.number).cloned()
}

/// The life ends, in which all collectives are over: their requests end.
pub(crate) fn end_all() {
    REQUESTS.lock().remove_all();
}

/// Begins a synchronisation of a team.
///
/// # Safety
/// All members call, one thread of each, in the same order among the team's collectives; `request` is writable, and the
/// team is not destroyed before the request has ended. The functions below ask the same.
pub unsafe fn sync(team: TeamHandle, request: *mut RequestHandle) -> c_int {
    const NAME: &str = "shmemx_sync_nb";
    issue(NAME, live(NAME, team), request, collectives::synchronise)
}

/// Begins a barrier of all PEs: the operations of the default context are completed first.
///
/// # Safety
/// See [`sync`].
pub unsafe fn barrier_all(request: *mut RequestHandle) -> c_int {
    const NAME: &str = "shmemx_barrier_all_nb";
    issue(NAME, live(NAME, TeamHandle::world()), request, |call| {
        order::complete_default(NAME);
        collectives::synchronise(call);
    })
}

/// The arrays of a call, which its caller leaves alone until the request has ended.
#[derive(Clone, Copy)]
struct CallArrays<T>(*mut T, *const T);

// SAFETY: the addresses are used by the call that they belong to, on whatever thread it is moved on.
unsafe impl<T> Send for CallArrays<T> {}

macro_rules! data {
    ($($what:literal $name:ident($($argument:ident: $type:ty),*) => $engine:ident($($pass:expr),*))*) => {$(
        #[doc = $what]
        ///
        /// # Safety
        /// See [`sync`]; both sides are symmetric and have the elements, do not overlap, and are left alone until the
        /// request has ended.
        pub unsafe fn $name<T: 'static>(
            team: TeamHandle, dest: *mut T, source: *const T, $($argument: $type,)* request: *mut RequestHandle,
        ) -> c_int {
            const NAME: &str = concat!("shmemx_", stringify!($name), "_nb");
            let arrays = CallArrays(dest, source);
            issue(NAME, live(NAME, team), request, move |call| {
                let CallArrays(dest, source) = { arrays };
                // SAFETY: the caller keeps the standard's promises, which are those of the engine, until the request ends.
                unsafe { collectives::$engine(call, dest.cast(), source.cast(), $($pass),*) };
            })
        }
    )*};
}

data! {
    "Begins a broadcast." broadcast(nelems: usize, root: c_int) => broadcast(bytes::<T>(nelems), root.into(), true)
    "Begins a concatenation of blocks of different sizes." collect(nelems: usize) => collect(bytes::<T>(nelems), usize::MAX)
    "Begins a concatenation of blocks of different sizes, which have at most `room` bytes together."
        collect_into(nelems: usize, room: usize) => collect(bytes::<T>(nelems), room)
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
            team: TeamHandle, dest: *mut T, source: *const T, nreduce: usize, request: *mut RequestHandle,
        ) -> c_int {
            const NAME: &str = concat!("shmemx_", stringify!($name), "_nb");
            let arrays = CallArrays(dest, source);
            issue(NAME, live(NAME, team), request, move |call| {
                let CallArrays(dest, source) = { arrays };
                // SAFETY: the caller keeps the standard's promises, which are those of the engine, until the request ends.
                unsafe { collectives::reduce::<$op, T>(call, dest, source, nreduce) };
            })
        }
    )*};
}

reductions!(and_reduce And or_reduce Or xor_reduce Xor max_reduce Max min_reduce Min sum_reduce Sum prod_reduce Prod);
