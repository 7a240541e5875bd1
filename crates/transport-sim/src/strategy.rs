//! The choice of who is next: a pure function of the strategy, the dice and the situation.

use std::sync::atomic::AtomicU64;

use crate::arena::TurnHolder;
use crate::chance::{Chance, seeded};
use crate::options::{SimOptions, Strategy};

/// The choices for the next step.
#[derive(Default, Debug)]
pub(crate) struct Situation {
    /// The thread that has just made a step and may go on.
    pub(crate) current: Option<u32>,
    /// Threads that may go on with more than a look in vain: their numbers, PEs and priorities.
    pub(crate) actors: Vec<NextCandidate>,
    /// Networks with operations under way.
    pub(crate) networks: Vec<NextCandidate>,
    /// Networks that have only operations of the starved pair under way.
    pub(crate) held: Vec<NextCandidate>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NextCandidate {
    /// Number of the thread, or of the PE whose network it is.
    pub(crate) number: u32,
    pub(crate) pe: u32,
    pub(crate) priority: u64,
    /// Steps since it was last chosen, or had nothing to do.
    pub(crate) waited: u64,
}

/// The steps after which a waiter is next under every strategy: a network may be slow and a PE unlucky, but not for ever.
pub(crate) const FAIR: u64 = 3000;

/// The order in which a network takes its operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OperationOrder {
    Oldest,
    Newest,
    Any,
}

/// The choices of the seed for the whole job.
#[derive(Clone, Debug)]
pub(crate) struct SeedPlan {
    pub(crate) seed: u64,
    pub(crate) strategy: Strategy,
    kind: u64,
    pub(crate) order: OperationOrder,
    /// The network does something in one of this many steps.
    network_odds: usize,
    /// Another PE goes on in one of this many steps.
    turn_odds: usize,
    /// The PE that starves.
    pub(crate) victim: u32,
    /// The pair that starves: from, to.
    pub(crate) pair: (u32, u32),
    /// Steps at which the one with the highest priority gets the lowest.
    changes: Vec<u64>,
    /// The step at which the victim is killed.
    pub(crate) death: Option<u64>,
    /// Whether the network has a put with signal of its own.
    pub(crate) signals: bool,
    /// Whether the network says that processors serve their memory, so that collectives take other schedules.
    pub(crate) served: bool,
    /// Whether some lanes of a PE are mostly slower than its others.
    unlike_lanes: bool,
}

impl SeedPlan {
    pub(crate) fn new(options: &SimOptions, pes: u32) -> Self {
        let state = AtomicU64::new(seeded(options.seed ^ 0x5115));
        let chance = Chance(&state);
        let one_of = |choices: &[usize]| choices[chance.below(choices.len())];
        let order =
            [OperationOrder::Any, OperationOrder::Newest, OperationOrder::Any, OperationOrder::Oldest][chance.below(4)];
        let network_odds = one_of(&[2, 4, 16, 64, 400]);
        let turn_odds = one_of(&[2, 8, 32]);
        let victim = chance.below(pes as usize) as u32;
        let to = (victim + 1 + chance.below((pes as usize).saturating_sub(1)) as u32) % pes.max(1);
        // Jobs have some hundred to some ten thousand steps: the logarithm of a change is uniform.
        let changes =
            (0..3 + chance.below(6)).map(|_| 1 << (3 + chance.below(12))).map(|most: usize| chance.below(most));
        let changes = changes.map(|step| step as u64).collect();
        let death = options.death.then(|| chance.below(1 << (5 + chance.below(9))) as u64);
        let (signals, unlike_lanes, served) = (!chance.one_in(3), chance.one_in(2), chance.one_in(2));
        let SimOptions { strategy, kind, seed, .. } = *options;
        Self {
            seed,
            signals,
            served,
            unlike_lanes,
            strategy,
            kind,
            order,
            network_odds,
            turn_odds,
            victim,
            pair: (victim, to),
            changes,
            death,
        }
    }

    /// Whether every operation is complete before any PE goes on.
    pub(crate) fn is_kind(&self, step: u64) -> bool {
        self.strategy == Strategy::Eager || step >= self.kind
    }

    /// Whether operations from one PE to another wait until nothing else can happen.
    pub(crate) fn starves(&self, from: u32, to: u32) -> bool {
        self.strategy == Strategy::StarvedPair && self.pair == (from, to)
    }

    /// Whether priorities change at this step.
    pub(crate) fn changes_at(&self, step: u64) -> bool {
        self.strategy == Strategy::Priority && self.changes.contains(&step)
    }

    /// The lane whose turn it is, among these of a PE.
    pub(crate) fn lane(&self, chance: &Chance<'_>, pe: u32, lanes: &[u64]) -> Option<u64> {
        let speed = |lane: &&u64| seeded(self.seed ^ (u64::from(pe) << 40) ^ (**lane << 20));
        // A slow lane is not stopped.
        if self.unlike_lanes && !chance.one_in(32) {
            return lanes.iter().max_by_key(speed).copied();
        }
        lanes.get(chance.below(lanes.len())).copied()
    }

    /// Decides. Nobody: nothing can end any wait, because all PEs look in vain, and nothing is under way.
    pub(crate) fn next(&self, step: u64, chance: &Chance<'_>, situation: &Situation) -> TurnHolder {
        let Situation { current, actors, networks, held } = situation;
        let some = |candidates: &[NextCandidate]| {
            (!candidates.is_empty()).then(|| candidates[chance.below(candidates.len())].number)
        };
        let network = || some(networks).or_else(|| some(held)).map(TurnHolder::Network);
        let go_on = || current.or_else(|| some(actors)).map(TurnHolder::Actor);
        let longest = |candidates: &[NextCandidate]| {
            candidates.iter().max_by_key(|one| one.waited).filter(|one| one.waited > FAIR).copied()
        };
        if let Some(network) = longest(networks).or_else(|| longest(held)) {
            return TurnHolder::Network(network.number);
        }
        if let Some(actor) = longest(actors) {
            return TurnHolder::Actor(actor.number);
        }
        let decided = match self.strategy {
            _ if self.is_kind(step) => network().or_else(go_on),
            Strategy::Lazy => go_on().or_else(network),
            Strategy::Priority => {
                let best = |candidates: &[NextCandidate]| candidates.iter().max_by_key(|one| one.priority).copied();
                match (best(actors), best(networks)) {
                    (Some(actor), Some(network)) if network.priority > actor.priority => {
                        Some(TurnHolder::Network(network.number))
                    }
                    (Some(actor), _) => Some(TurnHolder::Actor(actor.number)),
                    (None, Some(network)) => Some(TurnHolder::Network(network.number)),
                    (None, None) => some(held).map(TurnHolder::Network),
                }
            }
            Strategy::StarvedPe => {
                let fed = |candidates: &[NextCandidate]| -> Vec<NextCandidate> {
                    candidates.iter().filter(|one| one.pe != self.victim).copied().collect()
                };
                let (fed_actors, fed_networks) = (fed(actors), fed(networks));
                let current = current.filter(|&now| fed_actors.iter().any(|one| one.number == now));
                let situation = Situation { current, actors: fed_actors, networks: fed_networks, held: Vec::new() };
                self.mixed(chance, &situation).or_else(|| go_on().or_else(network))
            }
            Strategy::Random | Strategy::StarvedPair | Strategy::Eager => {
                self.mixed(chance, situation).or_else(|| some(held).map(TurnHolder::Network))
            }
        };
        decided.unwrap_or(TurnHolder::Nobody)
    }

    /// Threads and networks by the odds of the seed.
    fn mixed(&self, chance: &Chance<'_>, situation: &Situation) -> Option<TurnHolder> {
        let Situation { current, actors, networks, .. } = situation;
        let one = |candidates: &[NextCandidate]| candidates[chance.below(candidates.len())].number;
        let networks_turn = !networks.is_empty() && (actors.is_empty() || chance.one_in(self.network_odds));
        if networks_turn {
            return Some(TurnHolder::Network(one(networks)));
        }
        match current {
            Some(now) if !chance.one_in(self.turn_odds) => Some(TurnHolder::Actor(*now)),
            _ if !actors.is_empty() => Some(TurnHolder::Actor(one(actors))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(number: u32, priority: u64) -> NextCandidate {
        NextCandidate { number, pe: number, priority, waited: 0 }
    }

    fn plan(detail: &str) -> SeedPlan {
        SeedPlan::new(&SimOptions::read(detail).expect("a detail"), 4)
    }

    fn decided(plan: &SeedPlan, situation: &Situation) -> Vec<TurnHolder> {
        let state = AtomicU64::new(seeded(7));
        (0..2000).map(|step| plan.next(step, &Chance(&state), situation)).collect()
    }

    #[test]
    fn a_lazy_network_does_nothing_while_a_pe_can_go_on() {
        let mut situation = Situation {
            current: Some(1),
            actors: vec![candidate(0, 0), candidate(1, 0)],
            networks: vec![candidate(2, 0)],
            held: Vec::new(),
        };
        assert!(decided(&plan("lazy"), &situation).iter().all(|next| *next == TurnHolder::Actor(1)));
        (situation.current, situation.actors) = (None, Vec::new());
        assert!(decided(&plan("lazy"), &situation).iter().all(|next| *next == TurnHolder::Network(2)));
    }

    #[test]
    fn a_kind_network_is_done_before_anybody_goes_on() {
        let situation = Situation {
            current: Some(1),
            actors: vec![candidate(1, 0)],
            networks: vec![candidate(2, 0)],
            held: Vec::new(),
        };
        assert!(decided(&plan("eager"), &situation).iter().all(|next| *next == TurnHolder::Network(2)));
        let late = decided(&plan("lazy:1,kind=1000"), &situation);
        assert!(late[..1000].iter().all(|next| *next == TurnHolder::Actor(1)));
        assert!(late[1000..].iter().all(|next| *next == TurnHolder::Network(2)));
    }

    #[test]
    fn nobody_waits_for_ever() {
        for name in ["lazy", "random", "priority", "starved-pe", "starved-pair"] {
            let late = NextCandidate { waited: FAIR + 1, ..candidate(2, 0) };
            let mut situation =
                Situation { current: Some(1), actors: vec![candidate(1, 9)], networks: vec![late], held: Vec::new() };
            assert_eq!(decided(&plan(name), &situation)[0], TurnHolder::Network(2), "{name}");
            (situation.networks, situation.actors) = (Vec::new(), vec![candidate(1, 9), late]);
            assert_eq!(decided(&plan(name), &situation)[0], TurnHolder::Actor(2), "{name}");
        }
    }

    #[test]
    fn who_starves_comes_when_nobody_else_can() {
        for seed in 0..20 {
            let plan = plan(&format!("starved-pe:{seed}"));
            let all: Vec<_> = (0..4).map(|pe| candidate(pe, 0)).collect();
            let situation = Situation { actors: all.clone(), networks: all, ..Situation::default() };
            let victim = plan.victim;
            assert!(
                decided(&plan, &situation)
                    .iter()
                    .all(|next| { !matches!(next, TurnHolder::Actor(pe) | TurnHolder::Network(pe) if *pe == victim) })
            );
            let alone = Situation { actors: vec![candidate(victim, 0)], ..Situation::default() };
            assert!(decided(&plan, &alone).iter().all(|next| *next == TurnHolder::Actor(victim)));
        }
    }

    #[test]
    fn everybody_comes_at_random_and_the_highest_by_priority() {
        let all: Vec<_> = (0..4).map(|number| candidate(number, number.into())).collect();
        let situation = Situation { actors: all.clone(), networks: all, ..Situation::default() };
        for seed in [4, 5, 6, 7] {
            let decided = decided(&plan(&format!("random:{seed}")), &situation);
            for number in 0..4 {
                assert!(decided.contains(&TurnHolder::Actor(number)), "seed {seed}: PE {number}");
            }
            assert!(decided.iter().any(|next| matches!(next, TurnHolder::Network(_))), "seed {seed}");
        }
        assert!(decided(&plan("priority:3"), &situation).iter().all(|next| *next == TurnHolder::Actor(3)));
    }

    #[test]
    fn nothing_can_happen_where_there_is_nobody() {
        for name in ["lazy", "eager", "random", "priority", "starved-pe", "starved-pair"] {
            assert_eq!(decided(&plan(name), &Situation::default())[0], TurnHolder::Nobody);
        }
    }
}
