//! The PEs whose long puts are on their way, and the questions that wait behind them.

use std::collections::{HashMap, VecDeque};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxshmem_ucx_sys::ucp_ep_h;
use parking_lot::Mutex;

use crate::message::AskMessage;
use crate::receiver::{AnnouncedData, Receiver};

/// The questions of PEs whose long puts are on their way, in their order.
#[derive(Default)]
pub(crate) struct Backlog {
    queues: Mutex<HashMap<u32, PutQueue>>,
    /// How many there are. The thread that moves the serving channel on changes and reads it, so it is relaxed.
    count: AtomicUsize,
    /// The serving worker's, from before peers know its address.
    receiver: OnceLock<Receiver>,
}

/// Questions that wait behind a put of one PE.
#[derive(Default)]
struct PutQueue {
    held: VecDeque<HeldQuestion>,
    /// The put could not be received, so nothing behind it is ever executed.
    lost: bool,
}

/// A question that waits, and the endpoint for its answer.
pub(crate) struct HeldQuestion {
    pub(crate) question: AskMessage,
    pub(crate) reply: ucp_ep_h,
    pub(crate) data: HeldData,
}

/// The data of a question that waits.
pub(crate) enum HeldData {
    Here(Vec<u8>),
    Announced(AnnouncedData),
}

// SAFETY: endpoints and announcements belong to the serving worker; the thread that moves it on uses them.
unsafe impl Send for HeldQuestion {}

impl Backlog {
    /// Stores the receiver of the serving worker. Called once.
    pub(crate) fn receive_by(&self, receiver: Receiver) {
        let first = self.receiver.set(receiver);
        debug_assert!(first.is_ok(), "one worker serves");
    }

    /// Whether a put of this PE is on its way.
    pub(crate) fn is_due(&self, pe: u32) -> bool {
        self.count.load(Ordering::Relaxed) > 0 && self.queues.lock().contains_key(&pe)
    }

    /// Lets a question wait for the put that is on its way.
    pub(crate) fn add(&self, held: HeldQuestion) {
        self.expect(held.question.pe, Some(held));
    }

    /// The receiver of the serving worker, once it serves.
    pub(crate) fn receiver(&self) -> Option<Receiver> {
        self.receiver.get().copied()
    }

    /// Notes that a put of this PE is on its way, and what waits for it.
    pub(crate) fn expect(&self, pe: u32, behind: Option<HeldQuestion>) {
        let mut queues = self.queues.lock();
        queues.entry(pe).or_default().held.extend(behind);
        self.count.store(queues.len(), Ordering::Relaxed);
    }

    /// Takes the next question of this PE, whose put has arrived.
    pub(crate) fn next(&self, pe: u32) -> Option<HeldQuestion> {
        let mut queues = self.queues.lock();
        let next = queues.get_mut(&pe)?.held.pop_front();
        if next.is_none() {
            queues.remove(&pe);
            self.count.store(queues.len(), Ordering::Relaxed);
        }
        next
    }

    /// A put of this PE could not be received. Returns what waits behind it, and lets nothing wait any more.
    pub(crate) fn lose(&self, pe: u32) -> VecDeque<HeldQuestion> {
        let mut queues = self.queues.lock();
        let queue = queues.entry(pe).or_default();
        queue.lost = true;
        let held = std::mem::take(&mut queue.held);
        self.count.store(queues.len(), Ordering::Relaxed);
        held
    }

    /// Whether a put of this PE could not be received.
    pub(crate) fn has_lost(&self, pe: u32) -> bool {
        self.queues.lock().get(&pe).is_some_and(|queue| queue.lost)
    }
}
