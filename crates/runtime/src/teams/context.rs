//! Communication contexts: the handle, and the object behind it.

use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::diagnosis::errors;
use crate::memory::direct::FAST;
use crate::network::lane::{self, ContextLane};
use crate::start::state;
use crate::teams::live_contexts::LiveContext;
use crate::teams::predefined_handles;
use crate::teams::team::TeamState;
use crate::teams::valid_handles::{self, HandleKind};

/// A `shmem_ctx_t`: the address of a context object, or null for `SHMEM_CTX_INVALID`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContextHandle(pub(crate) *const ContextObject);

/// The state of a context. The first line holds what the data path needs: how its PE numbers become world numbers.
///
/// The default context's object is defined in C (a program may name its address in a static initialiser, and may
/// thereby own the copy that counts), as zeroed memory of this size; init fills it and the last finalize clears it.
#[repr(C)]
pub struct ContextObject {
    /// Members of the team while they are a triplet of the world; zero when the arithmetic does not apply. Stored with release after
    /// the two numbers below.
    size: AtomicU32,
    start: AtomicU32,
    stride: AtomicU32,
    /// The options it was made with.
    options: AtomicU32,
    /// Stored with release and loaded with acquire: the state is plain memory, and the default context's handle exists before
    /// it. The triplet above needs no order: a context that a program has made reaches other threads by its handle, which they
    /// got in order, and the plain calls do not read that of the default context.
    team: AtomicPtr<TeamState>,
    /// Its lane of the network, once it has used it.
    lane: AtomicPtr<ContextLane>,
    /// Its place in the list of its team. Read and written under the lock of the list.
    place: AtomicU64,
    _reserved: [u64; 3],
}

/// The options with which a program promises that no two threads use the context at once: `SHMEM_CTX_PRIVATE` and `SHMEM_CTX_SERIALIZED`.
const SERIALIZED: u32 = 0b11;

const _: () = assert!(size_of::<ContextObject>() == size_of::<predefined_handles::Object>());

impl ContextObject {
    /// Of no team.
    pub(crate) const fn empty() -> Self {
        Self {
            size: AtomicU32::new(0),
            start: AtomicU32::new(0),
            stride: AtomicU32::new(0),
            options: AtomicU32::new(0),
            team: AtomicPtr::new(core::ptr::null_mut()),
            lane: AtomicPtr::new(core::ptr::null_mut()),
            place: AtomicU64::new(0),
            _reserved: [0; 3],
        }
    }
}

impl ContextHandle {
    /// `SHMEM_CTX_INVALID`.
    pub const INVALID: Self = Self(core::ptr::null());

    /// `SHMEM_CTX_DEFAULT`.
    #[inline(always)]
    pub fn default_context() -> Self {
        Self(predefined_handles::default_context().cast())
    }

    pub(crate) fn is_valid(self) -> bool {
        !self.0.is_null()
    }

    fn object(self) -> Option<&'static ContextObject> {
        // SAFETY: a handle is null, the default context's static object, or an object that `create` leaked and that
        // only `destroy` frees; the standard leaves calls with destroyed handles undefined.
        unsafe { self.0.as_ref() }
    }

    /// The object of a handle that [`Self::is_believed`].
    #[inline(always)]
    fn believed(self) -> &'static ContextObject {
        // SAFETY: a believed handle is not null, so it is the default context's object or one that `create` leaked and only
        // `destroy` frees; the standard leaves calls with destroyed handles undefined.
        unsafe { &*self.0 }
    }

    /// Whether it is not null and needs no look into the list of living handles.
    #[inline(always)]
    fn is_believed(self) -> bool {
        FAST.believes(self.0 as usize)
    }

    /// The handle, after it was found in the list of those that are alive if handles are checked. The invalid one passes.
    pub(crate) fn checked(self, call: &str) -> Self {
        if self.is_valid() && !self.is_believed() && self != Self::default_context() {
            valid_handles::demand(call, "context", self.0 as usize, HandleKind::Context);
        }
        self
    }

    /// Whether [`ContextHandle::checked`] would not end the job.
    pub(crate) fn is_listed(self) -> bool {
        let is_known = !self.is_valid() || self.is_believed() || self == Self::default_context();
        is_known || valid_handles::is_of(self.0 as usize, HandleKind::Context)
    }

    /// The world number of the team's member `pe`, or a number that no window has.
    #[inline(always)]
    pub(crate) fn world(self, pe: c_int) -> u32 {
        if !self.is_believed() {
            return u32::MAX;
        }
        let object = self.believed();
        if pe as u32 >= object.size.load(Relaxed) {
            return u32::MAX;
        }
        (pe as u32).wrapping_mul(object.stride.load(Relaxed)).wrapping_add(object.start.load(Relaxed))
    }

    /// The world number of the team's member `pe`, where the handle is believed and the arithmetic applies; for threads that may have met
    /// the initialising one nowhere else.
    #[inline(always)]
    pub(crate) fn published_number(self, pe: c_int) -> Option<u32> {
        if !self.is_believed() {
            return None;
        }
        let object = self.believed();
        // A context that was destroyed has no team; the three numbers of one may be those of other memory by now.
        if pe as u32 >= object.size.load(Acquire) || object.team.load(Relaxed).is_null() {
            return None;
        }
        Some((pe as u32).wrapping_mul(object.stride.load(Relaxed)).wrapping_add(object.start.load(Relaxed)))
    }

    /// [`Self::published_number`] with the context's lane, if it has needed one.
    #[inline(always)]
    pub(crate) fn published_member(self, pe: c_int) -> Option<(u32, &'static ContextLane)> {
        Some((self.published_number(pe)?, lane::known(&self.believed().lane)?))
    }

    /// [`Self::published_member`] of the default context in the words of the plain calls: its object is always there, and its members have
    /// the numbers of the world.
    #[inline(always)]
    pub(crate) fn published_pe(pe: c_int) -> Option<(u32, &'static ContextLane)> {
        let object = Self::default_context().believed();
        if pe as u32 >= object.size.load(Acquire) {
            return None;
        }
        Some((pe as u32, lane::known(&object.lane)?))
    }

    /// The team it was made on; `None` for the invalid handle and outside init and finalize.
    pub(crate) fn team(self) -> Option<&'static TeamState> {
        // SAFETY: set by `fill` from a team that outlives its contexts (destroying the team first is undefined).
        unsafe { self.object()?.team.load(Acquire).as_ref() }
    }

    /// Its team, which makes sense of a PE number that no window has. Without one the job ends with a message.
    pub(crate) fn live_team(self, call: &str) -> &'static TeamState {
        if !self.checked(call).is_valid() {
            errors::invalid_handle(call, "context", "SHMEM_CTX_INVALID");
        }
        // Without a life there is no list, and a handle of a former life must not be read.
        match state::is_open().then(|| self.team()).flatten() {
            Some(team) => team,
            None => errors::dead_handle(call, "context", "context", self.0 as usize),
        }
    }

    /// Its lane of the network, made when it is first needed.
    #[inline]
    pub(crate) fn lane(self) -> &'static ContextLane {
        match self.object() {
            Some(object) => {
                let serialized = object.options.load(Relaxed) & SERIALIZED != 0;
                // Collectives of the program complete the default context.
                lane::at(&object.lane, serialized, self == Self::default_context())
            }
            None => errors::invalid_handle("an operation", "context", "SHMEM_CTX_INVALID"),
        }
    }

    /// Its lane, if it has needed one.
    pub(crate) fn known_lane(self) -> Option<&'static ContextLane> {
        lane::known(&self.object()?.lane)
    }

    /// Its lane, if something may be outstanding on it.
    #[inline(always)]
    fn busy_lane(self, call: &'static str) -> Option<&'static ContextLane> {
        let object = if self.is_believed() { self.believed() } else { self.looked_up(call)? };
        lane::known(&object.lane).filter(|lane| !lane.is_settled())
    }

    #[cold]
    #[inline(never)]
    fn looked_up(self, call: &'static str) -> Option<&'static ContextObject> {
        self.checked(call).object()
    }

    /// Completes what was issued on it between nodes.
    #[inline(always)]
    pub(crate) fn quiet(self, call: &'static str) {
        if let Some(lane) = self.busy_lane(call)
            && !lane.is_complete()
        {
            lane.complete(call);
        }
    }

    /// [`Self::quiet`] for these PEs.
    pub(crate) fn quiet_for(self, call: &'static str, pes: &[u32]) {
        if let Some(lane) = self.busy_lane(call) {
            lane.complete_for(call, pes);
        }
    }

    /// Whether that is complete.
    pub(crate) fn is_quiet(self, call: &'static str) -> bool {
        self.busy_lane(call).is_none_or(ContextLane::is_complete)
    }

    /// Makes a fence if it would return at once. Returns whether it is made.
    pub(crate) fn try_fence(self, call: &'static str) -> bool {
        self.busy_lane(call).is_none_or(ContextLane::try_fence)
    }

    /// Orders what was issued on it between nodes.
    #[inline(always)]
    pub(crate) fn fence(self, call: &'static str) {
        if let Some(lane) = self.busy_lane(call)
            && !lane.fence_at_once()
        {
            lane.fence(call);
        }
    }

    /// Frees its lane: no thread uses it any more.
    fn forget_lane(self) {
        if let Some(object) = self.object() {
            lane::forget(&object.lane);
        }
    }

    /// Leaves its lane to the memory.
    fn leave_lane(self) {
        if let Some(object) = self.object() {
            object.lane.store(core::ptr::null_mut(), Release);
        }
    }

    /// Leaves its lane to threads that may still be in a call, as long as they are there.
    pub(crate) fn leave_lane_behind(self) {
        if let Some(object) = self.object() {
            lane::leave_behind(&object.lane);
        }
    }

    pub(crate) fn create(team: &'static TeamState, options: c_long) -> Self {
        let object = Box::new(ContextObject::empty());
        object.options.store(options as u32, Relaxed);
        let context = Self(Box::into_raw(object));
        valid_handles::begin(context.0 as usize, HandleKind::Context);
        context.fill(team);
        context
    }

    /// Takes it into the list of its team, where `live` stands for it.
    pub(crate) fn enlist(self, list: &mut Vec<LiveContext>, live: LiveContext) {
        let Some(object) = self.object() else { return };
        object.place.store(list.len() as u64, Relaxed);
        list.push(live);
    }

    /// Takes it out of the list of its team, if it is there. The last of the list comes to its place, so that the end of a context
    /// costs the same beside one and beside thousands.
    pub(crate) fn delist(self, list: &mut Vec<LiveContext>) {
        let Some(object) = self.object() else { return };
        let place = object.place.load(Relaxed);
        if list.get(place as usize).is_none_or(|live| live.object() != self.0) {
            return;
        }
        list.swap_remove(place as usize);
        if let Some(last) = list.get(place as usize).and_then(|live| Self(live.object()).object()) {
            last.place.store(place, Relaxed);
        }
    }

    /// Makes it a context of `team`.
    pub(crate) fn fill(self, team: &'static TeamState) {
        let Some(object) = self.object() else { return };
        object.team.store(core::ptr::from_ref(team).cast_mut(), Release);
        if let Some((start, stride)) = team.triplet() {
            object.start.store(start, Relaxed);
            object.stride.store(stride as u32, Relaxed);
            object.size.store(team.size, Release);
        }
    }

    /// Lets it resolve nothing and belong to nothing.
    pub(crate) fn clear(self) {
        let Some(object) = self.object() else { return };
        self.forget_lane();
        object.size.store(0, Relaxed);
        object.team.store(core::ptr::null_mut(), Relaxed);
    }

    /// Lets it belong to nothing, and leaves its lane: to the parent of this process, the child of a fork, or to the memory, because the
    /// life has ended on whose network the lane was.
    pub(crate) fn leave(self) {
        let Some(object) = self.object() else { return };
        object.size.store(0, Relaxed);
        object.team.store(core::ptr::null_mut(), Relaxed);
        self.leave_lane();
    }

    /// Takes back what `create` made, in the name of `call`.
    ///
    /// # Safety
    /// The handle came from `create` and is not used again, unless handles are checked.
    pub(crate) unsafe fn free(self, call: &'static str) {
        self.clear();
        if !valid_handles::destroy(self.0 as usize, call) {
            // SAFETY: `create` leaked it from a box, no thread uses it after `free`, and no list of checked handles keeps it.
            drop(unsafe { Box::from_raw(self.0.cast_mut()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_that_ends_leaves_the_places_of_others() {
        let objects = [(); 5].map(|()| ContextObject::empty());
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|number: usize| ContextHandle(&raw const objects[number]));
        let mut list = Vec::new();
        let enlist = |list: &mut _, handle: ContextHandle| {
            handle.enlist(list, LiveContext::unless_full(u64::MAX, || handle.0).expect("there is no limit"));
        };
        let listed =
            |list: &[LiveContext]| -> Vec<_> { list.iter().map(|live| ContextHandle(live.object())).collect() };
        [a, b, c, d].into_iter().for_each(|handle| enlist(&mut list, handle));
        a.delist(&mut list);
        assert_eq!(listed(&list), [d, b, c], "the last one alone has moved");
        a.delist(&mut list);
        assert_eq!(listed(&list), [d, b, c], "it was there no more");
        enlist(&mut list, e);
        d.delist(&mut list);
        c.delist(&mut list);
        assert_eq!(listed(&list), [e, b]);
        e.delist(&mut list);
        b.delist(&mut list);
        assert!(list.is_empty());
    }
}
