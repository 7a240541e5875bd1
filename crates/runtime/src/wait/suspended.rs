//! Calls that are suspended where they would wait, so that their callers return at once.
//!
//! Such a call runs on a stack of its own. Where the ladder of a wait would begin, it gives the processor back to the caller
//! that has moved it on, and stays on its stack until it is moved on again: every wait of this PE that takes longer than some
//! looks, every test that fails, and every question for its completion. So all that the library can do in a call it can do in one of these, step by
//! step, with the very code of the call that waits.
//!
//! Calls with one key (of one team) run one after the other, in the order in which they were issued; those of different
//! keys side by side. There may be any number of them: a call that has not begun is its arguments.
//!
//! A call that is suspended takes part in [`crate::diagnosis::deadlock`] as a thread does: its wait has a record and counts its
//! looks. A thread's looks move it on, so it may act while all threads wait. So the count of the records' changes grows when a
//! wait of such a call ends, before the call acts, and again when the call has acted.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release, Ordering::SeqCst, fence};
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use oxshmem_base::{Error, size};
use oxshmem_flight::waits::{CallOrigin, NO_THREAD};
use parking_lot::{Mutex, MutexGuard};

use crate::diagnosis::errors;
use crate::memory::control::ControlBlock;
use crate::wait::pace;
use crate::wait::reason::WaitReason;

/// A call that is to run.
pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// Bytes of a stack; what a call does not touch takes no memory.
const STACK: usize = 1 << 20;
/// Stacks that are kept for the next calls.
const SPARE: usize = 8;

/// Calls that have been issued and are not over. Written under the lock of [`SUSPENDED`], and by the child of a fork; a thread that reads
/// zero sees what those calls have done.
static ISSUED: AtomicUsize = AtomicUsize::new(0);
static SUSPENDED: Mutex<SuspendedCalls> =
    Mutex::new(SuspendedCalls { issued: 0, queues: Vec::new(), spare: Vec::new() });

struct SuspendedCalls {
    /// How many calls there have been.
    issued: u64,
    queues: Vec<TeamQueue>,
    spare: Vec<DefaultStack>,
}

/// The calls with one key.
struct TeamQueue {
    key: usize,
    running: Option<StoppedCall>,
    /// With the numbers of the calls, which grow.
    next: VecDeque<(u64, Work)>,
}

/// The message of a call that suspends itself: its wait, if that is a new one.
type NewWait = Option<WaitReason>;

/// A call between two steps.
struct StoppedCall {
    number: u64,
    coroutine: Coroutine<(), NewWait, (), DefaultStack>,
    wait: Option<StoppedWait>,
}

/// The wait that a call has been suspended in.
struct StoppedWait {
    reason: WaitReason,
    /// Since when a long wait knows of it.
    known: Option<Instant>,
    /// The place of its record, if it has one.
    record: Option<usize>,
}

// SAFETY: a call is moved on by one thread at a time, under the lock of `SUSPENDED`. What it keeps on its stack are its
// arguments (`Work` is `Send`) and the runtime's own: the runtime keeps nothing there that belongs to one thread.
unsafe impl Send for StoppedCall {}

thread_local! {
    /// Where the call that this thread moves on goes back to; null: the thread moves none on.
    static BACK: Cell<*const Yielder<(), NewWait>> = const { Cell::new(core::ptr::null()) };
}

/// Whether some call is suspended.
#[inline(always)]
pub(crate) fn any() -> bool {
    ISSUED.load(Acquire) > 0
}

/// Whether the caller is such a call.
pub(crate) fn is_suspended() -> bool {
    !back().is_null()
}

/// Suspends the caller; returns when it is moved on, perhaps by another thread.
fn stop(wait: NewWait) {
    let back = back();
    // SAFETY: `begin` has put it there; it lives on the stack of the call, which is the caller's.
    unsafe { (*back).suspend(wait) };
    set_back(back);
}

/// Not inlined: a thread's own variable is somewhere else when another thread moves the call on.
#[inline(never)]
fn back() -> *const Yielder<(), NewWait> {
    BACK.get()
}

/// See [`back`].
#[inline(never)]
fn set_back(back: *const Yielder<(), NewWait>) {
    BACK.set(back);
}

/// Waits in a call that can be suspended: returns `true` when `ready` does. Returns `false` at once if the caller is no such call.
pub(crate) fn until(describe: impl FnOnce() -> WaitReason, ready: &mut dyn FnMut() -> bool) -> bool {
    if !is_suspended() {
        return false;
    }
    if ready() {
        return true;
    }
    stop(Some(describe()));
    while !ready() {
        stop(None);
    }
    // Before the call acts.
    changed();
    true
}

/// Tells readers of the records that a call acts, or has acted.
fn changed() {
    if let Some(own) = ControlBlock::if_open() {
        own.records.change();
    }
}

/// The caller is no call that can be suspended: the thread that runs one has the lock.
fn lock() -> MutexGuard<'static, SuspendedCalls> {
    debug_assert!(!is_suspended(), "a call that can be suspended would wait for itself");
    SUSPENDED.lock()
}

/// Begins a call, after those with the same key, and runs it as far as it gets. Returns the call's number.
pub(crate) fn issue(key: usize, work: Work) -> u64 {
    let mut calls = lock();
    ISSUED.fetch_add(1, Release);
    calls.issued += 1;
    let entry = (calls.issued, work);
    match calls.queues.iter_mut().find(|queue| queue.key == key) {
        Some(queue) => queue.next.push_back(entry),
        None => calls.queues.push(TeamQueue { key, running: None, next: VecDeque::from([entry]) }),
    }
    calls.move_on();
    calls.issued
}

/// Moves all calls on as far as they get. If another thread does so already, there is nothing to do.
pub(crate) fn move_on() {
    if !any() || is_suspended() {
        return;
    }
    if let Some(mut calls) = SUSPENDED.try_lock() {
        calls.move_on();
    }
}

/// Leaves all calls to the parent of this process, the child of a fork: a wait of the child would move them on, and they read what comes for
/// the parent from its connections. Only stores to an atomic.
pub(crate) fn leave_to_parent() {
    ISSUED.store(0, Release);
}

/// How many calls with this key are not over.
pub(crate) fn pending(key: usize) -> usize {
    ahead(key, u64::MAX)
}

/// How many calls with this key, issued before the one with this number, are not over.
pub(crate) fn ahead(key: usize, number: u64) -> usize {
    let calls = lock();
    let Some(queue) = calls.queues.iter().find(|queue| queue.key == key) else { return 0 };
    let running = queue.running.as_ref().is_some_and(|call| call.number < number);
    usize::from(running) + queue.next.partition_point(|(other, _)| *other < number)
}

/// How many calls are not over.
pub(crate) fn count() -> usize {
    ISSUED.load(Acquire)
}

/// A wait has to be known for so long before it gets a record.
const RECORD_AFTER: Duration = Duration::from_millis(10);

/// Gives records to the waits of calls that are not short.
pub(crate) fn record(own: &ControlBlock) {
    if !any() || is_suspended() {
        return;
    }
    let Some(mut calls) = SUSPENDED.try_lock() else { return };
    for wait in calls.queues.iter_mut().filter_map(TeamQueue::wait).filter(|wait| wait.record.is_none()) {
        let age = wait.known.get_or_insert_with(Instant::now).elapsed();
        if age >= RECORD_AFTER {
            let WaitReason { call, address, subject } = wait.reason;
            wait.record =
                own.records.open_of(NO_THREAD, call, address, subject, age.as_nanos() as u64, CallOrigin::default());
        }
    }
}

/// Lets each call look once more. If all have looked in vain, and have records, their looks count, and so may the caller's.
pub(crate) fn look(own: &ControlBlock) -> bool {
    if !any() {
        return true;
    }
    let mut calls = lock();
    // After the count of the look before, and after every store of this process.
    fence(SeqCst);
    let records = |calls: &mut SuspendedCalls| -> Option<Vec<usize>> {
        calls.queues.iter_mut().map(|queue| queue.wait().and_then(|wait| wait.record)).collect()
    };
    let before = records(&mut calls);
    calls.move_on();
    // A wait that has ended took its record with it, and the next one has none yet.
    let Some(waits) = before.filter(|before| records(&mut calls).as_ref() == Some(before)) else { return false };
    waits.into_iter().for_each(|record| own.records.has_looked(record, None));
    true
}

impl SuspendedCalls {
    fn move_on(&mut self) {
        let Self { queues, spare, .. } = self;
        // A call looks once at what it waits for; the thread that moves it on looks again soon.
        pace::glance(|| queues.iter_mut().for_each(|queue| queue.move_on(spare)));
        queues.retain(|queue| queue.running.is_some());
    }
}

impl TeamQueue {
    fn move_on(&mut self, spare: &mut Vec<DefaultStack>) {
        loop {
            let Some(mut call) = self.running.take().or_else(|| self.begin(spare)) else { return };
            let result = call.coroutine.resume(());
            set_back(core::ptr::null());
            match result {
                CoroutineResult::Yield(None) => {}
                CoroutineResult::Yield(Some(reason)) => {
                    call.end_wait();
                    call.wait = Some(StoppedWait { reason, known: None, record: None });
                }
                CoroutineResult::Return(()) => {
                    call.end_wait();
                    ISSUED.fetch_sub(1, Release);
                    if spare.len() < SPARE {
                        spare.push(call.coroutine.into_stack());
                    }
                    continue;
                }
            }
            self.running = Some(call);
            return;
        }
    }

    fn begin(&mut self, spare: &mut Vec<DefaultStack>) -> Option<StoppedCall> {
        let (number, work) = self.next.pop_front()?;
        let stack = spare.pop().unwrap_or_else(|| DefaultStack::new(STACK).unwrap_or_else(|error| no_stack(&error)));
        let coroutine = Coroutine::with_stack(stack, move |back: &Yielder<(), NewWait>, ()| {
            set_back(back);
            work();
        });
        Some(StoppedCall { number, coroutine, wait: None })
    }

    fn wait(&mut self) -> Option<&mut StoppedWait> {
        self.running.as_mut().and_then(|call| call.wait.as_mut())
    }
}

/// Ends the job: there is no memory for the stack of a call that is to begin.
#[cold]
fn no_stack(error: &io::Error) -> ! {
    errors::fail(
        &Error::new("a nonblocking collective needs a stack of its own, and there is no memory for it")
            .because(format!("mmap of {} failed: {error}", size::display(STACK as u64)))
            .fix("raise the limits of addresses and of data (ulimit -v, ulimit -d), or begin fewer nonblocking collectives at once"),
    )
}

impl StoppedCall {
    /// The call has acted, and is in another wait or over.
    fn end_wait(&mut self) {
        match (self.wait.take().and_then(|wait| wait.record), ControlBlock::if_open()) {
            // Closing a record counts as a change, too.
            (Some(record), Some(own)) => own.records.close(record),
            _ => changed(),
        }
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
            assert!(is_suspended());
            let reason = Reason { call: "test", address: 0, needs: Needs::Anyone };
            wait::until(reason, None, || (gate.load(SeqCst) >= number).then_some(()));
            seen.lock().push(name);
        })
    }

    /// Leaves this process fewer addresses than a stack takes.
    fn limit_addresses() {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("the system tells the size of a process");
        let pages: u64 = statm.split(' ').next().and_then(|pages| pages.parse().ok()).expect("a number of pages");
        let used = pages * oxshmem_os::memory::page_size() as u64;
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure is ours; the limit concerns this process alone, which the test has started.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &raw mut limit), 0);
            limit.rlim_cur = used + STACK as u64 / 2;
            assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
        }
    }

    #[test]
    fn a_call_without_memory_for_a_stack_ends_the_job_with_the_reason() {
        if oxshmem_test_folder::is_again() {
            limit_addresses();
            issue(0xa51de3, Box::new(|| ()));
            return;
        }
        let output = oxshmem_test_folder::again(&[]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        let words = ["a nonblocking collective needs a stack of its own", "mmap of 1 MiB failed", "ulimit -v"];
        assert!(output.status.code() == Some(1) && words.iter().all(|words| said.contains(words)), "{output:?}");
    }

    #[test]
    fn calls_of_one_key_keep_their_order_and_others_go_past_them() {
        let (gate, seen) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
        let [one, other] = [0xa51de1, 0xa51de2];
        issue(one, work(&gate, 2, &seen, 1));
        issue(one, work(&gate, 0, &seen, 2));
        issue(other, work(&gate, 1, &seen, 3));
        assert_eq!((pending(one), pending(other), is_suspended()), (2, 1, false));
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
