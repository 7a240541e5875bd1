//! How a member comes to a meeting, and how it leaves: one operation on the tables after the other.
//!
//! The next operation depends on the answers to the earlier ones and on nothing else. So the model (`super::model`) takes these steps in
//! all orders, and [`super`] carries them to PE 0 and to the first member.

use core::ops::Range;

use oxshmem_transport::Amo;

/// Bits of a turn that count the members that have left. The other 40 say in steps from which number the meeting counts.
const LEFT_BITS: u32 = 24;
pub(super) const LEFT: u64 = (1 << LEFT_BITS) - 1;

/// Numbers of a step: stamps and marks hold 48 bits of a number.
const STEP: u64 = 1 << 8;

/// The number from which a meeting counts.
pub(super) fn base_of(turn: u64) -> u64 {
    (turn >> LEFT_BITS) * STEP
}

/// The turn behind a meeting that has not passed this number.
pub(super) fn turn_after(passed: u64) -> u64 {
    (passed / STEP + 1) << LEFT_BITS
}

/// The tables that a meeting needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WhichTable {
    /// The owners and turns of the slots, at world PE 0.
    Slots,
    /// How many members have counted in, at the first member.
    Arrivals,
}

/// A word of a table: one of the two that an entry has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EntryWord {
    Name(usize),
    Turn(usize),
}

/// The operations on the tables. Each is complete when it returns.
pub(super) trait MeetingTables {
    type Names: AsRef<[u64]>;

    /// The names, each as it was at some time of the operation.
    fn names(&mut self, table: WhichTable) -> Self::Names;

    /// Updates a word at once; returns the old value.
    fn update(&mut self, table: WhichTable, word: EntryWord, amo: Amo) -> u64;

    /// Puts a name into an entry, unless that has one.
    fn put(&mut self, table: WhichTable, entry: usize, name: u64) -> bool {
        self.update(table, EntryWord::Name(entry), Amo::CompareSwap { cond: 0, value: name }) == 0
    }
}

/// The entries that a first member may take before the others have come; the rest are *spare*.
fn common(names: &[u64]) -> Range<usize> {
    0..names.len() / 2
}

fn spare(names: &[u64]) -> Range<usize> {
    names.len() / 2..names.len()
}

/// A free entry of this part for a name.
fn free_entry(names: &[u64], name: u64, part: Range<usize>) -> Option<usize> {
    let mut places = (0..part.len()).map(|step| part.start + (name as usize).wrapping_add(step) % part.len());
    places.find(|&index| names[index] == 0)
}

fn entry_of(names: &[u64], name: u64) -> Option<usize> {
    names.iter().position(|there| *there == name)
}

/// A member on its way to a meeting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ArrivingMember {
    name: u64,
    /// How many others there are, if this is the first member.
    others: Option<u64>,
    /// The entry of the first member's table in which this member has counted in, or in which the first member lets the others count.
    counted: Option<usize>,
    next: ArrivalStep,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ArrivalStep {
    /// Looks at the names of the slots. A look without result ends here again.
    Look,
    /// The first member takes this slot.
    Take(usize),
    /// Looks at the names in the first member's table. The first member has seen this spare slot.
    LookAtArrivals(Option<usize>),
    /// The first member asks the others to count in at `entry`.
    Ask { entry: usize, spare: Option<usize> },
    /// The first member looks whether all others have counted in, and takes the spare slot then.
    Count { entry: usize, spare: usize },
    /// Another member counts in.
    CountIn(usize),
    /// The member has its slot, and reads from which number the meeting counts.
    ReadTurn(usize),
    /// There, with the slot and its turn.
    There(usize, u64),
}

impl ArrivingMember {
    /// The first member, which waits for so many others.
    pub(super) fn first(name: u64, others: u64) -> Self {
        Self { name, others: Some(others), counted: None, next: ArrivalStep::Look }
    }

    /// Another member.
    pub(super) fn other(name: u64) -> Self {
        Self { name, others: None, counted: None, next: ArrivalStep::Look }
    }

    /// Looks once, and does all that follows. Returns the slot and its turn, if the member has one now.
    pub(super) fn look(&mut self, tables: &mut impl MeetingTables) -> Option<(usize, u64)> {
        loop {
            self.step(tables);
            match self.next {
                ArrivalStep::Look => return None,
                ArrivalStep::There(index, turn) => return Some((index, turn)),
                _ => {}
            }
        }
    }

    /// One operation.
    pub(super) fn step(&mut self, tables: &mut impl MeetingTables) {
        use WhichTable::{Arrivals, Slots};
        self.next = match self.next {
            ArrivalStep::Look => self.after_look(tables.names(Slots).as_ref()),
            ArrivalStep::Take(index) if tables.put(Slots, index, self.name) => ArrivalStep::ReadTurn(index),
            ArrivalStep::LookAtArrivals(spare) => self.after_look_at_arrivals(tables.names(Arrivals).as_ref(), spare),
            ArrivalStep::Ask { entry, spare } if tables.put(Arrivals, entry, self.name) => {
                self.counted = Some(entry);
                spare.map_or(ArrivalStep::Look, |spare| ArrivalStep::Count { entry, spare })
            }
            // Another member, or another thread, was faster.
            ArrivalStep::Take(_) | ArrivalStep::Ask { .. } => ArrivalStep::Look,
            ArrivalStep::Count { entry, spare } => {
                let have_come = tables.update(Arrivals, EntryWord::Turn(entry), Amo::Fetch);
                if Some(have_come) == self.others { ArrivalStep::Take(spare) } else { ArrivalStep::Look }
            }
            ArrivalStep::CountIn(entry) => {
                tables.update(Arrivals, EntryWord::Turn(entry), Amo::Add(1));
                self.counted = Some(entry);
                ArrivalStep::Look
            }
            ArrivalStep::ReadTurn(index) => {
                ArrivalStep::There(index, tables.update(Slots, EntryWord::Turn(index), Amo::Fetch))
            }
            there @ ArrivalStep::There(..) => there,
        };
    }

    fn after_look(&self, names: &[u64]) -> ArrivalStep {
        let free = free_entry(names, self.name, common(names));
        if self.others.is_some() {
            let spare = free_entry(names, self.name, spare(names));
            return match (free, self.counted, spare) {
                (Some(free), ..) => ArrivalStep::Take(free),
                (None, None, spare) => ArrivalStep::LookAtArrivals(spare),
                (None, Some(entry), Some(spare)) => ArrivalStep::Count { entry, spare },
                (None, Some(_), None) => ArrivalStep::Look,
            };
        }
        match entry_of(names, self.name) {
            Some(index) => ArrivalStep::ReadTurn(index),
            None if self.counted.is_none() && free.is_none() => ArrivalStep::LookAtArrivals(None),
            None => ArrivalStep::Look,
        }
    }

    fn after_look_at_arrivals(&self, names: &[u64], spare: Option<usize>) -> ArrivalStep {
        let next = match self.others {
            Some(_) => free_entry(names, self.name, 0..names.len()).map(|entry| ArrivalStep::Ask { entry, spare }),
            None => entry_of(names, self.name).map(ArrivalStep::CountIn),
        };
        next.unwrap_or(ArrivalStep::Look)
    }

    /// The entry that the first member has taken in its own table.
    pub(super) fn own_entry(&self) -> Option<usize> {
        self.counted.filter(|_| self.others.is_some())
    }

    /// The slot and its turn, if the member is there.
    #[cfg(test)]
    pub(super) fn place(&self) -> Option<(usize, u64)> {
        match self.next {
            ArrivalStep::There(index, turn) => Some((index, turn)),
            _ => None,
        }
    }

    /// The table whose names the next step reads.
    #[cfg(test)]
    pub(super) fn looks_at(&self) -> Option<WhichTable> {
        match self.next {
            ArrivalStep::Look => Some(WhichTable::Slots),
            ArrivalStep::LookAtArrivals(_) => Some(WhichTable::Arrivals),
            _ => None,
        }
    }
}

/// A member on its way out of a meeting. Its last exchange is over: all others have come, and no message to it is under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct LeavingMember {
    index: usize,
    size: u64,
    /// No member has passed this number.
    passed: u64,
    next: LeavingStep,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum LeavingStep {
    /// The first member empties its entry in its own table. All members that have counted in did so before they came.
    ClearCount(usize),
    /// It takes the name away afterwards: a member that puts another name there counts from 0.
    ClearName(usize),
    CountOut,
    /// The last one says from which number the next meeting counts.
    NextTurn,
    /// It takes the name away afterwards: a member that puts another name there reads the next turn.
    FreeName,
    Gone,
}

impl LeavingMember {
    /// Out of the meeting of `size` members in slot `index`; `own_entry` is that of the [first member](ArrivingMember::own_entry).
    pub(super) fn new(index: usize, own_entry: Option<usize>, size: u64, passed: u64) -> Self {
        Self { index, size, passed, next: own_entry.map_or(LeavingStep::CountOut, LeavingStep::ClearCount) }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.next == LeavingStep::Gone
    }

    /// One operation.
    pub(super) fn step(&mut self, tables: &mut impl MeetingTables) {
        use EntryWord::{Name, Turn};
        use WhichTable::{Arrivals, Slots};
        let index = self.index;
        self.next = match self.next {
            LeavingStep::ClearCount(entry) => {
                tables.update(Arrivals, Turn(entry), Amo::Swap(0));
                LeavingStep::ClearName(entry)
            }
            LeavingStep::ClearName(entry) => {
                tables.update(Arrivals, Name(entry), Amo::Swap(0));
                LeavingStep::CountOut
            }
            LeavingStep::CountOut => {
                if (tables.update(Slots, Turn(index), Amo::Add(1)) + 1) & LEFT == self.size {
                    LeavingStep::NextTurn
                } else {
                    LeavingStep::Gone
                }
            }
            LeavingStep::NextTurn => {
                tables.update(Slots, Turn(index), Amo::Swap(turn_after(self.passed)));
                LeavingStep::FreeName
            }
            LeavingStep::FreeName => {
                tables.update(Slots, Name(index), Amo::Swap(0));
                LeavingStep::Gone
            }
            LeavingStep::Gone => LeavingStep::Gone,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::signature::{CallKind, Signature, number_of};
    use crate::memory::control::REGISTRY;

    /// Words of a slot hold 48 bits of a number. Here more meetings follow each other at one entry than 16 bits count.
    #[test]
    fn numbers_of_many_meetings_grow_and_fit_their_words() {
        let (mut turn, mut passed) = (0, None);
        for _ in 0..1 << 17 {
            let base = base_of(turn);
            assert!(passed.is_none_or(|passed| base >= passed), "{base} after {passed:?}");
            let last = base + 40;
            assert_eq!(number_of(Signature::of(CallKind::Leave).stamp(last)), last);
            (turn, passed) = (turn_after(last), Some(last));
        }
        assert_eq!((turn & LEFT, base_of(turn_after(STEP - 1)), base_of(turn_after(STEP))), (0, STEP, 2 * STEP));
    }

    #[test]
    fn first_members_leave_entries_to_meetings_whose_members_have_come() {
        let mut names = [0; REGISTRY];
        let half = common(&names).end;
        assert_eq!((common(&names), spare(&names)), (0..half, half..REGISTRY));
        for name in [1, half as u64 - 1, half as u64, 0x1234_5679, u64::MAX] {
            assert!(free_entry(&names, name, common(&names)).is_some_and(|index| index < half));
            assert!(free_entry(&names, name, spare(&names)).is_some_and(|index| index >= half));
        }
        names[..half].fill(7);
        assert_eq!(free_entry(&names, 9, common(&names)), None);
        names[half..REGISTRY - 1].fill(7);
        assert_eq!(free_entry(&names, 9, spare(&names)), Some(REGISTRY - 1));
        assert_eq!(free_entry(&names, 9, 0..REGISTRY), Some(REGISTRY - 1));
    }
}
