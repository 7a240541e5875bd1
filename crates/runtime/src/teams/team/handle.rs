//! The handles of teams: from the user's handle to the team, and the other way.

use core::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use super::{TeamHandle, TeamObject, TeamState};
use crate::memory::direct::FAST;
use crate::start::state;
use crate::teams::context::ContextHandle;
use crate::teams::valid_handles::{self, HandleKind};
use crate::teams::{live_teams, predefined_handles};

impl TeamHandle {
    /// `SHMEM_TEAM_INVALID`.
    pub const INVALID: Self = Self(core::ptr::null());

    /// `SHMEM_TEAM_WORLD`.
    #[inline(always)]
    pub fn world() -> Self {
        Self(predefined_handles::world().cast())
    }

    /// `SHMEM_TEAM_SHARED`.
    pub fn shared() -> Self {
        Self(predefined_handles::shared().cast())
    }

    /// `SHMEM_TEAM_NODE`.
    pub fn node() -> Self {
        Self(predefined_handles::node().cast())
    }

    /// Whether the user must not destroy it.
    pub(crate) fn is_predefined(self) -> bool {
        self == Self::world() || self == Self::shared() || self == Self::node()
    }

    /// The team behind a user's handle; `None` for the invalid handle, and for all handles while not initialised. Where handles
    /// are checked, one that stands for nothing ends the job in the name of the call and its argument.
    #[inline(always)]
    pub(crate) fn named(self, call: &str, argument: &str) -> Option<&'static TeamState> {
        if FAST.believes(self.0 as usize) { self.state() } else { self.looked_up(call, argument) }
    }

    #[cold]
    #[inline(never)]
    fn looked_up(self, call: &str, argument: &str) -> Option<&'static TeamState> {
        if self != Self::INVALID && !self.is_predefined() {
            // Outside of init and finalize there is no list to look the handle up in, and no team.
            if !state::is_open() {
                return None;
            }
            valid_handles::demand(call, argument, self.0 as usize, HandleKind::Team);
        }
        self.state()
    }

    /// Whether [`TeamHandle::named`] would not end the job.
    pub(crate) fn is_listed(self) -> bool {
        let is_known = FAST.believes(self.0 as usize) || self == Self::INVALID || self.is_predefined();
        is_known || !state::is_open() || valid_handles::is_of(self.0 as usize, HandleKind::Team)
    }

    /// The team behind a handle that is known to be alive, or invalid, or predefined; `None` for the invalid handle, and for
    /// predefined handles while not initialised.
    #[inline(always)]
    pub(crate) fn state(self) -> Option<&'static TeamState> {
        // SAFETY: a handle is null, a predefined object, or an object that `enlist` leaked and only `delist` frees; the
        // standard leaves calls with destroyed handles undefined. The state lives as long as the object points to it.
        unsafe { self.0.as_ref()?.state.load(Acquire).as_ref() }
    }

    /// Puts a live team behind a predefined handle.
    pub(crate) fn fill(self, state: Box<TeamState>) -> &'static TeamState {
        let state = Box::leak(state);
        state.handle.store(self.0.cast_mut(), Relaxed);
        // SAFETY: the handle is predefined, whose object lives as long as the process, or `enlist` has just leaked it.
        let object = unsafe { &*self.0 };
        object.state.store(state, Release);
        live_teams::add(state);
        state
    }

    /// A new handle for a live team.
    pub(crate) fn enlist(state: Box<TeamState>) -> Self {
        let handle = Self(Box::leak(Box::new(TeamObject::empty())));
        valid_handles::begin(handle.0 as usize, HandleKind::Team);
        handle.fill(state);
        handle
    }

    /// Leaves the team to the parent: this process is the child of a fork.
    pub(crate) fn leave_to_parent(self) {
        // SAFETY: the fork's handler calls this for predefined handles, whose objects live as long as the process.
        if let Some(object) = unsafe { self.0.as_ref() } {
            object.state.store(core::ptr::null_mut(), Relaxed);
        }
    }

    /// Lets the handle stand for nothing, and the contexts of its team belong to nothing: the user has left the team to the last finalize.
    /// All of it stays in memory, because the user may still have the handles, and use them in another life.
    pub(crate) fn abandon(self) {
        // SAFETY: the caller has found the team behind this handle, so the object is there.
        let object = unsafe { self.0.as_ref() };
        let state = object.map_or(core::ptr::null_mut(), |object| object.state.swap(core::ptr::null_mut(), Acquire));
        // SAFETY: null, or leaked by `fill`; only `delist` frees it, and takes it away from the object before.
        if let Some(state) = unsafe { state.as_ref() } {
            state.contexts.lock().iter().for_each(|live| ContextHandle(live.object()).leave());
        }
    }

    /// Takes the team away from behind the handle in the name of `call`, with the contexts that still live on it.
    ///
    /// # Safety
    /// No thread uses the team, a context of it, or (unless it is predefined or handles are checked) the handle any more.
    pub(crate) unsafe fn delist(self, call: &'static str) -> Option<Box<TeamState>> {
        // SAFETY: the caller has found the team behind this handle, or it is predefined, so the object is there.
        let object = unsafe { self.0.as_ref() }?;
        let state = object.state.load(Acquire);
        object.state.store(core::ptr::null_mut(), Relaxed);
        if state.is_null() {
            return None;
        }
        live_teams::remove(state);
        // SAFETY: `fill` leaked it from a box, and no other thread has it, by the caller's promise.
        let mut state = unsafe { Box::from_raw(state) };
        for live in state.contexts.get_mut().drain(..) {
            // Not freed: a program may still destroy a context whose team it has destroyed.
            let context = ContextHandle(live.object());
            context.clear();
            valid_handles::destroy_team_of(context.0 as usize, call);
        }
        if !self.is_predefined() && !valid_handles::destroy(self.0 as usize, call) {
            // SAFETY: `enlist` leaked it from a box; handles that are checked are in the list.
            drop(unsafe { Box::from_raw(self.0.cast_mut()) });
        }
        Some(state)
    }
}
