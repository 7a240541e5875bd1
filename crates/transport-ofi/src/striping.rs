//! Long transfers over all rails: the first one's endpoint and one for each further network card.
//!
//! Everything short goes by the first rail, whose endpoint also carries all messages: handshakes, questions about memory,
//! active messages, disconnects. Rails keep no order among each other, so a lane counts what it has on further rails apart and waits
//! for it at a fence (`lane`). Of a peer's rails the first meets our first; each other one meets at most one of ours.

use oxshmem_base::Error;
use oxshmem_transport::{NotIssued, Remote};

use crate::address::{MOST_RAILS, RailAddress};
use crate::delivery::Delivery;
use crate::endpoint::{Issued, Transfer};
use crate::engine::Engine;

/// Transfers from this many bytes on are spread. Two cards of 200 Gb/s halve 2.6 µs of it, which is about what
/// completing one more operation costs.
pub(crate) const SPREAD: usize = 64 << 10;

/// The shortest and the longest piece. The shortest keeps a card busy for longer than issuing takes; where there is
/// more than one longest piece for each rail, the rail that moves fewest bytes gets the next one, so that unequal rails
/// share unequally.
const PIECES: (usize, usize) = (32 << 10, 1 << 20);

/// Which of the peer's rails each of ours meets, the first being settled: that of the same card's name, because networks
/// are built by cards of one number, otherwise the next that is left of the same fabric.
fn pairs(ours: &[(String, String)], theirs: &[RailAddress]) -> Vec<Option<usize>> {
    let mut left: Vec<usize> = (1..theirs.len()).collect();
    let mut pairs = vec![None; ours.len()];
    for by_name in [true, false] {
        for (pair, (fabric, card)) in pairs.iter_mut().zip(ours).filter(|(pair, _)| pair.is_none()) {
            let meets = |&rail: &usize| theirs[rail].fabric == *fabric && (!by_name || theirs[rail].domain == *card);
            if let Some(place) = left.iter().position(meets) {
                *pair = Some(left.remove(place));
            }
        }
    }
    pairs
}

/// The last of `n` bytes from there on; `None` if there is none.
pub(crate) fn end_of(from: Remote, n: usize) -> Option<Remote> {
    let last = n.checked_sub(1)?;
    Some(from.plus(last))
}

impl Engine {
    /// The address of a peer has been read: makes known to each further rail of ours the peer's rail that it meets.
    pub(crate) fn meet(&mut self, pe: u32, theirs: &[RailAddress]) -> Result<(), Error> {
        let ours: Vec<_> = self.further.iter().map(|rail| rail.objects.info.place()).collect();
        for (rail, pair) in self.further.iter_mut().zip(pairs(&ours, theirs)) {
            if let Some(number) = pair {
                rail.meet(pe, number as u8, &theirs[number])?;
            }
        }
        Ok(())
    }

    /// Issues a long transfer in pieces over all rails that reach the peer, each by the one that moves fewest bytes, as far
    /// as there is room; returns how many bytes from the start that is. `last` gets the last byte that each rail has taken.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn spread(
        &mut self,
        account: u32,
        remote: Remote,
        transfer: Transfer,
        n: usize,
        last: &mut [Option<Remote>; MOST_RAILS],
    ) -> Issued<usize> {
        // Everything is known before anything is issued, so that what does not fit has no effect.
        self.reach(remote, n)?;
        let rails = 1 + self.further.iter().filter(|rail| rail.peers.rail(remote.pe).is_some()).count();
        let share = n.div_ceil(rails).next_multiple_of(4096).clamp(PIECES.0, PIECES.1);
        let mut done = 0;
        while done < n {
            let rest = share.min(n - done).min(self.first.longest);
            let at = Remote { offset: remote.offset + done as u64, ..remote };
            // SAFETY: `done` is below `n`, for which the caller promises that the local buffer is there.
            let local = unsafe { transfer.plus(done) };
            // SAFETY: the local buffer has `rest` bytes from here until completion, by the caller's promise.
            let further = unsafe { self.by_further(account, at, local, rest) };
            let issued = match further {
                Err(NotIssued::Busy) => {
                    // SAFETY: the local buffer has `rest` bytes from here until completion, by the caller's promise.
                    let first = unsafe { self.transfer(account, at, local, self.first.objects.info.delivery, rest) };
                    first.map(|issued| (0, issued))
                }
                issued => issued,
            };
            match issued {
                Ok((rail, issued)) => {
                    last[rail] = end_of(at, issued);
                    done += issued;
                }
                Err(NotIssued::Busy) if done > 0 => return Ok(done),
                Err(refused) => return Err(refused),
            }
        }
        Ok(n)
    }

    /// Issues a piece by the further rail that moves fewest bytes, if those are no more than the first one's; returns which rail
    /// that is, and how much.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    unsafe fn by_further(
        &mut self,
        account: u32,
        remote: Remote,
        transfer: Transfer,
        n: usize,
    ) -> Issued<(usize, usize)> {
        let most = self.first.slots.moving();
        let mut refused = [false; MOST_RAILS];
        loop {
            let open = (0..).zip(&self.further).map(|(number, rail)| (rail.slots.moving(), number));
            let least = open.filter(|&(moving, rail): &(usize, usize)| moving <= most && !refused[rail]).min();
            let Some((_, rail)) = least else { return Err(NotIssued::Busy) };
            // SAFETY: the local buffer has `n` bytes until completion, which this function demands.
            match unsafe { self.further[rail].try_piece(account, remote, transfer, n) } {
                Err(NotIssued::Busy) => refused[rail] = true,
                issued => return issued.map(|issued| (rail + 1, issued)),
            }
        }
    }

    /// Reads one byte by this rail, behind the puts that are complete there.
    ///
    /// # Safety
    /// `scrap` has a byte until the read is complete.
    pub(crate) unsafe fn read_behind(&mut self, account: u32, rail: usize, place: Remote, scrap: *mut u8) -> Issued {
        let read = match rail.checked_sub(1) {
            // SAFETY: the scrap has a byte until completion, by the caller's promise.
            None => unsafe { self.transfer(account, place, Transfer::Get(scrap), Delivery::Complete, 1) },
            // SAFETY: the scrap has a byte until completion, by the caller's promise.
            Some(further) => unsafe { self.further[further].try_piece(account, place, Transfer::Get(scrap), 1) },
        };
        read.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theirs(cards: &[(&str, &str)]) -> Vec<RailAddress> {
        let card = |&(fabric, domain): &(&str, &str)| RailAddress {
            fabric: fabric.into(),
            domain: domain.into(),
            name: Vec::new(),
            windows: Vec::new(),
        };
        cards.iter().map(card).collect()
    }

    fn ours(cards: &[(&str, &str)]) -> Vec<(String, String)> {
        cards.iter().map(|&(fabric, card)| (fabric.into(), card.into())).collect()
    }

    #[test]
    fn rails_meet_by_name_then_by_turn_and_never_between_fabrics() {
        let mlx = |n| [("ib", "mlx5_0"), ("ib", "mlx5_1"), ("ib", "mlx5_2"), ("ib", "mlx5_3")][n];
        // Ours begin with card 0, theirs with card 1.
        let met = pairs(&ours(&[mlx(1), mlx(2), mlx(3)]), &theirs(&[mlx(1), mlx(0), mlx(3), mlx(2)]));
        assert_eq!(met, [Some(1), Some(3), Some(2)]);
        // They have fewer.
        assert_eq!(pairs(&ours(&[mlx(1), mlx(2)]), &theirs(&[mlx(0)])), [None, None]);
        assert_eq!(pairs(&ours(&[mlx(1), mlx(2)]), &theirs(&[mlx(0), mlx(2)])), [None, Some(1)]);
        // Two networks.
        let met =
            pairs(&ours(&[("b", "eth1"), ("c", "eth2")]), &theirs(&[("a", "eth0"), ("c", "eth1"), ("b", "eth2")]));
        assert_eq!(met, [Some(2), Some(1)]);
        assert_eq!(pairs(&ours(&[("b", "eth1")]), &theirs(&[("a", "eth0"), ("c", "eth1")])), [None]);
    }
}
