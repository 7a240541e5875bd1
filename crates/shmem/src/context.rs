//! Contexts: independent streams of operations.

use core::cell::Cell;
use core::marker::PhantomData;

use oxshmem_runtime as runtime;

use crate::backend::{self, binding, context as calls, number, order};
use crate::own::Live;
use crate::{Error, ErrorKind, Team, World};

/// `SHMEM_CTX_SERIALIZED`: what the type enforces, because it can move to another thread but not be shared.
const SERIALIZED: i64 = 2;

/// A stream of operations with its own order and completion, whose PE numbers are those of a team.
///
/// It lives no longer than its team. Each thread makes its own, or gets one sent; none is used by two at a time.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let number = world.allocate(0)?;
/// let context = world.context();
/// number.put(5, context.pe(0));
/// context.quiet();
/// assert_eq!(number.load(), 5);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Context<'t> {
    pub(crate) handle: runtime::ContextHandle,
    pes: usize,
    home: backend::Home,
    team: PhantomData<&'t ()>,
    one_thread_at_a_time: PhantomData<Cell<()>>,
}

// SAFETY: the handle is an address of atomics that any thread may use; made for one thread at a time, which it is.
unsafe impl Send for Context<'_> {}

/// A PE of a context's team, as a [`Target`](crate::Target) of operations on that context.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let context = world.context();
/// let last: oxshmem::ContextPe<'_> = context.pe(world.n_pes() - 1);
/// world.allocate(1)?.put(2, last);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ContextPe<'c> {
    pub(crate) context: runtime::ContextHandle,
    pub(crate) pe: usize,
    pub(crate) pes: usize,
    life: PhantomData<(&'c (), *const ())>,
}

/// Looks at this PE's list of them.
fn live<R>(look: impl FnOnce(&mut Vec<Live>) -> R) -> R {
    backend::own(|own| look(&mut own.contexts.lock()))
}

/// Completes everything that this PE has issued, on whatever context, collectives included: memory is about to change its
/// owner.
pub(crate) fn quiet_all(call: &'static str) {
    binding::complete_collectives(call);
    // SAFETY: the default context is never destroyed.
    unsafe { order::quiet(runtime::InWorld(call)) };
    live(|live| {
        for Live(context, _) in live {
            // SAFETY: the context has not been destroyed: that needs the list of contexts, which this function holds.
            unsafe { order::quiet(runtime::On(*context, call)) };
        }
    });
}

/// Completes and forgets the contexts that were not dropped before their team, which ends. (The call that ends it comes behind the
/// collectives that were started on it.)
pub(crate) fn forget_team(team: runtime::TeamHandle) {
    live(|live| {
        for Live(context, _) in live.iter().filter(|live| live.1 == team) {
            // SAFETY: the context has not been destroyed: it leaves the list before that, and its team ends only after
            // this function.
            unsafe { order::quiet(runtime::On(*context, "Team::drop")) };
        }
        live.retain(|live| live.1 != team);
    });
}

/// Forgets all contexts: the world ends.
pub(crate) fn forget_all() {
    live(Vec::clear);
}

impl Team<'_> {
    /// A new context on this team.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// world.context().quiet();
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are as many contexts as `SHMEM_MAX_CTX` allows.
    #[doc(alias = "shmem_team_create_ctx")]
    #[must_use]
    #[track_caller]
    pub fn context(&self) -> Context<'_> {
        self.try_context().unwrap_or_else(|error| panic!("{error}"))
    }

    /// [`context`](Self::context) that returns the error when there are as many contexts as `SHMEM_MAX_CTX` allows.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let contexts: Result<Vec<_>, _> = (0..3).map(|_| world.try_context()).collect();
    /// assert_eq!(contexts?.len(), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn try_context(&self) -> Result<Context<'_>, Error> {
        let _span = tracing::debug_span!("context").entered();
        let mut handle = runtime::ContextHandle::INVALID;
        // SAFETY: `handle` is writable and the team lives.
        let status = unsafe { calls::team_create_ctx("Team::context", self.handle(), SERIALIZED, &raw mut handle) };
        if status != 0 {
            return Err(Error::new("Team::context: no context can be made")
                .because(format!("this PE has {} contexts, as many as SHMEM_MAX_CTX allows", live(|live| live.len())))
                .fix("drop those that are not needed, or raise SHMEM_MAX_CTX")
                .of_kind(ErrorKind::LimitReached));
        }
        live(|live| live.push(Live(handle, self.handle())));
        let (pes, home) = (self.n_pes(), backend::home());
        Ok(Context { handle, pes, home, team: PhantomData, one_thread_at_a_time: PhantomData })
    }
}

impl World {
    /// The context of operations that name none.
    pub(crate) fn default_context(&self) -> runtime::ContextHandle {
        runtime::ContextHandle::default_context()
    }
}

impl Context<'_> {
    /// The team's PE with this number, to operate on through this context.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let context = world.context();
    /// assert_eq!(world.allocate(4)?.get(context.pe(0)), 4);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn pe(&self, pe: usize) -> ContextPe<'_> {
        ContextPe { context: self.handle, pe, pes: self.pes, life: PhantomData }
    }

    /// Completes what was issued on this context.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// world.context().quiet();
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_ctx_quiet")]
    #[inline(always)]
    pub fn quiet(&self) {
        // SAFETY: `self` owns the context, which is destroyed when `self` is dropped.
        unsafe { order::quiet(runtime::On(self.handle, "Context::quiet")) }
    }

    /// [`quiet`](Self::quiet) for what was issued to these PEs of the team.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// world.context().quiet_for(&[0]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_ctx_pe_quiet")]
    pub fn quiet_for(&self, pes: &[usize]) {
        let pes: Vec<_> = pes.iter().map(|&pe| number(pe)).collect();
        // SAFETY: `self` owns the context, which is destroyed when `self` is dropped; the list has the elements that its
        // length says.
        unsafe { order::pe_quiet(runtime::On(self.handle, "Context::quiet_for"), pes.as_ptr(), pes.len()) }
    }

    /// Orders what was issued on this context before what is issued afterwards, for each target.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// world.context().fence();
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_ctx_fence")]
    #[inline(always)]
    pub fn fence(&self) {
        // SAFETY: `self` owns the context, which is destroyed when `self` is dropped.
        unsafe { order::fence(runtime::On(self.handle, "Context::fence")) }
    }
}

impl Drop for Context<'_> {
    /// Completes what was issued on it.
    fn drop(&mut self) {
        if backend::home() != self.home {
            // In a world of threads only its PE can complete it, which has it in its list. The process has no such context.
            return;
        }
        // First: what is not in the list is complete, because the thread with the world may be about to open an epoch.
        self.quiet();
        live(|live| live.retain(|live| live.0 != self.handle));
        // SAFETY: made by `context`, and nothing borrows it any more.
        unsafe { calls::destroy(self.handle) }
    }
}
