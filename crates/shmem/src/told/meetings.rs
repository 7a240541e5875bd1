//! The calls that order PEs, and those in which all members of a team meet.

use core::ffi::{c_int, c_void};

use oxshmem_reduce::{And, Max, Min, Operand, Or, Prod, Sum, Xor};
use oxshmem_runtime::{TeamHandle, Via};

use super::{context_of, detector, is_told, named, site};

/// Makes a call in which all PEs meet. `completes`: it completes the operations of the default context first.
fn of_world<R>(completes: bool, call: impl FnOnce() -> R) -> R {
    let meeting = if is_told() { detector::race_enter_world(completes.into()) } else { 0 };
    let result = call();
    super::over(meeting);
    result
}

/// Makes a call in which all members of a team meet.
fn of_team<R>(team: TeamHandle, call: impl FnOnce() -> R) -> R {
    let meeting = super::started(team);
    let result = call();
    super::over(meeting);
    result
}

pub(crate) mod order {
    use oxshmem_runtime::calls::order as calls;

    use super::*;

    pub(crate) unsafe fn fence<V: Via>(via: V) {
        if is_told() {
            detector::race_fence(context_of(via));
        }
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::fence(via) }
    }

    pub(crate) unsafe fn quiet<V: Via>(via: V) {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::quiet(via) }
        if is_told() {
            detector::race_quiet(context_of(via));
        }
    }

    pub(crate) unsafe fn pe_quiet<V: Via>(via: V, target_pes: *const c_int, n: usize) {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::pe_quiet(via, target_pes, n) }
        if is_told() {
            // SAFETY: the caller promises the runtime's call the elements of `target_pes`.
            unsafe { detector::race_pe_quiet(context_of(via), target_pes, n) }
        }
    }

    pub(crate) unsafe fn barrier_all() {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        of_world(true, || unsafe { calls::barrier_all() });
    }

    pub(crate) unsafe fn sync_all() {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        of_world(false, || unsafe { calls::sync_all() });
    }
}

pub(crate) mod lock {
    use core::ffi::c_long;

    use oxshmem_runtime::calls::lock as calls;

    use super::*;

    pub(crate) unsafe fn set_lock(lock: *mut c_long) {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::set_lock(lock) }
        if is_told() {
            detector::race_locked(lock as usize);
        }
    }

    pub(crate) unsafe fn test_lock(lock: *mut c_long) -> c_int {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let busy = unsafe { calls::test_lock(lock) };
        if busy == 0 && is_told() {
            detector::race_locked(lock as usize);
        }
        busy
    }

    pub(crate) unsafe fn clear_lock(lock: *mut c_long) {
        if is_told() {
            detector::race_unlocking(lock as usize);
        }
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::clear_lock(lock) }
    }
}

pub(crate) mod memory {
    use oxshmem_runtime::calls::memory as calls;

    use super::*;

    pub(crate) unsafe fn free(call: &'static str, ptr: *mut c_void) {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        of_world(true, || unsafe { calls::free(call, ptr) });
        if is_told() {
            detector::race_freed(ptr);
        }
    }
}

pub(crate) mod context {
    use oxshmem_runtime::calls::context as calls;
    pub(crate) use oxshmem_runtime::calls::context::team_create_ctx;
    use oxshmem_runtime::{ContextHandle, On};

    use super::*;

    pub(crate) unsafe fn destroy(context: ContextHandle) {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::destroy(context) }
        // The detector compares the handle with that of the default context, and asks nothing of it.
        if is_told() {
            detector::race_quiet(context_of(On(context, "Context::drop")));
        }
    }
}

pub(crate) mod team {
    use core::ffi::c_long;

    use oxshmem_runtime::calls::team as calls;
    use oxshmem_runtime::calls::team::Config;
    pub(crate) use oxshmem_runtime::calls::team::{my_pe, n_pes, translate_pe};

    use super::*;

    pub(crate) unsafe fn sync(team: TeamHandle) -> c_int {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        of_team(team, || unsafe { calls::sync(team) })
    }

    pub(crate) unsafe fn split_strided(
        parent: TeamHandle,
        start: c_int,
        stride: c_int,
        size: c_int,
        config: *const Config,
        mask: c_long,
        new_team: *mut TeamHandle,
    ) -> c_int {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let status = unsafe { calls::split_strided(parent, start, stride, size, config, mask, new_team) };
        if is_told() {
            // SAFETY: the call has written the handle.
            let made = unsafe { new_team.read() };
            detector::race_split(named(parent), named(made), named(TeamHandle::INVALID));
        }
        status
    }

    pub(crate) unsafe fn split_2d(
        parent: TeamHandle,
        xrange: c_int,
        x_config: *const Config,
        x_mask: c_long,
        x_team: *mut TeamHandle,
        y_config: *const Config,
        y_mask: c_long,
        y_team: *mut TeamHandle,
    ) -> c_int {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let status = unsafe { calls::split_2d(parent, xrange, x_config, x_mask, x_team, y_config, y_mask, y_team) };
        if is_told() {
            // SAFETY: the call has written both handles.
            let (x, y) = unsafe { (x_team.read(), y_team.read()) };
            detector::race_split(named(parent), named(x), named(y));
        }
        status
    }

    pub(crate) unsafe fn destroy(team: TeamHandle) {
        if is_told() {
            detector::race_team_ends(named(team));
        }
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::destroy(team) }
        if team != TeamHandle::INVALID && is_told() {
            detector::race_contexts_over();
        }
    }
}

pub(crate) mod team_extension {
    pub(crate) use oxshmem_runtime::calls::team_extension::split_color;
}

pub(crate) mod collective {
    use oxshmem_runtime::calls::{collective as calls, team as calls_of_team};

    use super::*;

    /// The bytes at `dest` and `source` that a collective uses, in the middle of its meeting.
    #[track_caller]
    fn uses<T>(dest: *mut T, written: usize, source: *const T, read: usize) {
        if is_told() {
            let call = detector::number(NAME);
            let one = size_of::<T>();
            detector::race_use(dest as usize, written * one, source as usize, read * one, site(), call);
        }
    }

    /// The name of all collectives in reports.
    const NAME: &str = "a collective";

    fn size(team: TeamHandle) -> usize {
        // SAFETY: the caller of a collective promises that its team has not been destroyed.
        unsafe { calls_of_team::n_pes(team) }.max(0) as usize
    }

    /// Collectives of whole arrays: how they begin for the detector, how many elements `dest` has, and how many `source`.
    macro_rules! arrays {
        ($(
            $begin:ident $name:ident$(<$op:ident>)?($($argument:ident: $type:ty),*) |$team:ident| $written:expr, $read:expr;
        )*) => {$(
            #[track_caller]
            pub(crate) unsafe fn $name<T: 'static $(+ Operand<$op>)?>(
                name: &'static str, $team: TeamHandle, dest: *mut T, source: *const T, $($argument: $type),*
            ) -> c_int {
                let meeting = crate::told::$begin($team);
                uses(dest, $written, source, $read);
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                let status = unsafe { calls::$name(name, $team, dest, source, $($argument),*) };
                crate::told::over(meeting);
                status
            }
        )*};
    }

    arrays! {
        started fcollect(nelems: usize) |team| nelems * size(team), nelems;
        started alltoall(nelems: usize) |team| nelems * size(team), nelems * size(team);
        started and_reduce<And>(nelems: usize) |team| nelems, nelems;
        started or_reduce<Or>(nelems: usize) |team| nelems, nelems;
        started xor_reduce<Xor>(nelems: usize) |team| nelems, nelems;
        started max_reduce<Max>(nelems: usize) |team| nelems, nelems;
        started min_reduce<Min>(nelems: usize) |team| nelems, nelems;
        started sum_reduce<Sum>(nelems: usize) |team| nelems, nelems;
        started prod_reduce<Prod>(nelems: usize) |team| nelems, nelems;
        scan_started sum_inscan<Sum>(nelems: usize) |team| nelems, nelems;
        scan_started sum_exscan<Sum>(nelems: usize) |team| nelems, nelems;
    }

    #[track_caller]
    pub(crate) unsafe fn broadcast<T: 'static>(
        name: &'static str,
        team: TeamHandle,
        dest: *mut T,
        source: *const T,
        nelems: usize,
        root: c_int,
    ) -> c_int {
        let meeting = if is_told() { detector::race_enter_team(named(team), 0, root) } else { 0 };
        // SAFETY: the caller promises that the team has not been destroyed.
        let is_root = unsafe { calls_of_team::my_pe(team) } == root;
        uses(dest, nelems, source, if is_root { nelems } else { 0 });
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let status = unsafe { calls::broadcast(name, team, dest, source, nelems, root) };
        crate::told::over(meeting);
        status
    }

    #[track_caller]
    pub(crate) unsafe fn alltoalls<T: 'static>(
        name: &'static str,
        team: TeamHandle,
        dest: *mut T,
        source: *const T,
        dst: isize,
        sst: isize,
        nelems: usize,
    ) -> c_int {
        let meeting = crate::told::started(team);
        if is_told() {
            let (one, call) = (size_of::<T>(), detector::number(NAME));
            // Of one element or none a stride may be any number.
            let (dst, sst) = (dst.wrapping_mul(one as isize), sst.wrapping_mul(one as isize));
            let count = nelems * size(team);
            detector::race_use_strided(dest as usize, dst, source as usize, sst, one, count, site(), call);
        }
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let status = unsafe { calls::alltoalls(name, team, dest, source, dst, sst, nelems) };
        crate::told::over(meeting);
        status
    }
}

pub(crate) mod init {
    use super::*;

    pub(crate) fn global_exit(status: c_int) -> ! {
        oxshmem_runtime::calls::init::global_exit(detector::status_of(status))
    }
}

pub(crate) mod binding {
    use oxshmem_base::Error;
    use oxshmem_runtime::calls::binding as calls;

    use super::*;

    pub(crate) fn init(requested: c_int) -> Result<c_int, Error> {
        detector::prepare();
        calls::init(requested)
    }

    pub(crate) unsafe fn finalize() {
        let meeting = detector::race_ending();
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::finalize() };
        detector::race_ended(meeting);
    }

    #[track_caller]
    pub(crate) unsafe fn allocate(
        call: &'static str,
        bytes: usize,
        content: Option<u64>,
    ) -> Result<*mut c_void, Error> {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let block = of_world(true, || unsafe { calls::allocate(call, bytes, content) })?;
        detector::race_allocated(block, bytes, site(), detector::number(call));
        Ok(block)
    }

    pub(crate) unsafe fn exchange(
        team: TeamHandle,
        call: &'static str,
        kind: u8,
        bytes: usize,
        words: &[u64],
        visit: impl FnMut(u32, &[u64]),
    ) {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        of_team(team, || unsafe { calls::exchange(team, call, kind, bytes, words, visit) });
    }
}
