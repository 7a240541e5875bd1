//! The key by which the meeting of one set differs from those of others.

use oxshmem_schedule::strided_team::Triplet;

use crate::teams::members::Members;

/// The members, and what tells apart their meetings.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) start: u32,
    /// Of members that have no stride, a hash of their numbers.
    pub(crate) stride: u32,
    pub(crate) size: u32,
    /// Where the pSync array is in symmetric memory, the same on all members; or the part of a team.
    pub(crate) array: u64,
}

impl Key {
    /// Of the part `part` of the team `parent`, whose PEs are `members`. They belong to the key because the parent's number
    /// passes to other teams.
    pub(super) fn of_part(parent: u64, part: &Triplet, members: &Members) -> Self {
        /// Marks a key that has no array: no offset is so great.
        const PART_OF_TEAM: u64 = 1 << 62;
        let stride = match members {
            Members::Triplet { stride, .. } => *stride as u32,
            Members::List(list) => list.iter().fold(0, |mixed: u32, pe| mixed.wrapping_mul(0x9E37_79B1) ^ pe),
        };
        let within = (part.start as u64) << 16 | parent;
        Self { start: members.world(0), stride, size: part.size, array: PART_OF_TEAM | within }
    }

    /// A name of the pair's meeting number `time` that no other meeting is likely to have; never zero.
    pub(super) fn name(&self, time: u64) -> u64 {
        let mix = |x: u64| (x ^ x >> 31).wrapping_mul(0x94D0_49BB_1331_11EB).rotate_left(29);
        mix(mix(mix(mix(self.array) ^ self.triplet()) ^ u64::from(self.size)) ^ time) | 1
    }

    /// The window of the PE that keeps the pair's place, on a node of `pes` PEs which keep `count` places each. Mostly it is a member, and
    /// not always the first one: all sets of a tree begin with its root, may meet at once, and can be more than a PE of a large node has
    /// places. Each PE of the node may wait in a set of its own for one PE that is in all of these sets, while half of the places wait for
    /// members that are yet to take a posted broadcast. Where the members of a set keep too few places for that, because it is small, any PE
    /// of the node may be the keeper.
    pub(super) fn keeper(&self, pes: u32, count: u32, window_of_member: impl Fn(u32) -> u32) -> u32 {
        let number = (self.name(0) >> 32) as u32;
        let has_few = u64::from(self.size) * u64::from(count) < 4 * u64::from(pes);
        if has_few { number % pes } else { window_of_member(number % self.size) }
    }

    pub(super) fn triplet(&self) -> u64 {
        u64::from(self.start) << 32 | u64::from(self.stride)
    }
}
