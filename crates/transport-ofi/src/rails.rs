//! The rails of a PE beyond the first: an endpoint for each further card, over which long transfers are spread.
//!
//! Everything short goes by the first rail, whose engine also carries all messages: greetings, questions about memory,
//! letters, farewells. Rails keep no order among each other, so a lane counts what it has on further rails apart and waits
//! for it at a fence (`lane`). Of a peer's rails the first meets our first; each other one meets at most one of ours.

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_transport::{NotIssued, Region, Remote, Segment};

use crate::card::RailCard;
use crate::device::MOST_RAILS;
use crate::engine::{Engine, Issued, Transfer};
use crate::region::{Place, Window};

/// Transfers from so many bytes on are spread. Two cards of 200 Gb/s halve 2.6 µs of it, which is about what completing one
/// more operation costs.
pub(crate) const SPREAD: usize = 64 << 10;

/// The shortest and the longest piece. The shortest keeps a card busy for longer than issuing takes; more than one
/// longest piece for each rail are dealt to whoever has least under way, so that unequal rails share unequally.
const PIECES: (usize, usize) = (32 << 10, 1 << 20);

/// The further rails of an engine.
#[derive(Default)]
pub(crate) struct Rails {
    engines: Vec<Engine>,
    /// Rails that could not be had, with reasons.
    missing: Vec<String>,
}

impl Rails {
    pub(crate) fn new(engines: Vec<Engine>, missing: Vec<String>) -> Self {
        Self { engines, missing }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.engines.is_empty()
    }

    pub(crate) fn all(&self) -> &[Engine] {
        &self.engines
    }

    pub(crate) fn all_mut(&mut self) -> &mut [Engine] {
        &mut self.engines
    }

    /// Why there are no more.
    pub(crate) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The same memory on every rail. What one cannot register, because each locks it once more, is reached by others.
    pub(crate) fn register(&mut self, region: Region, segment: Segment) {
        for engine in &mut self.engines {
            if let Err(error) = engine.register(region, segment) {
                let why = format!("{} for all of {region:?} ({})", engine.port.info.domain_name(), error.in_one_line());
                tracing::warn!(why, "memory is not reached by one of the rails");
                self.missing.push(why);
            }
        }
    }

    /// The windows that hold a byte of our own, with the numbers of their rails.
    pub(crate) fn around(&self, region: Region, offset: u64) -> impl Iterator<Item = (u8, Window)> {
        let window = move |engine: &Engine| engine.windows().around(region, offset).copied();
        (1..).zip(&self.engines).filter_map(move |(rail, engine)| Some((rail, window(engine)?)))
    }
}

/// Which of the peer's rails each of ours meets, the first being settled: that of the same card's name, because networks
/// are built by cards of one number, otherwise the next that is left of the same fabric.
fn pairs(ours: &[(String, String)], theirs: &[RailCard]) -> Vec<Option<usize>> {
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

impl Engine {
    /// Moves on the further rails; returns how much was done.
    pub(crate) fn drain_further(&mut self) -> usize {
        let mut done = 0;
        for engine in &mut self.further.engines {
            if engine.port.needs_us() || engine.under_way() > 0 {
                done += engine.drain_endpoint();
            }
            if engine.broken.is_some() && self.broken.is_none() {
                self.broken.clone_from(&engine.broken);
            }
        }
        done
    }

    /// A peer's card has been read: what of its rails ours reach.
    pub(crate) fn meet(&mut self, pe: u32, theirs: &[RailCard]) -> Result<(), Error> {
        let ours: Vec<_> = self.further.engines.iter().map(|engine| engine.port.info.place()).collect();
        for (engine, pair) in self.further.engines.iter_mut().zip(pairs(&ours, theirs)) {
            if let Some(rail) = pair {
                let address = engine.port.insert(&theirs[rail].name)?;
                engine.peers.meet(pe, address, rail as u8, &theirs[rail].windows);
            }
        }
        Ok(())
    }

    /// What a peer has answered, for each of our rails.
    pub(crate) fn learn(&mut self, pe: u32, windows: &[(u8, Window)], len: u64) {
        let of = |rail| windows.iter().find(|(number, _)| *number == rail).map(|(_, window)| *window);
        for engine in &mut self.further.engines {
            if let Some(window) = engine.peers.rail(pe).and_then(of) {
                engine.peers.learn(pe, Some(window), len);
            }
        }
        self.peers.learn(pe, of(0), len);
    }

    /// Issues a long transfer in pieces over all rails that reach the peer, each by the one that has least under way, as far
    /// as there is room; returns how many bytes from the start that is.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn spread(
        &mut self,
        account: u32,
        remote: Remote,
        transfer: Transfer,
        n: usize,
    ) -> Issued<usize> {
        // Everything is known before anything is issued, so that what does not fit has no effect.
        self.reach(remote, n)?;
        let rails = self.rails_to(remote.pe).count();
        let share = n.div_ceil(rails).next_multiple_of(4096).clamp(PIECES.0, PIECES.1);
        let mut done = 0;
        while done < n {
            let rest = share.min(n - done).min(self.longest());
            let at = Remote { offset: remote.offset + done as u64, ..remote };
            // SAFETY: a piece of what the caller promised.
            let local = unsafe { transfer.plus(done) };
            // SAFETY: a piece of what the caller promised.
            let further = unsafe { self.by_further(account, at, local, rest) };
            let issued = match further {
                // SAFETY: a piece of what the caller promised.
                Err(NotIssued::Busy) => unsafe { self.transfer(account, at, local, rest) },
                issued => issued,
            };
            match issued {
                Ok(issued) => done += issued,
                Err(NotIssued::Busy) if done > 0 => return Ok(done),
                Err(refused) => return Err(refused),
            }
        }
        Ok(n)
    }

    /// Issues a piece by the further rail that has least under way, if that is no more than the first has; returns how much.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    unsafe fn by_further(&mut self, account: u32, remote: Remote, transfer: Transfer, n: usize) -> Issued<usize> {
        let most = self.under_way();
        let mut refused = [false; MOST_RAILS];
        loop {
            let open = (0..).zip(&self.further.engines).map(|(rail, engine)| (engine.under_way(), rail));
            let least = open.filter(|&(under_way, rail): &(usize, usize)| under_way <= most && !refused[rail]).min();
            let Some((_, rail)) = least else { return Err(NotIssued::Busy) };
            // SAFETY: the local buffer has `n` bytes until completion, which this function demands.
            match unsafe { self.further.engines[rail].try_piece(account, remote, transfer, n) } {
                Err(NotIssued::Busy) => refused[rail] = true,
                issued => return issued,
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
            None => unsafe { self.transfer(account, place, Transfer::Get(scrap), 1) },
            // SAFETY: the scrap has a byte until completion, by the caller's promise.
            Some(further) => unsafe {
                self.further.engines[further].try_piece(account, place, Transfer::Get(scrap), 1)
            },
        };
        read.map(drop)
    }

    /// The rails by which a peer is reached.
    pub(crate) fn rails_to(&self, pe: u32) -> impl Iterator<Item = usize> {
        let further = (1..).zip(&self.further.engines).filter(move |(_, engine)| engine.peers.rail(pe).is_some());
        std::iter::once(0).chain(further.map(|(rail, _)| rail))
    }

    /// Issues a piece by this rail if it reaches those bytes and has room now; returns how much.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    unsafe fn try_piece(&mut self, account: u32, remote: Remote, transfer: Transfer, n: usize) -> Issued<usize> {
        let (address, place) = self.reached(remote).ok_or(NotIssued::Busy)?;
        let piece = n.min(usize::try_from(place.room).unwrap_or(usize::MAX)).min(self.longest());
        // SAFETY: the caller's promise.
        unsafe { self.piece(account, remote.pe, address, place, transfer, piece) }
    }

    /// How this rail reaches a byte, if it does.
    fn reached(&self, remote: Remote) -> Option<(fi::fi_addr_t, Place)> {
        let address = self.peers.met(remote.pe)?;
        Some((address, self.peers.windows(remote.pe).find(remote.region, remote.offset)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theirs(cards: &[(&str, &str)]) -> Vec<RailCard> {
        let card = |&(fabric, domain): &(&str, &str)| RailCard {
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
