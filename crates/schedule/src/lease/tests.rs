//! Random programs of nested splits on six PEs in arbitrary interleavings, and the single rules.

use super::*;
use oxshmem_base::chance::Dice;
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

const PES: usize = 6;

/// A team as all PEs name it: the operation that made it, and its members in order.
type Name = (usize, Vec<usize>);

#[derive(Clone, Debug)]
enum Operation {
    /// Standard split of the parent into the members with the given places.
    Split {
        parent: Name,
        members: Vec<usize>,
    },
    /// Standard 2D split.
    Grid {
        parent: Name,
        xrange: usize,
    },
    /// Split by the members only.
    Meet {
        members: Vec<usize>,
    },
    Destroy {
        team: Name,
    },
}

#[derive(Clone, Debug)]
struct Team {
    slot: Option<u16>,
    leases: Leases,
    splits: u64,
    identity: u64,
}

/// A PE on its way through the program.
struct Pe<const P: usize> {
    slots: Slots<P>,
    teams: BTreeMap<Name, Team>,
    at: usize,
    meetings: BTreeMap<Vec<usize>, u64>,
    searching: Option<(Search, Option<Offer>, Leases)>,
    /// Agreements of the operation under way.
    round: u32,
}

impl<const P: usize> Pe<P> {
    fn give_back(&mut self, slot: Option<u16>, leases: &mut Leases) -> Result<(), &'static str> {
        for slot in slot.into_iter().chain(core::iter::from_fn(|| leases.pop())) {
            if self.slots.is_free(slot) {
                return Err("a slot comes back that is free already");
            }
            self.slots.release(slot);
        }
        Ok(())
    }
}

struct Model<const P: usize> {
    program: Vec<Operation>,
    pes: Vec<Pe<P>>,
    /// Contributions by (operation, round), with who has settled.
    agreements: BTreeMap<(usize, u32), BTreeMap<usize, [u64; WORDS]>>,
    outcomes: BTreeMap<(usize, Name), Option<u16>>,
    /// The mutant: granted leases stay free.
    unreserved: bool,
    granted: u32,
    refused: u32,
    refills: u32,
}

/// The same on all members, and seldom that of another team.
fn identity(name: &[u64]) -> u64 {
    name.iter().fold(0, |sum, &word| Dice::stream(sum, word).next())
}

fn subset(of: &[usize], random: &mut Dice) -> Vec<usize> {
    let size = 1 + random.below(of.len());
    let stride = 1 + random.below(2);
    let start = random.below(of.len());
    let mut members: Vec<usize> = of.iter().copied().skip(start).step_by(stride).take(size).collect();
    if random.below(3) == 0 {
        members.reverse();
    }
    members
}

fn program(random: &mut Dice, length: usize) -> Vec<Operation> {
    let world: Name = (usize::MAX, (0..PES).collect());
    let mut teams: Vec<Name> = vec![world];
    let mut operations = Vec::new();
    for index in 0..length {
        let parent = teams[random.below(teams.len())].clone();
        operations.push(match random.below(10) {
            0..4 => {
                let members = subset(&parent.1, random);
                teams.push((index, members.clone()));
                Operation::Split { parent, members }
            }
            4 | 5 => {
                let xrange = 1 + random.below(parent.1.len());
                let columns = (0..xrange).map(|x| parent.1.iter().copied().skip(x).step_by(xrange).collect());
                teams.extend(
                    parent.1.chunks(xrange).map(<[usize]>::to_vec).chain(columns).map(|m: Vec<usize>| (index, m)),
                );
                Operation::Grid { parent, xrange }
            }
            6 | 7 => {
                let members = subset(&parent.1, random);
                teams.push((index, members.clone()));
                Operation::Meet { members }
            }
            _ if teams.len() > 1 => Operation::Destroy { team: teams.remove(1 + random.below(teams.len() - 1)) },
            _ => Operation::Split { members: parent.1.clone(), parent },
        });
    }
    operations
}

impl<const P: usize> Model<P> {
    fn new(total: u16, program: Vec<Operation>, unreserved: bool) -> Self {
        let world: Name = (usize::MAX, (0..PES).collect());
        let pes = (0..PES).map(|_| {
            let (slots, leases) = Slots::new(total, total / 2);
            let team = Team { slot: Some(0), leases, splits: 0, identity: 1 };
            let teams = [(world.clone(), team)].into();
            Pe { slots, teams, at: 0, meetings: BTreeMap::new(), searching: None, round: 0 }
        });
        let pes = pes.collect();
        let (agreements, outcomes) = (BTreeMap::new(), BTreeMap::new());
        Self { program, pes, agreements, outcomes, unreserved, granted: 0, refused: 0, refills: 0 }
    }

    fn run(&mut self, random: &mut Dice) -> Result<(), &'static str> {
        let mut going: Vec<usize> = (0..PES).collect();
        let mut patience = 1_000_000;
        while !going.is_empty() {
            let pick = random.below(going.len());
            for _ in 0..1 + random.below(4) {
                self.advance(going[pick])?;
            }
            going.retain(|&p| self.pes[p].at < self.program.len());
            patience -= 1;
            assert!(patience > 0, "the program does not end");
        }
        Ok(())
    }

    /// One operation, or one part of an agreement, of one PE.
    fn advance(&mut self, p: usize) -> Result<(), &'static str> {
        let at = self.pes[p].at;
        let Some(operation) = self.program.get(at).cloned() else {
            return Ok(());
        };
        let over = match operation {
            Operation::Destroy { team } => {
                let pe = &mut self.pes[p];
                if let Some(mut team) = pe.teams.remove(&team) {
                    pe.give_back(team.slot, &mut team.leases)?;
                }
                true
            }
            Operation::Split { parent, members } => self.standard(p, &parent, &[vec![members]])?,
            Operation::Grid { parent, xrange } => {
                let rows = parent.1.chunks(xrange).map(<[usize]>::to_vec).collect();
                let column = |x| parent.1.iter().copied().skip(x).step_by(xrange).collect();
                self.standard(p, &parent, &[rows, (0..xrange).map(column).collect()])?
            }
            Operation::Meet { members } => self.meet(p, &members)?,
        };
        if over {
            (self.pes[p].at, self.pes[p].round) = (at + 1, 0);
        }
        Ok(())
    }

    /// A split all members of the parent call; one lease per axis in which some team has two members.
    fn standard(&mut self, p: usize, parent: &Name, axes: &[Vec<Vec<usize>>]) -> Result<bool, &'static str> {
        let Some(mut team) = self.pes[p].teams.get(parent).cloned() else {
            return Ok(true);
        };
        let needed = axes.iter().filter(|teams| teams.iter().any(|team| team.len() > 1)).count();
        while team.leases.left() < needed {
            match self.agree(p, &parent.1, team.identity, team.leases.clone())? {
                None => return Ok(false),
                Some((Settled::Granted, leases)) => team.leases = leases,
                Some(_) => {
                    self.note(p, parent, None)?;
                    self.pes[p].teams.insert(parent.clone(), team);
                    return Ok(true);
                }
            }
            self.pes[p].teams.insert(parent.clone(), team.clone());
        }
        let split = team.splits;
        team.splits += 1;
        let mut made = Vec::new();
        for (axis, teams) in axes.iter().enumerate() {
            let slot = teams.iter().any(|team| team.len() > 1).then(|| team.leases.pop()).flatten();
            let down = team.leases.hand_down();
            let mine = teams.iter().find(|members| members.contains(&p));
            made.push((mine.cloned(), slot, down, identity(&[team.identity, split, axis as u64])));
        }
        self.pes[p].teams.insert(parent.clone(), team);
        for (mine, slot, mut leases, identity) in made {
            let pe = &mut self.pes[p];
            match mine {
                Some(members) if members.len() > 1 => self.bind(p, members, slot, leases, identity)?,
                mine => {
                    pe.give_back(slot, &mut leases)?;
                    if let Some(members) = mine {
                        self.bind(p, members, None, Leases::default(), identity)?;
                    }
                }
            }
        }
        Ok(true)
    }

    fn meet(&mut self, p: usize, members: &[usize]) -> Result<bool, &'static str> {
        if !members.contains(&p) {
            return Ok(true);
        }
        let members = members.to_vec();
        if members.len() == 1 {
            self.bind(p, members, None, Leases::default(), 0)?;
            return Ok(true);
        }
        let sequence = self.pes[p].meetings.get(&members).copied().unwrap_or(0);
        let name: Vec<u64> = members.iter().map(|&member| member as u64).chain([sequence]).collect();
        let identity = identity(&name);
        match self.agree(p, &members, identity, Leases::default())? {
            None => return Ok(false),
            Some((Settled::Granted, mut leases)) => {
                let slot = leases.pop();
                self.bind(p, members.clone(), slot, leases, identity)?;
            }
            Some(_) => self.note(p, &(0, members.clone()), None)?,
        }
        self.pes[p].meetings.insert(members, sequence + 1);
        Ok(true)
    }

    /// One part of an agreement: offer, or settle once all have offered. `None` while it is under way.
    fn agree(
        &mut self,
        p: usize,
        members: &[usize],
        seed: u64,
        leases: Leases,
    ) -> Result<Option<(Settled, Leases)>, &'static str> {
        let pe = &mut self.pes[p];
        let (at, round) = (pe.at, pe.round);
        let (mut search, offer, mut leases) =
            pe.searching.take().unwrap_or_else(|| (Slots::<P>::search(seed), None, leases));
        let Some(offer) = offer else {
            let offer = pe.slots.offer(&search);
            self.agreements.entry((at, round)).or_default().insert(p, *offer.words());
            pe.searching = Some((search, Some(offer), leases));
            return Ok(None);
        };
        let given = &self.agreements[&(at, round)];
        if given.len() < members.len() {
            pe.searching = Some((search, Some(offer), leases));
            return Ok(None);
        }
        let agreed = given.values().fold([u64::MAX; WORDS], |all, one| core::array::from_fn(|i| all[i] & one[i]));
        let before = leases.clone();
        let settled = pe.slots.settle(&mut search, offer, &agreed, &mut leases);
        (self.refills, pe.round) = (self.refills + 1, round + 1);
        if self.unreserved {
            let new = usize::from(before.count)..usize::from(leases.count);
            leases.held[new].iter().for_each(|&slot| pe.slots.release(slot));
        }
        match settled {
            Settled::Again | Settled::Contended => {
                pe.searching = Some((search, None, leases));
                Ok(None)
            }
            over => Ok(Some((over, leases))),
        }
    }

    fn bind(
        &mut self,
        p: usize,
        members: Vec<usize>,
        slot: Option<u16>,
        leases: Leases,
        identity: u64,
    ) -> Result<(), &'static str> {
        let name = (self.pes[p].at, members);
        if name.1.len() > 1 {
            self.note(p, &name, slot)?;
        }
        let pe = &mut self.pes[p];
        if let Some(slot) = slot {
            if pe.teams.values().any(|team| team.slot == Some(slot)) {
                return Err("two live teams on one slot");
            }
            if pe.slots.is_free(slot) {
                return Err("a live slot is free");
            }
        }
        pe.teams.insert(name, Team { slot, leases, splits: 0, identity });
        Ok(())
    }

    /// All members of a team must come to the same end.
    fn note(&mut self, p: usize, team: &Name, slot: Option<u16>) -> Result<(), &'static str> {
        let key = (self.pes[p].at, team.clone());
        match slot {
            Some(_) => self.granted += 1,
            None => self.refused += 1,
        }
        match self.outcomes.insert(key, slot) {
            Some(other) if other != slot => Err("members disagree"),
            _ => Ok(()),
        }
    }
}

fn run<const P: usize>(seed: u64, total: u16, unreserved: bool) -> (Result<(), &'static str>, Model<P>) {
    let mut random = Dice::new(seed);
    let operations = program(&mut random, 40);
    let mut model = Model::<P>::new(total, operations, unreserved);
    let result = model.run(&mut random);
    (result, model)
}

#[test]
fn team_9_random_nested_programs_never_share_a_slot_and_fail_alike() {
    let (mut granted, mut refused) = (0, 0);
    for seed in 0..1500 {
        for total in [6, 12, 64] {
            let (result, model) = run::<1>(seed, total, false);
            assert_eq!(result, Ok(()), "seed {seed}, {total} slots");
            (granted, refused) = (granted + model.granted, refused + model.refused);
        }
        let (result, model) = run::<3>(seed, 1000, false);
        assert_eq!((result, model.refused), (Ok(()), 0), "seed {seed}, three pieces");
    }
    assert!(granted > 50_000 && refused > 1_000, "both ends are met: {granted} {refused}");
}

#[test]
fn the_mutant_without_reservation_is_rejected() {
    let rejected = (0..300).filter(|&seed| run::<1>(seed, 8, true).0.is_err()).count();
    assert!(rejected > 250, "{rejected} of 300");
}

#[test]
fn team_8_slots_come_back_over_a_million_splits() {
    let (mut slots, mut world) = Slots::<1>::new(256, 128);
    let mut refills = 0u32;
    for _ in 0..1_000_000 {
        if world.left() == 0 {
            let mut search = Slots::<1>::search(0);
            let offer = slots.offer(&search);
            let agreed = *offer.words();
            assert_eq!(slots.settle(&mut search, offer, &agreed, &mut world), Settled::Granted);
            refills += 1;
        }
        let slot = world.pop().unwrap();
        let mut down = world.hand_down();
        slots.release_all(&mut down);
        slots.release(slot);
    }
    assert!(refills <= 125_000 && refills > 100_000, "one agreement in eight splits: {refills}");
}

#[test]
fn a_thousand_live_teams_fit_and_the_next_failure_is_plain() {
    let (mut slots, mut world) = Slots::<6>::new(2240, 1120);
    let mut live = Vec::new();
    let exhausted = loop {
        if world.left() == 0 {
            let mut search = Slots::<6>::search(live.len() as u64);
            let settled = loop {
                let offer = slots.offer(&search);
                let agreed = *offer.words();
                match slots.settle(&mut search, offer, &agreed, &mut world) {
                    Settled::Again => {}
                    settled => break settled,
                }
            };
            if settled != Settled::Granted {
                break settled;
            }
        }
        live.push(world.pop().unwrap());
    };
    assert_eq!(exhausted, Settled::Exhausted);
    let count = live.len();
    live.sort_unstable();
    live.dedup();
    assert_eq!(
        (live.len(), count),
        (2240 - 5 - 1, 2240 - 5 - 1),
        "every slot once; the last bit of a piece and slot 0 never"
    );
    assert!(live.iter().all(|&slot| is_slot(slot) && slot > 0 && !slots.is_free(slot)));
}

/// One agreement after the other, until it has an end.
fn agree_alone(slots: &mut Slots<6>, seed: u64, leases: &mut Leases) -> Settled {
    let mut search = Slots::<6>::search(seed);
    loop {
        let offer = slots.offer(&search);
        let agreed = *offer.words();
        match slots.settle(&mut search, offer, &agreed, leases) {
            Settled::Again => {}
            settled => return settled,
        }
    }
}

#[test]
fn team_8_a_chain_of_teams_with_one_child_each_has_nearly_every_slot() {
    let (mut slots, mut leases) = Slots::<6>::new(2240, 1);
    let mut live = Vec::new();
    while leases.left() > 0 || agree_alone(&mut slots, live.len() as u64, &mut leases) == Settled::Granted {
        live.push(leases.pop().unwrap());
        // The child goes on.
        leases = leases.hand_down();
    }
    assert_eq!(live.len(), 2240 - 5 - 1 - (GRANT - 1), "the world alone has more than it needs");
}

#[test]
fn a_team_that_is_split_often_agrees_on_ever_more_leases() {
    let (mut slots, mut leases) = (Slots::<6>::new(2240, 1).0, Leases::default());
    let granted = [1, 2, 4, 8, 8].map(|expected| {
        assert_eq!(agree_alone(&mut slots, 0, &mut leases), Settled::Granted);
        let left = leases.left();
        while leases.pop().is_some() {}
        (expected, left)
    });
    assert!(granted.iter().all(|(expected, left)| expected == left), "{granted:?}");
}

/// Two threads of one PE in agreements of overlapping teams at the same time.
#[test]
fn agreements_at_the_same_time_share_nothing_and_one_gives_way() {
    let mut pes: [Slots<1>; 3] = core::array::from_fn(|_| Slots::<1>::new(40, 5).0);
    let mut leases: [Leases; 2] = Default::default();
    // Both are in the second round, in which nothing is held back.
    let mut searches = [1, 2].map(|seed| Search { tried: 1, ..Slots::<1>::search(seed) });
    // Team 0 is PEs 0 and 1, team 1 is PEs 1 and 2; PE 1 is in both and offers to team 0 first.
    let (a0, a1) = (pes[0].offer(&searches[0]), pes[1].offer(&searches[0]));
    let (b1, b2) = (pes[1].offer(&searches[1]), pes[2].offer(&searches[1]));
    let and = |x: &Offer, y: &Offer| core::array::from_fn(|i| x.words()[i] & y.words()[i]);
    let (a, b): ([u64; WORDS], [u64; WORDS]) = (and(&a0, &a1), and(&b1, &b2));
    let mut settle = |pe: usize, team: usize, offer: Offer, agreed, keep: bool| {
        let (mut search, mut got) = (searches[team], leases[team].clone());
        let settled = pes[pe].settle(&mut search, offer, agreed, &mut got);
        if keep {
            (searches[team], leases[team]) = (search, got);
        }
        settled
    };
    assert_eq!(settle(2, 1, b2, &b, false), Settled::Contended);
    assert_eq!(settle(1, 1, b1, &b, true), Settled::Contended);
    assert_eq!(settle(0, 0, a0, &a, false), Settled::Granted);
    assert_eq!(settle(1, 0, a1, &a, true), Settled::Granted);
    assert_eq!((leases[0].left(), leases[1].left()), (1, 0));
    // Now the way is free, and what team 0 got is not offered again.
    let (b1, b2) = (pes[1].offer(&searches[1]), pes[2].offer(&searches[1]));
    let b = and(&b1, &b2);
    assert_eq!(pes[2].settle(&mut searches[1].clone(), b2, &b, &mut Leases::default()), Settled::Granted);
    assert_eq!(pes[1].settle(&mut searches[1], b1, &b, &mut leases[1]), Settled::Granted);
    let granted = |leases: &Leases| leases.held[..usize::from(leases.count)].to_vec();
    assert!(granted(&leases[1]).iter().all(|slot| !granted(&leases[0]).contains(slot)));
}

/// Fifty threads of PE 0 wait in agreements, and one waits in an agreement to which PE 1 comes first.
#[test]
fn agreements_that_wait_leave_slots_to_others() {
    let mut pes: [Slots<3>; 2] = core::array::from_fn(|_| Slots::<3>::new(1000, 5).0);
    let _waiting: Vec<Offer> = (0..50).map(|seed| pes[0].offer(&Slots::<3>::search(seed))).collect();
    let mut searches = [Slots::<3>::search(3); 2];
    let settled = loop {
        let offers = [0, 1].map(|pe: usize| pes[pe].offer(&searches[pe]));
        let agreed: [u64; WORDS] = core::array::from_fn(|i| offers[0].words()[i] & offers[1].words()[i]);
        let members = offers.into_iter().zip(&mut searches).zip(&mut pes);
        let settle = |((offer, search), slots): ((Offer, &mut Search), &mut Slots<3>)| {
            slots.settle(search, offer, &agreed, &mut Leases::default())
        };
        let settled: Vec<Settled> = members.map(settle).collect();
        if settled != [Settled::Again; 2] {
            break settled;
        }
    };
    assert_eq!(settled, [Settled::Granted; 2]);
}

#[test]
fn the_lowest_slots_are_offered_first() {
    assert_eq!([0, 2, 9].map(|most| lowest(0b1011_0100, most)), [0, 0b1_0100, 0b1011_0100]);
    let mut slots = Slots::<1>::new(383, 60).0;
    let words = *slots.offer(&Slots::<1>::search(0)).words();
    assert_eq!(words.map(u64::count_ones), [4, FEW - 4, 0, 0, 0, 1], "the last bit is no slot");
}
