//! No leader writes a block that is still needed: every order of events in small trees, random orders in large ones.

use oxshmem_base::chance::Dice;

use super::super::every_order::every_order;
use super::model::{History, ModelEvent, ModelState, UNIT, WeakerRule};

const HALF: usize = 2 * UNIT;

/// Takes every order of events. Returns how many states there are, or what is wrong in one of them.
fn search(history: &History) -> Result<usize, String> {
    let events = |state: &ModelState| state.steps().chain(state.arrivals()).collect();
    every_order(
        ModelState::first(history),
        events,
        |state| state.is_over(history),
        |state, event| state.apply(history, event),
    )
}

/// How soon messages arrive.
#[derive(Clone, Copy, Debug)]
enum Network {
    /// With a probability of one in so many, between two steps.
    OneIn(usize),
    /// When every leader waits.
    Lazy,
}

/// One random order of events. The node of `slow` counts in rarely.
fn walk(history: &History, network: Network, slow: Option<usize>, dice: &mut Dice) -> Result<(), String> {
    let mut state = ModelState::first(history);
    while !state.is_over(history) {
        let steps: Vec<ModelEvent> = state.steps().collect();
        let arrives = match network {
            _ if steps.is_empty() => true,
            Network::Lazy => false,
            Network::OneIn(most) => dice.below(most) == 0,
        };
        let event = if !arrives {
            let event = steps[dice.below(steps.len())];
            if slow.is_some_and(|slow| event == ModelEvent::CountIn(slow)) && steps.len() > 1 && dice.below(30) > 0 {
                continue;
            }
            event
        } else if state.under_way() > 0 {
            ModelEvent::Arrive(dice.below(state.under_way()))
        } else if steps.is_empty() {
            return Err(format!("nobody can go on: {state:?}"));
        } else {
            continue;
        };
        state.apply(history, event)?;
    }
    Ok(())
}

/// Histories of 40 calls in trees of up to 40 leaders, with each kind of network. Returns how often a half was used again.
fn random(rule: WeakerRule, histories: u64) -> Result<usize, String> {
    let mut again = 0;
    for seed in 0..histories {
        let mut dice = Dice::new(seed);
        let leaders = if dice.below(8) == 0 { 2 + dice.below(40) } else { 2 + dice.below(9) };
        let radix = [2, 3, 4, 8][dice.below(4)];
        let usual = dice.below(leaders);
        let call = |dice: &mut Dice| {
            let root = if dice.below(12) == 0 { dice.below(leaders) } else { usual };
            let bytes = [UNIT, HALF][dice.below(2)];
            (dice.below(15) > 0).then_some((root as u32, bytes))
        };
        let calls: Vec<_> = (0..40).map(|_| call(&mut dice)).collect();
        let history = History::new(leaders as u32, radix, &calls, rule);
        let network = [Network::OneIn(3), Network::OneIn(40), Network::OneIn(400), Network::Lazy][dice.below(4)];
        let slow = (dice.below(2) == 0).then(|| dice.below(leaders));
        walk(&history, network, slow, &mut dice).map_err(|wrong| format!("seed {seed}, {network:?}: {wrong}"))?;
        again += history.again();
    }
    Ok(again)
}

/// The histories that are searched as a whole: (leaders, radix), and calls that use both halves again, with and without a
/// synchronisation, and change roots.
fn small(rule: WeakerRule) -> Vec<History> {
    let (half, unit) = (|root| Some((root, HALF)), |root| Some((root, UNIT)));
    let halves = [
        vec![half(0), half(0), half(0), half(0)],
        vec![half(0), half(0), None, half(1), half(1), half(1)],
        vec![half(0), half(0), half(0), half(1), half(1), half(1)],
        vec![unit(1), half(1), None, half(1), half(1), half(1)],
    ];
    let units = vec![unit(0); 5];
    let all = halves.iter().flat_map(|calls| [((2, 2), calls), ((3, 2), calls), ((4, 2), calls)]);
    let all = all.chain([((2, 2), &units), ((3, 2), &units), ((4, 2), &units), ((4, 3), &halves[0])]);
    all.map(|((leaders, radix), calls)| History::new(leaders, radix, calls, rule)).collect()
}

#[test]
fn nobody_writes_a_room_that_somebody_still_needs_in_any_order_of_small_trees() {
    let (mut states, mut again) = (0, 0);
    for history in small(WeakerRule::None) {
        states += search(&history).unwrap_or_else(|wrong| panic!("{wrong}"));
        again += history.again();
    }
    assert!(states > 100_000 && again > 15, "{states} states, halves used again {again} times");
}

#[test]
fn nobody_writes_a_room_that_somebody_still_needs_in_large_trees() {
    let again = random(WeakerRule::None, 3000).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(again > 1000, "{again}");
}

#[test]
fn every_weaker_agreement_is_found() {
    let rules = [
        WeakerRule::NobodyWaits,
        WeakerRule::OtherTreesCount,
        WeakerRule::AtOnce,
        WeakerRule::BeforeTheNode,
        WeakerRule::WithoutTheNode,
        WeakerRule::ChildrenAfterARun,
        WeakerRule::Forgotten,
    ];
    for rule in rules {
        assert!(small(rule).iter().any(|history| search(history).is_err()), "{rule:?} in small trees");
        assert!(random(rule, 3000).is_err(), "{rule:?} in large trees");
    }
}
