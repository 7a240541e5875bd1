//! Calls that are set aside where they would wait, so that their callers return at once.
//!
//! Such a call runs on a stack of its own. Where the ladder of a wait would begin, it gives the processor back to whoever
//! has moved it on, and stays on its stack until somebody moves it on again: every wait of this PE that takes longer than
//! some looks, and every question for its completion. So all that the library can do in a call it can do in one of these,
//! step by step, with the very code of the call that waits.
//!
//! Calls with one key (of one team) run one after the other, in the order in which they were issued; those of different
//! keys side by side.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};
use std::collections::VecDeque;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use parking_lot::{Mutex, MutexGuard};

use crate::wait::pace;

/// A call that is to run.
pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// Bytes of a stack; what a call does not touch takes no memory.
const STACK: usize = 1 << 20;
/// Stacks that are kept for the next calls.
const SPARE: usize = 8;

/// Calls that have been issued and are not over. Written under the lock of [`ASIDE`]; whoever reads zero sees what those
/// calls have done.
static ISSUED: AtomicUsize = AtomicUsize::new(0);
static ASIDE: Mutex<Aside> = Mutex::new(Aside { queues: Vec::new(), spare: Vec::new() });

struct Aside {
    queues: Vec<TeamQueue>,
    spare: Vec<DefaultStack>,
}

/// The calls with one key.
struct TeamQueue {
    key: usize,
    running: Option<StoppedCall>,
    next: VecDeque<Work>,
}

/// A call between two steps.
struct StoppedCall(Coroutine<(), (), (), DefaultStack>);

// SAFETY: a call is moved on by one thread at a time, under the lock of `ASIDE`. What it keeps on its stack are its
// arguments (`Work` is `Send`) and the runtime's own: the runtime keeps nothing there that belongs to one thread.
unsafe impl Send for StoppedCall {}

thread_local! {
    /// Where the call that this thread moves on goes back to; null: the thread moves none on.
    static BACK: Cell<*const Yielder<(), ()>> = const { Cell::new(core::ptr::null()) };
}

/// Whether some call is set aside.
#[inline(always)]
pub(crate) fn any() -> bool {
    ISSUED.load(Acquire) > 0
}

/// Whether the caller is such a call.
pub(crate) fn is_aside() -> bool {
    !back().is_null()
}

/// Sets the caller aside; returns when it is moved on, perhaps by another thread.
fn stop() {
    let back = back();
    // SAFETY: `begin` has put it there; it lives on the stack of the call, which is the caller's.
    unsafe { (*back).suspend(()) };
    set_back(back);
}

/// Not inlined: a thread's own variable is somewhere else when another thread moves the call on.
#[inline(never)]
fn back() -> *const Yielder<(), ()> {
    BACK.get()
}

/// See [`back`].
#[inline(never)]
fn set_back(back: *const Yielder<(), ()>) {
    BACK.set(back);
}

/// If the caller is a call that is set aside: returns when `ready` says so.
pub(crate) fn until(ready: &mut dyn FnMut() -> bool) -> bool {
    if !is_aside() {
        return false;
    }
    while !ready() {
        stop();
    }
    true
}

fn lock() -> MutexGuard<'static, Aside> {
    ASIDE.lock()
}

/// Begins a call, behind those with the same key, and goes as far as it gets.
pub(crate) fn issue(key: usize, work: Work) {
    let mut aside = lock();
    ISSUED.fetch_add(1, Release);
    match aside.queues.iter_mut().find(|queue| queue.key == key) {
        Some(queue) => queue.next.push_back(work),
        None => aside.queues.push(TeamQueue { key, running: None, next: VecDeque::from([work]) }),
    }
    aside.move_on();
}

/// Goes on with all calls as far as they get. If another thread does so already, there is nothing to do.
pub(crate) fn move_on() {
    if !any() || is_aside() {
        return;
    }
    if let Some(mut aside) = ASIDE.try_lock() {
        aside.move_on();
    }
}

/// How many calls with this key are not over.
pub(crate) fn pending(key: usize) -> usize {
    let aside = lock();
    let queue = aside.queues.iter().find(|queue| queue.key == key);
    queue.map_or(0, |queue| queue.next.len() + usize::from(queue.running.is_some()))
}

impl Aside {
    fn move_on(&mut self) {
        let Self { queues, spare } = self;
        // A call looks once at what it waits for; who moves it on looks again soon.
        pace::glance(|| queues.iter_mut().for_each(|queue| queue.move_on(spare)));
        queues.retain(|queue| queue.running.is_some());
    }
}

impl TeamQueue {
    fn move_on(&mut self, spare: &mut Vec<DefaultStack>) {
        loop {
            let Some(StoppedCall(mut call)) = self.running.take().or_else(|| self.begin(spare)) else { return };
            let result = call.resume(());
            set_back(core::ptr::null());
            if let CoroutineResult::Yield(()) = result {
                self.running = Some(StoppedCall(call));
                return;
            }
            ISSUED.fetch_sub(1, Release);
            if spare.len() < SPARE {
                spare.push(call.into_stack());
            }
        }
    }

    fn begin(&mut self, spare: &mut Vec<DefaultStack>) -> Option<StoppedCall> {
        let work = self.next.pop_front()?;
        let stack = spare.pop().or_else(|| DefaultStack::new(STACK).ok()).expect("addresses for a stack");
        Some(StoppedCall(Coroutine::with_stack(stack, move |back: &Yielder<(), ()>, ()| {
            set_back(back);
            work();
        })))
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::wait::{self, Needs, Reason};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    /// A call that waits for `gate` to reach `number`, then writes its name down.
    fn work(gate: &Arc<AtomicU32>, number: u32, seen: &Arc<Mutex<Vec<u32>>>, name: u32) -> Work {
        let (gate, seen) = (gate.clone(), seen.clone());
        Box::new(move || {
            assert!(is_aside());
            let reason = Reason { call: "test", address: 0, needs: Needs::Anyone };
            wait::until(reason, None, || (gate.load(SeqCst) >= number).then_some(()));
            seen.lock().push(name);
        })
    }

    #[test]
    fn calls_of_one_key_keep_their_order_and_others_go_past_them() {
        let (gate, seen) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
        let [one, other] = [0xa51de1, 0xa51de2];
        issue(one, work(&gate, 2, &seen, 1));
        issue(one, work(&gate, 0, &seen, 2));
        issue(other, work(&gate, 1, &seen, 3));
        assert_eq!((pending(one), pending(other), is_aside()), (2, 1, false));
        assert!(any() && seen.lock().is_empty());
        gate.store(1, SeqCst);
        // On any thread; those of other tests may do it, too.
        let finish = |key| {
            while pending(key) > 0 {
                move_on();
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| drop(scope.spawn(|| finish(other))));
        assert_eq!((pending(one), &seen.lock()[..]), (2, &[3][..]));
        gate.store(2, SeqCst);
        finish(one);
        assert_eq!(&seen.lock()[..], [3, 1, 2]);
    }
}
