//! Fairness between threads of a lane.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::ContextLane;
use crate::wait::{self, Needs};
use oxshmem_transport::Failed;

/// How long a thread waits for a lane before it makes others hold back, until the wait is over.
pub(super) struct Patience<'l> {
    lane: &'l ContextLane,
    /// The peer for which it waits, if operations to other peers do not matter for that.
    peer: Option<u32>,
    looks: u32,
    since: Option<Instant>,
    pub(super) over: bool,
}

impl<'l> Patience<'l> {
    /// A wait that has looked so often begins to count the time.
    const LOOKS: u32 = 8;
    /// It makes others hold back after this time: more than a round trip on a network that answers at once.
    pub(super) const TIME: Duration = Duration::from_micros(100);

    pub(super) fn new(lane: &'l ContextLane) -> Self {
        Self { lane, peer: None, looks: 0, since: None, over: false }
    }

    /// Of a thread that waits for room for an operation to a peer, or for those to it.
    pub(super) fn for_peer(lane: &'l ContextLane, pe: u32) -> Self {
        Self { peer: lane.keeps_peers_apart.then_some(pe), ..Self::new(lane) }
    }

    /// It has looked once more.
    pub(super) fn look(&mut self) {
        self.looks = self.looks.saturating_add(1);
        if self.looks > Self::LOOKS && !self.over && self.since.get_or_insert_with(Instant::now).elapsed() > Self::TIME
        {
            self.over = true;
            match self.peer {
                Some(peer) => self.lane.add_impatient_for(peer),
                None => self.lane.change_impatient(|number| {
                    number.fetch_add(1, Relaxed);
                }),
            }
        }
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        match self.peer {
            _ if !self.over => {}
            Some(peer) => self.lane.remove_impatient_for(peer),
            None => self.lane.change_impatient(|number| {
                number.fetch_sub(1, Relaxed);
            }),
        }
    }
}

/// The number of the impatient changes under the lock of their peers, so that who has the lock knows how many wait for the whole lane.
impl ContextLane {
    #[cold]
    fn add_impatient_for(&self, peer: u32) {
        let mut peers = self.peers.lock();
        peers.push(peer);
        self.impatient.fetch_add(1, Relaxed);
    }

    #[cold]
    fn remove_impatient_for(&self, peer: u32) {
        let mut peers = self.peers.lock();
        if let Some(place) = peers.iter().position(|&known| known == peer) {
            peers.swap_remove(place);
            self.impatient.fetch_sub(1, Relaxed);
        }
    }

    /// Whether no impatient thread waits for what an operation to this PE takes, or one to none.
    #[cold]
    pub(super) fn has_turn(&self, pe: Option<u32>) -> bool {
        if self.impatient.load(Relaxed) == 0 {
            return true;
        }
        let peers = self.peers.lock();
        let for_all = self.impatient.load(Relaxed) as usize > peers.len();
        !for_all && !pe.is_some_and(|pe| peers.contains(&pe))
    }

    /// Returns when what this thread has issued to these PEs is complete, as far as the provider can tell it from the rest.
    #[cold]
    #[inline(never)]
    pub(crate) fn complete_for(&self, call: &'static str, pes: &[u32]) {
        // Where all is complete a later quiet need not look.
        if self.is_complete() {
            return;
        }
        let (mut patience, needs) = match pes {
            [pe] => (Patience::for_peer(self, *pe), Needs::One(*pe)),
            _ => (Patience::new(self), Needs::Anyone),
        };
        wait::until(self.reason(call, needs), None, || {
            patience.look();
            self.lane.poll_completion_for(pes).unwrap_or_else(|Failed| self.fail()).then_some(())
        });
    }
}
