//! The PEs of one process: their memory, their mailboxes and their cards.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

use crate::RegisteredMemory;
use crate::loopback::card::Card;

/// A job whose PEs are threads.
pub(super) struct LoopbackJob {
    pub(super) memories: Vec<RegisteredMemory>,
    pub(super) mailboxes: Vec<Mailbox>,
    /// Used in the network domain only.
    pub(super) cards: Vec<Mutex<Card>>,
}

impl LoopbackJob {
    pub(super) fn new(pes: u32) -> Self {
        Self {
            memories: (0..pes).map(|_| RegisteredMemory::default()).collect(),
            mailboxes: (0..pes).map(|_| Mailbox::default()).collect(),
            cards: (0..pes).map(|_| Mutex::default()).collect(),
        }
    }
}

/// The messages that wait for one PE, with their senders.
#[derive(Default)]
pub(super) struct Mailbox {
    pub(super) messages: Mutex<VecDeque<(u32, Vec<u8>)>>,
    pub(super) arrived: Condvar,
}
