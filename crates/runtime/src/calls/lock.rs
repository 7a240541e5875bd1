//! The lock calls: where the words of [`crate::calls::lock::queue`] are in memory.

pub(crate) mod queue;

use core::ffi::{c_int, c_long};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use oxshmem_base::planted;

use self::queue::QueueWords;
use crate::calls::amo::{self, AmoInteger};
use crate::calls::order;
use crate::diagnosis::{errors, recorder};
use crate::memory::control::ControlBlock;
use crate::network;
use crate::start::{job, state, threads};
use crate::sync::Apart;
use crate::teams::context::ContextHandle;
use crate::teams::via::InWorld;
use crate::transfers::range;
use crate::wait::bell::Bell;
use crate::wait::{self, Needs, Reason, polls};

/// A half of a lock variable: 32 bits of a C `long`, 16 bits of a Fortran default INTEGER. The place is at the variable's
/// start, the tail behind it.
pub trait Half: AmoInteger {
    /// How many PEs it can tell apart: their numbers are stored plus one, beside the turn bit.
    const MOST_PES: u32;
}

impl Half for u32 {
    const MOST_PES: u32 = Self::MAX >> 1;
}

impl Half for u16 {
    const MOST_PES: u32 = (Self::MAX >> 1) as u32;
}

struct Variable<H> {
    call: &'static str,
    own: usize,
    /// The PE whose copy has the tail.
    home: c_int,
    half: PhantomData<H>,
}

impl<H: Half> Variable<H> {
    fn new(call: &'static str, address: usize) -> Self {
        if !state::is_open() {
            errors::not_initialised(call);
        }
        let pes = job::identity().map_or(1, |(_, pes)| pes);
        if pes > H::MOST_PES {
            too_many(call, pes, H::MOST_PES);
        }
        let bytes = 2 * size_of::<H>();
        let Some((extent, _)) = range::holder(address, bytes) else {
            errors::not_symmetric(call, "lock", address, bytes)
        };
        let home = (((address - extent.own().0) / bytes) as u32 % pes) as c_int;
        Self { call, own: address, home, half: PhantomData }
    }

    fn place_word(&self) -> *mut H {
        self.own as *mut H
    }

    fn tail_word(&self) -> *mut H {
        self.place_word().wrapping_add(1)
    }

    /// The PE `owner` (plus one). The number was read from memory that others can write, and leads to more.
    fn pe(&self, owner: u32) -> u32 {
        let pe = owner.wrapping_sub(1);
        if job::identity().is_none_or(|(_, pes)| pe >= pes) {
            self.overwritten(owner);
        }
        pe
    }

    /// Waits for a PE, which rings if there is a bell.
    fn wait_with(&self, bell: Option<Bell<'_>>, pe: u32, ready: &mut dyn FnMut() -> bool) {
        let reason = Reason { call: self.call, address: self.own, needs: Needs::Lock(pe) };
        wait::until(reason, bell, || ready().then_some(()));
    }

    #[cold]
    fn overwritten(&self, owner: u32) -> ! {
        let fix = "look for a transfer that ends beyond its object, and set locks to zero before their first use";
        let has_threads = state::current().is_some_and(|life| life.thread_level == threads::MULTIPLE);
        let threads = if has_threads {
            ". A lock belongs to a PE: two threads of one PE must not ask for it at once"
        } else {
            ""
        };
        errors::fail(
            &oxshmem_base::Error::new(format!("{}: the lock at {:#x} is overwritten", self.call, self.own))
                .because(format!("it names PE {} as the next owner, which does not exist", i64::from(owner) - 1))
                .fix(format!("{fix}{threads}")),
        )
    }
}

impl<H: Half> QueueWords for Variable<H> {
    fn exchange_tail_if(&self, from: u32, to: u32) -> u32 {
        let (from, to) = (H::of_bits(from.into()), H::of_bits(to.into()));
        // SAFETY: `new` found the variable in symmetric memory; halves are aligned in it.
        unsafe { amo::compare_swap(InWorld(self.call), self.tail_word(), from, to, self.home) }.bits() as u32
    }

    fn swap_tail(&self, to: u32) -> u32 {
        // SAFETY: `new` found the variable in symmetric memory; halves are aligned in it.
        unsafe { amo::swap(InWorld(self.call), self.tail_word(), H::of_bits(to.into()), self.home) }.bits() as u32
    }

    fn place(&self) -> u32 {
        // SAFETY: `new` found the variable in symmetric memory, and this is the caller's own copy; halves are aligned in
        // it.
        unsafe { H::load(self.place_word()) }.bits() as u32
    }

    fn take_turn(&self) {
        let others = H::of_bits(!u64::from(queue::TURN));
        // SAFETY: `new` found the variable in symmetric memory; halves are aligned in it. The old value is asked for
        // because the word is looked at again.
        unsafe { amo::fetch_and(InWorld(self.call), self.place_word(), others, me() as c_int - 1) };
    }

    fn clear_place(&self) {
        // SAFETY: `new` found the variable in symmetric memory; halves are aligned in it.
        unsafe { amo::store(self.call, self.place_word(), H::of_bits(0)) };
    }

    fn add_to_place(&self, owner: u32, bits: u32) {
        let pe = self.pe(owner);
        // SAFETY: `new` found the variable in symmetric memory; halves are aligned in it.
        unsafe { amo::or(InWorld(self.call), self.place_word(), H::of_bits(bits.into()), pe as c_int) };
        if let Some(window) = window_with_bell(pe) {
            ControlBlock::of(window).bell().ring();
        }
    }

    fn wait(&self, owner: u32, ready: &mut dyn FnMut() -> bool) {
        let owner = self.pe(owner);
        let bell = window_with_bell(owner).map(|_| ControlBlock::own().bell());
        self.wait_with(bell, owner, ready);
    }

    fn wait_for_next(&self, last: u32, ready: &mut dyn FnMut() -> bool) {
        // A PE of another node rings no bell. A sleep on the bell would last longer than one on the network.
        let bell = (!network::is_open()).then(|| ControlBlock::own().bell());
        self.wait_with(bell, self.pe(last), ready);
    }
}

/// The window of a PE of the node, if changes of a lock ring bells: what changes it over the network comes without a ring.
fn window_with_bell(pe: u32) -> Option<u32> {
    job::window_of(pe).filter(|_| !network::does_atomics())
}

#[cold]
fn too_many(call: &str, pes: u32, most: u32) -> ! {
    errors::fail(
        &oxshmem_base::Error::new(format!("{call}: a lock of this width cannot serve the {pes} PEs of the job"))
            .because(format!("its halves hold PE numbers up to {}", most - 1))
            .fix("use the call for a wider lock variable, or fewer PEs"),
    )
}

/// The number of this PE plus one, as the words of a lock have it.
fn me() -> u32 {
    job::identity().map_or(1, |(pe, _)| pe + 1)
}

/// How many locks this PE holds, as far as its calls tell. Relaxed: a program that takes a lock by one thread and clears it by another
/// one orders the two. Apart, because threads with a lock each write it.
static HELD: Apart<AtomicUsize> = Apart(AtomicUsize::new(0));

fn note_taken() {
    if threads::one_calls_at_a_time() {
        HELD.0.store(HELD.0.load(Relaxed) + 1, Relaxed);
    } else {
        HELD.0.fetch_add(1, Relaxed);
    }
}

fn note_cleared() {
    match HELD.0.load(Relaxed) {
        // Another copy of the library has taken it.
        0 => {}
        held if threads::one_calls_at_a_time() => HELD.0.store(held - 1, Relaxed),
        _ => _ = HELD.0.fetch_sub(1, Relaxed),
    }
}

/// Takes a lock of any width.
pub fn set_any<H: Half>(call: &'static str, address: usize) {
    recorder::note(call, None, 0);
    queue::set(&Variable::<H>::new(call, address), me());
    note_taken();
}

/// Takes a lock of any width if it is free; 1 if it is not.
pub fn test_any<H: Half>(call: &'static str, address: usize) -> c_int {
    let variable = Variable::<H>::new(call, address);
    let last = queue::test(&variable, me());
    match last {
        0 => note_taken(),
        last => polls::test_failed(call, Needs::Lock(variable.pe(last))),
    }
    (last != 0).into()
}

/// Releases a lock of any width. What was written before is complete for the next holder (LCK-4): the hand-over is a
/// read-modify-write with release order, and the call waits for transfers that are on their way to other nodes.
pub fn clear_any<H: Half>(call: &'static str, address: usize) {
    recorder::note(call, None, 0);
    // SAFETY: the default context is never destroyed.
    unsafe { order::fence(InWorld(call)) };
    if network::is_open() && planted!("lock-without-quiet", true, false) {
        ContextHandle::default_context().quiet(call);
    }
    let variable = Variable::<H>::new(call, address);
    if HELD.0.load(Relaxed) == 0 {
        demand_no_other(&variable);
    }
    if !queue::clear(&variable, me()) {
        not_held(call, address, "nobody holds it");
    }
    note_cleared();
}

/// Ends the job with a message if another PE holds a lock that this PE clears, although it holds none. The call would wait for the next one
/// in the queue behind this PE, which never comes.
#[cold]
fn demand_no_other<H: Half>(variable: &Variable<H>) {
    let last = variable.exchange_tail_if(0, 0);
    if last != 0 && last != me() {
        let why = format!("this PE holds no lock, and PE {} has asked for this one last", variable.pe(last));
        not_held(variable.call, variable.own, &why);
    }
}

#[cold]
fn not_held(call: &str, address: usize, why: &str) -> ! {
    errors::fail(
        &oxshmem_base::Error::new(format!("{call}: this PE does not hold the lock at {address:#x}"))
            .because(why)
            .fix("clear a lock only after shmem_set_lock, or shmem_test_lock that returned 0"),
    )
}

/// `shmem_set_lock`.
///
/// # Safety
/// As the standard asks of a lock variable. The functions below ask the same.
pub unsafe fn set_lock(lock: *mut c_long) {
    set_any::<u32>("shmem_set_lock", lock as usize);
}

/// `shmem_clear_lock`.
///
/// # Safety
/// See [`set_lock`].
pub unsafe fn clear_lock(lock: *mut c_long) {
    clear_any::<u32>("shmem_clear_lock", lock as usize);
}

/// `shmem_test_lock`.
///
/// # Safety
/// See [`set_lock`].
pub unsafe fn test_lock(lock: *mut c_long) -> c_int {
    test_any::<u32>("shmem_test_lock", lock as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pe_that_a_half_can_name_still_fits_beside_the_turn() {
        fn place_of_last<H: Half>() -> (u64, u64) {
            let last = u64::from(H::MOST_PES);
            (last << 1 | u64::from(queue::TURN), 1 << (8 * size_of::<H>()))
        }
        for (place, values) in [place_of_last::<u16>(), place_of_last::<u32>()] {
            assert!(place < values && place + 2 >= values, "{place} of {values}");
        }
        assert_eq!(u16::MOST_PES, 32767);
    }
}
