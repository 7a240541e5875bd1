//! Meetings of a few members over the worst network that a lane may be, as states and events: [`tests`] takes all orders of events.
//!
//! The members do the steps of [`super::steps`]. An update of a word is one event, because its member waits for the answer. A look at a
//! table is an event for each of its words, in any order. Within a meeting each member stamps a line of each other member, and
//! leaves when all others have stamped its own lines; a stamp is an event when it lands. Members come to their calls, and go on from one
//! operation to the next, as late as they like.

mod tables;
mod tests;

use oxshmem_transport::Amo;

use super::steps::{ArrivingMember, EntryWord, LeavingMember, WhichTable, base_of};

use tables::{TableUpdate, TablesOfModel};

/// Rules that are too weak, which the model must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WeakerMeeting {
    None,
    /// A first member puts its name into an entry that has another one.
    EntryUnchecked,
    /// All meetings of a pair have one name.
    SameName,
    /// The first member to leave frees the entry for others.
    FirstFrees,
    /// A member leaves without an exchange of all.
    NobodyWaits,
    /// The next meeting counts from the number of the last one.
    TurnKept,
    /// The last member to leave takes the name away before it writes the next turn.
    NameFreedFirst,
    /// A member that counts in is not counted.
    ArrivalLost,
    /// A member that counts in is counted twice.
    ArrivalTwice,
    /// The first member does not empty its entry: members of an earlier meeting count.
    CountsKept,
    /// The first member takes its name away before it empties its entry.
    CountClearedLast,
    /// A first member takes a spare entry before the others have come.
    SpareTakenEarly,
    /// A first member does not ask the others to count in.
    NobodyAsked,
}

/// The calls of all threads: what does not change.
struct MeetingHistory {
    /// The PE of each caller, and the pairs that it meets, one after the other. Callers of one PE are its threads.
    callers: Vec<(usize, Vec<usize>)>,
    /// The callers of each pair, its first member first.
    pairs: Vec<Vec<usize>>,
    slots: usize,
    /// How many entries a PE's own table has.
    arrivals: usize,
    /// Callers that wait for ever at their last meeting, because a member has left the program before.
    stranded: Vec<usize>,
    rule: WeakerMeeting,
}

/// One meeting of a pair: its pair, and how often that has met before.
type ModelMeeting = (usize, usize);

impl MeetingHistory {
    fn meeting(&self, caller: usize, call: usize) -> ModelMeeting {
        let calls = &self.callers[caller].1;
        (calls[call], calls[..call].iter().filter(|&&pair| pair == calls[call]).count())
    }

    /// The number of the caller's call at which it comes to a meeting.
    fn call(&self, caller: usize, (pair, time): ModelMeeting) -> Option<usize> {
        let calls = self.callers[caller].1.iter().enumerate();
        calls.filter(|(_, met)| **met == pair).map(|(call, _)| call).nth(time)
    }

    fn name(&self, (pair, time): ModelMeeting) -> u64 {
        let time = if self.rule == WeakerMeeting::SameName { 0 } else { time };
        (time * self.pairs.len() + pair + 1) as u64
    }

    fn pe(&self, caller: usize) -> usize {
        self.callers[caller].0
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ModelTable {
    names: Vec<u64>,
    turns: Vec<u64>,
}

impl ModelTable {
    fn new(entries: usize) -> Self {
        Self { names: vec![0; entries], turns: vec![0; entries] }
    }
}

/// A stamp under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
struct ModelStamp {
    slot: usize,
    to: usize,
    /// The writer's number in the meeting.
    from: usize,
    number: u64,
    name: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum CallerStage {
    /// Has not come to the next call.
    Away,
    /// On the way, with the words of a look that have been read.
    Arriving(ArrivingMember, Vec<Option<u64>>),
    Inside {
        index: usize,
        base: u64,
        own_entry: Option<usize>,
    },
    Leaving {
        index: usize,
        base: u64,
        member: LeavingMember,
    },
}

impl CallerStage {
    /// The slot in which the caller is, and the number from which it counts there.
    fn place(&self) -> Option<(usize, u64)> {
        match self {
            Self::Away | Self::Arriving(..) => None,
            Self::Inside { index, base, .. } | Self::Leaving { index, base, .. } => Some((*index, *base)),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct CallerState {
    call: usize,
    stage: CallerStage,
}

/// The tables, the lines of all slots, what is under way, in order, and the callers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct MeetingModel {
    slots: ModelTable,
    /// Of each PE.
    arrivals: Vec<ModelTable>,
    /// The last number by slot, by PE, by the writer's number in its meeting.
    lines: Vec<Vec<Vec<u64>>>,
    stamps: Vec<ModelStamp>,
    callers: Vec<CallerState>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MeetingEvent {
    /// A caller's look reads this word.
    Read(usize, usize),
    /// A caller does its next operation.
    Step(usize),
    /// The stamp with this number lands.
    Land(usize),
}

impl MeetingModel {
    fn first(history: &MeetingHistory) -> Self {
        let pes = history.callers.iter().map(|(pe, _)| pe + 1).max().unwrap_or_default();
        let most = history.pairs.iter().map(Vec::len).max().unwrap_or_default();
        Self {
            slots: ModelTable::new(history.slots),
            arrivals: vec![ModelTable::new(history.arrivals); pes],
            lines: vec![vec![vec![0; most]; pes]; history.slots],
            stamps: Vec::new(),
            callers: vec![CallerState { call: 0, stage: CallerStage::Away }; history.callers.len()],
        }
    }

    fn is_over(&self, history: &MeetingHistory) -> bool {
        let is_done = |(caller, state): (usize, &CallerState)| {
            let waits = state.call + 1 == history.callers[caller].1.len()
                && matches!(state.stage, CallerStage::Arriving(..) | CallerStage::Inside { .. })
                && history.stranded.contains(&caller);
            waits || state.call == history.callers[caller].1.len()
        };
        self.stamps.is_empty() && self.callers.iter().enumerate().all(is_done)
    }

    fn events(&self, history: &MeetingHistory) -> Vec<MeetingEvent> {
        let callers = (0..self.callers.len()).flat_map(|caller| self.events_of(history, caller));
        callers.chain((0..self.stamps.len()).map(MeetingEvent::Land)).collect()
    }

    fn events_of(&self, history: &MeetingHistory, caller: usize) -> Vec<MeetingEvent> {
        let state = &self.callers[caller];
        match &state.stage {
            CallerStage::Away if state.call == history.callers[caller].1.len() => Vec::new(),
            CallerStage::Arriving(member, read) if member.looks_at().is_some() => {
                let unread = (0..read.len()).filter(|&word| read[word].is_none());
                unread.map(|word| MeetingEvent::Read(caller, word)).collect()
            }
            CallerStage::Inside { index, base, .. } if !self.may_leave(history, caller, *index, *base) => Vec::new(),
            _ => vec![MeetingEvent::Step(caller)],
        }
    }

    /// Whether all others have stamped the caller's lines.
    fn may_leave(&self, history: &MeetingHistory, caller: usize, index: usize, base: u64) -> bool {
        let (pair, _) = history.meeting(caller, self.callers[caller].call);
        let members = history.pairs[pair].iter().enumerate().filter(|(_, member)| **member != caller);
        let mut lines = members.map(|(from, _)| self.lines[index][history.pe(caller)][from]);
        history.rule == WeakerMeeting::NobodyWaits || lines.all(|number| number > base)
    }

    fn apply(&mut self, history: &MeetingHistory, event: MeetingEvent) -> Result<(), String> {
        match event {
            MeetingEvent::Read(caller, word) => {
                self.read(history, caller, word);
                Ok(())
            }
            MeetingEvent::Step(caller) => self.step(history, caller),
            MeetingEvent::Land(number) => {
                let ModelStamp { slot, to, from, number, name } = self.stamps.remove(number);
                let owner = self.slots.names[slot];
                if owner != name {
                    return Err(format!("a stamp of {name} lands in slot {slot}, which is {owner}'s"));
                }
                self.lines[slot][to][from] = number;
                Ok(())
            }
        }
    }

    /// A member on the way, about to begin its next operation.
    fn on_the_way(history: &MeetingHistory, member: ArrivingMember) -> CallerStage {
        let words = match member.looks_at() {
            Some(WhichTable::Slots) => history.slots,
            Some(WhichTable::Arrivals) => history.arrivals,
            None => 0,
        };
        CallerStage::Arriving(member, vec![None; words])
    }

    /// The PE with the table of arrivals that the caller's meeting uses.
    fn first_pe(&self, history: &MeetingHistory, caller: usize) -> usize {
        let (pair, _) = history.meeting(caller, self.callers[caller].call);
        history.pe(history.pairs[pair][0])
    }

    fn tables(&mut self, history: &MeetingHistory, caller: usize, read: Vec<u64>) -> TablesOfModel<'_> {
        let (pair, _) = history.meeting(caller, self.callers[caller].call);
        let (first, size) = (self.first_pe(history, caller), history.pairs[pair].len() as u64);
        let (slots, arrivals) = (&mut self.slots, &mut self.arrivals[first]);
        TablesOfModel { slots, arrivals, read, size, rule: history.rule, done: None }
    }

    /// A look reads one more word. The last one decides what the member does next.
    fn read(&mut self, history: &MeetingHistory, caller: usize, word: usize) {
        let first = self.first_pe(history, caller);
        let own = history.name(history.meeting(caller, self.callers[caller].call));
        let CallerStage::Arriving(mut member, mut read) = self.callers[caller].stage.clone() else {
            unreachable!("only a member on the way looks")
        };
        let is_of_slots = member.looks_at() == Some(WhichTable::Slots);
        let there = if is_of_slots { self.slots.names[word] } else { self.arrivals[first].names[word] };
        // All other names are alike to the member.
        read[word] = Some(if there == 0 || there == own { there } else { u64::MAX });
        let next = match read.iter().copied().collect::<Option<Vec<u64>>>() {
            None => CallerStage::Arriving(member, read),
            Some(names) => {
                member.step(&mut self.tables(history, caller, names));
                Self::on_the_way(history, member)
            }
        };
        self.callers[caller].stage = next;
    }

    fn step(&mut self, history: &MeetingHistory, caller: usize) -> Result<(), String> {
        let call = self.callers[caller].call;
        let meeting = history.meeting(caller, call);
        let members = &history.pairs[meeting.0];
        let next = match self.callers[caller].stage.clone() {
            CallerStage::Away => {
                let (name, others) = (history.name(meeting), members.len() as u64 - 1);
                let member = if members[0] == caller {
                    ArrivingMember::first(name, others)
                } else {
                    ArrivingMember::other(name)
                };
                Self::on_the_way(history, member)
            }
            CallerStage::Arriving(mut member, _) => {
                let done = {
                    let mut tables = self.tables(history, caller, Vec::new());
                    member.step(&mut tables);
                    tables.done
                };
                if let Some(done) = done {
                    self.check(history, caller, done)?;
                }
                match member.place() {
                    Some((index, turn)) => {
                        let (base, own_entry) = (base_of(turn), member.own_entry());
                        self.come(history, caller, index, base)?;
                        CallerStage::Inside { index, base, own_entry }
                    }
                    None => Self::on_the_way(history, member),
                }
            }
            CallerStage::Inside { index, base, own_entry } => {
                if let Some(late) = members.iter().find(|&&member| !self.is_at(history, member, meeting, true)) {
                    return Err(format!("{caller} leaves {meeting:?}, to which {late} has not come"));
                }
                let member = LeavingMember::new(index, own_entry, members.len() as u64, base + 1);
                CallerStage::Leaving { index, base, member }
            }
            CallerStage::Leaving { index, base, mut member } => {
                member.step(&mut self.tables(history, caller, Vec::new()));
                if member.is_gone() {
                    self.callers[caller].call += 1;
                    CallerStage::Away
                } else {
                    CallerStage::Leaving { index, base, member }
                }
            }
        };
        self.callers[caller].stage = next;
        Ok(())
    }

    /// Whether a caller is at a meeting or behind it; `is_inside`: whether it has found the place, too.
    fn is_at(&self, history: &MeetingHistory, caller: usize, meeting: ModelMeeting, is_inside: bool) -> bool {
        let state = &self.callers[caller];
        let is_there = match state.stage {
            CallerStage::Away => false,
            CallerStage::Arriving(..) => !is_inside,
            CallerStage::Inside { .. } | CallerStage::Leaving { .. } => true,
        };
        history.call(caller, meeting).is_some_and(|call| state.call > call || state.call == call && is_there)
    }

    /// Looks at what a member on the way has done.
    fn check(&self, history: &MeetingHistory, caller: usize, done: TableUpdate) -> Result<(), String> {
        let meeting = history.meeting(caller, self.callers[caller].call);
        let others = &history.pairs[meeting.0][1..];
        let come = others.iter().filter(|&&other| self.is_at(history, other, meeting, false)).count();
        match (done.table, done.word, done.amo) {
            (WhichTable::Slots, EntryWord::Name(entry), Amo::CompareSwap { .. })
                if done.answer == 0 && entry >= history.slots / 2 && come < others.len() =>
            {
                Err(format!("{caller} takes the spare entry {entry} for {meeting:?}, to which {come} have come"))
            }
            (WhichTable::Arrivals, EntryWord::Turn(entry), Amo::Add(_)) => {
                let table = &self.arrivals[self.first_pe(history, caller)];
                let is_own = table.names[entry] == history.name(meeting);
                if is_own && table.turns[entry] <= come as u64 {
                    return Ok(());
                }
                Err(format!("{caller} counts in at {meeting:?}, to which {come} have come: {table:?}"))
            }
            _ => Ok(()),
        }
    }

    /// A member has found its place, and stamps the lines of the others.
    fn come(&mut self, history: &MeetingHistory, caller: usize, index: usize, base: u64) -> Result<(), String> {
        let meeting = history.meeting(caller, self.callers[caller].call);
        let (name, here, owner) = (history.name(meeting), (index, base), self.slots.names[index]);
        if owner != name {
            return Err(format!("{caller} comes to {meeting:?} in slot {index}, which is {owner}'s"));
        }
        for (other, state) in self.callers.iter().enumerate() {
            let Some(there) = state.stage.place() else { continue };
            let is_same = history.meeting(other, state.call) == meeting;
            let is_wrong = if is_same { there != here } else { there.0 == index };
            if is_wrong {
                return Err(format!("{caller} comes to {meeting:?} at {here:?}, {other} is at {there:?}"));
            }
        }
        let members = &history.pairs[meeting.0];
        let from = members.iter().position(|&member| member == caller).expect("a caller is in its pair");
        for &member in members.iter().filter(|&&member| member != caller) {
            let stamp = ModelStamp { slot: index, to: history.pe(member), from, number: base + 1, name };
            let place = self.stamps.partition_point(|other| *other <= stamp);
            self.stamps.insert(place, stamp);
        }
        Ok(())
    }
}
