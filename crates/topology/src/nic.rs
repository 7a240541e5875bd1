//! Which network card each PE of a node uses.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use oxshmem_base::Error;
use oxshmem_base::knobs::{NicPolicy as Policy, Settings};

use crate::cpulist;
use crate::node::{Nic, Node};
use crate::placement::PePlace;

/// A card by its index, and the PEs of a node that use it.
type CardPes = (u32, Vec<RangeInclusive<u32>>);

/// The user's demands on cards.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Wish {
    /// How they are given.
    pub policy: Policy,
    /// For each card named, by its index, which PEs of the node use it.
    mapping: Vec<CardPes>,
    /// The only cards to use, by index; empty for all.
    only: Vec<u32>,
    /// The most cards to use.
    most: Option<usize>,
}

impl Wish {
    /// The demands in the environment.
    pub fn of(settings: &Settings) -> Result<Wish, Error> {
        Wish::new(settings.nic_policy, settings.nic_mapping.as_deref(), settings.nic_count.as_deref())
    }

    /// Reads the values of `SHMEM_OFI_NIC_MAPPING` (`0:0-7; 1:8-15`) and `SHMEM_OFI_NUM_NICS` (`2` or `2:1,3`).
    pub fn new(policy: Policy, mapping: Option<&str>, number: Option<&str>) -> Result<Wish, Error> {
        let mut wish = Wish { policy, ..Wish::default() };
        if policy == Policy::User {
            let text = mapping.ok_or_else(|| {
                Error::new("SHMEM_OFI_NIC_POLICY=user does not say which PE uses which card")
                    .because("SHMEM_OFI_NIC_MAPPING is not set")
                    .fix("set it to cards and the PEs of a node that use them, for example \"0:0-7; 1:8-15\"")
            })?;
            wish.mapping = mapped(text)?;
        }
        if let Some(text) = number {
            (wish.most, wish.only) = counted(text)?;
        }
        Ok(wish)
    }
}

fn mapped(text: &str) -> Result<Vec<CardPes>, Error> {
    let group = |part: &str| {
        let (card, pes) = part.split_once(':')?;
        let pes = ranges(pes)?;
        Some((card.trim().parse().ok()?, pes))
    };
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    parts.map(group).collect::<Option<_>>().filter(|groups: &Vec<_>| !groups.is_empty()).ok_or_else(|| {
        Error::new(format!("SHMEM_OFI_NIC_MAPPING={text} cannot be read"))
            .because("it wants the index of a card, a colon and PEs of the node, and a semicolon before the next card")
            .fix("write for example \"0:0-7; 1:8-15\"")
    })
}

fn counted(text: &str) -> Result<(Option<usize>, Vec<u32>), Error> {
    let (most, cards) = text.split_once(':').map_or((text, None), |(most, cards)| (most, Some(cards)));
    let read = || {
        let most: usize = most.trim().parse().ok().filter(|&most| most > 0)?;
        let cards = cards.map_or(Some(Vec::new()), numbers)?;
        (cards.is_empty() || cards.len() == most).then_some((Some(most), cards))
    };
    read().ok_or_else(|| {
        Error::new(format!("SHMEM_OFI_NUM_NICS={text} cannot be read"))
            .because("it wants a number of cards, and perhaps a colon and as many indices")
            .fix("write for example 2 or 2:1,3")
    })
}

/// The parts of a list, each a number or a range from a number to one that is not less. A range may name more PEs than any node has.
fn ranges(text: &str) -> Option<Vec<RangeInclusive<u32>>> {
    let number = |part: &str| part.trim().parse::<u32>().ok();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some(first..=last)
    };
    text.split(',').map(range).collect()
}

/// No node has more cards.
const MOST_CARDS: usize = 1 << 16;

/// The numbers of a list of cards, ascending.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = ranges(text)?.into_iter().flatten().take(MOST_CARDS).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// The cards that count, with their places in the node: fabric devices if there are any, else interfaces.
pub fn cards(node: &Node) -> Vec<(u32, &Nic)> {
    let any_fabric = node.nics.iter().any(|nic| nic.fabric);
    let counts = |nic: &&Nic| !any_fabric || nic.fabric;
    node.nics.iter().zip(0..).filter(|(nic, _)| counts(nic)).map(|(nic, place)| (place, nic)).collect()
}

/// Gives each PE its card. Where the node has none nothing is given.
pub fn assign(node: &Node, places: &mut [PePlace], wish: &Wish) -> Result<(), Error> {
    let known = cards(node);
    let available = available(&known, wish)?;
    if available.is_empty() {
        return Ok(());
    }
    let pes = places.len();
    // How many PEs have had the choice among the same cards before.
    let mut turns: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    for (pe, place) in places.iter_mut().enumerate() {
        let card = match wish.policy {
            Policy::Block => available[pe / pes.div_ceil(available.len())],
            Policy::RoundRobin => available[pe % available.len()],
            Policy::User => mapped_card(&known, wish, pe as u32)?,
            Policy::Numa if place.numa.is_none() && available.len() > 1 => return Err(without_numa(pe, &place.cpus)),
            Policy::Near | Policy::Numa => {
                let nearest = nearest(node, &available, place.numa);
                let turn = turns.entry(nearest.clone()).or_default();
                let card = nearest[*turn % nearest.len()];
                *turn += 1;
                card
            }
        };
        place.nic = Some(card);
        place.hops = hops(node, card, place.numa).unwrap_or(0);
    }
    Ok(())
}

/// For each PE all cards that may be given, in the order in which it should use several at once: its own first, then the
/// nearest of those that fewest PEs have before it, so that the PEs of a node fill its cards evenly.
pub fn rails(node: &Node, places: &[PePlace], wish: &Wish) -> Result<Vec<Vec<u32>>, Error> {
    let mut available = available(&cards(node), wish)?;
    available.extend(places.iter().filter_map(|place| place.nic));
    available.sort_unstable();
    available.dedup();
    let mut rails: Vec<Vec<u32>> = places.iter().map(|place| place.nic.into_iter().collect()).collect();
    let mut users = vec![0; node.nics.len()];
    rails.iter().flatten().for_each(|&card| users[card as usize] += 1);
    for _ in 1..available.len() {
        for (place, cards) in places.iter().zip(&mut rails).filter(|(place, _)| place.nic.is_some()) {
            let own = cards[0] as usize;
            let left = available.iter().copied().filter(|card| !cards.contains(card));
            let around = |card: u32| (card as usize + node.nics.len() - own) % node.nics.len();
            let cost = |&card: &u32| {
                (distance(node, card, place.numa).unwrap_or(u16::MAX), users[card as usize], around(card))
            };
            let next = left.min_by_key(cost).expect("fewer have been taken than there are");
            users[next as usize] += 1;
            cards.push(next);
        }
    }
    Ok(rails)
}

/// The places of the cards that may be given: those that are up, unless none is.
fn available(known: &[(u32, &Nic)], wish: &Wish) -> Result<Vec<u32>, Error> {
    if !wish.only.is_empty() {
        return wish.only.iter().map(|&index| card(known, "SHMEM_OFI_NUM_NICS", index)).collect();
    }
    let up: Vec<u32> = known.iter().filter(|(_, nic)| nic.up).map(|(place, _)| *place).collect();
    let mut available = if up.is_empty() { known.iter().map(|(place, _)| *place).collect() } else { up };
    available.truncate(wish.most.unwrap_or(usize::MAX));
    Ok(available)
}

fn card(known: &[(u32, &Nic)], variable: &str, index: u32) -> Result<u32, Error> {
    known.get(index as usize).map(|(place, _)| *place).ok_or_else(|| {
        let names: Vec<String> =
            known.iter().zip(0..).map(|((_, nic), index)| format!("{index} {}", nic.name)).collect();
        Error::new(format!("{variable} names card {index}, which this node does not have"))
            .because(format!("its cards are: {}", names.join(", ")))
            .fix("name cards of that list")
    })
}

fn mapped_card(known: &[(u32, &Nic)], wish: &Wish, pe: u32) -> Result<u32, Error> {
    let group = wish.mapping.iter().find(|(_, pes)| pes.iter().any(|part| part.contains(&pe)));
    let (index, _) = group.ok_or_else(|| {
        Error::new(format!("SHMEM_OFI_NIC_MAPPING gives no card to PE {pe} of the node"))
            .because("with SHMEM_OFI_NIC_POLICY=user every PE of a node must be named")
            .fix(format!("add {pe} to one of the cards"))
    })?;
    card(known, "SHMEM_OFI_NIC_MAPPING", *index)
}

fn without_numa(pe: usize, cpus: &[u32]) -> Error {
    Error::new(format!("SHMEM_OFI_NIC_POLICY=numa cannot choose a card for PE {pe} of the node"))
        .because(format!("it may run on the processors {} of several NUMA nodes", cpulist::written(cpus)))
        .fix("bind PEs to cores or NUMA nodes (oshrun --bind numa, srun --cpu-bind=cores), or use another policy")
}

/// The cards that are nearest to a NUMA node; all where that is not known. A card that the machine does not place counts
/// as far away as the farthest NUMA node.
fn nearest(node: &Node, available: &[u32], numa: Option<u32>) -> Vec<u32> {
    let farthest = numa.and_then(|from| (0..node.memories.len() as u32).map(|to| node.distance(from, to)).max());
    let reach = |card: &u32| distance(node, *card, numa).or(farthest).unwrap_or_default();
    let least = available.iter().map(reach).min();
    available.iter().copied().filter(|card| Some(reach(card)) == least).collect()
}

fn distance(node: &Node, card: u32, numa: Option<u32>) -> Option<u16> {
    let from = numa?;
    node.nics[card as usize].near.iter().map(|&to| node.distance(from, to)).min()
}

fn hops(node: &Node, card: u32, numa: Option<u32>) -> Option<u32> {
    let from = numa?;
    node.nics[card as usize].near.iter().map(|&to| node.hops(from, to)).min()
}

/// The sentence about the PEs (with these numbers) whose card is more than one NUMA node away; once for the node.
pub fn warning(node: &Node, pes: &[u32], places: &[PePlace]) -> Option<String> {
    let far: Vec<(&u32, &PePlace)> = pes.iter().zip(places).filter(|(_, place)| place.hops > 1).collect();
    let &(pe, place) = far.first()?;
    let number = |numa: u32| node.memories[numa as usize].number;
    let card = &node.nics[place.nic? as usize];
    let others = if far.len() > 1 { format!(" (and {} more PEs)", far.len() - 1) } else { String::new() };
    Some(format!(
        "PE {pe} is on NUMA {} and uses {}, {} NUMA nodes away{others}: bind PEs nearer to a card, or choose \
         with SHMEM_OFI_NIC_POLICY",
        number(place.numa?),
        card.describe(node),
        place.hops,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{FoundDevice, FoundMemory, FoundProcessor, LoaderFindings};
    use crate::placement::places;

    /// A NUMA node per processor, and cards at the NUMA nodes named.
    fn node(numas: u32, homes: &[u32]) -> Node {
        let processors = (0..numas).map(|cpu| FoundProcessor { cpu, core: cpu.into(), l3: None, package: 0 });
        let memory = |number| FoundMemory { number, cpus: vec![number], bytes: 0 };
        // A ring: the distance grows with the way around it.
        let way = |a: u32, b: u32| a.abs_diff(b).min(numas - a.abs_diff(b));
        let distances = (0..numas).flat_map(|a| (0..numas).map(move |b| 10 + 10 * way(a, b) as u16)).collect();
        let device = |(&home, index)| FoundDevice {
            name: format!("mlx5_{index}"),
            fabric: true,
            bus: format!("0000:0{index}:00.0"),
            near: vec![home],
            up: Some(true),
        };
        let devices = homes.iter().zip(0..).map(device).collect();
        let memories = (0..numas).map(memory).collect();
        Node::assemble(LoaderFindings { processors: processors.collect(), memories, devices, distances }).unwrap()
    }

    fn assigned(node: &Node, cpus: &[Vec<u32>], wish: &Wish) -> Result<Vec<u32>, String> {
        let mut places = places(node, cpus);
        assign(node, &mut places, wish).map_err(|error| error.to_string())?;
        Ok(places.iter().map(|place| place.nic.unwrap()).collect())
    }

    fn wish(policy: Policy, mapping: Option<&str>, number: Option<&str>) -> Wish {
        Wish::new(policy, mapping, number).unwrap()
    }

    fn anywhere(pes: usize) -> Vec<Vec<u32>> {
        vec![vec![0, 1]; pes]
    }

    #[test]
    fn cray_s_examples_come_out_as_cray_has_them() {
        let node = node(4, &[0, 1, 2, 3]);
        let runs = |cards: &[u32]| [0, 1, 2, 3].map(|card| cards.iter().filter(|c| **c == card).count());
        let block = assigned(&node, &anywhere(22), &wish(Policy::Block, None, None)).unwrap();
        assert!(block.is_sorted() && runs(&block) == [6, 6, 6, 4]);
        let turns = assigned(&node, &anywhere(22), &wish(Policy::RoundRobin, None, None)).unwrap();
        assert_eq!((turns[..5].to_vec(), runs(&turns)), (vec![0, 1, 2, 3, 0], [6, 6, 5, 5]));
        let user = wish(Policy::User, Some("0:0-7; 2:8-31; 1:32-63"), None);
        let cards = assigned(&node, &anywhere(64), &user).unwrap();
        assert_eq!([cards[7], cards[8], cards[31], cards[32]], [0, 2, 2, 1]);
        // Fewer PEs than the mapping names are fine, and cost nothing.
        assert_eq!(assigned(&node, &anywhere(2), &user).unwrap(), [0, 0]);
        let all = wish(Policy::User, Some("1:0-4294967295"), None);
        assert_eq!(assigned(&node, &anywhere(2), &all).unwrap(), [1, 1]);
        assert!(Wish::new(Policy::Near, None, Some("2:0-4294967295")).is_err());
        let two = assigned(&node, &anywhere(4), &wish(Policy::Block, None, Some("2:1,3"))).unwrap();
        assert_eq!(two, [1, 1, 3, 3]);
        assert_eq!(assigned(&node, &anywhere(2), &wish(Policy::RoundRobin, None, Some("1"))).unwrap(), [0, 0]);
    }

    #[test]
    fn the_nearest_card_is_taken_and_equals_share() {
        let node = node(4, &[0, 0, 2]);
        let each = |pes: u32| (0..pes).map(|pe| vec![pe % 4]).collect::<Vec<_>>();
        // PEs 0, 4, 8 on NUMA 0 take turns; NUMA 1 and 3 are as near to NUMA 0 as to 2.
        let cards = assigned(&node, &each(9), &Wish::default()).unwrap();
        assert_eq!([cards[0], cards[4], cards[8]], [0, 1, 0]);
        assert_eq!([cards[2], cards[6]], [2, 2]);
        assert_eq!([cards[1], cards[3], cards[5], cards[7]], [0, 1, 2, 0]);
        assert_eq!(assigned(&node, &anywhere(4), &Wish::default()).unwrap(), [0, 1, 2, 0]);
    }

    #[test]
    fn several_cards_for_each_pe_fill_all_of_them() {
        let rails_of = |node: &Node, cpus: &[Vec<u32>], wish: &Wish| {
            let mut places = places(node, cpus);
            assign(node, &mut places, wish).unwrap();
            rails(node, &places, wish).unwrap()
        };
        // Two sockets with two cards each: a PE on each socket has both of its socket before the others.
        let node4 = node(2, &[0, 0, 1, 1]);
        let each = rails_of(&node4, &[vec![0], vec![1]], &Wish::default());
        assert_eq!(each, [[0, 1, 2, 3], [2, 3, 0, 1]]);
        // PEs that are near to all: two of two, and four of one.
        let two = rails_of(&node4, &anywhere(2), &Wish::default());
        assert_eq!(two.iter().map(|cards| &cards[..2]).collect::<Vec<_>>(), [[0, 2], [1, 3]]);
        let four = rails_of(&node4, &anywhere(4), &Wish::default());
        for taken in 1..=4 {
            let users = |card| four.iter().filter(|cards| cards[..taken].contains(&card)).count();
            assert_eq!([0, 1, 2, 3].map(users), [taken; 4]);
        }
        let limited = rails_of(&node4, &anywhere(1), &wish(Policy::RoundRobin, None, Some("2:1,3")));
        assert_eq!(limited, [[1, 3]]);
        assert_eq!(rails_of(&node(1, &[]), &anywhere(1), &Wish::default()), [[0u32; 0]]);
    }

    #[test]
    fn a_card_without_a_place_is_for_those_who_have_none_near() {
        let mut node = node(3, &[0, 0]);
        node.nics[1].near.clear();
        assert_eq!(assigned(&node, &[vec![0], vec![0], vec![1], vec![1]], &Wish::default()).unwrap(), [0, 0, 0, 1]);
    }

    #[test]
    fn cards_without_a_link_are_left_out() {
        let mut node = node(2, &[0, 1]);
        node.nics[0].up = false;
        assert_eq!(assigned(&node, &[vec![0], vec![1]], &Wish::default()).unwrap(), [1, 1]);
        node.nics[1].up = false;
        assert_eq!(assigned(&node, &[vec![0], vec![1]], &Wish::default()).unwrap(), [0, 1]);
        node.nics.clear();
        let mut none = places(&node, &[vec![0]]);
        assign(&node, &mut none, &Wish::default()).unwrap();
        assert_eq!(none[0].nic, None);
    }

    #[test]
    fn wishes_that_cannot_be_granted_are_explained() {
        let node = node(2, &[0, 1]);
        let refused = |wish: &Wish| assigned(&node, &anywhere(2), wish).unwrap_err();
        let text = refused(&wish(Policy::Numa, None, None));
        assert!(text.contains("the processors 0-1 of several NUMA nodes") && text.contains("--bind numa"), "{text}");
        let text = refused(&wish(Policy::User, Some("0:0"), None));
        assert!(text.contains("gives no card to PE 1"), "{text}");
        let text = refused(&wish(Policy::User, Some("5:0-1"), None));
        assert!(text.contains("names card 5") && text.contains("0 mlx5_0, 1 mlx5_1"), "{text}");
        for (policy, mapping, number, word) in [
            (Policy::User, None, None, "SHMEM_OFI_NIC_MAPPING is not set"),
            (Policy::User, Some("0-3"), None, "semicolon"),
            (Policy::User, Some("0:a"), None, "semicolon"),
            (Policy::User, Some("0:7-0; 1:8-15"), None, "semicolon"),
            (Policy::Near, None, Some("0"), "number of cards"),
            (Policy::Near, None, Some("2:1"), "as many indices"),
            (Policy::Near, None, Some("2:3-2"), "as many indices"),
        ] {
            let text = Wish::new(policy, mapping, number).unwrap_err().to_string();
            assert!(text.contains(word), "{policy:?} {mapping:?} {number:?}: {text}");
        }
    }

    #[test]
    fn problem_17_a_card_more_than_one_hop_away_is_told_once() {
        let ring = node(6, &[0]);
        let mut all = places(&ring, &[vec![0], vec![1], vec![2], vec![3]]);
        assign(&ring, &mut all, &Wish::default()).unwrap();
        assert_eq!(all.iter().map(|place| place.hops).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let text = warning(&ring, &[4, 5, 6, 7], &all).unwrap();
        assert!(
            text.starts_with("PE 6 is on NUMA 2 and uses mlx5_0 (NUMA 0), 2 NUMA nodes away (and 1 more"),
            "{text}"
        );
        assert_eq!(warning(&ring, &[4, 5], &all[..2]), None);
    }
}
