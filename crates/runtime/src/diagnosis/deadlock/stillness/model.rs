//! Every course that a small job can take under an observer, with the lines that ship; and that a stride which is too short, a
//! reading too few, a state that does not change or a look that is counted too early would be noticed.

use std::collections::HashSet;
use std::hash::Hash;

use super::*;

/// All worlds that can follow from `begin`; `next` lists what may happen in one. Ends at the first that `is_wrong`.
fn finds<W: Clone + Eq + Hash>(begin: W, next: impl Fn(&W) -> Vec<W>, is_wrong: impl Fn(&W) -> bool) -> bool {
    let (mut seen, mut open) = (HashSet::from([begin.clone()]), vec![begin]);
    while let Some(world) = open.pop() {
        if is_wrong(&world) {
            return true;
        }
        open.extend(next(&world).into_iter().filter(|next| seen.insert(next.clone())));
    }
    false
}

/// How careful the observer and the PEs are.
#[derive(Clone, Copy)]
struct Care {
    stride: u64,
    proof: u64,
    /// Looks are counted only if nothing was under way when they began.
    quiet: bool,
    /// The state changes when a wait ends.
    changes: bool,
}

const SOUND: Care = Care { stride: OF_THREADS, proof: PROOF, quiet: true, changes: true };

/// The place of a PE's only thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Moment {
    Running,
    /// In a wait, between two looks.
    Waiting,
    /// About to load the flag, in a look that counts if it is in vain.
    Looking,
    /// It has loaded the flag in vain, and is about to count that.
    Counting,
}

/// A PE that waits for its flag, which the other one may set once by a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Waiter {
    doing: Moment,
    flag: bool,
    may_send: bool,
    under_way: bool,
    shown: Shown,
}

impl Waiter {
    fn may_leave(&self) -> bool {
        self.flag && matches!(self.doing, Moment::Waiting | Moment::Looking)
    }

    fn leave(&mut self, care: Care) {
        (self.doing, self.flag) = (Moment::Running, false);
        self.shown = (self.shown.0 + u64::from(care.changes), 0);
    }
}

/// Two PEs of one node, and the observer, which reads one after the other.
#[derive(Clone, PartialEq, Eq, Hash)]
struct TwoPes {
    pes: [Waiter; 2],
    /// The part of a reading that is done.
    reading: Vec<Option<Shown>>,
    last: Option<Vec<Shown>>,
    confirmed: u64,
}

/// Looks, and changes of the state, that are followed: more than any proof needs.
const MOST: Shown = (2, 6);

impl TwoPes {
    fn next(&self, care: Care) -> Vec<Self> {
        let mut worlds = Vec::new();
        let mut push = |change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            worlds.push(world);
        };
        for me in 0..2 {
            let pe = self.pes[me];
            match pe.doing {
                Moment::Running => {
                    push(&|node| (node.pes[me].doing, node.pes[me].shown) = (Moment::Waiting, (pe.shown.0, 0)));
                    if pe.may_send {
                        push(&|node| (node.pes[me].may_send, node.pes[me].under_way) = (false, true));
                    }
                }
                Moment::Waiting if pe.shown.1 < MOST.1 && !(care.quiet && pe.under_way) => {
                    push(&|node| node.pes[me].doing = Moment::Looking);
                }
                Moment::Waiting => {}
                Moment::Looking if pe.flag => {}
                Moment::Looking => push(&|node| node.pes[me].doing = Moment::Counting),
                Moment::Counting => {
                    push(&|node| (node.pes[me].doing, node.pes[me].shown.1) = (Moment::Waiting, pe.shown.1 + 1));
                }
            }
            if pe.may_leave() && pe.shown.0 < MOST.0 {
                push(&|node| node.pes[me].leave(care));
            }
            if pe.under_way {
                push(&|node| (node.pes[me].under_way, node.pes[1 - me].flag) = (false, true));
            }
        }
        push(&|node| node.observe(care));
        worlds
    }

    fn observe(&mut self, care: Care) {
        let pe = self.pes[self.reading.len()];
        self.reading.push((pe.doing != Moment::Running && pe.shown.1 > 0).then_some(pe.shown));
        if self.reading.len() == 2 {
            let reading = self.reading.drain(..).collect();
            let mut stillness =
                Stillness { stride: care.stride, last: self.last.take(), epoch: 0, confirmed: self.confirmed };
            stillness.add(reading);
            (self.last, self.confirmed) = (stillness.last, stillness.confirmed);
        }
    }

    fn stands_still(&self) -> bool {
        self.pes.iter().all(|pe| pe.doing != Moment::Running && !pe.flag && !pe.under_way)
    }
}

/// Whether the observer can be wrong; or, `rightly`, whether it can say it at all.
fn claims(care: Care, rightly: bool) -> bool {
    let pe = Waiter { doing: Moment::Running, flag: false, may_send: true, under_way: false, shown: (0, 0) };
    let begin = TwoPes { pes: [pe; 2], reading: Vec::new(), last: None, confirmed: 0 };
    let claim = |node: &TwoPes| node.confirmed >= care.proof && node.stands_still() == rightly;
    finds(begin, |node| if node.confirmed < care.proof { node.next(care) } else { Vec::new() }, claim)
}

#[test]
fn fault_D1_an_observer_is_never_wrong() {
    assert!(claims(SOUND, true), "it never says anything");
    assert!(!claims(SOUND, false));
}

#[test]
fn fault_D1_an_observer_that_is_less_careful_can_be_wrong() {
    for (what, care) in [
        ("one look", Care { stride: 1, ..SOUND }),
        ("two readings", Care { proof: 1, ..SOUND }),
        ("looks while something is under way", Care { quiet: false, ..SOUND }),
        ("waits that end unnoticed", Care { changes: false, ..SOUND }),
    ] {
        assert!(claims(care, false), "{what} would be enough");
    }
}

/// A node whose only thread looks, its observer, and a reader in another place.
#[derive(Clone, PartialEq, Eq, Hash)]
struct OneNode {
    looking: bool,
    looks: u64,
    /// A reading that is not yet added.
    read: Option<u64>,
    last: Option<u64>,
    confirmed: u64,
    published: u64,
    /// The reader's first value, and whether a look that is under way, and one that has been counted, began after that.
    first: Option<(u64, bool, bool)>,
}

impl OneNode {
    fn next(&self) -> Vec<Self> {
        let mut worlds = Vec::new();
        let mut push = |change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            worlds.push(world);
        };
        if self.looks < 16 {
            push(&|node| {
                match &mut node.first {
                    Some((_, under_way, complete)) if node.looking => *complete |= *under_way,
                    Some((_, under_way, _)) => *under_way = true,
                    None => {}
                }
                node.looks += u64::from(node.looking);
                node.looking = !node.looking;
            });
        }
        match (self.read, self.published == self.confirmed) {
            (_, false) => push(&|node| node.published = node.confirmed),
            (None, _) => push(&|node| node.read = Some(node.looks)),
            (Some(looks), _) => push(&|node| {
                let last = node.last.map(|looks| vec![(0, looks)]);
                let mut stillness = Stillness { stride: OF_THREADS, last, epoch: 0, confirmed: node.confirmed };
                stillness.add(Some(vec![(0, looks)]));
                (node.read, node.confirmed) = (None, stillness.confirmed);
                node.last = stillness.last.map(|last| last[0].1);
            }),
        }
        if self.first.is_none() {
            push(&|node| node.first = Some((node.published, false, false)));
        }
        worlds
    }
}

#[test]
fn fault_D1_a_node_that_has_grown_by_its_stride_has_looked_since() {
    let begin = OneNode { looking: false, looks: 0, read: None, last: None, confirmed: 0, published: 0, first: None };
    let without_look = |stride| {
        move |node: &OneNode| {
            node.first.is_some_and(|(first, _, complete)| node.published >= first + stride && !complete)
        }
    };
    assert!(!finds(begin.clone(), OneNode::next, without_look(OF_NODES)));
    assert!(finds(begin, OneNode::next, without_look(OF_NODES - 1)), "a shorter stride would do");
}
