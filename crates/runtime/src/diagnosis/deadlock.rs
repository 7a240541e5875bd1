//! Certain deadlock: all PEs of the job wait in the library, and nothing can end these waits. The job reports it unasked.
//!
//! A thread that waits long counts its looks in vain, each after [`idle`] has found that its process can do nothing but wait. A
//! collective that has returned at once, and is suspended in a wait, counts looks as a thread does ([`suspended::look`]).
//! The first PE of a node (its window is number 0) reads the records of the node's PEs again and again, and publishes what
//! that has shown in its control window. PE 0 reads what the first PEs have published, over a lane of its own. When that
//! proves a deadlock ([`stillness`] has the argument) it asks the launcher for the waits of all ([`places`]). If none answers, it
//! fetches the records of [`ASKED`] PEs of other nodes at most. Then it prints the report.
//!
//! Everything happens inside the looks of waits that have taken more than a second, so it costs nothing else, and the proof needs
//! no thread and no help of a launcher. A PE that is not in a wait, is stopped, or computes does not look, and so keeps the others from
//! being certain. Reading over the network is served inside waits, and changes neither records nor looks.
//!
//! **Not certain, and so not reported** are jobs in which a process has threads of its own that do not wait in the library, a
//! debugger, or a forked process with its memory; jobs in which a PE waits for an operation of the network, or for a place in a
//! table; and, if a PE waits for its own variables, jobs in which a PE has a signal handler or a device that may store to
//! them. Python's own handler of SIGINT, which only raises an exception, is no such handler. `SHMEM_HANG_SECS` reports these as
//! well.

mod idle;
mod places;
mod questions;
mod stillness;
mod words;

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};
use std::time::Duration;

use oxshmem_base::knobs::Deadlock;
use oxshmem_bootstrap::Membership;
use oxshmem_os::{process, time};
use parking_lot::Mutex;

use crate::diagnosis::hang::{self, Reports};
use crate::diagnosis::{program_line, recorder};
use crate::memory::control::{self, ControlBlock, State};
use crate::network;
use crate::start::{job, state};
use crate::wait::reason::WaitReason;
use crate::wait::suspended;
use oxshmem_flight::Witness;
use oxshmem_flight::report::{self, Certainty};
use oxshmem_flight::waits::{self, CallOrigin, RECORDS_BYTES, Subject, WaitEntry};

pub(crate) use idle::{after_init, ask, before_init, has_forked};
use questions::Questions;
use stillness::{OF_NODES, OF_THREADS, Shown, Stillness};
use words::{NodeWord, WaitKind, still};

/// A wait counts its looks from this time on.
const COUNT_AFTER: Duration = Duration::from_secs(1);
/// The first PE of a node observes when its own wait has taken so long.
const OBSERVE_AFTER: Duration = Duration::from_secs(2);
/// Between two counted looks of a wait: a part of the time waited, inside these bounds.
const EVERY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));
/// A counted look asks the kernel about every thread and descriptor of the process. With a thousand connections that takes milliseconds,
/// and a thousand PEs that wait on two processors would do nothing else. So the next look comes after so many times the processor time
/// that the last one took, but not later than this. A look that has lost its processor to others for long has cost them nothing.
const SHARE: (u32, Duration) = (50, Duration::from_secs(30));
/// Between two times at which records are brought up to date, likewise.
const REFRESH: (Duration, Duration) = (Duration::from_millis(15), Duration::from_millis(200));

/// The care for a wait that is not short.
pub(crate) struct LongWait {
    /// Its description and the place of its record, if there was one; `None`: not long enough yet.
    record: Option<(WaitReason, Option<usize>)>,
    /// When the record is brought up to date.
    refresh: Duration,
    /// When the next look counts.
    due: Duration,
    reports: Reports,
}

impl LongWait {
    /// For a wait that begins to be slow.
    pub(crate) fn begin() -> Self {
        let is_wanted = state::current().is_some_and(|life| life.settings.deadlock != Deadlock::Off);
        let due = if is_wanted { COUNT_AFTER } else { Duration::MAX };
        Self { record: None, refresh: Duration::ZERO, due, reports: Reports::begin() }
    }

    /// The wait has taken so long. Returns whether a look has found that it is over.
    pub(crate) fn look(
        &mut self,
        own: &'static ControlBlock,
        describe: impl Fn() -> WaitReason,
        waited: Duration,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        if waited >= self.refresh {
            self.refresh = waited + (waited / 40).clamp(REFRESH.0, REFRESH.1);
            suspended::record(own);
            self.record(own, &describe, waited);
        }
        self.reports.look(waited);
        if waited < self.due {
            return false;
        }
        let (is_over, pause) = paced(waited, || match &self.record {
            Some((reason, Some(record))) => count(own, *record, reason, ready),
            _ => false,
        });
        if is_over {
            return true;
        }
        self.due = waited + pause;
        if waited >= OBSERVE_AFTER && job::window_of(job::identity().map_or(u32::MAX, |(me, _)| me)) == Some(0) {
            observe();
        }
        false
    }

    /// Writes a record of the wait as soon as there is room, or another one if it has come nearer to its end. It is as old as its call.
    fn record(&mut self, own: &'static ControlBlock, describe: &dyn Fn() -> WaitReason, waited: Duration) {
        let is_new = match &self.record {
            None => true,
            // More threads waited than there are records.
            Some((_, None)) => own.records.has_room(),
            Some((last, _)) => matches!(last.subject, Subject::Collectives(_)) && describe() != *last,
        };
        if is_new {
            self.close();
            let reason = describe();
            let frames = oxshmem_os::stack::callers::<{ waits::FRAMES }>();
            let WaitReason { call, address, subject } = reason;
            let caller = CallOrigin { frames: &frames, line: program_line::text().unwrap_or_default() };
            let record = own.records.open(call, address, subject, waited.as_nanos() as u64, caller);
            self.record = Some((reason, record));
        }
    }

    fn close(&mut self) {
        if let (Some((_, Some(record))), Some(own)) = (self.record.take(), ControlBlock::if_open()) {
            recorder::note_time(time::fine());
            own.records.close(record);
        }
    }
}

impl Drop for LongWait {
    fn drop(&mut self) {
        self.close();
    }
}

/// Looks, and says after which time the next look comes.
fn paced(waited: Duration, look: impl FnOnce() -> bool) -> (bool, Duration) {
    let begin = time::of_thread();
    let is_over = look();
    let rest = Duration::from_nanos(time::of_thread() - begin) * SHARE.0;
    (is_over, (waited / 40).clamp(EVERY.0, EVERY.1).max(rest.min(SHARE.1)))
}

/// Looks once more and counts it if the process can do nothing but wait. Returns whether the wait is over.
#[cold]
fn count(own: &ControlBlock, record: usize, reason: &WaitReason, ready: &mut dyn FnMut() -> bool) -> bool {
    let Some(idle) = idle::look(&own.records) else { return false };
    own.others_may_store.store(idle.others_may_store.into(), Relaxed);
    if !suspended::look(own) {
        return ready();
    }
    // After the count of the look before, and after every store of this process.
    fence(SeqCst);
    if ready() {
        return true;
    }
    own.records.has_looked(record, seen(reason));
    false
}

/// The present value of a wait's variable.
fn seen(reason: &WaitReason) -> Option<u64> {
    let Subject::Variables { wanted, .. } = reason.subject else { return None };
    let at = reason.address;
    // SAFETY: the caller of a wait for a variable vouches that it is valid and aligned as long as the wait takes.
    let seen = unsafe {
        match wanted.bytes {
            0 => return None,
            1 => AtomicU8::from_ptr(at as *mut u8).load(Relaxed).into(),
            2 => AtomicU16::from_ptr(at as *mut u16).load(Relaxed).into(),
            4 => AtomicU32::from_ptr(at as *mut u32).load(Relaxed).into(),
            _ => AtomicU64::from_ptr(at as *mut u64).load(Relaxed),
        }
    };
    Some(seen)
}

/// The readings so far: of the node's PEs at the first PE of a node, and at PE 0 also of the nodes.
struct Observer {
    node: Stillness,
    nodes: Stillness,
    /// How PE 0 reads what other nodes publish.
    network: Option<Questions>,
    /// The epoch of the nodes whose deadlock has been reported.
    reported: Option<u64>,
}

static OBSERVER: Mutex<Observer> = Mutex::new(Observer::new());

impl Observer {
    const fn new() -> Self {
        Self { node: Stillness::new(OF_THREADS), nodes: Stillness::new(OF_NODES), network: None, reported: None }
    }
}

pub(crate) fn begin() {
    *OBSERVER.lock() = Observer::new();
}

/// The network is about to be closed: all PEs are through their last synchronisation.
pub(crate) fn end() {
    let questions = OBSERVER.lock().network.take();
    if let Some(mut questions) = questions
        && !questions.await_answers(Duration::from_secs(10))
    {
        // Late answers still find their room.
        core::mem::forget(questions);
    }
}

/// One reading of the node, and at PE 0 perhaps one of the nodes. One thread at a time.
#[cold]
fn observe() {
    let Some(mut observer) = OBSERVER.try_lock() else { return };
    let Some(job) = job::joined() else { return };
    let (reading, kind) = read_node();
    observer.node.add(reading);
    let (epoch, confirmed) = observer.node.shown();
    let published = NodeWord { epoch, kind, confirmed };
    ControlBlock::own().observed.store(published.to_word(), SeqCst);
    if job.rank() > 0 {
        return;
    }
    let Some(words) = read_nodes(&mut observer, job, published) else { return };
    observer.nodes.add(still(&words));
    let (epoch, _) = observer.nodes.shown();
    if observer.nodes.is_proven() && observer.reported != Some(epoch) {
        observer.reported = Some(epoch);
        report(&mut observer, job);
    }
}

/// The states and progress of the node's PEs, if they all wait, and the kinds of their waits.
fn read_node() -> (Option<Vec<Shown>>, WaitKind) {
    let (mut shown, mut kind) = (Vec::new(), WaitKind::default());
    for window in 0..job::pes_on_node() {
        let block = ControlBlock::of(window);
        let changes = block.records.changes();
        let waits = block.records.all();
        let is_waiting = waits.iter().any(WaitEntry::has_thread);
        if block.state() != State::Running || !is_waiting || waits.iter().any(|wait| wait.looks == 0) {
            return (None, kind);
        }
        kind.for_variables |= waits.iter().any(|wait| matches!(wait.subject, Subject::Variables { .. }));
        kind.others_may_store |= block.others_may_store.load(Relaxed) != 0;
        shown.extend(waits.iter().map(|wait| (changes, wait.looks)));
        if block.records.changes() != changes {
            return (None, kind);
        }
    }
    (Some(shown), kind)
}

/// The words of all nodes, if a reading has just come to its end; begins the next one.
fn read_nodes(observer: &mut Observer, job: &Membership, here: NodeWord) -> Option<Vec<u64>> {
    let nodes = job.places().nodes();
    if nodes == 1 {
        return Some(vec![here.to_word()]);
    }
    if let Some(questions) = &mut observer.network
        && questions.are_asked
    {
        if !questions.await_answers(Duration::ZERO) {
            return None;
        }
        questions.are_asked = false;
        let mut words = questions.answers[..nodes as usize].to_vec();
        // Node 0 is here; what it shows may be newer, but not older than the question.
        words[job.node().index as usize] = here.to_word();
        return Some(words);
    }
    if here.confirmed == 0 {
        // Something happens here: no PE has to be asked.
        observer.nodes.add(None);
        return None;
    }
    let questions = Questions::open(&mut observer.network)?;
    let offset = control::offset(&raw const ControlBlock::own().observed);
    let others: Vec<u32> = (0..nodes).filter(|node| *node != job.node().index).collect();
    questions.ask(others.iter().map(|node| (*node as usize, job.places().leader_of(*node))), 1, offset);
    None
}

/// PEs of other nodes that are asked what they wait for; a connection to each is needed.
const ASKED: u32 = 256;

/// Prints it, and ends the job if that is wanted. All PEs wait, so none is delayed.
#[cold]
fn report(observer: &mut Observer, job: &Membership) {
    let pes = job.size();
    let who = if pes == 1 { "the job's only PE waits".into() } else { format!("all {pes} PEs of the job wait") };
    let head = format!("oxshmem: deadlock: {who}, and nothing can end that:\n");
    let text = head + &places::ask_launcher().unwrap_or_else(|| picture(observer, job));
    if state::current().is_some_and(|life| life.settings.deadlock == Deadlock::Abort) {
        job::abort(1, text.trim_end());
    }
    process::say(&format!(
        "{text}  The job goes on waiting. Ctrl-C ends it. SHMEM_DEADLOCK=abort would end it, SHMEM_DEADLOCK=off switches this report \
         off.\n"
    ));
}

/// The waits of all PEs, as far as a PE can know them.
fn picture(observer: &mut Observer, job: &Membership) -> String {
    let mut known = hang::on_node();
    known.extend(elsewhere(observer, job));
    known.sort_by_key(|one| one.pe);
    let silent = match job.size() - known.len() as u32 {
        0 => String::new(),
        more => format!("  and {more} more PEs\n"),
    };
    report::lines(&known, job.size(), &network::name()) + &silent + &report::cause(&known, Certainty::Proven)
}

/// The PEs of other nodes.
fn elsewhere(observer: &mut Observer, job: &Membership) -> Vec<Witness> {
    let others: Vec<u32> = (0..job.size()).filter(|pe| job::window_of(*pe).is_none()).take(ASKED as usize).collect();
    let Some(questions) = observer.network.as_mut().filter(|_| !others.is_empty()) else { return Vec::new() };
    let (words, offset) = (RECORDS_BYTES / 8, control::offset(&raw const ControlBlock::own().records));
    questions.ask((0..).zip(others.iter().copied()), words, offset);
    if !questions.await_answers(Duration::from_secs(10)) {
        // Late answers still find their room, and are not taken for words of nodes.
        core::mem::forget(observer.network.take());
        return Vec::new();
    }
    questions.are_asked = false;
    let know = |(&pe, words): (&u32, &[u64])| Witness::new(pe, State::Running, waits::decode(words, None));
    others.iter().zip(questions.answers.chunks_exact(words)).map(know).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_which_there_was_no_record_gets_one_when_there_is() {
        control::tests::windows();
        let own = ControlBlock::own();
        let subject = Subject::Operation { peer: None };
        let describe = || WaitReason { call: "test", address: 0, subject };
        let take = || own.records.open("test", 0, subject, 0, CallOrigin::default());
        let taken: Vec<usize> = std::iter::from_fn(take).collect();
        let mut wait = LongWait::begin();
        wait.record(own, &describe, Duration::ZERO);
        assert!(matches!(wait.record, Some((_, None))));
        taken.into_iter().for_each(|record| own.records.close(record));
        wait.record(own, &describe, Duration::ZERO);
        assert!(matches!(wait.record, Some((_, Some(_)))));
    }

    #[test]
    fn a_look_that_has_lost_its_processor_delays_the_next_one_no_more_than_a_quick_one() {
        let waited = Duration::from_secs(60);
        let slept = paced(waited, || {
            std::thread::sleep(Duration::from_millis(100));
            false
        });
        assert_eq!(slept, (false, EVERY.1));
        let worked = paced(waited, || {
            let end = time::of_thread() + 20_000_000;
            while time::of_thread() < end {}
            true
        });
        assert!(worked.0 && worked.1 >= Duration::from_secs(1), "{worked:?}");
    }
}
