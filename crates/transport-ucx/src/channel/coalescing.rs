//! Coalescing of short messages to one peer.
//!
//! The first message goes at once. Those that follow while no thread moves the channel on are gathered in a batch. The
//! batch is sent when a thread moves the channel on, when it is full, or before anything else to that peer. So a caller
//! that waits after each message loses nothing, and a root that broadcasts many short arrays pays for one message of
//! UCX's in the place of many. A caller that computes now leaves the batch to the thread, which is woken for it if it
//! sleeps ([`Net::remind`](crate::net::Net::remind)).
//!
//! Behind a fence a message may be a flag, for which the peer waits while the caller computes. So it goes at once unless there is a batch
//! before it. A step has [`FLAGS`] of them for each peer: a stream of puts with fences in between would have a call of the kernel for each.

use std::mem;

use oxshmem_transport::batch;

use super::Channel;
use super::question::{Expected, RequestData};
use crate::message::{Ask, HEADER};
use crate::peers::Directory;

/// Longest data of a message in a batch, and the length at which a batch goes. A copy costs less than a call of the kernel: broadcasts of
/// 8 KiB from one root to another node took 7.1 us each by themselves and 3.0 in batches; of 32 KiB, 11.1 and 11.9.
const LONGEST: usize = 16 << 10;
const FULL: usize = 64 << 10;

/// Bytes of answers for which a batch of questions goes, so that the peer answers the first ones while the caller asks the next ones. Chosen.
const EXPECTED: usize = 16 << 10;

/// Messages of a step to one peer that go at once because a fence stands before each. Those to other peers do not count. Chosen.
pub(super) const FLAGS: u32 = 4;

impl Channel {
    /// Whether a message joins the batch for its peer.
    pub(super) fn joins_batch(&self, peer: usize, data: &[u8]) -> bool {
        let peer = &self.peers[peer];
        let may_be_flag = peer.fences != self.fences && peer.waiting == 0 && peer.flags < FLAGS;
        peer.sent == Some(self.steps) && data.len() <= LONGEST && !may_be_flag
    }

    /// A message has gone by itself.
    pub(super) fn note_gone(&mut self, peer: usize) {
        let peer = &mut self.peers[peer];
        peer.flags = if peer.sent == Some(self.steps) { peer.flags + 1 } else { 0 };
        (peer.sent, peer.fences) = (Some(self.steps), self.fences);
    }

    /// Adds a message to the batch for its peer.
    pub(super) fn add_to_batch(&mut self, peers: &Directory, peer: usize, ask: Ask, data: &[u8]) {
        let (_, header) = self.number(peers, ask, false);
        batch::add(&mut self.peers[peer].batch, &header, data);
        self.note_unacknowledged(peer, data.len());
        self.note_waiting(peers, peer);
    }

    /// Adds a question to the batch for its peer, whose answer has `n` bytes beside its header.
    pub(super) fn add_question(&mut self, peers: &Directory, peer: usize, ask: Ask, n: usize, expected: Expected) {
        let (number, header) = self.number(peers, ask, true);
        batch::add(&mut self.peers[peer].batch, &header, &[]);
        self.note_asked(peer, number, expected);
        self.peers[peer].expects += HEADER + n;
        self.note_waiting(peers, peer);
    }

    /// A message has joined the batch for its peer.
    fn note_waiting(&mut self, peers: &Directory, peer: usize) {
        self.waiting += 1;
        let to = &mut self.peers[peer];
        to.waiting += 1;
        to.fences = self.fences;
        if to.batch.len() >= FULL || to.expects >= EXPECTED {
            self.send_batch(peers, peer);
        }
    }

    pub(super) fn send_batch(&mut self, peers: &Directory, peer: usize) {
        self.peers[peer].expects = 0;
        let waiting = mem::take(&mut self.peers[peer].waiting);
        if waiting > 0 {
            self.waiting -= waiting;
            self.send(peers, peer, Ask::Many, RequestData::Batch, Expected::Later);
        }
    }

    /// Whether a batch waits to be sent.
    pub(crate) fn has_batch(&self) -> bool {
        self.waiting > 0
    }

    /// Whether a message waits for a thread that moves the channel on: in a batch, for a connection that has just begun, or, where puts
    /// are messages, inside UCX for room in a socket. A card needs no thread for what it reads in place, and the network's thread watches
    /// the serving worker in any case.
    pub(crate) fn has_waiting(&self) -> bool {
        let waits_for_room = self.longest_message > 0 && !self.serves && self.inbox.unsent.get() > 0;
        self.has_batch() || self.connects || waits_for_room
    }

    pub(super) fn send_all_batches(&mut self, peers: &Directory) {
        if self.waiting > 0 {
            (0..self.peers.len()).for_each(|peer| self.send_batch(peers, peer));
        }
    }
}
