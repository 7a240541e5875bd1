//! The tables of other PEs, of their variables and of the PE's own ones that it waits for.

use oxshmem_profile::layout::{SIZES, UPDATES, WAITS};

use super::{OpenLedger, PROBES, Timing};

impl OpenLedger {
    /// Counts what went to a peer, or came from it.
    #[inline]
    pub(crate) fn traffic(&self, peer: u32, way: usize, bytes: u64, timing: Option<Timing>) {
        if peer as usize >= self.peers.records || way > 2 {
            return;
        }
        let at = self.peers.at(peer as usize) + 4 * way;
        self.add(at, 1);
        self.add(at + 1, bytes);
        if let Some(timing) = timing {
            self.add(at + 2, 1);
            self.add(at + 3, timing.ticks);
        }
        if way < 2 {
            self.add(SIZES.at(way) + (u64::BITS - bytes.leading_zeros()) as usize, 1);
        }
    }

    /// Counts an update of a word of a peer. LedgerWords that are updated often stay in the table; those of large arrays push each
    /// other out.
    #[inline]
    pub(crate) fn update(&self, peer: u32, address: u64) {
        let first = (address ^ u64::from(peer) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let who = u64::from(peer) + 1;
        for probe in 0..4 {
            let at = UPDATES.at((first as usize + probe) % UPDATES.records);
            if self.get(at) == address && self.get(at + 1) == who {
                return self.add(at + 2, 1);
            }
            if self.get(at + 2) == 0 {
                self.set(at, address);
                self.set(at + 1, who);
                return self.set(at + 2, 1);
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
                return timing.iter().for_each(|timing| self.add(at + 2, timing.ticks * timing.weight));
            }
        }
    }
}
