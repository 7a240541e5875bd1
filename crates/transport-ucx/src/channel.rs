//! The part of a lane that is UCX's: a worker, the peers that it reaches, and its operations under way.
//!
//! `transfer` puts and gets, `atomic` has UCX's own atomics; `question` asks the target's processor, `unacknowledged` puts by messages to
//! it, `coalescing` batches short messages; `reach` has the peers and their memory keys; `flush` completes; `under_way` counts.

mod atomic;
mod coalescing;
mod flush;
mod question;
mod reach;
mod reached;
mod straight;
#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests;
mod transfer;
mod unacknowledged;
mod under_way;

use std::cell::{Cell, RefCell};
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::{ptr, slice};

use oxshmem_base::Error;
use oxshmem_transport::{
    AtomicArguments, AwaitedState, CompletionHabit, Failed, Losses, MOST_ASKED, MOST_ASKED_IN_BATCHES, NotIssued,
    NumberMap, PutArguments, Region, Remote, SignalUpdate, TargetTask, WatchedTime, Width,
};
use oxshmem_ucx_sys::{Ucx, ucs_status_t};

use self::atomic::NetworkUpdate;
use self::flush::{Flush, LateSignal};
use self::question::{Expected, OpenQuestion, RequestData, SentQuestion, on_answer};
use self::reach::Watched;
use self::reached::ReachedPeer;
use self::straight::PreparedParams;
use self::transfer::CopiedPut;
use crate::message::{ANSWER, Ask};
use crate::objects::{UcxContext, Worker, meaning};
use crate::peers::Directory;

/// Longest put that travels in one message with its signal.
const TOGETHER: usize = 8 << 10;

/// Longest put whose source is copied.
pub(crate) const COPIED: usize = 8 << 10;

/// Longest put of a program that is an unacknowledged message. A longer one is UCX's, which the target receives at its place without a
/// copy: two nodes that put 32 KiB to each other and meet took 67 us by messages and 51 by puts, with 8 bytes 30 and 43.
pub(crate) const LONGEST_MESSAGE: usize = 16 << 10;

/// Puts, gets and UCX's atomics of one channel that are under way at once: UCX keeps a request for each that its transport has
/// no room for.
const MOST_UNDER_WAY: u64 = 8192;

/// The outcome of issuing something.
pub(crate) type Issued<T = ()> = Result<T, NotIssued>;

/// Fields are dropped in this order: keys before the worker, the worker before what its callbacks are given.
pub(crate) struct Channel {
    peers: Vec<ReachedPeer>,
    /// By world numbers, as far as there are peers.
    index: Vec<u32>,
    /// Operations that may still go the straight way.
    straight: u64,
    params: PreparedParams,
    /// The box of the last copied put, and of the last atomic, for the next ones.
    spare_copy: Option<Box<CopiedPut>>,
    spare_update: Option<Box<NetworkUpdate>>,
    flush: Option<Flush>,
    /// Puts that the next flush completes.
    unflushed: u64,
    /// Signals of these puts, and room for the next ones.
    late: Vec<LateSignal>,
    spare_late: Vec<LateSignal>,
    /// Which of the inbox's counters has the puts that are issued now.
    counter: usize,
    /// The next operation waits for those before it.
    fenced: bool,
    /// Longest put that is a message which the target does not acknowledge (`unacknowledged`). 0: there are no such messages.
    pub(crate) longest_message: usize,
    /// Its worker is the one that peers reach, which is moved on all the time.
    pub(crate) serves: bool,
    asked: u64,
    /// How often it has been moved on, and the fences.
    steps: u64,
    fences: u64,
    /// A peer has been connected to since the last step: UCX keeps what is sent to it.
    connects: bool,
    /// Messages in the batches of all peers.
    waiting: u64,
    /// Unacknowledged messages to all peers that no question stands behind.
    unmarked: u64,
    habit: CompletionHabit,
    /// The box of the last message, for the next one.
    spare: Option<Box<SentQuestion>>,
    /// The PE and the region whose keys are asked for, and the time since then.
    keys_asked: Option<(u32, Region, WatchedTime)>,
    pub(crate) worker: Worker,
    /// The peers to which failures of endpoints belong.
    watched: Vec<Rc<Watched>>,
    inbox: Rc<Inbox>,
}

// SAFETY: everything that is counted or shared without locks is inside the channel, which one thread at a time uses;
// destinations belong to callers who keep them valid on whatever thread.
unsafe impl Send for Channel {}

/// The state that callbacks of the worker change while it is moved on.
#[derive(Default)]
struct Inbox {
    error: RefCell<Option<Error>>,
    /// Puts that UCX has not completed ([`flush`]), and the status of the last one that it has given back with an
    /// error.
    puts: [Cell<u64>; 2],
    put_failure: Cell<ucs_status_t>,
    /// Gets and UCX's atomics under way.
    gets: Cell<u64>,
    unanswered: RefCell<NumberMap<u64, OpenQuestion>>,
    /// Those of them whose answers go to a place of the caller's.
    values: Cell<u64>,
    /// Messages that expect no answer of their own and are not known to be done.
    unacknowledged: Cell<u64>,
    /// Messages that UCX has not sent yet.
    unsent: Cell<u64>,
    keys: RefCell<Option<Vec<u8>>>,
    lost: RefCell<Vec<u32>>,
    /// Those of all channels.
    losses: Arc<Losses>,
}

impl Channel {
    pub(crate) fn new(context: Arc<UcxContext>, losses: Arc<Losses>) -> Result<Self, Error> {
        let (worker, inbox) = (Worker::new(context)?, Rc::new(Inbox { losses, ..Inbox::default() }));
        // SAFETY: the inbox goes after the worker, and is changed through cells only.
        unsafe { worker.listen(ANSWER, Some(on_answer), Rc::as_ptr(&inbox).cast_mut().cast())? };
        Ok(Self {
            peers: Vec::new(),
            index: Vec::new(),
            straight: 0,
            params: PreparedParams::new(&inbox),
            spare_copy: None,
            spare_update: None,
            flush: None,
            unflushed: 0,
            late: Vec::new(),
            spare_late: Vec::new(),
            counter: 0,
            fenced: false,
            longest_message: 0,
            serves: false,
            asked: 0,
            steps: 0,
            fences: 0,
            connects: false,
            waiting: 0,
            unmarked: 0,
            habit: CompletionHabit::default(),
            spare: None,
            keys_asked: None,
            worker,
            watched: Vec::new(),
            inbox,
        })
    }

    fn ucx(&self) -> &'static Ucx {
        self.worker.context.ucx
    }

    /// An atomic of the target's processor, or of UCX where it does those of the job.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    pub(crate) unsafe fn amo(&mut self, peers: &Directory, atomic: &AtomicArguments) -> Issued {
        let &AtomicArguments { to, width, amo, old } = atomic;
        let task = TargetTask::Amo { at: to.position(), width, amo };
        if self.longest_message > 0 {
            self.start_message(peers)?;
            if old.is_null() {
                self.send_unacknowledged(peers, to.pe, task, RequestData::Borrowed(&[]));
            } else {
                self.fetch(peers, to.pe, task, 0, Expected::Old(width, old));
            }
            return Ok(());
        }
        self.start(peers)?;
        if peers.atomics {
            // SAFETY: the caller keeps `old` until completion, as this function demands.
            return unsafe { self.atomic(peers, atomic) };
        }
        self.ask(peers, to.pe, Ask::Task(task), &[], Expected::Old(width, old));
        Ok(())
    }

    /// # Safety
    /// As for `Lane::put_signal`.
    pub(crate) unsafe fn put_signal(
        &mut self,
        peers: &Directory,
        put: &PutArguments,
        signal: Remote,
        update: SignalUpdate,
    ) -> Issued {
        let &PutArguments { to, source, n } = put;
        if self.longest_message > 0 {
            // SAFETY: the source is readable for `n` bytes until completion, by the caller's promise.
            return unsafe { self.put_unacknowledged(peers, put, Some((signal, update))) };
        }
        self.start(peers)?;
        if n == 0 {
            let (width, amo, old) = (Width::Eight, update.amo(), ptr::null_mut());
            // SAFETY: no old value is asked for.
            return unsafe { self.amo(peers, &AtomicArguments { to: signal, width, amo, old }) };
        }
        if n > TOGETHER || peers.atomics {
            if peers.atomics && self.shortcut(signal, Width::Eight.bytes()).is_none() {
                // Nothing is written if the signal is nowhere; and its keys are at hand when the put is over.
                self.reach(peers, signal, Width::Eight.bytes())?;
            }
            // SAFETY: the caller keeps the source until completion.
            if !unsafe { self.put_straight(to, source, n) } {
                // SAFETY: the caller keeps the source until completion.
                unsafe { self.put(peers, put)? };
            }
            self.late.push(LateSignal { pe: signal.pe, at: signal.position(), update });
            self.begin_flush(peers);
            return Ok(());
        }
        // SAFETY: the caller keeps the source until completion, which is when the answer has come.
        let data = unsafe { slice::from_raw_parts(source, n) };
        let task = TargetTask::Put { to: to.position(), signal: Some((signal.position(), update)) };
        self.ask(peers, to.pe, Ask::Task(task), data, Expected::Word);
        Ok(())
    }

    /// Later operations wait until those that were issued have taken effect: UCX may use several paths to one peer, and messages
    /// travel apart from puts. Unacknowledged messages wait for transfers only.
    ///
    /// Behind a fence a message may be a flag, for which the peer waits while the caller computes (`coalescing`).
    pub(crate) fn fence(&mut self) {
        self.fenced = self.outstanding() > 0;
        self.fences += 1;
    }

    /// Moves everything on, and begins to complete what has only been issued.
    pub(crate) fn progress(&mut self, peers: &Directory) -> Result<usize, Error> {
        let before = self.outstanding();
        self.begin_flush(peers);
        self.mark(peers);
        self.step(peers);
        match &*self.inbox.error.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(before.saturating_sub(self.outstanding()) as usize),
        }
    }

    /// Returns whether no local buffer is in use: UCX has read the messages, and a flush is behind all puts. Moves everything on unless that is
    /// so, because UCX mostly reads a message in the call that sends it. Asks no peer to acknowledge messages.
    pub(crate) fn poll_local_completion(&mut self, peers: &Directory) -> Result<bool, Error> {
        if !self.is_complete_locally() {
            self.begin_flush(peers);
            self.step(peers);
        }
        match &*self.inbox.error.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(self.is_complete_locally()),
        }
    }

    fn is_complete_locally(&self) -> bool {
        self.transfers() + self.inbox.unsent.get() == 0 && !self.inbox.expects_values()
    }

    /// Moves everything on, and begins to complete nothing. What was fetched is here if UCX has no get under way, and no answer with a value
    /// is missing.
    pub(crate) fn poll_awaited(&mut self, peers: &Directory) -> Result<AwaitedState, Failed> {
        self.step(peers);
        if self.has_failed() {
            return Err(Failed);
        }
        Ok(if self.outstanding() == 0 {
            AwaitedState::Idle
        } else if self.inbox.gets.get() > 0 || self.inbox.expects_values() {
            AwaitedState::UnderWay
        } else {
            AwaitedState::Complete
        })
    }

    /// Moves on what is under way. Signals that wait for a put do not need a caller that completes it.
    pub(crate) fn step(&mut self, peers: &Directory) -> usize {
        self.steps += 1;
        self.connects = false;
        self.send_all_batches(peers);
        let done = self.worker.progress();
        self.move_flush(peers);
        if !self.late.is_empty() {
            self.begin_flush(peers);
        }
        if self.is_broken() {
            self.settle_lost();
        }
        done
    }

    /// The descriptor to watch until something happens to it.
    pub(crate) fn arm(&self) -> Option<RawFd> {
        self.worker.arm_to_sleep()
    }

    /// Whether another lane can use it.
    pub(crate) fn renew(&mut self) -> bool {
        *self.inbox.error.borrow_mut() = None;
        self.fenced = false;
        self.outstanding() == 0 && !self.is_broken()
    }

    /// The number of the step, for callers that do something at some of them.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.inbox.error.borrow().is_some()
    }

    /// Whether some peer cannot be reached any more: what was under way may never be over.
    pub(crate) fn is_broken(&self) -> bool {
        !self.inbox.lost.borrow().is_empty()
    }

    /// The peers that it has reached and not lost.
    pub(crate) fn peers(&self) -> Vec<u32> {
        let lost = self.inbox.lost.borrow();
        self.peers.iter().map(|peer| peer.pe).filter(|pe| !lost.contains(pe)).collect()
    }

    pub(crate) fn ask_bye(&mut self, peers: &Directory, pe: u32) {
        self.ask(peers, pe, Ask::Bye, &[], Expected::Word);
    }

    /// Before each operation: what a fence has promised, and room for one more.
    fn start(&mut self, peers: &Directory) -> Issued {
        let outstanding = self.outstanding();
        if self.fenced && outstanding > 0 {
            return Err(NotIssued::Busy);
        }
        self.fenced = false;
        self.find_room(peers, outstanding)
    }

    fn find_room(&mut self, peers: &Directory, outstanding: u64) -> Issued {
        if self.unflushed >= MOST_UNDER_WAY / 2 {
            self.begin_flush(peers);
        }
        let most = if self.longest_message > 0 { MOST_ASKED_IN_BATCHES } else { MOST_ASKED };
        if self.asked_for() >= most || outstanding >= MOST_UNDER_WAY { Err(NotIssued::Busy) } else { Ok(()) }
    }

    fn fail(&self, pe: u32, what: &str, status: ucs_status_t) {
        self.inbox.lose(pe, &format!("{what}: {}", meaning(self.ucx(), status)));
    }

    /// An error of the lane; the first one stays.
    pub(crate) fn note(&self, error: Error) {
        self.inbox.note(|| error);
    }

    /// An error that belongs to no PE; that of a PE that was lost comes first.
    fn note_failure(&self, what: impl FnOnce(&Ucx) -> String) {
        let error = Error::new("operations over UCX have failed").because(what(self.ucx()));
        self.inbox.note_loss(error.fix("UCX_LOG_LEVEL=info lets UCX say more; SHMEM_TRANSPORT=tcp goes another way"));
    }
}

impl Inbox {
    fn note(&self, error: impl FnOnce() -> Error) {
        self.error.borrow_mut().get_or_insert_with(error);
    }

    /// An error of the lane that ends waits on all lanes: what they wait for may have been lost with it.
    fn note_loss(&self, error: Error) {
        self.losses.note(&error);
        self.note(|| error);
    }

    /// A peer cannot be reached any more.
    fn lose(&self, pe: u32, why: &str) {
        self.note_loss(lost(pe, why));
    }
}

fn lost(pe: u32, why: &str) -> Error {
    Error::new(format!("PE {pe} cannot be reached over UCX any more"))
        .because(why)
        .fix("see whether that PE or its node has died; UCX_LOG_LEVEL=info lets UCX say more")
}
