//! How the members of a team lie on the caches and memories of their node.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// A partition of the members' places into groups that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Where each group begins, and the end.
    starts: Box<[u32]>,
    /// The group of each place.
    group: Box<[u32]>,
}

impl Level {
    fn of(starts: Vec<u32>) -> Self {
        let group = (0..).zip(starts.windows(2)).flat_map(|(group, ends)| (ends[0]..ends[1]).map(move |_| group));
        Self { group: group.collect(), starts: starts.into() }
    }

    /// The group of a place.
    pub fn group(&self, place: u32) -> u32 {
        self.group[place as usize]
    }

    /// Where a group begins; of the number of groups, the end.
    pub fn start(&self, group: u32) -> u32 {
        self.starts[group as usize]
    }

    /// How many groups there are.
    pub fn groups(&self) -> u32 {
        self.starts.len() as u32 - 1
    }
}

/// Groups of members, each in team order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberGroups {
    members: Box<[u32]>,
    starts: Box<[u32]>,
    group: Box<[u32]>,
}

impl MemberGroups {
    /// The groups of members with equal numbers, in the order of their first members.
    fn equal(of: &[u32]) -> Self {
        let mut met: Vec<u32> = Vec::new();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for (member, number) in (0..).zip(of) {
            match met.iter().position(|known| known == number) {
                Some(group) => groups[group].push(member),
                None => {
                    met.push(*number);
                    groups.push(vec![member]);
                }
            }
        }
        Self::from(groups)
    }

    /// The longest runs of consecutive members with equal numbers.
    fn runs(of: &[u32]) -> Self {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for (member, number) in of.iter().enumerate() {
            match groups.last_mut() {
                Some(run) if of[member - 1] == *number => run.push(member as u32),
                _ => groups.push(vec![member as u32]),
            }
        }
        Self::from(groups)
    }

    fn from(groups: Vec<Vec<u32>>) -> Self {
        let mut group = vec![0; groups.iter().map(Vec::len).sum()];
        for (number, members) in (0..).zip(&groups) {
            members.iter().for_each(|&member| group[member as usize] = number);
        }
        let ends = groups.iter().scan(0, |end, members| {
            *end += members.len() as u32;
            Some(*end)
        });
        let starts = core::iter::once(0).chain(ends).collect();
        Self { members: groups.concat().into(), starts, group: group.into() }
    }

    /// How many groups there are.
    pub fn len(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Whether there is none, which is never so.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The group of a member.
    pub fn of(&self, member: u32) -> u32 {
        self.group[member as usize]
    }

    /// The members of a group.
    pub fn members(&self, group: u32) -> &[u32] {
        &self.members[self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize]
    }
}

/// A team on a node: nested groups of members, from those that share a cache to the whole team.
///
/// Members stand in *places*, ordered so that the members of every group follow each other. The last level is one group
/// of all. The first member of a group leads it, or the root of a call where the root is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    order: Box<[u32]>,
    place: Box<[u32]>,
    levels: Box<[Level]>,
    near: MemberGroups,
    runs: MemberGroups,
}

impl Shape {
    /// A team of which nothing is known, or whose members are all equally close: one level.
    pub fn flat(size: u32) -> Self {
        Self::nested(size, &[], u32::MAX)
    }

    /// A team of `size` members. Each of `domains`, from the smallest (a cache) to the widest (a socket), has the number
    /// of every member's domain; numbers mean nothing but equality. No group has more than `width` subgroups: where
    /// a domain has more, levels come between.
    ///
    /// Long arrays travel between the groups of the narrowest domain but the first, if there are several domains: the
    /// NUMA nodes in a machine of caches, NUMA nodes and sockets.
    pub fn nested(size: u32, domains: &[&[u32]], width: u32) -> Self {
        assert!(size > 0 && width > 1 && domains.iter().all(|domain| domain.len() == size as usize));
        // A domain counts only inside the wider ones, so that groups nest whatever the numbers are.
        let firsts: Vec<Vec<u32>> = domains.iter().rev().map(|domain| firsts(domain)).collect();
        let key = |member: u32| -> Vec<u32> { firsts.iter().map(|first| first[member as usize]).collect() };
        let mut order: Vec<u32> = (0..size).collect();
        let keys: Vec<Vec<u32>> = (0..size).map(key).collect();
        order.sort_by_key(|&member| (&keys[member as usize], member));
        let mut place = vec![0; size as usize];
        (0..).zip(&order).for_each(|(at, &member)| place[member as usize] = at);

        let mut levels: Vec<Level> = Vec::new();
        let mut below: Vec<u32> = (0..=size).collect();
        let depths = (0..domains.len()).map(|inner| domains.len() - inner).chain([0]);
        for depth in depths {
            let same =
                |a: u32, b: u32| keys[order[a as usize] as usize][..depth] == keys[order[b as usize] as usize][..depth];
            let mut starts: Vec<u32> = (0..size).filter(|&at| at == 0 || !same(at - 1, at)).collect();
            starts.push(size);
            while let Some(between) = split(&below, &starts, width) {
                levels.push(Level::of(between.clone()));
                below = between;
            }
            if starts.len() < below.len() || (depth == 0 && levels.is_empty()) {
                levels.push(Level::of(starts.clone()));
                below = starts;
            }
        }
        let numbers = match domains {
            [] => vec![0; size as usize],
            [one] => one.to_vec(),
            [_, second, ..] => second.to_vec(),
        };
        let (near, runs) = (MemberGroups::equal(&numbers), MemberGroups::runs(&numbers));
        Self { order: order.into(), place: place.into(), levels: levels.into(), near, runs }
    }

    /// Members of the team.
    pub fn size(&self) -> u32 {
        self.order.len() as u32
    }

    /// The member at a place.
    pub fn member(&self, place: u32) -> u32 {
        self.order[place as usize]
    }

    /// The place of a member.
    pub fn place(&self, member: u32) -> u32 {
        self.place[member as usize]
    }

    /// How many levels there are, at least 1.
    pub fn depth(&self) -> u32 {
        self.levels.len() as u32
    }

    /// The most places that one subgroup of the whole team has.
    pub(super) fn widest(&self) -> u32 {
        match self.levels.len().checked_sub(2) {
            None => 1,
            Some(inner) => self.levels[inner].starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(1),
        }
    }

    /// A level; 0 is the innermost.
    pub fn level(&self, level: u32) -> &Level {
        &self.levels[level as usize]
    }

    /// The groups between which long arrays travel: members that are near each other, or runs of such members in team
    /// order.
    pub fn groups(&self, in_order: bool) -> &MemberGroups {
        if in_order { &self.runs } else { &self.near }
    }

    /// The first level at which the member at `place` does not lead its group, where `root` leads the groups it is in;
    /// the depth if it leads everywhere.
    pub(super) fn led_until(&self, place: u32, root: u32) -> u32 {
        let leads = |level: &Level| {
            let group = level.group(place);
            place == if level.group(root) == group { root } else { level.start(group) }
        };
        self.levels.iter().position(|level| !leads(level)).unwrap_or(self.levels.len()) as u32
    }

    /// The subgroups of the group of `place` at `level`: the first one, and how many.
    fn subgroups(&self, level: u32, place: u32) -> (u32, u32) {
        let outer = self.level(level);
        let group = outer.group(place);
        let (start, end) = (outer.start(group), outer.start(group + 1));
        match level.checked_sub(1) {
            None => (start, end - start),
            Some(inner) => {
                let inner = self.level(inner);
                (inner.group(start), inner.group(end - 1) - inner.group(start) + 1)
            }
        }
    }

    /// How many other subgroups the group of `place` at `level` has beside that of `place`.
    pub(super) fn others(&self, level: u32, place: u32) -> u32 {
        self.subgroups(level, place).1 - 1
    }

    /// The place that leads the `index`-th of these subgroups, and how many places it leads.
    pub(super) fn other(&self, level: u32, place: u32, index: u32) -> (u32, u32) {
        let (first, _) = self.subgroups(level, place);
        let past = |own: u32| first + index + u32::from(first + index >= own);
        match level.checked_sub(1) {
            None => (past(place), 1),
            Some(inner) => {
                let inner = self.level(inner);
                let group = past(inner.group(place));
                (inner.start(group), inner.start(group + 1) - inner.start(group))
            }
        }
    }

    /// How many places the subgroup of `place` in its group at `level` has.
    pub(super) fn width(&self, level: u32, place: u32) -> u32 {
        match level.checked_sub(1) {
            None => 1,
            Some(inner) => {
                let inner = self.level(inner);
                inner.start(inner.group(place) + 1) - inner.start(inner.group(place))
            }
        }
    }
}

/// For each member the first one with the same number.
fn firsts(domain: &[u32]) -> Vec<u32> {
    let mut met: Vec<(u32, u32)> = Vec::new();
    let first = |(member, &number): (u32, &u32)| match met.iter().find(|(known, _)| *known == number) {
        Some((_, first)) => *first,
        None => {
            met.push((number, member));
            member
        }
    };
    (0..).zip(domain).map(first).collect()
}

/// Groups between the subgroups `below` and the groups `starts`, at most `width` subgroups each and as even as can be;
/// `None` where no group has more than `width` subgroups.
fn split(below: &[u32], starts: &[u32], width: u32) -> Option<Vec<u32>> {
    let mut between = Vec::new();
    let mut needed = false;
    for ends in starts.windows(2) {
        let inner: Vec<u32> = below.iter().copied().filter(|at| (ends[0]..ends[1]).contains(at)).collect();
        let parts = if inner.len() as u32 > width { inner.len().div_ceil(width as usize) } else { inner.len() };
        // A group with few subgroups keeps them apart if its neighbours have to be split.
        needed |= parts < inner.len();
        between.extend((0..parts).map(|part| inner[part * inner.len() / parts]));
    }
    between.push(starts[starts.len() - 1]);
    needed.then_some(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(shape: &Shape) -> Vec<Vec<u32>> {
        (0..shape.depth()).map(|level| shape.level(level).starts.to_vec()).collect()
    }

    #[test]
    fn a_flat_team_is_one_group() {
        for size in 1..20 {
            let shape = Shape::flat(size);
            assert_eq!(starts(&shape), [[0, size]]);
            assert_eq!(shape.others(0, 0), size - 1);
            assert_eq!(shape.groups(true).len(), 1);
        }
    }

    #[test]
    fn members_of_a_domain_stand_together_whatever_their_numbers() {
        // Members go round and round over two sockets of two caches each.
        let (caches, sockets) = ([7, 9, 8, 5, 7, 9, 8], [1, 0, 1, 0, 1, 0, 1]);
        let shape = Shape::nested(7, &[&caches, &sockets], 8);
        let order: Vec<u32> = (0..7).map(|place| shape.member(place)).collect();
        assert_eq!(order, [0, 4, 2, 6, 1, 5, 3]);
        assert_eq!(starts(&shape), [vec![0, 2, 4, 6, 7], vec![0, 4, 7], vec![0, 7]]);
        assert!((0..7).all(|member| shape.member(shape.place(member)) == member));
        assert_eq!(shape.groups(false).members(1), [1, 3, 5]);
        assert_eq!(shape.groups(true).len(), 7);
        // Place 4 leads a cache and a socket.
        assert_eq!([0, 1, 2, 4].map(|place| shape.led_until(place, 0)), [3, 0, 1, 2]);
        assert_eq!([0, 4, 5].map(|place| shape.led_until(place, 5)), [2, 0, 3]);
        assert_eq!((shape.other(2, 0, 0), shape.width(2, 0)), ((4, 3), 4));
    }

    #[test]
    fn wide_groups_are_split_evenly() {
        let shape = Shape::nested(20, &[], 8);
        assert_eq!(starts(&shape), [vec![0, 6, 13, 20], vec![0, 20]]);
        let shape = Shape::nested(65, &[], 4);
        assert!(shape.depth() == 4 && (0..4).all(|level| (0..65).all(|place| shape.others(level, place) < 4)));
    }

    #[test]
    fn levels_that_separate_nobody_are_left_out() {
        let (apart, together) = ([0, 1, 2], [4, 4, 4]);
        assert_eq!(starts(&Shape::nested(3, &[&apart, &together], 8)), [[0, 3]]);
        assert_eq!(starts(&Shape::nested(1, &[&[3]], 8)), [[0, 1]]);
    }
}
