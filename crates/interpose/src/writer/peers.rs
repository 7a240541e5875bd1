//! The tables of other PEs, of their variables and of the PE's own ones that it waits for.

use std::sync::atomic::Ordering::Relaxed;

use oxshmem_profile::layout::{SIZES, UPDATES, WAITS};

use super::{OpenLedger, PROBES, Timing, add};

impl OpenLedger {
    /// Counts what went to a peer, or came from it.
    #[inline]
    pub(crate) fn traffic(&self, peer: u32, way: usize, bytes: u64, timing: Option<Timing>) {
        if peer as usize >= self.peers.records || way > 2 {
            return;
        }
        let record: &[_; 12] = self.record(self.peers, peer as usize);
        let [calls, moved, timed, ticks] = &record.as_chunks::<4>().0[way];
        add(calls, 1);
        add(moved, bytes);
        if let Some(timing) = timing {
            add(timed, 1);
            add(ticks, timing.ticks);
        }
        if way < 2 {
            let sizes: &[_; SIZES.width] = self.record(SIZES, way);
            add(&sizes[(u64::BITS - bytes.leading_zeros()) as usize], 1);
        }
    }

    /// Counts an update of a word of a peer. Words that are updated often stay in the table; those of large arrays push each
    /// other out.
    #[inline]
    pub(crate) fn update(&self, peer: u32, address: u64) {
        let first = (address ^ u64::from(peer) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let who = u64::from(peer) + 1;
        for probe in 0..4 {
            let record: &[_; UPDATES.width] = self.record(UPDATES, (first as usize + probe) % UPDATES.records);
            let [word, owner, updates, _] = record;
            if word.load(Relaxed) == address && owner.load(Relaxed) == who {
                return add(updates, 1);
            }
            if updates.load(Relaxed) == 0 {
                word.store(address, Relaxed);
                owner.store(who, Relaxed);
                return updates.store(1, Relaxed);
            }
        }
        let at = UPDATES.at(first as usize % UPDATES.records);
        self.set(at + 2, self.get(at + 2) - 1);
    }

    /// Counts a wait for a variable.
    pub(crate) fn wait(&self, address: u64, timing: Option<Timing>) {
        let first = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        for probe in 0..PROBES {
            let at = WAITS.at((first as usize + probe) % WAITS.records);
            if self.get(at + 1) == 0 {
                self.set(at, address);
            }
            if self.get(at) == address {
                self.add(at + 1, 1);
                if let Some(timing) = timing {
                    self.add(at + 2, timing.total());
                }
                return;
            }
        }
    }
}
