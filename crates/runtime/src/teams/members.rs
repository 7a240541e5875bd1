//! The members of a team, as world numbers.

use oxshmem_schedule::strided_team::Triplet;

use crate::network;
#[cfg(not(loom))]
use crate::start::job;
use crate::teams::span::Span;
use oxshmem_flight::waits::Named;

/// The members of a team, by world number. Triplets are closed under strided and 2D splits; lists are for colour
/// splits and for nodes whose PEs are not evenly spaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Members {
    /// Member i is `start + i * stride`.
    Triplet { start: u32, stride: i32 },
    /// Member i is element i.
    List(Box<[u32]>),
}

impl Members {
    /// The PEs of a list, as a triplet if they are evenly spaced.
    pub(crate) fn of(list: Box<[u32]>) -> Self {
        let stride = if list.len() < 2 { 1 } else { i64::from(list[1]) - i64::from(list[0]) };
        let even = list.windows(2).all(|pair| i64::from(pair[1]) - i64::from(pair[0]) == stride);
        if even && stride != 0 { Self::Triplet { start: list[0], stride: stride as i32 } } else { Self::List(list) }
    }

    /// The world number of member `member`.
    #[inline(always)]
    pub(crate) fn world(&self, member: u32) -> u32 {
        match self {
            Self::Triplet { start, stride } => start.wrapping_add(member.wrapping_mul(*stride as u32)),
            Self::List(list) => list[member as usize],
        }
    }

    /// As a record names them.
    pub(crate) fn named(&self) -> Named {
        let list = match self {
            Self::Triplet { start, stride } => return Named::Triplet { start: *start, stride: *stride },
            Self::List(list) => list,
        };
        let mut set = [0; 4];
        for &pe in list {
            match set.get_mut(pe as usize / 64) {
                Some(word) => *word |= 1 << (pe % 64),
                None => return Named::Unknown,
            }
        }
        Named::Set(set)
    }

    /// How `size` members lie on the nodes, if not all are on the caller's.
    #[cfg(not(loom))]
    pub(crate) fn span(&self, size: u32) -> Option<Box<Span>> {
        if !network::is_open() {
            return None;
        }
        Span::of(size, job::my_node(), |member| job::node_of(self.world(member))).map(Box::new)
    }

    /// The models have one node.
    #[cfg(loom)]
    pub(crate) fn span(&self, _size: u32) -> Option<Box<Span>> {
        None
    }

    /// The number that world number `pe` has among `size` members.
    pub(crate) fn find(&self, size: u32, pe: u32) -> Option<u32> {
        match self {
            Self::Triplet { start, stride } => {
                Triplet { start: (*start).into(), stride: (*stride).into(), size }.number(pe.into())
            }
            Self::List(list) => list.iter().position(|&world| world == pe).map(|i| i as u32),
        }
    }

    /// The same members by rising world number.
    pub(crate) fn in_world_order(self, size: u32) -> Self {
        match self {
            Self::Triplet { start, stride } => {
                let ordered = Triplet { start: start.into(), stride: stride.into(), size }.in_world_order();
                Self::Triplet { start: ordered.start as u32, stride: ordered.stride as i32 }
            }
            Self::List(mut list) => {
                list.sort_unstable();
                Self::of(list)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(pes: &[u32]) -> Members {
        Members::of(pes.into())
    }

    #[test]
    fn evenly_spaced_lists_become_triplets() {
        assert_eq!(list(&[5]), Members::Triplet { start: 5, stride: 1 });
        assert_eq!(list(&[3, 5, 7]), Members::Triplet { start: 3, stride: 2 });
        assert_eq!(list(&[7, 4, 1]), Members::Triplet { start: 7, stride: -3 });
        assert_eq!(list(&[0, 1, 3]), Members::List([0, 1, 3].into()));
    }

    #[test]
    fn a_member_is_found_under_its_number_and_nobody_else() {
        for pes in [&[4][..], &[3, 5, 7], &[7, 4, 1], &[9, 2, 3, 8], &[6, 0]] {
            let (members, size) = (list(pes), pes.len() as u32);
            for pe in 0..12 {
                let expected = pes.iter().position(|&member| member == pe).map(|number| number as u32);
                assert_eq!(members.find(size, pe), expected, "PE {pe} in {pes:?}");
            }
            let back: Vec<u32> = (0..size).map(|member| members.world(member)).collect();
            assert_eq!(back, pes);
        }
    }

    #[test]
    fn world_order_rises_and_keeps_the_members() {
        for pes in [&[4][..], &[3, 5, 7], &[7, 4, 1], &[9, 2, 3, 8], &[6, 0], &[4, 0, 2]] {
            let size = pes.len() as u32;
            let ordered = list(pes).in_world_order(size);
            let mut expected = pes.to_vec();
            expected.sort_unstable();
            assert_eq!((0..size).map(|member| ordered.world(member)).collect::<Vec<_>>(), expected);
        }
    }
}
