//! Short messages to one peer that travel together.
//!
//! The first message goes at once. Those that follow while nobody moves the channel on are letters of the next message, which
//! goes when somebody does, when it is full, or before anything else to that peer. So whoever waits after each message loses
//! nothing, and a root that broadcasts many short arrays pays for a message of UCX's once for many. A caller that computes now
//! leaves them to the thread, which is woken for them if it sleeps ([`Net::remind`](crate::net::Net::remind)).

use std::mem;

use super::Channel;
use super::question::{Expected, Told};
use crate::letters;
use crate::message::Ask;
use crate::peers::Directory;

/// Longest data of a letter, and how long letters become before they go. A copy costs less than a call of the kernel: broadcasts of
/// 8 KiB from one root to another node took 7.1 us each by themselves and 3.0 as letters; of 32 KiB, 11.1 and 11.9.
const LETTER: usize = 16 << 10;
const FULL: usize = 64 << 10;

impl Channel {
    /// Whether a message is to travel with others.
    pub(super) fn joins_letters(&self, peer: usize, data: &[u8]) -> bool {
        self.peers[peer].sent == Some(self.steps) && data.len() <= LETTER
    }

    /// Adds a message to those that wait.
    pub(super) fn add_letter(&mut self, peers: &Directory, peer: usize, ask: Ask, data: &[u8]) {
        let (_, header) = self.number(peers, ask, false);
        letters::add(&mut self.peers[peer].letters, &header, data);
        self.note_told(peer, data.len());
        self.waiting += 1;
        self.peers[peer].waiting += 1;
        if self.peers[peer].letters.len() >= FULL {
            self.send_letters(peers, peer);
        }
    }

    /// Sends the letters to a peer, if there are any.
    pub(super) fn send_letters(&mut self, peers: &Directory, peer: usize) {
        let waiting = mem::take(&mut self.peers[peer].waiting);
        if waiting > 0 {
            self.waiting -= waiting;
            self.send(peers, peer, Ask::Many, Told::Letters, Expected::Later);
        }
    }

    /// Whether something waits for whoever moves the channel on.
    pub(crate) fn has_letters(&self) -> bool {
        self.waiting > 0
    }

    /// Sends all letters.
    pub(super) fn send_all_letters(&mut self, peers: &Directory) {
        if self.waiting > 0 {
            (0..self.peers.len()).for_each(|peer| self.send_letters(peers, peer));
        }
    }
}
