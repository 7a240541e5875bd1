//! The recorder of this PE's last calls.
//!
//! Recorded are collectives, calls of memory, teams and locks, waits that are not over at once, and operations between nodes.
//! Operations on the node are not: each takes less time than a record.
//!
//! Threads that make calls at once ([`RingWriters::Many`]) record in rings of their own, which lie in the memory of the process and stay
//! there: a thread writes no line for its records that another one uses.

use core::cell::Cell;

use oxshmem_flight::calls::{CallRing, CallSubject, MOST_RINGS, RingWriters};
use parking_lot::Mutex;

use crate::memory::control::ControlBlock;

/// A call that has been recorded. It ends when this is dropped.
pub(crate) struct RecordedCall {
    ring: &'static CallRing,
    number: u64,
}

impl RecordedCall {
    /// A call begins. The library is initialised.
    #[inline(always)]
    pub(crate) fn begin(name: &'static str, subject: CallSubject) -> Self {
        let ring = first_ring();
        match ring.begin_alone(name, subject) {
            Some(number) => Self { ring, number },
            None => Self::begin_beside_others(name, subject),
        }
    }

    /// [`RecordedCall::begin`] of a call that works for long, and does not wait: a report tells since when. The clock may have been read
    /// long before.
    #[cold]
    pub(crate) fn begin_long(name: &'static str, subject: CallSubject) -> Self {
        Self::begin_now(ring_of_caller(first_ring()), name, subject)
    }

    /// A call begins in this ring, whose clock is read.
    fn begin_now(ring: &'static CallRing, name: &'static str, subject: CallSubject) -> Self {
        ring.set_time(oxshmem_os::time::fine());
        Self { ring, number: ring.begin(name, subject) }
    }

    /// [`RecordedCall::begin`] where several threads make calls, or nothing is recorded.
    #[cold]
    #[inline(never)]
    fn begin_beside_others(name: &'static str, subject: CallSubject) -> Self {
        let ring = ring_of_caller(first_ring());
        Self { ring, number: ring.begin(name, subject) }
    }
}

impl Drop for RecordedCall {
    #[inline(always)]
    fn drop(&mut self) {
        self.ring.end(self.number);
    }
}

/// A call begins and ends that is about one other PE, or about none.
#[inline(always)]
pub(crate) fn note(name: &'static str, peer: Option<u32>, bytes: usize) {
    if let Some(own) = ControlBlock::if_open()
        && !own.call_words().calls.note(name, CallSubject { peer, team: None, bytes: bytes as u64 })
    {
        note_seldom(name, peer, bytes);
    }
}

/// [`note`] of an operation on another PE that the table of the data path has found, which is open while the library is initialised.
#[inline(always)]
pub(crate) fn note_found(name: &'static str, peer: u32, bytes: usize) {
    let subject = CallSubject { peer: Some(peer), team: None, bytes: bytes as u64 };
    if !first_ring().note(name, subject) {
        note_seldom(name, Some(peer), bytes);
    }
}

/// [`note`] where a batch begins, several threads make calls, or nothing is recorded.
#[cold]
#[inline(never)]
fn note_seldom(name: &'static str, peer: Option<u32>, bytes: usize) {
    drop(RecordedCall::begin(name, CallSubject { peer, team: None, bytes: bytes as u64 }));
}

/// Tells the records of the calling thread what time it is, in nanoseconds.
pub(crate) fn note_time(now: u64) {
    ring_of_caller(first_ring()).set_time(now);
}

/// The ring in the control window. The library is initialised.
#[inline(always)]
fn first_ring() -> &'static CallRing {
    &ControlBlock::own().call_words().calls
}

thread_local! {
    /// The ring of this thread, once it has one.
    static RING: Cell<Option<&'static CallRing>> = const { Cell::new(None) };
}

struct ThreadRings {
    /// In the order in which they were made; each leads to the one before it.
    all: Vec<&'static CallRing>,
    /// How many threads have come.
    threads: usize,
}

static RINGS: Mutex<ThreadRings> = Mutex::new(ThreadRings { all: Vec::new(), threads: 0 });

/// The ring in which the calling thread records: the first one unless threads make calls at once. Not inlined: a thread's own variable is
/// somewhere else when another thread moves a suspended call on.
#[inline(never)]
fn ring_of_caller(first: &'static CallRing) -> &'static CallRing {
    if !first.has_many_writers() {
        return first;
    }
    match RING.get() {
        Some(ring) if first.leads_on() => ring,
        known => take_ring(first, known),
    }
}

/// Gives the calling thread a ring, unless it has one from an earlier life of the library, and has the first ring lead to all of them.
#[cold]
fn take_ring(first: &CallRing, known: Option<&'static CallRing>) -> &'static CallRing {
    let mut rings = RINGS.lock();
    let ring = known.unwrap_or_else(|| rings.one_more());
    RING.set(Some(ring));
    if let Some(&last) = rings.all.last() {
        first.lead_to(last);
    }
    ring
}

impl ThreadRings {
    /// The ring of one more thread. Where threads are more than rings, they share them.
    fn one_more(&mut self) -> &'static CallRing {
        let place = self.threads % MOST_RINGS;
        self.threads += 1;
        if let Some(&ring) = self.all.get(place) {
            return ring;
        }
        let ring: &'static CallRing = Box::leak(Box::default());
        ring.begin_recording(RingWriters::Many);
        if let Some(&before) = self.all.last() {
            ring.lead_to(before);
        }
        self.all.push(ring);
        ring
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use oxshmem_flight::calls;

    use super::*;

    #[test]
    fn a_long_call_begins_when_it_begins() {
        static RING: CallRing = CallRing::new();
        let subject = CallSubject { peer: None, team: None, bytes: 1 << 30 };
        // Call 0 reads the clock in any case.
        RING.begin("test", subject);
        RING.set_time(1);
        let _call = RecordedCall::begin_now(&RING, "test", subject);
        let (words, now) = (RING.words(), oxshmem_os::time::fine());
        let calls = calls::decode(&words, &words, 1, now, |_, _| Some(String::new())).last;
        assert!(calls[0].number == 1 && calls[0].age < 60_000_000_000, "{calls:?}");
    }

    #[test]
    fn threads_that_make_calls_at_once_record_in_rings_of_their_own() {
        static FIRSTS: [CallRing; 2] = [const { CallRing::new() }; 2];
        let [first, next] = &FIRSTS;
        let address = |ring: &'static CallRing| core::ptr::from_ref(ring).addr();
        assert_eq!(address(ring_of_caller(first)), address(first));
        first.begin_recording(RingWriters::Nobody);
        assert_eq!(address(ring_of_caller(first)), address(first));
        first.begin_recording(RingWriters::Many);
        assert!(!first.leads_on());
        let rings: BTreeSet<usize> = std::thread::scope(|scope| {
            let of_one = || {
                let ring = address(ring_of_caller(first));
                assert_eq!(address(ring_of_caller(first)), ring);
                ring
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(of_one)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        assert!(rings.len() == 4 && !rings.contains(&address(first)) && first.leads_on());
        // In the next life a thread keeps its ring, to which another first one leads.
        let ring = address(ring_of_caller(first));
        next.begin_recording(RingWriters::Many);
        assert_eq!(address(ring_of_caller(next)), ring);
        assert!(next.leads_on());
    }
}
