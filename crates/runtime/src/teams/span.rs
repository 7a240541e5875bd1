//! How a team lies on the nodes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The members of a team by node. The first node is that of member 0, and so on in the order of the nodes' first
/// members, which lead them. Members of a node keep their order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Unless the members are in this order anyway.
    order: Option<Order>,
    /// Where each node begins in that order, and the end.
    starts: Box<[u32]>,
    /// The caller's node.
    node: u32,
    /// Members on the node that has fewest, and on the one that has most.
    fewest: u32,
    most: u32,
}

/// The members node by node, and each one's place in that order.
#[derive(Debug, PartialEq, Eq)]
struct Order {
    members: Box<[u32]>,
    places: Box<[u32]>,
}

impl Order {
    fn of(members: Vec<u32>) -> Option<Self> {
        if members.is_sorted() {
            return None;
        }
        let mut places = vec![0; members.len()];
        members.iter().zip(0..).for_each(|(&member, place)| places[member as usize] = place);
        Some(Self { members: members.into(), places: places.into() })
    }
}

impl Span {
    /// Of `size` members, of which member i is on node `node_of(i)`, the caller on `my_node`; `None` if all are on one.
    pub(crate) fn of(size: u32, my_node: u32, node_of: impl Fn(u32) -> u32) -> Option<Self> {
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut last = None;
        for member in 0..size {
            let node = node_of(member);
            // Most members are where the one before is.
            let place = match last {
                Some((before, place)) if before == node => place,
                _ => match places.entry(node) {
                    Entry::Occupied(met) => *met.get(),
                    Entry::Vacant(new) => {
                        members.push(Vec::new());
                        *new.insert(members.len() - 1)
                    }
                },
            };
            members[place].push(member);
            last = Some((node, place));
        }
        if members.len() < 2 {
            return None;
        }
        let counts = || members.iter().map(|node| node.len() as u32);
        let (fewest, most) = (counts().min().unwrap_or_default(), counts().max().unwrap_or_default());
        let ends = members.iter().scan(0, |end, node| {
            *end += node.len() as u32;
            Some(*end)
        });
        let starts = std::iter::once(0).chain(ends).collect();
        let node = places.get(&my_node).copied().unwrap_or_default() as u32;
        Some(Self { order: Order::of(members.concat()), starts, node, fewest, most })
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    pub(crate) fn node(&self) -> u32 {
        self.node
    }

    pub(crate) fn node_of(&self, member: u32) -> u32 {
        let place = self.place(member);
        self.starts.partition_point(|&start| start <= place) as u32 - 1
    }

    /// Where a member stands if all stand node by node.
    pub(crate) fn place(&self, member: u32) -> u32 {
        self.order.as_ref().map_or(member, |order| order.places[member as usize])
    }

    /// Where a node's members begin if all stand node by node; of the number of nodes, the end.
    pub(crate) fn start(&self, node: u32) -> u32 {
        self.starts[node as usize]
    }

    /// The member that leads a node.
    pub(crate) fn leader(&self, node: u32) -> u32 {
        self.member(self.starts[node as usize])
    }

    /// The members on a node, in team order.
    pub(crate) fn on(&self, node: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        (self.starts[node as usize]..self.starts[node as usize + 1]).map(|place| self.member(place))
    }

    /// How many members a node has.
    pub(crate) fn count(&self, node: u32) -> u32 {
        self.starts[node as usize + 1] - self.starts[node as usize]
    }

    /// How many of a node's members have numbers below `member`.
    pub(crate) fn before(&self, node: u32, member: u32) -> u32 {
        let places = self.start(node)..self.start(node + 1);
        match &self.order {
            Some(order) => {
                let members = &order.members[places.start as usize..places.end as usize];
                members.partition_point(|&other| other < member) as u32
            }
            None => member.clamp(places.start, places.end) - places.start,
        }
    }

    /// How many members the node with fewest has.
    pub(crate) fn fewest(&self) -> u32 {
        self.fewest
    }

    /// How many members the node with most has.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// The members on the caller's node.
    pub(crate) fn here(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        self.on(self.node)
    }

    /// The leader of the caller's node.
    pub(crate) fn my_leader(&self) -> u32 {
        self.leader(self.node)
    }

    /// Whether the nodes' members follow each other in the team, so that what is kept in team order is whole for a node.
    pub(crate) fn in_order(&self) -> bool {
        self.order.is_none()
    }

    fn member(&self, place: u32) -> u32 {
        self.order.as_ref().map_or(place, |order| order.members[place as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(nodes: &[u32], my_node: u32) -> Option<Span> {
        Span::of(nodes.len() as u32, my_node, |member| nodes[member as usize])
    }

    #[test]
    fn a_team_on_one_node_spans_none() {
        assert_eq!(span(&[4, 4, 4], 4), None);
    }

    #[test]
    fn every_member_is_on_its_node_and_the_first_one_leads() {
        for nodes in [&[0, 1][..], &[1, 1, 0], &[2, 0, 2, 0, 1], &[0, 0, 0, 1], &[5, 3, 3, 3, 5, 4]] {
            for my_node in nodes {
                let span = span(nodes, *my_node).expect("several nodes");
                let mut seen: Vec<u32> = Vec::new();
                for node in 0..span.nodes() {
                    let members: Vec<u32> = span.on(node).collect();
                    assert_eq!(members.len() as u32, span.count(node));
                    assert_eq!(members.iter().min(), Some(&span.leader(node)));
                    assert!(members.is_sorted());
                    for limit in 0..=nodes.len() as u32 {
                        let below = members.iter().filter(|&&member| member < limit).count();
                        assert_eq!(span.before(node, limit) as usize, below);
                    }
                    let places: Vec<u32> = members.iter().map(|&member| span.place(member)).collect();
                    assert_eq!(places, (span.start(node)..span.start(node + 1)).collect::<Vec<_>>());
                    let place = nodes[members[0] as usize];
                    assert!(members.iter().all(|&m| nodes[m as usize] == place && span.node_of(m) == node));
                    seen.extend(members);
                }
                assert_eq!(nodes[span.my_leader() as usize], *my_node);
                assert!(span.here().all(|member| nodes[member as usize] == *my_node));
                assert_eq!(span.in_order(), seen.is_sorted());
                seen.sort_unstable();
                assert_eq!(seen, (0..nodes.len() as u32).collect::<Vec<_>>());
            }
        }
    }
}
