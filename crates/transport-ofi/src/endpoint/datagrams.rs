//! How much is under way to one peer where a layer of libfabric's makes an endpoint of datagrams (`ofi_rxd`).
//!
//! That layer lets 128 datagrams to a peer be under way. Where there are so many, operations wait for room, and if a get is among them
//! the layer may come to a standstill. Behind the get that it begins it lets nothing go on, while the next operation that is issued goes
//! at once. If that one is long, it takes the numbers of all its datagrams. One that has waited takes numbers behind these, and fills the
//! window with datagrams that the peer does not take before the others, which have no room now. (libfabric 1.17, two processes, gets
//! beside messages of up to 16 KiB: after a tenth of a second nothing moved any more.) So the window does not fill here.

use oxshmem_transport::NotIssued;

use super::{Endpoint, Issued};
use crate::info::Info;
use crate::slots::SlotUse;

/// The most datagrams that operations have under way to a peer, and the most that it has to send for gets. When the next gets ask for as
/// many, it may not know yet that these have come. All of them, and those of its own operations, are fewer than the window.
const MOST: usize = 40;

/// The least that is taken for the bytes that one datagram carries.
const LEAST: usize = 64;

#[derive(Clone, Copy)]
pub(super) struct Datagrams {
    /// Bytes that one carries, or fewer.
    payload: usize,
}

impl Datagrams {
    /// Those of this entry's endpoint; `None` if they need not be counted.
    pub(super) fn of(info: &Info) -> Option<Self> {
        (!info.keeps_its_order()).then(|| Self { payload: info.tx().inject_size.max(LEAST) })
    }

    /// Bytes of the longest operation that has room where nothing else is under way.
    pub(super) const fn longest(self) -> usize {
        (MOST - 1) * self.payload
    }

    /// How many a get of `n` bytes, or another operation, has to the PE, and back; no fewer than there are.
    const fn of_operation(self, is_get: bool, n: usize) -> (usize, usize) {
        let carry = n.div_ceil(self.payload) + 1;
        if is_get { (1, carry) } else { (carry, 0) }
    }

    /// The same for the operation of a slot, if it is on this PE.
    const fn of_slot(self, used_for: SlotUse, n: usize, to: u32) -> (usize, usize) {
        match used_for {
            SlotUse::Put { pe, .. } | SlotUse::Send { pe } if pe == to => self.of_operation(false, n),
            SlotUse::Get { pe, .. } if pe == to => self.of_operation(true, n),
            _ => (0, 0),
        }
    }
}

impl Endpoint {
    /// Whether its datagrams are counted: then no operation goes the straight way, which does not look at them.
    pub(crate) fn counts_datagrams(&self) -> bool {
        self.datagrams.is_some()
    }

    /// Busy if a get of `n` bytes, or another operation, would have too many datagrams under way to this PE or back.
    #[inline]
    pub(crate) fn find_window(&self, pe: u32, is_get: bool, n: usize) -> Issued {
        match self.datagrams {
            None => Ok(()),
            Some(datagrams) => self.find_room_for(datagrams.of_operation(is_get, n), datagrams, pe),
        }
    }

    #[cold]
    #[inline(never)]
    fn find_room_for(&self, (mut there, mut back): (usize, usize), datagrams: Datagrams, pe: u32) -> Issued {
        for (used_for, n) in self.slots.in_use() {
            let (its_there, its_back) = datagrams.of_slot(used_for, n, pe);
            (there, back) = (there + its_there, back + its_back);
        }
        if there <= MOST && back <= MOST { Ok(()) } else { Err(NotIssued::Busy) }
    }
}
