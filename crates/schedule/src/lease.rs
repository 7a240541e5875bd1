//! Leases: how a new team gets its slot in the control window, most of the time without a message.
//!
//! A *slot* may be given to a team only if it is quiet on every member. A *lease* is a slot that is reserved on every
//! member of a team for the team's future children. A standard split pops a lease on all PEs of the parent: members of
//! the child bind it, the others give it back. Only a team without leases needs an agreement, a [`Search`]: each member
//! offers free slots, the offers are and-ed over the team, the lowest common ones become leases.
//!
//! The Cray form of the split is called by the child's members only. It leaves the parent's leases alone, which the
//! absent PEs could not follow, and searches among the members.
//!
//! This is a state machine without I/O: the caller carries the words. What is decided depends on the and-ed words and
//! on the team's history alone, so all members decide alike, failures included. An agreement is 48 bytes
//! however many slots there are, so that it fits the payload of one line, with a word to spare. Many slots are searched piece by piece.

/// Words of an agreement.
pub const WORDS: usize = 6;
/// Slots of a piece. The last bit of its words is not a slot: it says that the member has no other offer out.
const SLOTS: u16 = 64 * WORDS as u16 - 1;
/// Bits of a piece.
const BITS: u16 = 64 * WORDS as u16;
const ALONE: u64 = 1 << 63;
/// Leases that one agreement grants at most. A team's first one grants one lease, the next ones two and four. So teams keep no more
/// slots for children than they have had, and a chain of teams with one child each may be as long as there are slots.
const GRANT: usize = 8;
/// Slots of a piece that a member offers in the first round. Members may wait for each other for long, but only with the first offer:
/// later all are there. The offered slots are not free meanwhile, so threads of other teams find the rest: a piece
/// serves 23 threads that wait. More than [`GRANT`], so that members whose free slots differ by a few agree at once.
const FEW: u32 = 16;
const _: () = assert!(FEW as usize >= 2 * GRANT);
/// Leases a team holds at most, its initial range aside.
const HELD: usize = 12;

/// Which slots are free on this PE, in `PIECES` pieces of 383.
#[derive(Clone, Debug)]
pub struct Slots<const PIECES: usize> {
    free: [[u64; WORDS]; PIECES],
    offers_out: u32,
}

/// The slots that are reserved for the children of one team, alike on all its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leases {
    held: [u16; HELD],
    count: u8,
    /// How many agreements have granted some. The world begins as if it had had enough.
    agreements: u8,
    /// Slots from `next` up to `end`: the world's share from the start.
    next: u16,
    end: u16,
}

/// An agreement in the making: the piece under way, and where it goes on, alike on all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    piece: usize,
    /// It looks through this many of the first pieces.
    pieces: usize,
    tried: usize,
    /// Whether some member was in several agreements at once.
    contended: bool,
}

/// The contribution of a member to an agreement. It must come back through [`Slots::settle`].
#[derive(Debug)]
#[must_use = "offered slots are lost unless the offer is settled"]
pub struct Offer {
    words: [u64; WORDS],
}

impl Offer {
    /// The words to be and-ed over the team.
    pub const fn words(&self) -> &[u64; WORDS] {
        &self.words
    }
}

/// The outcome of an agreement, the same on all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The team has leases now.
    Granted,
    /// Nothing common in this piece; offer the next one.
    Again,
    /// Nothing common in two rounds, but some member was in several agreements at once; give way, then offer again.
    Contended,
    /// No slot is free on all members.
    Exhausted,
}

const fn is_slot(slot: u16) -> bool {
    slot % BITS != SLOTS
}

impl<const PIECES: usize> Slots<PIECES> {
    /// Slots 0 up to `total`, and the leases of the world, which owns slot 0. The slots below `leased` are leased to the
    /// world: its first splits send nothing. The others stay free; the lowest are granted first, so that a program which
    /// makes and destroys teams keeps to slots whose memory it has touched.
    ///
    /// Slots 383, 767, … do not exist, so that a slot number is a bit number.
    pub fn new(total: u16, leased: u16) -> (Self, Leases) {
        assert!((1..=PIECES * usize::from(BITS)).contains(&usize::from(total)), "{total} slots in {PIECES} pieces");
        let mut slots = Self { free: [[0; WORDS]; PIECES], offers_out: 0 };
        let end = leased.min(total);
        for slot in end.max(1)..total {
            if is_slot(slot) {
                slots.release(slot);
            }
        }
        (slots, Leases { agreements: GRANT as u8, next: 1, end, ..Leases::default() })
    }

    /// Whether a slot is free here.
    pub const fn is_free(&self, slot: u16) -> bool {
        let (piece, word, bit) = place(slot);
        self.free[piece][word] & bit != 0
    }

    /// Gives a slot back: a destroyed team's, or a popped lease whose child this PE is not in.
    pub fn release(&mut self, slot: u16) {
        debug_assert!(is_slot(slot) && !self.is_free(slot), "slot {slot} is free already");
        let (piece, word, bit) = place(slot);
        self.free[piece][word] |= bit;
    }

    /// Gives back all that a destroyed team has not used.
    pub fn release_all(&mut self, leases: &mut Leases) {
        while let Some(slot) = leases.pop() {
            self.release(slot);
        }
    }

    /// This member's part in an agreement. The offered slots are not free until the agreement is settled, so agreements
    /// of several threads at once cannot grant one slot twice.
    pub fn offer(&mut self, search: &Search) -> Offer {
        let (mut words, mut most) = ([0; WORDS], if search.tried < search.pieces { FEW } else { u32::MAX });
        for (free, offered) in self.free[search.piece].iter_mut().zip(&mut words) {
            *offered = lowest(*free, most);
            *free &= !*offered;
            most -= offered.count_ones();
        }
        if self.offers_out == 0 {
            words[WORDS - 1] |= ALONE;
        }
        self.offers_out += 1;
        Offer { words }
    }

    /// Ends an agreement: `agreed` is the and of all members' words. Granted slots go to `leases`, the others back. A
    /// team searches when it has no leases left.
    pub fn settle(&mut self, search: &mut Search, offer: Offer, agreed: &[u64; WORDS], leases: &mut Leases) -> Settled {
        debug_assert!(usize::from(leases.count) + GRANT <= HELD, "a stocked team does not search");
        let (most, mut granted) = (leases.grant(), 0);
        let mut rest = offer.words;
        rest[WORDS - 1] &= !ALONE;
        for (word, (&common, mine)) in agreed.iter().zip(&mut rest).enumerate() {
            let mut common = if word == WORDS - 1 { common & !ALONE } else { common };
            debug_assert_eq!(common & !*mine, 0, "the agreed slots are among the offered ones");
            while common != 0 && granted < most {
                let bit = common.trailing_zeros();
                leases.push(search.piece as u16 * BITS + word as u16 * 64 + bit as u16);
                (common, granted) = (common & (common - 1), granted + 1);
                *mine &= !(1 << bit);
            }
        }
        self.free[search.piece].iter_mut().zip(rest).for_each(|(free, rest)| *free |= rest);
        self.offers_out -= 1;
        if granted > 0 {
            leases.agreements = leases.agreements.saturating_add(1);
            return Settled::Granted;
        }
        search.contended |= agreed[WORDS - 1] & ALONE == 0;
        search.piece = (search.piece + 1) % search.pieces;
        search.tried += 1;
        match (search.tried == 2 * search.pieces, search.contended) {
            (false, _) => Settled::Again,
            (true, false) => Settled::Exhausted,
            (true, true) => {
                (search.tried, search.contended) = (0, false);
                Settled::Contended
            }
        }
    }

    /// Starts a search. `seed` spreads teams over the pieces; it must be the same on all members.
    pub const fn search(seed: u64) -> Search {
        Self::search_in(seed, PIECES)
    }

    /// Starts a search in the first `pieces` pieces. The slots of the others stay for searches of all pieces.
    pub const fn search_in(seed: u64, pieces: usize) -> Search {
        Search { piece: (seed % pieces as u64) as usize, pieces, tried: 0, contended: false }
    }
}

const fn place(slot: u16) -> (usize, usize, u64) {
    ((slot / BITS) as usize, (slot % BITS / 64) as usize, 1 << (slot % 64))
}

/// The lowest bits that are set, at most `most` of them.
const fn lowest(bits: u64, most: u32) -> u64 {
    let mut kept = bits;
    while kept.count_ones() > most {
        kept &= !(1 << (63 - kept.leading_zeros()));
    }
    kept
}

impl Leases {
    /// Takes a lease: on every member of the parent in the same order of splits.
    pub fn pop(&mut self) -> Option<u16> {
        if self.count > 0 {
            self.count -= 1;
            return Some(self.held[usize::from(self.count)]);
        }
        while self.next < self.end {
            self.next += 1;
            if is_slot(self.next - 1) {
                return Some(self.next - 1);
            }
        }
        None
    }

    /// How many leases the next agreement grants.
    fn grant(&self) -> usize {
        GRANT.min(1 << self.agreements.min(GRANT as u8))
    }

    /// How many leases are left.
    pub fn left(&self) -> usize {
        usize::from(self.count) + (self.next..self.end).filter(|&slot| is_slot(slot)).count()
    }

    /// Moves up to two leases of a well stocked parent to a new child. All members of the parent call it right after
    /// the pop; those outside the child release what it returns.
    pub fn hand_down(&mut self) -> Leases {
        let mut child = Leases::default();
        while child.count < 2 && (usize::from(self.count) > GRANT || self.next < self.end) {
            match self.pop() {
                Some(slot) => child.push(slot),
                None => break,
            }
        }
        child
    }

    fn push(&mut self, slot: u16) {
        self.held[usize::from(self.count)] = slot;
        self.count += 1;
    }
}

#[cfg(test)]
mod tests;
