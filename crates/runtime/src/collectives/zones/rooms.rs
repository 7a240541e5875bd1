//! Where broadcasts lie in a zone, and the credits by which their memory becomes free again. `between_nodes::casts` has the
//! argument.

use crate::memory::control::mail::{CAST, HALF};
use oxshmem_base::planted;

/// Where a broadcast goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CastRoom {
    /// Bytes behind the start of the zone's broadcasts.
    pub(crate) at: usize,
    /// Bytes of the room.
    pub(crate) bytes: usize,
    /// The epoch, and whether this broadcast is its first one.
    pub(crate) epoch: u64,
    pub(crate) opens: bool,
}

impl CastRoom {
    /// Whether a node that has freed the halves of so many epochs has a half for this one.
    pub(crate) fn is_free(&self, freed: u64) -> bool {
        freed + 2 > self.epoch
    }
}

/// Which room is next. All members count alike: an epoch fills one half, and the next one begins with the broadcast that does
/// not fit any more.
#[derive(Default)]
pub(super) struct Ring {
    epoch: u64,
    used: usize,
}

impl Ring {
    /// Where a broadcast of so many bytes goes; `None`: it is longer than a half.
    pub(super) fn room(&mut self, bytes: usize) -> Option<CastRoom> {
        let bytes = bytes.next_multiple_of(CAST);
        if bytes > HALF {
            return None;
        }
        let opens = self.used + bytes > HALF;
        if opens {
            (self.epoch, self.used) = (self.epoch + 1, 0);
        }
        let at = (self.epoch & 1) as usize * HALF + self.used;
        self.used += bytes;
        Some(CastRoom { at, bytes, epoch: self.epoch, opens })
    }
}

/// Numbers of epochs that a leader tells another one, or has told it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Tidings {
    pub(crate) received: u64,
    pub(crate) freed: u64,
}

/// A leader's account of its two halves. Both numbers are numbers of epochs.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Credits {
    /// The node has taken all broadcasts of so many epochs.
    left: u64,
    /// The halves of so many epochs may be written again.
    freed: u64,
    halves: [HalfUse; 2],
    /// The sums of the tidings that each node has been sent.
    told: Vec<Tidings>,
}

/// The leaders with which broadcasts of a half were exchanged.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct HalfUse {
    parents: Vec<u32>,
    children: Vec<u32>,
}

impl Credits {
    /// The halves of so many epochs are free.
    pub(crate) fn freed(&self) -> u64 {
        self.freed
    }

    /// Whether the node has left an epoch.
    pub(crate) fn has_left(&self) -> bool {
        self.left > 0
    }

    /// The leader expects the broadcast from `parent`.
    pub(crate) fn expect_from(&mut self, room: CastRoom, parent: u32) {
        note(&mut self.halves[room.epoch as usize & 1].parents, parent);
    }

    /// The leader sends the broadcast on to `child`.
    pub(crate) fn send_to(&mut self, room: CastRoom, child: u32) {
        note(&mut self.halves[room.epoch as usize & 1].children, child);
    }

    /// All members of the node have counted in at the first broadcast of an epoch, so they have taken those before it. The parents
    /// of the epoch that has been left are to be told.
    pub(crate) fn leave(&mut self, opened: u64) -> Vec<u32> {
        debug_assert_eq!(self.left + 1, opened, "epochs are left one after the other");
        self.left = opened;
        self.halves[(opened - 1) as usize & 1].parents.clone()
    }

    /// Frees the half that has been left if all children have received what they were sent from it; `received` says how many epochs
    /// of puts a child has received. The parents of that epoch are to be told.
    pub(crate) fn free(&mut self, received: impl Fn(u32) -> u64) -> Vec<u32> {
        if self.freed == self.left {
            return Vec::new();
        }
        let half = &mut self.halves[self.freed as usize & 1];
        let has_received = |&child: &u32| received(child) > self.freed;
        if !half.children.iter().all(has_received) && planted!("freed-before-children", true, false) {
            return Vec::new();
        }
        self.freed += 1;
        half.children.clear();
        std::mem::take(&mut half.parents)
    }

    /// Whether `parent` may not know yet that it can write to the half.
    pub(crate) fn must_tell(&self, room: CastRoom, parent: u32) -> bool {
        !room.is_free(self.told.get(parent as usize).map_or(0, |told| told.freed))
    }

    /// The tidings for `node`, which counts as told from now on. A half that is free has been received.
    pub(crate) fn tell(&mut self, node: u32) -> Tidings {
        if self.told.len() <= node as usize {
            self.told.resize(node as usize + 1, Tidings::default());
        }
        let told = &mut self.told[node as usize];
        let freed = self.freed - told.freed;
        told.freed = self.freed;
        let received = if self.left > told.received.max(told.freed) { self.left - told.received } else { 0 };
        told.received += received;
        Tidings { received, freed }
    }
}

fn note(nodes: &mut Vec<u32>, node: u32) {
    if !nodes.contains(&node) {
        nodes.push(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasts_lie_apart_in_each_half() {
        let mut ring = Ring::default();
        for epoch in 0..5 {
            let first = ring.room(3000).unwrap();
            let mut end = first.at + 3000;
            assert_eq!((first.at, first.epoch, first.opens), ((epoch & 1) as usize * HALF, epoch, epoch > 0));
            for _ in 1..HALF / 3072 {
                let room = ring.room(3000).unwrap();
                assert!(room.at >= end && (room.epoch, room.opens) == (epoch, false), "{room:?}");
                end = room.at + 3000;
            }
            assert!(end <= (epoch as usize & 1) * HALF + HALF);
        }
        assert_eq!((ring.room(HALF + 1), ring.room(HALF).map(|room| room.at)), (None, Some(HALF)));
    }

    #[test]
    fn a_half_is_free_when_the_children_have_received_it() {
        let mut credits = Credits::default();
        let room = |epoch| CastRoom { at: 0, bytes: HALF, epoch, opens: epoch > 0 };
        credits.expect_from(room(0), 7);
        credits.send_to(room(0), 3);
        credits.send_to(room(0), 3);
        assert_eq!(credits.free(|_| 9), [], "the node has not taken it");
        assert_eq!(credits.leave(1), [7]);
        assert_eq!(credits.tell(7), Tidings { received: 1, freed: 0 });
        assert_eq!(credits.free(|_| 0), []);
        assert_eq!((credits.free(|child| u64::from(child == 3)), credits.freed()), (vec![7], 1));
        assert_eq!(credits.tell(7), Tidings { received: 0, freed: 1 });
        assert_eq!(credits.tell(7), Tidings::default());
    }

    #[test]
    fn a_parent_without_a_credit_is_told_when_it_is_the_parent() {
        let mut credits = Credits::default();
        let room = |epoch| CastRoom { at: 0, bytes: HALF, epoch, opens: epoch > 0 };
        credits.leave(1);
        credits.free(|_| 0);
        assert!(!credits.must_tell(room(1), 5));
        assert!(credits.must_tell(room(2), 5));
        // One word says both.
        assert_eq!(credits.tell(5), Tidings { received: 0, freed: 1 });
        assert!(!credits.must_tell(room(2), 5));
        assert!(credits.must_tell(room(3), 5));
    }
}
