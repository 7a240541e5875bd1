//! Collectives that go on while the program does, as futures.
//!
//! Such a collective is the call that waits, suspended by the runtime where it would wait (`calls::request`). What it uses is
//! symmetric memory, which stays while a collective is under way: every call that frees memory or opens an epoch completes all
//! collectives first (`context::quiet_all`), and the end of a team comes behind those of the team. So a future that is forgotten
//! leaves nothing that could be written later.

use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context as Task, Poll};
use std::sync::Arc;

use oxshmem_reduce::{And, Max, Min, Operand, Or, Prod, Sum, Xor};
use oxshmem_runtime::calls::request::{self, RequestHandle};
use parking_lot::Mutex;

use crate::collective::lengths;
use crate::overlap::{apart, disjoint, first};
use crate::reactor::{self, Awaited};
use crate::{Plain, Symmetric, Team, backend};

/// A collective under way, from the methods of [`Team`] whose names begin with `start`. It borrows the team and the slices.
///
/// It begins with the call and not with the first poll, takes its turn among the team's collectives, and is over when all members
/// have started theirs and moved them on. `await` sleeps until then, on any executor; [`wait`](Self::wait) is for other code, and
/// dropping it waits as well. Every wait of this PE moves it on, and while a task awaits it a thread of this crate does.
/// Until it is over the program leaves the elements alone, as it does those of a transfer.
///
/// Dropping a [`SymmetricBox`](crate::SymmetricBox), an [epoch](crate::World::exclusive) and the end of the world wait for all
/// collectives that this PE has started, on whatever team. So members start a collective before such a call, all of them or none.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let (dest, source) = (world.allocate_slice(2, 0)?, world.allocate_slice(2, 5)?);
/// let sum = world.start_sum(&dest, &source);
/// // … compute meanwhile …
/// sum.wait();
/// assert_eq!(dest.to_vec(), [5 * world.n_pes() as i32; 2]);
/// # Ok::<(), oxshmem::Error>(())
/// ```
///
/// (Where the PEs are [threads](crate::test::threads), the call that starts a collective also completes it.)
#[must_use = "dropping it waits for the collective"]
pub struct StartedCollective<'a, R> {
    /// The result, once the collective is over.
    result: Arc<Mutex<Option<R>>>,
    /// Whether it has been found to be over.
    over: bool,
    request: Option<RequestHandle>,
    /// The reactor's name for it, once it has waited.
    watch: Option<u64>,
    /// The race detector's name for it; 0 once it is over.
    meeting: u64,
    /// The team and the slices; and collectives do not leave their thread.
    lent: PhantomData<(&'a Team<'a>, *const ())>,
}

impl<R> StartedCollective<'_, R> {
    /// Waits until the collective is over, and gives what it gives.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.start_max_of(7).wait(), 7);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn wait(mut self) -> R {
        self.complete();
        self.take()
    }

    fn complete(&mut self) {
        if let Some(id) = self.watch.take() {
            // Before the request ends: the watch looks at it.
            reactor::end(id);
        }
        if let Some(mut request) = self.request.take() {
            // SAFETY: the request is this one's own, and no watch looks at it any more.
            unsafe { request::wait("shmem_req_wait", &raw mut request) };
            backend::detector::over(std::mem::take(&mut self.meeting));
        }
        self.over = true;
    }

    fn take(&mut self) -> R {
        self.result
            .lock()
            .take()
            .expect("a collective that is over has left its result, and a future is not polled after its end")
    }
}

impl<R> fmt::Debug for StartedCollective<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartedCollective").field("over", &self.over).finish_non_exhaustive()
    }
}

// Nothing points into it.
impl<R> Unpin for StartedCollective<'_, R> {}

impl<R> Future for StartedCollective<'_, R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<R> {
        let over = self.request.is_none_or(request::look);
        if over {
            self.complete();
            return Poll::Ready(self.take());
        }
        if let Some(request) = self.request {
            let id = *self.watch.get_or_insert_with(reactor::new_id);
            reactor::watch(id, Awaited::Collective(request), move || request::look(request), task.waker());
        }
        Poll::Pending
    }
}

impl<R> Drop for StartedCollective<'_, R> {
    /// Waits, except in a panic: the other members learn that this PE is gone.
    fn drop(&mut self) {
        if let Some(id) = self.watch.take() {
            reactor::end(id);
        }
        if !std::thread::panicking() {
            self.complete();
        }
    }
}

/// Arguments of a collective that is moved on by whatever thread waits.
struct Moved<T>(T);

// SAFETY: places and handles may be used by all threads (`Symmetric` is `Sync`); values are plain, and plain data is `Send`.
// Collectives ask for the thread of the world so that no two are issued at once, and they were issued there.
unsafe impl<T> Send for Moved<T> {}

impl Team<'_> {
    /// Starts `run` with this team and what it borrows.
    ///
    /// # Safety
    /// `A` has only places of symmetric memory and plain values.
    unsafe fn start<'a, A: 'a, R: Send + 'a>(
        &'a self,
        call: &'static str,
        arguments: A,
        run: fn(&Team<'static>, A) -> R,
    ) -> StartedCollective<'a, R> {
        let handle = self.enter(call);
        let result = Arc::new(Mutex::new(None));
        if backend::in_threads() {
            *result.lock() = Some(run(&self.alias(), arguments));
            return StartedCollective { result, over: true, request: None, watch: None, meeting: 0, lent: PhantomData };
        }
        let moved = Moved((self.alias(), arguments, result.clone()));
        let work: Box<dyn FnOnce() + Send + 'a> = Box::new(move || {
            let Moved((team, arguments, result)) = { moved };
            let found = run(&team, arguments);
            *result.lock() = Some(found);
        });
        // SAFETY: only the lifetime changes. What the arguments borrow is symmetric memory, and neither that nor the team ends
        // while a collective is under way, even if the future is forgotten: `context::quiet_all` completes all before memory ends,
        // and the runtime ends a team behind its collectives.
        let work: Box<dyn FnOnce() + Send + 'static> = unsafe { core::mem::transmute(work) };
        let meeting = backend::detector::started(handle);
        // SAFETY: one thread has the team. The blocking calls of this crate keep nothing of their thread while they wait.
        let request = unsafe { request::start(call, handle, work) };
        StartedCollective { result, over: false, request: Some(request), watch: None, meeting, lent: PhantomData }
    }

    /// Starts a synchronisation of the members: [`sync`](Self::sync) as a future. All members start one: it does not meet a
    /// [`sync`](Self::sync) that waits.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// world.start_sync().wait();
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmemx_sync_nb")]
    #[track_caller]
    pub fn start_sync(&self) -> StartedCollective<'_, ()> {
        // SAFETY: there are no arguments.
        unsafe { self.start("Team::start_sync", (), |team, ()| team.sync()) }
    }

    /// [`broadcast`](Self::broadcast) as a future.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (dest, source) = (world.allocate_slice(2, 0)?, world.allocate_slice(2, 5)?);
    /// world.start_broadcast(&dest, &source, 0).wait();
    /// assert_eq!(dest.to_vec(), [5, 5]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmemx_broadcast_nb")]
    #[track_caller]
    pub fn start_broadcast<'a, T: Plain>(
        &'a self,
        dest: &'a Symmetric<[T]>,
        source: &'a Symmetric<[T]>,
        root: usize,
    ) -> StartedCollective<'a, ()> {
        const CALL: &str = "Team::start_broadcast";
        apart(CALL, dest, source);
        lengths(CALL, dest.len(), Some(source.len()));
        // SAFETY: places and a number.
        unsafe {
            self.start(CALL, (dest, source, root), |team, (dest, source, root)| team.broadcast(dest, source, root))
        }
    }

    /// [`fcollect`](Self::fcollect) as a future.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (dest, source) = (world.allocate_slice(2 * world.n_pes(), 0)?, world.allocate_slice(2, 5)?);
    /// world.start_fcollect(&dest, &source).wait();
    /// assert!(dest.to_vec().iter().all(|&number| number == 5));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmemx_fcollect_nb")]
    #[track_caller]
    pub fn start_fcollect<'a, T: Plain>(
        &'a self,
        dest: &'a Symmetric<[T]>,
        source: &'a Symmetric<[T]>,
    ) -> StartedCollective<'a, ()> {
        const CALL: &str = "Team::start_fcollect";
        disjoint(CALL, dest, source);
        lengths(CALL, dest.len(), source.len().checked_mul(self.n_pes()));
        // SAFETY: places.
        unsafe { self.start(CALL, (dest, source), |team, (dest, source)| team.fcollect(dest, source)) }
    }

    /// [`collect`](Self::collect) as a future, which gives how many elements there are in all. All members start one: it ends with a
    /// synchronisation, which does not meet that of a [`collect`](Self::collect) that waits.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (dest, source) = (world.allocate_slice(9, 0)?, world.allocate_slice(3, 5)?);
    /// assert_eq!(world.start_collect(&dest, &source, 2).wait(), 2 * world.n_pes());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmemx_collect_nb")]
    #[track_caller]
    pub fn start_collect<'a, T: Plain>(
        &'a self,
        dest: &'a Symmetric<[T]>,
        source: &'a Symmetric<[T]>,
        count: usize,
    ) -> StartedCollective<'a, usize> {
        const CALL: &str = "Team::start_collect";
        source.fits(CALL, count);
        disjoint(CALL, dest, first(source, count));
        // SAFETY: places and a number.
        unsafe {
            self.start(CALL, (dest, source, count), |team, (dest, source, count)| team.collect(dest, source, count))
        }
    }

    /// [`alltoall`](Self::alltoall) as a future.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (dest, source) = (world.allocate_slice(world.n_pes(), 0)?, world.allocate_slice(world.n_pes(), 5)?);
    /// world.start_alltoall(&dest, &source).wait();
    /// assert_eq!(dest.to_vec(), source.to_vec());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmemx_alltoall_nb")]
    #[track_caller]
    pub fn start_alltoall<'a, T: Plain>(
        &'a self,
        dest: &'a Symmetric<[T]>,
        source: &'a Symmetric<[T]>,
    ) -> StartedCollective<'a, ()> {
        const CALL: &str = "Team::start_alltoall";
        disjoint(CALL, dest, source);
        lengths(CALL, source.len(), Some(source.len() / self.n_pes().max(1) * self.n_pes()));
        lengths(CALL, dest.len(), Some(source.len()));
        // SAFETY: places.
        unsafe { self.start(CALL, (dest, source), |team, (dest, source)| team.alltoall(dest, source)) }
    }
}

/// The reductions: the calls that wait, the names of those that do not, the operator, an example.
macro_rules! reductions {
    ($($wait:ident $name:ident, $of:ident $name_of:ident, $op:ident $alias:literal, $expect:literal;)*) => {
        impl Team<'_> {$(
            #[doc = concat!("[`", stringify!($wait), "`](Self::", stringify!($wait), ") as a future.")]
            ///
            /// ```
            /// let world = oxshmem::World::init()?;
            /// let (dest, source) = (world.allocate_slice(3, 0_u32)?, world.allocate_slice(3, 6)?);
            #[doc = concat!("world.", stringify!($name), "(&dest, &source).wait();")]
            #[doc = concat!("assert_eq!(dest.to_vec(), [6; 3]); // as there is one PE")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = $alias)]
            #[track_caller]
            pub fn $name<'a, T: Plain + Operand<$op>>(
                &'a self,
                dest: &'a Symmetric<[T]>,
                source: &'a Symmetric<[T]>,
            ) -> StartedCollective<'a, ()> {
                const CALL: &str = concat!("Team::", stringify!($name));
                apart(CALL, dest, source);
                lengths(CALL, dest.len(), Some(source.len()));
                // SAFETY: places.
                unsafe { self.start(CALL, (dest, source), |team, (dest, source)| team.$wait(dest, source)) }
            }

            #[doc = concat!("[`", stringify!($of), "`](Self::", stringify!($of), ") as a future, which gives it.")]
            ///
            /// ```
            /// let world = oxshmem::World::init()?;
            #[doc = $expect]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[track_caller]
            pub fn $name_of<T: Plain + Operand<$op>>(&self, value: T) -> StartedCollective<'_, T> {
                // SAFETY: a plain value.
                unsafe { self.start(concat!("Team::", stringify!($name_of)), value, |team, value| team.$of(value)) }
            }
        )*}
    };
}

reductions! {
    max start_max, max_of start_max_of, Max "shmemx_max_reduce_nb", "assert_eq!(world.start_max_of(2.5).wait(), 2.5);";
    min start_min, min_of start_min_of, Min "shmemx_min_reduce_nb", "assert_eq!(world.start_min_of(-1).wait(), -1);";
    sum start_sum, sum_of start_sum_of, Sum "shmemx_sum_reduce_nb",
        "assert_eq!(world.start_sum_of(1).wait(), world.n_pes() as i32);";
    prod start_prod, prod_of start_prod_of, Prod "shmemx_prod_reduce_nb", "assert_eq!(world.start_prod_of(1_u64).wait(), 1);";
    and start_and, and_of start_and_of, And "shmemx_and_reduce_nb", "assert_eq!(world.start_and_of(6_u8).wait(), 6);";
    or start_or, or_of start_or_of, Or "shmemx_or_reduce_nb", "assert_eq!(world.start_or_of(6_u8).wait(), 6);";
    xor start_xor, xor_of start_xor_of, Xor "shmemx_xor_reduce_nb", "assert_eq!(world.start_xor_of(0_u8).wait(), 0);";
}
