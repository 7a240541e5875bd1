//! The rooms of broadcasts under a network that delivers in any order and reads late: many random histories of leaders
//! that follow the very ring and tree of the calls.

use crate::collectives::zones::{CastRoom, CastTree, Lent};
use crate::memory::control::mail::{CAST, HALF};
use oxshmem_schedule::algorithm::broadcast::Tree;
use oxshmem_schedule::step::{Algorithm, Caller, Plan, Step};

const SLOTS: usize = 2 * HALF / CAST;

/// A member of the model, a leader.
struct Leader {
    lent: Lent,
    runs: u32,
    /// The call that it is in, and its next step there; `None`: before the first.
    call: usize,
    pc: Option<u64>,
    room: Option<CastRoom>,
    /// The call whose payload is in each slot, counted from 1.
    slots: Vec<usize>,
    stamps: Vec<usize>,
    taken: [u64; 2],
    owed: [u64; 2],
}

enum Letter {
    /// The payload of a call, which is read where it lies when this arrives.
    Payload {
        from: usize,
        to: usize,
        call: usize,
        at: usize,
        slots: usize,
    },
    Taken {
        to: usize,
        half: usize,
    },
}

/// The faults that the model must find.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    None,
    NobodyWaits,
    OtherTreesCount,
}

struct Model {
    /// The calls of all: broadcasts of a root and a size, or synchronisations.
    calls: Vec<Option<(u32, usize)>>,
    leaders: Vec<Leader>,
    letters: Vec<Letter>,
    radix: u32,
    fault: Fault,
    random: u64,
    /// Rooms that were used again.
    again: usize,
}

impl Model {
    fn new(size: usize, radix: u32, seed: u64, fault: Fault) -> Self {
        let leader = |_| Leader {
            lent: Lent::default(),
            runs: 0,
            call: 0,
            pc: None,
            room: None,
            slots: vec![0; SLOTS],
            stamps: vec![0; SLOTS],
            taken: [0; 2],
            owed: [0; 2],
        };
        let leaders = (0..size).map(leader).collect();
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut model = Self { calls: Vec::new(), leaders, letters: Vec::new(), radix, fault, random, again: 0 };
        let usual = model.pick(size) as u32;
        for _ in 0..40 {
            let root = if model.pick(12) == 0 { model.pick(size) as u32 } else { usual };
            let bytes = [HALF / 3, HALF / 2, HALF / 5, HALF][model.pick(4)];
            let call = (model.pick(15) > 0).then_some((root, bytes));
            model.calls.push(call);
        }
        model
    }

    fn pick(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % below
    }

    fn deliver(&mut self, letter: &Letter) -> Result<(), String> {
        match *letter {
            Letter::Taken { to, half } => self.leaders[to].taken[half] += 1,
            Letter::Payload { from, to, call, at, slots } => {
                let range = at / CAST..at / CAST + slots;
                if self.leaders[from].slots[range.clone()].iter().any(|&there| there != call + 1) {
                    return Err(format!("{from} has written over call {call} before {to} had it"));
                }
                let target = &mut self.leaders[to];
                // A payload of a call that the target has left has been taken.
                if target.slots[range.clone()].iter().any(|&there| there > target.call) {
                    return Err(format!("{to} has not taken what call {call} overwrites"));
                }
                target.slots[range.clone()].fill(call + 1);
                target.stamps[range.start] = call + 1;
            }
        }
        Ok(())
    }

    /// Lets a leader go one step, if it can.
    fn step(&mut self, rank: usize) -> bool {
        let (size, leader) = (self.leaders.len() as u32, &mut self.leaders[rank]);
        let Some(&call) = self.calls.get(leader.call) else { return false };
        let number = leader.call;
        let Some((root, bytes)) = call.filter(|_| leader.room.is_some() || leader.pc.is_none()) else {
            return self.synchronise(rank);
        };
        let (tree, plan) = (Tree { radix: self.radix }, Plan { root, root_apart: true, ..Plan::new(size, 1) });
        let Some(room) = leader.room else {
            let shown = if self.fault == Fault::OtherTreesCount { 0 } else { root };
            leader.room = leader.lent.cast(leader.runs, bytes, CastTree { root: shown, radix: self.radix });
            // Without a room the call is a synchronisation.
            leader.pc = leader.room.is_none().then_some(0);
            return true;
        };
        let slots = bytes.div_ceil(CAST);
        let Some(pc) = leader.pc else {
            if let Some(half) = room.again {
                if leader.taken[half] < leader.owed[half] && self.fault != Fault::NobodyWaits {
                    return false;
                }
                self.again += 1;
            }
            if root as usize == rank {
                leader.slots[room.at / CAST..][..slots].fill(number + 1);
            }
            if let Some(half) = room.left {
                leader.owed[half] += u64::from(tree.children(&plan, rank as u32));
                let told = tree.parent(&plan, rank as u32).map(|to| Letter::Taken { to: to as usize, half });
                self.letters.extend(told);
            }
            leader.pc = Some(0);
            return true;
        };
        match tree.step(&plan, &Caller::new(rank as u32), pc) {
            Step::Put { to, .. } => {
                self.letters.push(Letter::Payload { from: rank, to: to as usize, call: number, at: room.at, slots });
            }
            Step::Wait { .. } if leader.stamps[room.at / CAST] != number + 1 => return false,
            Step::Done => {
                (leader.call, leader.pc, leader.room) = (number + 1, None, None);
                return true;
            }
            _ => {}
        }
        leader.pc = Some(pc + 1);
        true
    }

    /// Enters a synchronisation, and leaves it when all have entered.
    fn synchronise(&mut self, rank: usize) -> bool {
        let number = self.leaders[rank].call;
        let entered = self.leaders[rank].pc == Some(1);
        self.leaders[rank].pc = Some(1);
        let all =
            self.leaders.iter().all(|leader| leader.call > number || leader.call == number && leader.pc == Some(1));
        if all {
            let leader = &mut self.leaders[rank];
            (leader.call, leader.pc, leader.runs) = (number + 1, None, leader.runs + 1);
        }
        all || !entered
    }

    /// Runs to the end, in a random order. Returns how often rooms were used again.
    fn run(mut self) -> Result<usize, String> {
        let mut idle = 0;
        while self.leaders.iter().any(|leader| leader.call < self.calls.len()) {
            if !self.letters.is_empty() && self.pick(3) == 0 {
                let one = self.pick(self.letters.len());
                let letter = self.letters.swap_remove(one);
                self.deliver(&letter)?;
                idle = 0;
            }
            let rank = self.pick(self.leaders.len());
            // One leader is far slower than the others, so that roots get ahead of it.
            if rank == self.calls.len() % self.leaders.len() && self.pick(30) > 0 {
                continue;
            }
            idle = if self.step(rank) { 0 } else { idle + 1 };
            if idle > 10_000 && self.letters.is_empty() {
                return Err("nobody can go on".into());
            }
        }
        Ok(self.again)
    }
}

fn histories(fault: Fault) -> impl Iterator<Item = Result<usize, String>> {
    (0..300).map(move |seed| {
        let (size, radix) = (2 + seed as usize % 9, [2, 3, 4, 8][seed as usize / 9 % 4]);
        Model::new(size, radix, seed, fault).run()
    })
}

#[test]
fn nobody_writes_a_room_that_somebody_still_needs() {
    let again: usize = histories(Fault::None).map(|outcome| outcome.unwrap()).sum();
    assert!(again > 1000, "{again}");
}

#[test]
fn rooms_without_agreement_are_found() {
    for fault in [Fault::NobodyWaits, Fault::OtherTreesCount] {
        let found = histories(fault).filter(Result::is_err).count();
        assert!(found > 0, "{fault:?}");
    }
}
