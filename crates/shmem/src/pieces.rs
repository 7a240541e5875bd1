//! Bytes between pairs of PEs, in pieces: one slot for each pair in the receiver's memory, a signal that a piece has come, and a
//! word at the sender that it has been taken. Only functions that say so wait.

use core::cell::Cell;

use crate::Comparison::AtLeast;
use crate::{Atomic, Error, Signal, SymmetricBox, Update, World};

/// The bytes of a piece before those of the message: how many of these are still to come.
const HEADER: usize = 8;

/// The slots of all PEs, for messages of one kind.
pub(crate) struct Pieces<'w> {
    /// By sender: the number of bytes of the message that are still to come, and the first of them.
    slots: SymmetricBox<'w, [u8]>,
    /// By sender: how many pieces it has sent.
    pub(crate) come: SymmetricBox<'w, [Signal]>,
    /// By receiver: how many pieces of this PE it has taken.
    pub(crate) taken: SymmetricBox<'w, [Atomic<u64>]>,
    /// By receiver: how many pieces this PE has sent.
    sent: Vec<Cell<u64>>,
    /// By sender: how many of its pieces this PE has taken.
    received: Vec<Cell<u64>>,
    /// The bytes of a slot.
    slot: usize,
    me: usize,
}

impl<'w> Pieces<'w> {
    /// Slots with so much room for the bytes of messages. All PEs call it.
    pub(crate) fn new(world: &'w World, room: usize) -> Result<Self, Error> {
        let slot = room.max(1).saturating_add(HEADER);
        let n = world.n_pes();
        Ok(Self {
            slots: world.allocate_slice(n.saturating_mul(slot), 0_u8)?,
            come: world.allocate_slice(n, Signal::new(0))?,
            taken: world.allocate_slice(n, Atomic::new(0_u64))?,
            sent: vec![Cell::new(0); n],
            received: vec![Cell::new(0); n],
            slot,
            me: world.my_pe(),
        })
    }

    pub(crate) fn n_pes(&self) -> usize {
        self.sent.len()
    }

    pub(crate) fn room(&self) -> usize {
        self.slot - HEADER
    }

    /// How many pieces this PE has sent to `to`.
    pub(crate) fn sent(&self, to: usize) -> u64 {
        self.sent[to].get()
    }

    /// How many pieces of `from` this PE has taken.
    pub(crate) fn received(&self, from: usize) -> u64 {
        self.received[from].get()
    }

    /// Whether this PE's slot at `to` is free.
    pub(crate) fn is_free(&self, to: usize) -> bool {
        self.taken[to].load() >= self.sent(to)
    }

    /// Waits until this PE's slot at `to` is free.
    pub(crate) fn wait_until_free(&self, to: usize) {
        self.taken[to].wait_until(AtLeast(self.sent(to)));
    }

    /// Whether a message of so many bytes to `to` would wait until this PE itself takes a piece.
    pub(crate) fn waits_for_itself(&self, bytes: usize, to: usize) -> bool {
        to == self.me && (bytes > self.room() || self.sent(to) > self.received(to))
    }

    /// Sends the first piece of what is left of a message, into a free slot; returns the rest.
    pub(crate) fn put<'m>(&self, left: &'m [u8], to: usize) -> &'m [u8] {
        let (first, rest) = left.split_at(left.len().min(self.room()));
        let piece = [&(left.len() as u64).to_le_bytes(), first].concat();
        let number = self.sent(to) + 1;
        self.sent[to].set(number);
        let mine = &self.slots[self.me * self.slot..][..self.slot];
        mine.put_signal(&piece, &self.come[self.me], Update::Set(number), to);
        rest
    }

    /// Whether a piece of `from` has come and has not been taken.
    pub(crate) fn has_come(&self, from: usize) -> bool {
        self.come[from].fetch() > self.received(from)
    }

    /// Waits for the next piece of `from`.
    pub(crate) fn wait_until_come(&self, from: usize) {
        self.come[from].wait_until(AtLeast(self.received(from) + 1));
    }

    /// Takes a piece that has come, to the end of `message`; says whether it was the last one.
    pub(crate) fn take(&self, from: usize, message: &mut Vec<u8>) -> bool {
        let slot = &self.slots[from * self.slot..];
        let mut header = [0; HEADER];
        slot.get_slice(&mut header, self.me);
        let left = u64::from_le_bytes(header) as usize;
        let begin = message.len();
        message.resize(begin + left.min(self.room()), 0);
        slot[HEADER..].get_slice(&mut message[begin..], self.me);
        let number = self.received(from) + 1;
        self.received[from].set(number);
        self.taken[self.me].set(number, from);
        left <= self.room()
    }
}
