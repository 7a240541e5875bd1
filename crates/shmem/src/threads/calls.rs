//! What one PE does: transfers, atomics, order, waits, signals, locks, on lanes of the loopback provider.
//!
//! Signatures are those of the runtime's calls, and so are the promises.

use core::ffi::{c_int, c_void};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use oxshmem_runtime as runtime;
use oxshmem_runtime::Via;
use oxshmem_transport::{Amo, Lane, Remote, SignalUpdate, Width};

use super::{Pe, Stream, context_number};
use crate::{AtomicValue, Error, Plain};

/// Who holds which lock, and who waits for it: by where it is.
#[derive(Default)]
pub(super) struct Locks(Mutex<BTreeMap<u64, VecDeque<usize>>>);

impl Pe {
    /// Runs `body` with the context that the call names.
    fn on<R>(&self, context: runtime::Context, body: impl FnOnce(&mut Stream) -> R) -> R {
        body(&mut self.streams.borrow_mut()[context_number(context)])
    }

    /// Where the caller's `n` bytes at `address` are on the context's PE `pe`.
    fn remote<V: Via>(&self, via: V, address: *const u8, n: usize, pe: c_int) -> Remote {
        let members = self.on(via.context(), |stream| stream.members.clone());
        let Some(&pe) = usize::try_from(pe).ok().and_then(|pe| members.list.get(pe)) else {
            self.fail(
                &Error::new(format!("{}: PE {pe} does not exist", via.call()))
                    .because(format!("the team of the context has {} PEs", members.list.len()))
                    .fix("pass a PE number of that team"),
            )
        };
        let Some((region, offset)) = self.job.store.locate(self.me, address, n) else {
            self.fail(
                &Error::new(format!("{}: no symmetric object of {n} bytes at {address:p}", via.call()))
                    .because("it is not in this PE's memory")
                    .fix("pass memory that all PEs have allocated"),
            )
        };
        Remote { pe: pe as u32, region, offset }
    }

    /// Issues an operation that the caller does not wait for.
    fn issue<V: Via>(&self, via: V, operation: impl FnOnce(&mut Stream)) {
        self.on(via.context(), operation);
        self.stage().changed();
    }

    /// Issues an operation and waits for it alone; after a fence, for what that holds back as well.
    fn ask<V: Via>(&self, via: V, operation: impl FnOnce(&mut dyn Lane)) {
        self.on(via.context(), |stream| {
            if stream.fenced {
                stream.complete(self);
            }
            operation(&mut *stream.asked);
            drain(self, &mut *stream.asked);
        });
        self.stage().changed();
    }

    /// Completes what this PE has issued on all contexts: it ends.
    pub(super) fn complete_all(&self) {
        self.streams.borrow_mut().iter_mut().for_each(|stream| stream.complete(self));
    }

    fn locks(&self) -> MutexGuard<'_, BTreeMap<u64, VecDeque<usize>>> {
        self.job.locks.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    pub(super) fn complete(&mut self, pe: &Pe) {
        drain(pe, &mut *self.issued);
        self.kept.clear();
        self.fenced = false;
    }
}

fn drain(pe: &Pe, lane: &mut dyn Lane) {
    while lane.outstanding() > 0 {
        if let Err(error) = lane.progress() {
            pe.fail(&error);
        }
    }
}

pub(crate) mod rma {
    use super::*;

    pub(crate) unsafe fn p<V: Via, T: Plain>(here: &Pe, via: V, dest: *mut T, value: T, pe: c_int) {
        // SAFETY: the put has copied the local when it returns.
        unsafe { put(here, via, dest, &raw const value, 1, pe) }
    }

    pub(crate) unsafe fn g<V: Via, T: Plain>(here: &Pe, via: V, source: *const T, pe: c_int) -> T {
        let mut value = core::mem::MaybeUninit::uninit();
        // SAFETY: the get has filled the local when it returns.
        unsafe {
            get(here, via, value.as_mut_ptr(), source, 1, pe);
            value.assume_init()
        }
    }

    pub(crate) unsafe fn put<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        nelems: usize,
        pe: c_int,
    ) {
        here.stage().step(here.me);
        let n = nelems * size_of::<T>();
        if n > 0 {
            let to = here.remote(via, dest.cast(), n, pe);
            // SAFETY: the caller's promise; the place is inside a region. So below.
            here.issue(via, |stream| unsafe { stream.issued.put(to, source.cast(), n) });
        }
    }

    pub(crate) unsafe fn get<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        nelems: usize,
        pe: c_int,
    ) {
        here.stage().step(here.me);
        let n = nelems * size_of::<T>();
        if n > 0 {
            let from = here.remote(via, source.cast(), n, pe);
            // SAFETY: as above.
            here.ask(via, |lane| unsafe { lane.get_nbi(dest.cast(), from, n) });
        }
    }

    pub(crate) unsafe fn put_nbi<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        nelems: usize,
        pe: c_int,
    ) {
        here.stage().step(here.me);
        let n = nelems * size_of::<T>();
        if n > 0 {
            let to = here.remote(via, dest.cast(), n, pe);
            // SAFETY: as above.
            here.issue(via, |stream| unsafe { stream.issued.put_nbi(to, source.cast(), n) });
        }
    }

    pub(crate) unsafe fn get_nbi<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        nelems: usize,
        pe: c_int,
    ) {
        here.stage().step(here.me);
        let n = nelems * size_of::<T>();
        if n > 0 {
            let from = here.remote(via, source.cast(), n, pe);
            // SAFETY: as above.
            here.issue(via, |stream| unsafe { stream.issued.get_nbi(dest.cast(), from, n) });
        }
    }

    pub(crate) unsafe fn iput<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        dst: isize,
        sst: isize,
        nelems: usize,
        pe: c_int,
    ) {
        for i in 0..nelems as isize {
            // SAFETY: one element of the caller's promise. So below.
            unsafe { put(here, via, dest.wrapping_offset(i * dst), source.wrapping_offset(i * sst), 1, pe) }
        }
    }

    pub(crate) unsafe fn ibput<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        dst: isize,
        sst: isize,
        bsize: usize,
        nblocks: usize,
        pe: c_int,
    ) {
        for i in 0..nblocks as isize {
            // SAFETY: one block of the caller's promise. So below.
            unsafe { put(here, via, dest.wrapping_offset(i * dst), source.wrapping_offset(i * sst), bsize, pe) }
        }
    }

    pub(crate) unsafe fn ibget<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        dst: isize,
        sst: isize,
        bsize: usize,
        nblocks: usize,
        pe: c_int,
    ) {
        for i in 0..nblocks as isize {
            // SAFETY: as above.
            unsafe { get(here, via, dest.wrapping_offset(i * dst), source.wrapping_offset(i * sst), bsize, pe) }
        }
    }

    pub(crate) unsafe fn iget<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        dst: isize,
        sst: isize,
        nelems: usize,
        pe: c_int,
    ) {
        for i in 0..nelems as isize {
            // SAFETY: as above.
            unsafe { get(here, via, dest.wrapping_offset(i * dst), source.wrapping_offset(i * sst), 1, pe) }
        }
    }
}

pub(crate) mod amo {
    use super::*;

    fn width<T>() -> Width {
        Width::try_from(size_of::<T>() as u8).expect("atomic numbers have 4 or 8 bytes")
    }

    fn ask<V: Via, T: AtomicValue>(here: &Pe, via: V, address: *const T, amo: Amo, pe: c_int) -> T {
        here.stage().step(here.me);
        let to = here.remote(via, address.cast(), size_of::<T>(), pe);
        let mut old = 0_u64;
        // SAFETY: the object is inside a region and aligned; `old` stays until the operation is complete.
        here.ask(via, |lane| unsafe { lane.amo(to, width::<T>(), amo, (&raw mut old).cast()) });
        T::of_bits(old)
    }

    fn tell<V: Via, T: AtomicValue>(here: &Pe, via: V, address: *const T, amo: Amo, pe: c_int) {
        here.stage().step(here.me);
        let to = here.remote(via, address.cast(), size_of::<T>(), pe);
        // SAFETY: as above; nobody wants the old value.
        here.issue(via, |stream| unsafe { stream.issued.amo(to, width::<T>(), amo, core::ptr::null_mut()) });
    }

    /// [`ask`] whose answer comes later.
    ///
    /// # Safety
    /// `result` stays valid until the next quiet.
    unsafe fn ask_nbi<V: Via, T: AtomicValue>(
        here: &Pe,
        via: V,
        result: *mut T,
        address: *const T,
        amo: Amo,
        pe: c_int,
    ) {
        here.stage().step(here.me);
        let to = here.remote(via, address.cast(), size_of::<T>(), pe);
        // SAFETY: as above; the caller keeps the place for the old value.
        here.issue(via, |stream| unsafe { stream.issued.amo(to, width::<T>(), amo, result.cast()) });
    }

    macro_rules! atomics_nbi {
        ($($name:ident($($argument:ident),*) $amo:expr;)*) => {$(
            pub(crate) unsafe fn $name<V: Via, T: AtomicValue>(
                here: &Pe,
                via: V,
                result: *mut T,
                dest: *const T,
                $($argument: T,)*
                pe: c_int,
            ) {
                $(let $argument = $argument.bits();)*
                // SAFETY: the caller's promise.
                unsafe { ask_nbi(here, via, result, dest, $amo, pe) }
            }
        )*};
    }

    atomics_nbi! {
        fetch_nbi() Amo::Fetch;
        swap_nbi(value) Amo::Swap(value);
        compare_swap_nbi(cond, value) Amo::CompareSwap { cond, value };
        fetch_inc_nbi() Amo::Add(1);
        fetch_add_nbi(value) Amo::Add(value);
        fetch_and_nbi(value) Amo::And(value);
        fetch_or_nbi(value) Amo::Or(value);
        fetch_xor_nbi(value) Amo::Xor(value);
    }

    macro_rules! atomics {
        ($($name:ident($($argument:ident),*) $how:ident $amo:expr $(=> $result:ty)?;)*) => {$(
            pub(crate) unsafe fn $name<V: Via, T: AtomicValue>(
                here: &Pe,
                via: V,
                dest: *const T,
                $($argument: T,)*
                pe: c_int,
            ) $(-> $result)? {
                $(let $argument = $argument.bits();)*
                $how(here, via, dest, $amo, pe)
            }
        )*};
    }

    atomics! {
        fetch() ask Amo::Fetch => T;
        set(value) tell Amo::Swap(value);
        swap(value) ask Amo::Swap(value) => T;
        compare_swap(cond, value) ask Amo::CompareSwap { cond, value } => T;
        fetch_inc() ask Amo::Add(1) => T;
        inc() tell Amo::Add(1);
        fetch_add(value) ask Amo::Add(value) => T;
        add(value) tell Amo::Add(value);
        fetch_and(value) ask Amo::And(value) => T;
        and(value) tell Amo::And(value);
        fetch_or(value) ask Amo::Or(value) => T;
        or(value) tell Amo::Or(value);
        fetch_xor(value) ask Amo::Xor(value) => T;
        xor(value) tell Amo::Xor(value);
    }
}

pub(crate) mod order {
    use super::*;

    pub(crate) unsafe fn fence<V: Via>(here: &Pe, via: V) {
        here.stage().step(here.me);
        here.on(via.context(), |stream| {
            stream.issued.fence();
            stream.fenced = true;
        });
    }

    pub(crate) unsafe fn quiet<V: Via>(here: &Pe, via: V) {
        here.stage().step(here.me);
        here.on(via.context(), |stream| stream.complete(here));
        here.stage().changed();
    }

    pub(crate) unsafe fn pe_quiet<V: Via>(here: &Pe, via: V, _target_pes: *const c_int, n: usize) {
        if n > 0 {
            // SAFETY: no obligations.
            unsafe { quiet(here, via) }
        }
    }

    pub(crate) unsafe fn barrier_all(here: &Pe) {
        const CALL: &str = "shmem_barrier_all";
        // SAFETY: no obligations.
        unsafe { quiet(here, runtime::World(CALL)) };
        here.exchange(runtime::Team::world(), CALL, Vec::new());
    }

    pub(crate) unsafe fn sync_all(here: &Pe) {
        here.exchange(runtime::Team::world(), "shmem_sync_all", Vec::new());
    }
}

pub(crate) mod p2p {
    use oxshmem_runtime::calls::p2p as look;

    use super::*;

    /// Whether one variable compares so.
    ///
    /// # Safety
    /// As for the runtime's call. So for all others.
    unsafe fn holds<T: AtomicValue>(ivar: *mut T, cmp: c_int, value: T) -> bool {
        // SAFETY: the caller's promise.
        unsafe { look::test(ivar, cmp, value) != 0 }
    }

    pub(crate) unsafe fn wait_until<T: AtomicValue>(here: &Pe, ivar: *mut T, cmp: c_int, value: T) {
        here.stage().step(here.me);
        // SAFETY: the caller's promise. So below.
        here.stage().wait(here.me, "shmem_wait_until", || unsafe { holds(ivar, cmp, value) }.then_some(()));
    }

    pub(crate) unsafe fn test<T: AtomicValue>(here: &Pe, ivar: *mut T, cmp: c_int, value: T) -> c_int {
        here.stage().step(here.me);
        // SAFETY: as above.
        unsafe { holds(ivar, cmp, value) }.into()
    }

    /// A set of variables, and what each is to be.
    struct Set<T> {
        ivars: *mut T,
        nelems: usize,
        status: *const c_int,
        cmp: c_int,
        value: *const T,
        /// From one value to the next: 0 if there is one for all.
        step: usize,
    }

    impl<T: AtomicValue> Set<T> {
        /// The variables that count.
        fn chosen(&self) -> impl Iterator<Item = usize> + Clone {
            // SAFETY: the arrays have `nelems` elements, by the caller's promise. So below.
            (0..self.nelems).filter(|&i| self.status.is_null() || unsafe { self.status.add(i).read() } == 0)
        }

        fn satisfied(&self, i: usize) -> bool {
            // SAFETY: as above.
            unsafe { holds(self.ivars.add(i), self.cmp, self.value.add(i * self.step).read()) }
        }

        fn all(&self) -> bool {
            self.chosen().all(|i| self.satisfied(i))
        }

        /// One that is satisfied, whichever the dice like.
        fn any(&self, here: &Pe) -> Option<usize> {
            let found: Vec<usize> = self.chosen().filter(|&i| self.satisfied(i)).collect();
            (!found.is_empty()).then(|| found[here.stage().any_below(found.len())])
        }

        /// # Safety
        /// There is room for `nelems` indices.
        unsafe fn some(&self, indices: *mut usize) -> usize {
            let found = self.chosen().filter(|&i| self.satisfied(i)).enumerate();
            // SAFETY: the caller's promise.
            found.map(|(count, i)| unsafe { indices.add(count).write(i) }).count()
        }
    }

    macro_rules! sets {
        ($($value:ident: $type:ty, $at:expr, $step:literal:
           $all:ident $any:ident $some:ident $test_all:ident $test_any:ident $test_some:ident;)*) => {$(
            pub(crate) unsafe fn $all<T: AtomicValue>(
                here: &Pe, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, $value: $type,
            ) {
                here.stage().step(here.me);
                let set = Set { ivars, nelems, status, cmp, value: $at, step: $step };
                here.stage().wait(here.me, concat!("shmem_", stringify!($all)), || set.all().then_some(()));
            }

            pub(crate) unsafe fn $any<T: AtomicValue>(
                here: &Pe, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, $value: $type,
            ) -> usize {
                here.stage().step(here.me);
                let set = Set { ivars, nelems, status, cmp, value: $at, step: $step };
                if set.chosen().next().is_none() {
                    return usize::MAX;
                }
                here.stage().wait(here.me, concat!("shmem_", stringify!($any)), || set.any(here))
            }

            pub(crate) unsafe fn $some<T: AtomicValue>(
                here: &Pe, ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int,
                $value: $type,
            ) -> usize {
                here.stage().step(here.me);
                let set = Set { ivars, nelems, status, cmp, value: $at, step: $step };
                if set.chosen().next().is_none() {
                    return 0;
                }
                // SAFETY: the caller's promise. So below.
                let look = || Some(unsafe { set.some(indices) }).filter(|&count| count > 0);
                here.stage().wait(here.me, concat!("shmem_", stringify!($some)), look)
            }

            pub(crate) unsafe fn $test_all<T: AtomicValue>(
                here: &Pe, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, $value: $type,
            ) -> c_int {
                here.stage().step(here.me);
                Set { ivars, nelems, status, cmp, value: $at, step: $step }.all().into()
            }

            pub(crate) unsafe fn $test_any<T: AtomicValue>(
                here: &Pe, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, $value: $type,
            ) -> usize {
                here.stage().step(here.me);
                Set { ivars, nelems, status, cmp, value: $at, step: $step }.any(here).unwrap_or(usize::MAX)
            }

            pub(crate) unsafe fn $test_some<T: AtomicValue>(
                here: &Pe, ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int,
                $value: $type,
            ) -> usize {
                here.stage().step(here.me);
                // SAFETY: as above.
                unsafe { Set { ivars, nelems, status, cmp, value: $at, step: $step }.some(indices) }
            }
        )*};
    }

    sets! {
        value: T, &raw const value, 0:
            wait_until_all wait_until_any wait_until_some test_all test_any test_some;
        values: *const T, values, 1:
            wait_until_all_vector wait_until_any_vector wait_until_some_vector
            test_all_vector test_any_vector test_some_vector;
    }
}

pub(crate) mod signal {
    use oxshmem_runtime::calls::amo::Atomic;

    use super::*;

    pub(crate) unsafe fn put_signal<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        nelems: usize,
        sig_addr: *mut u64,
        signal: u64,
        sig_op: c_int,
        pe: c_int,
    ) {
        here.stage().step(here.me);
        let n = nelems * size_of::<T>();
        let update = if sig_op == 0 { SignalUpdate::Set(signal) } else { SignalUpdate::Add(signal) };
        let word = here.remote(via, sig_addr.cast(), 8, pe);
        let to = if n > 0 { here.remote(via, dest.cast(), n, pe) } else { word };
        // SAFETY: the source is readable. It may be reused on return, so a copy of it travels.
        let copy = unsafe { core::slice::from_raw_parts(source.cast::<u8>(), n) }.to_vec();
        here.issue(via, |stream| {
            // SAFETY: both places are inside regions, and the copy is kept until the context's next quiet.
            unsafe { stream.issued.put_signal(to, copy.as_ptr(), n, word, update) };
            stream.kept.push(copy);
        });
    }

    pub(crate) unsafe fn put_signal_nbi<V: Via, T: Plain>(
        here: &Pe,
        via: V,
        dest: *mut T,
        source: *const T,
        nelems: usize,
        sig_addr: *mut u64,
        signal: u64,
        sig_op: c_int,
        pe: c_int,
    ) {
        // SAFETY: whoever may not touch the source before the next quiet may be served at once.
        unsafe { put_signal(here, via, dest, source, nelems, sig_addr, signal, sig_op, pe) }
    }

    pub(crate) unsafe fn signal_set<V: Via>(here: &Pe, via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
        // SAFETY: a signal is a number for the network. So below.
        unsafe { amo::set(here, via, sig_addr.cast_const(), signal, pe) }
    }

    pub(crate) unsafe fn signal_add<V: Via>(here: &Pe, via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
        // SAFETY: as above.
        unsafe { amo::add(here, via, sig_addr.cast_const(), signal, pe) }
    }

    pub(crate) unsafe fn signal_fetch(here: &Pe, sig_addr: *const u64) -> u64 {
        here.stage().step(here.me);
        // SAFETY: the caller's promise. So below.
        unsafe { u64::load(sig_addr.cast_mut()) }
    }

    pub(crate) unsafe fn signal_wait_until(here: &Pe, sig_addr: *mut u64, cmp: c_int, value: u64) -> u64 {
        here.stage().step(here.me);
        here.stage().wait(here.me, "shmem_signal_wait_until", || {
            // SAFETY: as above.
            let mut seen = unsafe { u64::load(sig_addr) };
            // SAFETY: a local is a valid place.
            let holds = unsafe { runtime::calls::p2p::test(&raw mut seen, cmp, value) != 0 };
            holds.then_some(seen)
        })
    }
}

pub(crate) mod lock {
    use core::ffi::c_long;

    use super::*;

    /// Names a lock: its offset, and its region in the top bit.
    fn name(here: &Pe, lock: *mut c_long) -> u64 {
        let Remote { region, offset, .. } = here.remote(runtime::World("a lock"), lock.cast(), 8, here.me as c_int);
        offset | (region as u64) << 63
    }

    pub(crate) unsafe fn set_lock(here: &Pe, lock: *mut c_long) {
        here.stage().step(here.me);
        let name = name(here, lock);
        here.locks().entry(name).or_default().push_back(here.me);
        here.stage().wait(here.me, "shmem_set_lock", || {
            let mine = here.locks().get(&name).and_then(|queue| queue.front().copied()) == Some(here.me);
            mine.then_some(())
        });
    }

    pub(crate) unsafe fn test_lock(here: &Pe, lock: *mut c_long) -> c_int {
        here.stage().step(here.me);
        let name = name(here, lock);
        let mut locks = here.locks();
        let queue = locks.entry(name).or_default();
        let busy = !queue.is_empty();
        if !busy {
            queue.push_back(here.me);
        }
        busy.into()
    }

    pub(crate) unsafe fn clear_lock(here: &Pe, lock: *mut c_long) {
        // SAFETY: no obligations.
        unsafe { order::quiet(here, runtime::World("shmem_clear_lock")) };
        let name = name(here, lock);
        here.locks().entry(name).or_default().pop_front();
        here.stage().changed();
    }
}

pub(crate) mod memory {
    use super::*;

    pub(crate) unsafe fn malloc(here: &Pe, bytes: usize) -> *mut c_void {
        const CALL: &str = "shmem_malloc";
        let all = here.exchange(runtime::Team::world(), CALL, bytes.to_le_bytes().into());
        here.same_everywhere(CALL, &all);
        let offset = here.first_of(&all, || here.job.store.allocate(bytes).unwrap_or(u64::MAX));
        if offset == u64::MAX { core::ptr::null_mut() } else { here.job.store.in_heap(here.me, offset).cast() }
    }

    pub(crate) unsafe fn free(here: &Pe, ptr: *mut c_void) {
        const CALL: &str = "shmem_free";
        let offset = here.job.store.locate(here.me, ptr.cast(), 1).map_or(u64::MAX, |(_, offset)| offset);
        let all = here.exchange(runtime::Team::world(), CALL, offset.to_le_bytes().into());
        here.same_everywhere(CALL, &all);
        here.first_of(&all, || match here.job.store.free(offset) {
            Ok(()) => 0,
            Err(error) => here.fail(&error),
        });
    }
}
