//! No member writes memory that is still needed: every order of events in small teams, random orders in larger ones.

use oxshmem_base::chance::Dice;

use super::super::every_order::every_order;
use super::clears;
use super::model::{MEMORY_USES, MemoryKind, MemoryUse, TeamEvent, TeamHistory, TeamModel, WeakerCredits};

/// Takes every order of events. Returns how many states there are, or what is wrong in one of them.
fn search(history: &TeamHistory) -> Result<usize, String> {
    let events = |state: &TeamModel| state.steps(history).into_iter().chain(state.arrivals()).collect();
    every_order(
        TeamModel::first(history),
        events,
        |state| state.is_over(history),
        |state, event| state.apply(history, event),
    )
}

/// The members of the node `slow` do their steps rarely; messages arrive when no member can go on, or one in so many
/// times.
fn walk(history: &TeamHistory, one_in: Option<usize>, slow: usize, dice: &mut Dice) -> Result<(), String> {
    let mut state = TeamModel::first(history);
    while !state.is_over(history) {
        let (steps, under_way) = (state.steps(history), state.under_way());
        let arrives = steps.is_empty() || one_in.is_some_and(|most| under_way > 0 && dice.one_in(most));
        let event = match arrives {
            true if under_way > 0 => TeamEvent::Arrive(dice.below(under_way)),
            true => return Err(format!("nobody can go on: {state:?}")),
            false => steps[dice.below(steps.len())],
        };
        let of = |event| match event {
            TeamEvent::Lead(node) | TeamEvent::Follow(node, _) => Some(node),
            TeamEvent::Arrive(_) => None,
        };
        if of(event) == Some(slow) && steps.iter().any(|&step| of(step) != Some(slow)) && !dice.one_in(30) {
            continue;
        }
        state.apply(history, event)?;
    }
    Ok(())
}

/// Histories of twelve exchanges of teams of several sizes, each over several networks.
fn random(rule: WeakerCredits, histories: u64) -> Result<(), String> {
    for seed in 0..histories {
        let mut dice = Dice::new(seed);
        let (nodes, members) = [(2, 1), (2, 2), (3, 1), (3, 3), (4, 2), (5, 1), (8, 1), (5, 3)][dice.below(8)];
        let usual = dice.below(MEMORY_USES.len());
        let exchanges =
            (0..12).map(|_| MEMORY_USES[if dice.one_in(2) { usual } else { dice.below(MEMORY_USES.len()) }]);
        let history = TeamHistory { nodes, members, exchanges: exchanges.collect(), rule };
        let network = [None, Some(3), Some(40), Some(400)][dice.below(4)];
        let slow = dice.below(nodes as usize);
        walk(&history, network, slow, &mut dice)
            .map_err(|wrong| format!("seed {seed}, {nodes} nodes of {members}, {network:?}: {wrong}"))?;
    }
    Ok(())
}

/// The histories that are searched as a whole: each use of the memory four times in a row, and one after the other.
fn small(rule: WeakerCredits) -> Vec<TeamHistory> {
    let history =
        |nodes, members, exchanges: &[MemoryUse]| TeamHistory { nodes, members, exchanges: exchanges.to_vec(), rule };
    let alone = MEMORY_USES.iter().map(|&what| history(2, 1, &[what; 4]));
    let of_three = MEMORY_USES.iter().map(|&what| history(3, 1, &[what; 3]));
    let with_members = MEMORY_USES.iter().map(|&what| history(2, 2, &[what; 3]));
    let pairs = MEMORY_USES
        .iter()
        .zip(MEMORY_USES.iter().cycle().skip(1))
        .map(|(&one, &other)| history(2, 1, &[one, other, one, other]));
    alone.chain(with_members).chain(pairs).chain(of_three).collect()
}

#[test]
fn nobody_writes_memory_that_somebody_still_needs_in_any_order_of_small_teams() {
    let mut states = 0;
    for history in small(WeakerCredits::None) {
        let found = search(&history);
        let found = found.unwrap_or_else(|wrong| {
            panic!("{} nodes of {}, {:?}: {wrong}", history.nodes, history.members, history.exchanges)
        });
        println!("{} nodes of {}, {:?}: {found} states", history.nodes, history.members, history.exchanges);
        states += found;
    }
    assert!(states > 100_000, "{states} states");
}

#[test]
fn nobody_writes_memory_that_somebody_still_needs_in_larger_teams() {
    random(WeakerCredits::None, 600).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn every_weaker_rule_is_found() {
    let kinds = [
        MemoryKind::Lines,
        MemoryKind::Gather,
        MemoryKind::Outgoing,
        MemoryKind::Scratch,
        MemoryKind::Copies,
        MemoryKind::Mailboxes,
        MemoryKind::Counters,
    ];
    let others = [
        WeakerCredits::OperandNotKept,
        WeakerCredits::FirstWordOnly,
        WeakerCredits::SignalFirst,
        WeakerCredits::GetsIncomplete,
        WeakerCredits::ReleasedFirst,
        WeakerCredits::NobodyCounts,
    ];
    for rule in kinds.map(WeakerCredits::OneOf).into_iter().chain(others) {
        assert!(small(rule).iter().any(|history| search(history).is_err()), "{rule:?} in small teams");
        assert!(random(rule, 600).is_err(), "{rule:?} in larger teams");
    }
}

/// The words of a run stay where later runs send nothing.
#[test]
fn a_word_is_cleared_before_its_stamp_comes_again() {
    for written in [0, 1, 2, 7, (1 << 29) - 2, (1 << 29) - 1, 1 << 29, u32::MAX - 1, u32::MAX] {
        let period = written & !((1 << 29) - 1);
        let later = (1..4).flat_map(|i| [0, 1].map(|run| period.wrapping_add(i << 29).wrapping_add(run)));
        // A run clears the other parity.
        assert!(later.into_iter().any(|run| run & 1 != written & 1 && clears(run)), "the words of run {written} stay");
    }
}
