//! The runtime behind the API: that of the process, or, in tests, the PE that this thread is in a world of threads.
//!
//! The calls have the names and the signatures of the runtime's. An unsafe one asks its caller for the promises of the runtime's call of its
//! name, and no others. [`threads::here`] says `None` without looking in builds without debug assertions, so that what is left of each is
//! the runtime's call.

pub(crate) mod detector;

use core::ffi::{c_int, c_long, c_void};

use oxshmem_reduce::{And, Max, Min, Operand, Or, Prod, Sum, Xor};
#[cfg(not(feature = "race"))]
use oxshmem_runtime::calls as told;
use oxshmem_runtime::calls::team::Config;
use oxshmem_runtime::{ContextHandle, TeamHandle, Via};

use crate::own::OwnState;
#[cfg(feature = "race")]
use crate::told;
use crate::{AtomicInteger, AtomicValue, Error, Plain, threads};

static OF_THE_PROCESS: OwnState = OwnState::new();

/// Looks at what the API remembers of this PE.
#[inline(always)]
pub(crate) fn own<R>(look: impl FnOnce(&OwnState) -> R) -> R {
    match threads::here() {
        None => look(&OF_THE_PROCESS),
        Some(pe) => look(&pe.own),
    }
}

/// Whether the PEs are threads.
#[inline(always)]
pub(crate) fn in_threads() -> bool {
    threads::here().is_some()
}

/// No PE has this number.
const NOBODY: c_int = -1;

/// A PE's number, or that of a start, a stride or a size, as calls take it.
#[inline(always)]
pub(crate) fn number(pe: usize) -> c_int {
    c_int::try_from(pe).unwrap_or(NOBODY)
}

/// The owner of an operation: in a world of threads the PE that started it, because no other thread can complete it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Home(Option<u64>);

/// The owner of operations that this thread starts.
#[inline(always)]
pub(crate) fn home() -> Home {
    Home(threads::here().map(|pe| pe.id))
}

/// This PE's copy of the place at `address`.
#[inline(always)]
pub(crate) fn own_copy<T>(address: *mut T) -> *mut T {
    match threads::here() {
        None => address,
        Some(pe) => pe.own_copy(address),
    }
}

/// The program looks at this PE's memory, perhaps in a loop.
#[inline(always)]
pub(crate) fn look() {
    if let Some(pe) = threads::here() {
        pe.look();
    }
}

/// A task waits. Returns `false` if the watch of the variable will wake it; otherwise the task has to ask again.
pub(crate) fn look_later() -> bool {
    threads::here().inspect(|pe| pe.look_later()).is_some()
}

macro_rules! calls {
    ($($module:ident in $threads:ident {$(
        fn $name:ident[$($generic:ident: $bound:path),*]($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;
    )*})*) => {$(
        pub(crate) mod $module {
            use super::*;
            $(
                #[inline(always)]
                #[cfg_attr(feature = "race", track_caller)]
                pub(crate) unsafe fn $name<$($generic: $bound),*>($($argument: $type),*) $(-> $result)? {
                    match threads::here() {
                        // SAFETY: the caller keeps the promises of the runtime's call of this name, which this function
                        // asks for.
                        None => unsafe { told::$module::$name($($argument),*) },
                        // SAFETY: the caller keeps the promises of the runtime's call of this name, and the call for
                        // threads asks for no others.
                        Some(pe) => unsafe { threads::$threads::$module::$name(&pe, $($argument),*) },
                    }
                }
            )*
        }
    )*};
}

calls! {
    rma in calls {
        fn p[V: Via, T: Plain](via: V, dest: *mut T, value: T, pe: c_int);
        fn g[V: Via, T: Plain](via: V, source: *const T, pe: c_int) -> T;
        fn put[V: Via, T: Plain](via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int);
        fn get[V: Via, T: Plain](via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int);
        fn begin_put[V: Via, T: Plain](via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int) -> bool;
        fn begin_get[V: Via, T: Plain](via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int) -> bool;
        fn put_nbi[V: Via, T: Plain](via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int);
        fn get_nbi[V: Via, T: Plain](via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int);
        fn iput[V: Via, T: Plain](
            via: V, dest: *mut T, source: *const T, dst: isize, sst: isize, nelems: usize, pe: c_int,
        );
        fn ibput[V: Via, T: Plain](
            via: V, dest: *mut T, source: *const T, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: c_int,
        );
        fn ibget[V: Via, T: Plain](
            via: V, dest: *mut T, source: *const T, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: c_int,
        );
        fn iget[V: Via, T: Plain](
            via: V, dest: *mut T, source: *const T, dst: isize, sst: isize, nelems: usize, pe: c_int,
        );
    }

    amo in calls {
        fn fetch[V: Via, T: AtomicValue](via: V, source: *const T, pe: c_int) -> T;
        fn set[V: Via, T: AtomicValue](via: V, dest: *mut T, value: T, pe: c_int);
        fn store[T: AtomicValue](call: &'static str, own: *mut T, value: T);
        fn swap[V: Via, T: AtomicValue](via: V, dest: *mut T, value: T, pe: c_int) -> T;
        fn compare_swap[V: Via, T: AtomicInteger](via: V, dest: *mut T, cond: T, value: T, pe: c_int) -> T;
        fn fetch_inc[V: Via, T: AtomicInteger](via: V, dest: *mut T, pe: c_int) -> T;
        fn inc[V: Via, T: AtomicInteger](via: V, dest: *mut T, pe: c_int);
        fn fetch_add[V: Via, T: AtomicInteger](via: V, dest: *mut T, value: T, pe: c_int) -> T;
        fn add[V: Via, T: AtomicInteger](via: V, dest: *mut T, value: T, pe: c_int);
        fn fetch_and[V: Via, T: AtomicInteger](via: V, dest: *mut T, value: T, pe: c_int) -> T;
        fn and[V: Via, T: AtomicInteger](via: V, dest: *mut T, value: T, pe: c_int);
        fn fetch_or[V: Via, T: AtomicInteger](via: V, dest: *mut T, value: T, pe: c_int) -> T;
        fn or[V: Via, T: AtomicInteger](via: V, dest: *mut T, value: T, pe: c_int);
        fn fetch_xor[V: Via, T: AtomicInteger](via: V, dest: *mut T, value: T, pe: c_int) -> T;
        fn xor[V: Via, T: AtomicInteger](via: V, dest: *mut T, value: T, pe: c_int);
        fn fetch_nbi[V: Via, T: AtomicValue](via: V, result: *mut T, source: *const T, pe: c_int);
        fn swap_nbi[V: Via, T: AtomicValue](via: V, result: *mut T, dest: *mut T, value: T, pe: c_int);
        fn compare_swap_nbi[V: Via, T: AtomicInteger](
            via: V, result: *mut T, dest: *mut T, cond: T, value: T, pe: c_int,
        );
        fn fetch_inc_nbi[V: Via, T: AtomicInteger](via: V, result: *mut T, dest: *mut T, pe: c_int);
        fn fetch_add_nbi[V: Via, T: AtomicInteger](via: V, result: *mut T, dest: *mut T, value: T, pe: c_int);
        fn fetch_and_nbi[V: Via, T: AtomicInteger](via: V, result: *mut T, dest: *mut T, value: T, pe: c_int);
        fn fetch_or_nbi[V: Via, T: AtomicInteger](via: V, result: *mut T, dest: *mut T, value: T, pe: c_int);
        fn fetch_xor_nbi[V: Via, T: AtomicInteger](via: V, result: *mut T, dest: *mut T, value: T, pe: c_int);
    }

    order in calls {
        fn fence[V: Via](via: V);
        fn quiet[V: Via](via: V);
        fn pe_quiet[V: Via](via: V, target_pes: *const c_int, n: usize);
        fn barrier_all[]();
        fn sync_all[]();
    }

    p2p in calls {
        fn wait_until[T: AtomicValue](ivar: *mut T, cmp: c_int, value: T);
        fn test[T: AtomicValue](ivar: *mut T, cmp: c_int, value: T) -> c_int;
        fn wait_until_all[T: AtomicValue](
            ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, value: T,
        );
        fn wait_until_any[T: AtomicValue](
            ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, value: T,
        ) -> usize;
        fn wait_until_some[T: AtomicValue](
            ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int, value: T,
        ) -> usize;
        fn test_all[T: AtomicValue](
            ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, value: T,
        ) -> c_int;
        fn test_any[T: AtomicValue](
            ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, value: T,
        ) -> usize;
        fn test_some[T: AtomicValue](
            ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int, value: T,
        ) -> usize;
        fn wait_until_all_vector[T: AtomicValue](
            ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, values: *const T,
        );
        fn wait_until_any_vector[T: AtomicValue](
            ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, values: *const T,
        ) -> usize;
        fn wait_until_some_vector[T: AtomicValue](
            ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int, values: *const T,
        ) -> usize;
        fn test_all_vector[T: AtomicValue](
            ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, values: *const T,
        ) -> c_int;
        fn test_any_vector[T: AtomicValue](
            ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, values: *const T,
        ) -> usize;
        fn test_some_vector[T: AtomicValue](
            ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int, values: *const T,
        ) -> usize;
    }

    signal in calls {
        fn put_signal[V: Via, T: Plain](
            via: V, dest: *mut T, source: *const T, nelems: usize, sig_addr: *mut u64, signal: u64, sig_op: c_int,
            pe: c_int,
        );
        fn put_signal_nbi[V: Via, T: Plain](
            via: V, dest: *mut T, source: *const T, nelems: usize, sig_addr: *mut u64, signal: u64, sig_op: c_int,
            pe: c_int,
        );
        fn signal_set[V: Via](via: V, sig_addr: *mut u64, signal: u64, pe: c_int);
        fn signal_add[V: Via](via: V, sig_addr: *mut u64, signal: u64, pe: c_int);
        fn signal_fetch[](sig_addr: *const u64) -> u64;
        fn signal_wait_until[](sig_addr: *mut u64, cmp: c_int, value: u64) -> u64;
    }

    lock in calls {
        fn set_lock[](lock: *mut c_long);
        fn test_lock[](lock: *mut c_long) -> c_int;
        fn clear_lock[](lock: *mut c_long);
    }

    memory in calls {
        fn free[](call: &'static str, ptr: *mut c_void);
    }

    context in exchange {
        fn team_create_ctx[](
            call: &'static str, team: TeamHandle, options: c_long, context: *mut ContextHandle,
        ) -> c_int;
        fn destroy[](context: ContextHandle);
    }

    team in exchange {
        fn my_pe[](team: TeamHandle) -> c_int;
        fn n_pes[](team: TeamHandle) -> c_int;
        fn translate_pe[](source: TeamHandle, pe: c_int, dest: TeamHandle) -> c_int;
        fn sync[](team: TeamHandle) -> c_int;
        fn split_strided[](
            parent: TeamHandle, start: c_int, stride: c_int, size: c_int, config: *const Config, mask: c_long,
            new_team: *mut TeamHandle,
        ) -> c_int;
        fn split_2d[](
            parent: TeamHandle, xrange: c_int, x_config: *const Config, x_mask: c_long, x_team: *mut TeamHandle,
            y_config: *const Config, y_mask: c_long, y_team: *mut TeamHandle,
        ) -> c_int;
        fn destroy[](team: TeamHandle);
    }

    team_extension in exchange {
        fn split_color[](
            call: &'static str, parent: TeamHandle, color: c_int, key: c_int, new_team: *mut TeamHandle,
        );
    }
}

/// The collectives, whose messages name the routine.
macro_rules! collectives {
    ($($name:ident $bound:path, ($($argument:ident: $type:ty),*);)*) => {$(
        #[inline(always)]
        #[cfg_attr(feature = "race", track_caller)]
        pub(crate) unsafe fn $name<T: Plain + $bound>(
            team: TeamHandle, dest: *mut T, source: *const T, $($argument: $type),*
        ) -> c_int {
            const NAME: &str = concat!("shmem_", stringify!($name));
            match threads::here() {
                // SAFETY: the caller promises what the runtime's call of this name asks of `dest` and `source`: the elements, on
                // all members.
                None => unsafe { told::collective::$name(NAME, team, dest, source, $($argument),*) },
                // SAFETY: the caller promises the elements at `dest` and `source` on all members, and the call for threads asks
                // for nothing else.
                Some(pe) => unsafe { threads::exchange::collective::$name(&pe, team, dest, source, $($argument),*) },
            }
        }
    )*};
}

pub(crate) mod collective {
    use super::*;

    collectives! {
        broadcast Plain, (nelems: usize, root: c_int);
        fcollect Plain, (nelems: usize);
        alltoall Plain, (nelems: usize);
        alltoalls Plain, (dst: isize, sst: isize, nelems: usize);
    }
}

/// The reductions and scans.
pub(crate) mod combine {
    use super::*;

    collectives! {
        and_reduce Operand<And>, (nelems: usize);
        or_reduce Operand<Or>, (nelems: usize);
        xor_reduce Operand<Xor>, (nelems: usize);
        max_reduce Operand<Max>, (nelems: usize);
        min_reduce Operand<Min>, (nelems: usize);
        sum_reduce Operand<Sum>, (nelems: usize);
        prod_reduce Operand<Prod>, (nelems: usize);
        sum_inscan Operand<Sum>, (nelems: usize);
        sum_exscan Operand<Sum>, (nelems: usize);
    }
}

pub(crate) fn global_exit(status: c_int) -> ! {
    match threads::here() {
        None => told::init::global_exit(status),
        Some(_) => panic!("shmem_global_exit({status})"),
    }
}

pub(crate) mod binding {
    pub(crate) use oxshmem_runtime::calls::binding::WORDS;

    use super::*;

    pub(crate) fn init(requested: c_int) -> Result<c_int, Error> {
        match threads::here() {
            None => told::binding::init(requested),
            Some(pe) => threads::exchange::binding::init(&pe, requested),
        }
    }

    pub(crate) unsafe fn finalize() {
        match threads::here() {
            // SAFETY: the caller promises that this is the last call of the PE, as the runtime asks.
            None => unsafe { told::binding::finalize() },
            // SAFETY: the caller promises that this is the last call of the PE.
            Some(pe) => unsafe { threads::exchange::binding::finalize(&pe) },
        }
    }

    #[cfg_attr(feature = "race", track_caller)]
    pub(crate) unsafe fn allocate(
        call: &'static str,
        bytes: usize,
        content: Option<u64>,
    ) -> Result<*mut c_void, Error> {
        match threads::here() {
            // SAFETY: the caller promises that all PEs make the same call, one thread of each.
            None => unsafe { told::binding::allocate(call, bytes, content) },
            // SAFETY: the caller promises that all PEs make the same call, one thread of each.
            Some(pe) => unsafe { threads::calls::memory::allocate(&pe, call, bytes, content) },
        }
    }

    /// Returns when this PE's collectives that were started are over. (Those of threads are when they have been started.)
    pub(crate) fn complete_collectives(call: &'static str) {
        if threads::here().is_none() {
            oxshmem_runtime::calls::binding::complete_collectives(call);
        }
    }

    #[cold]
    pub(crate) fn fail(error: &Error) -> ! {
        match threads::here() {
            None => oxshmem_runtime::calls::binding::fail(error),
            Some(pe) => pe.fail(error),
        }
    }

    #[inline(always)]
    pub(crate) unsafe fn exchange(
        team: TeamHandle,
        call: &'static str,
        kind: u8,
        bytes: usize,
        words: &[u64],
        visit: impl FnMut(u32, &[u64]),
    ) {
        match threads::here() {
            // SAFETY: the caller promises that all members make the same call, and that one thread of each has the team.
            None => unsafe { told::binding::exchange(team, call, kind, bytes, words, visit) },
            // SAFETY: the caller promises that all members make the same call, and that one thread of each has the team.
            Some(pe) => unsafe { threads::exchange::binding::exchange(&pe, team, call, kind, bytes, words, visit) },
        }
    }

    /// # Safety
    /// As for the runtime's call. In a world of threads no PE writes into the memory of others.
    #[inline(always)]
    pub(crate) unsafe fn agree_on_destination(team: TeamHandle, call: &'static str, dest: *const u8, bytes: usize) {
        if threads::here().is_none() {
            // SAFETY: the caller promises that all members make the same call with a destination of `bytes` bytes.
            unsafe { oxshmem_runtime::calls::binding::agree_on_destination(team, call, dest, bytes) }
        }
    }
}
