//! The tables as members of the model reach them, with the rule that is too weak.

use oxshmem_transport::Amo;

use super::super::steps::{EntryWord, LEFT, MeetingTables, WhichTable, base_of, turn_after};
use super::{ModelTable, WeakerMeeting};

/// An update of a word, and the answer to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableUpdate {
    pub(super) table: WhichTable,
    pub(super) word: EntryWord,
    pub(super) amo: Amo,
    pub(super) answer: u64,
}

/// The tables as a member of one meeting reaches them.
pub(super) struct TablesOfModel<'m> {
    pub(super) slots: &'m mut ModelTable,
    pub(super) arrivals: &'m mut ModelTable,
    /// The names that a look has read.
    pub(super) read: Vec<u64>,
    /// The members of the meeting.
    pub(super) size: u64,
    pub(super) rule: WeakerMeeting,
    pub(super) done: Option<TableUpdate>,
}

impl MeetingTables for TablesOfModel<'_> {
    type Names = Vec<u64>;

    fn names(&mut self, _: WhichTable) -> Vec<u64> {
        self.read.clone()
    }

    fn update(&mut self, which: WhichTable, word: EntryWord, amo: Amo) -> u64 {
        use EntryWord::{Name, Turn};
        use WhichTable::{Arrivals, Slots};
        let table = if which == Slots { &mut *self.slots } else { &mut *self.arrivals };
        match (self.rule, which, word, amo) {
            (WeakerMeeting::NameFreedFirst, Slots, Turn(entry), Amo::Swap(_))
            | (WeakerMeeting::CountClearedLast, Arrivals, Turn(entry), Amo::Swap(_)) => {
                return core::mem::take(&mut table.names[entry]);
            }
            (WeakerMeeting::NameFreedFirst, Slots, Name(entry), Amo::Swap(_)) => {
                table.turns[entry] = turn_after(base_of(table.turns[entry]) + 1);
                return 0;
            }
            (WeakerMeeting::CountClearedLast, Arrivals, Name(entry), Amo::Swap(_)) => {
                table.turns[entry] = 0;
                return 0;
            }
            _ => {}
        }
        let place = match word {
            Name(entry) => &mut table.names[entry],
            Turn(entry) => &mut table.turns[entry],
        };
        let old = *place;
        let (amo, answer) = match (self.rule, which, word, amo) {
            (WeakerMeeting::EntryUnchecked, Slots, Name(_), Amo::CompareSwap { value, .. }) => (Amo::Swap(value), 0),
            (WeakerMeeting::FirstFrees, Slots, Turn(_), Amo::Add(_)) => (amo, self.size - 1),
            (WeakerMeeting::TurnKept, Slots, Turn(_), Amo::Swap(_)) => (Amo::And(!LEFT), old),
            (WeakerMeeting::ArrivalLost, Arrivals, Turn(_), Amo::Add(_)) => (Amo::Fetch, old),
            (WeakerMeeting::ArrivalTwice, Arrivals, Turn(_), Amo::Add(_)) => (Amo::Add(2), old),
            (WeakerMeeting::CountsKept, Arrivals, Turn(_), Amo::Swap(_)) => (Amo::Fetch, old),
            (WeakerMeeting::SpareTakenEarly, Arrivals, Turn(_), Amo::Fetch) => (Amo::Fetch, self.size - 1),
            (WeakerMeeting::NobodyAsked, Arrivals, Name(_), Amo::CompareSwap { .. }) => (Amo::Fetch, 0),
            (_, _, _, amo) => (amo, old),
        };
        *place = amo.apply(old, size_of::<u64>());
        self.done = Some(TableUpdate { table: which, word, amo, answer });
        answer
    }
}
