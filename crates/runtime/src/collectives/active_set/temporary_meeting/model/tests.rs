//! Members find each other, and no other caller, in any order: every order of events of few callers, random orders of more.

use oxshmem_base::chance::Dice;

use super::{MeetingHistory, MeetingModel, WeakerMeeting};
use crate::collectives::between_nodes::every_order::every_order_ends;

/// Takes every order of events. Returns how many states there are, or what is wrong in one of them.
fn search(history: &MeetingHistory) -> Result<usize, String> {
    every_order_ends(
        MeetingModel::first(history),
        |state| state.events(history),
        |state| state.is_over(history),
        |state, event| state.apply(history, event),
    )
}

/// The histories that are searched as a whole. Where there is one slot, it is spare: the members of all meetings count in first.
fn small(rule: WeakerMeeting) -> Vec<MeetingHistory> {
    let history = |slots, calls: &[&[usize]], pairs: &[&[usize]], stranded: &[usize]| MeetingHistory {
        callers: calls.iter().enumerate().map(|(pe, calls)| (pe, calls.to_vec())).collect(),
        pairs: pairs.iter().map(|members| members.to_vec()).collect(),
        slots,
        arrivals: 1,
        stranded: stranded.to_vec(),
        rule,
    };
    let one_pair: &[&[usize]] = &[&[0, 1]];
    // PE 0 may hold the common slot while PE 1, for which it waits, meets PE 2 first.
    let circle: &[&[usize]] = &[&[0, 1], &[2, 1]];
    let chain: &[&[usize]] = &[&[0, 1], &[1, 2], &[0, 2]];
    // The first member of one pair is another member of the other, and both want the slots at once.
    let crossed: &[&[usize]] = &[&[0, 1], &[1, 0]];
    let mut all = vec![
        history(2, &[&[0, 0, 0], &[0, 0, 0]], one_pair, &[]),
        history(1, &[&[0, 0, 0], &[0, 0, 0]], one_pair, &[]),
        history(3, &[&[0, 0], &[0, 0]], one_pair, &[]),
        history(2, &[&[0, 1, 0], &[0, 1, 0]], crossed, &[]),
        history(2, &[&[0], &[1, 0], &[1]], circle, &[]),
        history(2, &[&[0], &[1, 1, 0], &[1, 1]], circle, &[]),
        history(1, &[&[0], &[1, 0], &[1]], circle, &[]),
        history(1, &[&[0, 2], &[0, 1], &[1, 2]], chain, &[]),
        history(2, &[&[0, 2], &[0, 1], &[1, 2]], chain, &[]),
        // Three members, who meet twice.
        history(1, &[&[0, 0], &[0, 0], &[0, 0]], &[&[2, 0, 1]], &[]),
        // PE 1 leaves the program, and PE 0 waits for it, as the first member and as another one.
        history(2, &[&[0], &[1], &[1]], circle, &[0]),
        history(1, &[&[0], &[1], &[1]], circle, &[0]),
        history(2, &[&[0], &[1, 1], &[1, 1]], &[&[1, 0], &[2, 1]], &[0]),
    ];
    // Two threads of PE 0 are first members of meetings with PE 1 and have one table. There is no meeting of pair 1, so that both names
    // are odd and begin at the same entry.
    let threads = MeetingHistory {
        callers: vec![(0, vec![0]), (0, vec![2]), (1, vec![2, 0])],
        arrivals: 2,
        ..history(1, &[], &[&[0, 2], &[1, 2], &[1, 2]], &[])
    };
    all.push(threads);
    all
}

/// One random order of events.
fn walk(history: &MeetingHistory, dice: &mut Dice) -> Result<(), String> {
    let mut state = MeetingModel::first(history);
    for _ in 0..200_000 {
        if state.is_over(history) {
            return Ok(());
        }
        let events = state.events(history);
        if events.is_empty() {
            break;
        }
        state.apply(history, events[dice.below(events.len())])?;
    }
    Err(format!("the meetings do not end: {state:?}"))
}

/// Histories of twelve meetings of up to six PEs, whose sets overlap, at up to four slots.
fn random(histories: u64) -> Result<(), String> {
    for seed in 0..histories {
        let mut dice = Dice::new(seed);
        let pes = 3 + dice.below(4);
        let pair = |dice: &mut Dice| {
            let (start, stride, size) = (dice.below(pes - 1), 1 + dice.below(2), 2 + dice.below(3));
            let mut members: Vec<usize> = (start..pes).step_by(stride).take(size).collect();
            // A set of one member needs no other.
            if members.len() == 1 {
                members.push(start - 1);
            }
            let first = dice.below(members.len());
            members.rotate_left(first);
            members
        };
        let pairs: Vec<Vec<usize>> = (0..5).map(|_| pair(&mut dice)).collect();
        let mut callers: Vec<(usize, Vec<usize>)> = (0..pes).map(|pe| (pe, Vec::new())).collect();
        for _ in 0..12 {
            let pair = dice.below(pairs.len());
            pairs[pair].iter().for_each(|&member| callers[member].1.push(pair));
        }
        let (slots, arrivals) = (1 + dice.below(4), 1 + dice.below(2));
        let rule = WeakerMeeting::None;
        let history = MeetingHistory { callers, pairs, slots, arrivals, stranded: Vec::new(), rule };
        walk(&history, &mut dice).map_err(|wrong| format!("seed {seed}, {pes} PEs, {slots} slots: {wrong}"))?;
    }
    Ok(())
}

#[test]
fn members_find_each_other_and_nobody_else_in_any_order() {
    let mut states = 0;
    for history in small(WeakerMeeting::None) {
        let MeetingHistory { callers, pairs, slots, .. } = &history;
        let found = search(&history).unwrap_or_else(|wrong| panic!("{callers:?} of {pairs:?}, {slots} slots: {wrong}"));
        println!("{callers:?} of {pairs:?}, {slots} slots: {found} states");
        states += found;
    }
    assert!(states > 5_000, "{states} states");
}

#[test]
fn members_of_many_sets_find_each_other() {
    random(40).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn every_weaker_meeting_is_found() {
    let rules = [
        WeakerMeeting::EntryUnchecked,
        WeakerMeeting::SameName,
        WeakerMeeting::FirstFrees,
        WeakerMeeting::NobodyWaits,
        WeakerMeeting::TurnKept,
        WeakerMeeting::NameFreedFirst,
        WeakerMeeting::ArrivalLost,
        WeakerMeeting::ArrivalTwice,
        WeakerMeeting::CountsKept,
        WeakerMeeting::CountClearedLast,
        WeakerMeeting::SpareTakenEarly,
        WeakerMeeting::NobodyAsked,
    ];
    for rule in rules {
        assert!(small(rule).iter().any(|history| search(history).is_err()), "{rule:?}");
    }
}
