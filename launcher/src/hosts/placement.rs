//! Which PE goes to which host: a pure function of the hosts' room and the user's wish.

use oxshmem_base::Error;

use crate::plan::HostOrder;
use crate::verdict::counted_as;

/// The room that one host offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// How many PEs are meant for it; nothing: a fair share, or one PE beside hosts that have a number.
    pub(crate) slots: Option<u32>,
    /// How many it may have at most; nothing: as many as the user likes.
    pub(crate) most: Option<u32>,
}

/// The number of PEs where the user named none: every place that is meant for one.
pub(crate) fn natural_size(rooms: &[Room], per_host: Option<u32>) -> u32 {
    let places = |room: &Room| per_host.or(room.slots).unwrap_or(1);
    rooms.iter().map(places).fold(0, u32::saturating_add)
}

/// The host of every PE.
pub(crate) fn place(rooms: &[Room], size: u32, per_host: Option<u32>, map: HostOrder) -> Result<Vec<u32>, Error> {
    let counts = counts(rooms, size, per_host)?;
    let hosts = 0..rooms.len() as u32;
    Ok(match map {
        // Each host deals its PEs to its own NUMA nodes.
        HostOrder::Block | HostOrder::Numa => {
            hosts.zip(counts).flat_map(|(host, count)| std::iter::repeat_n(host, count as usize)).collect()
        }
        HostOrder::Cyclic => {
            let rounds = counts.iter().copied().max().unwrap_or(0);
            (0..rounds)
                .flat_map(|round| hosts.clone().filter(|&host| counts[host as usize] > round).collect::<Vec<_>>())
                .collect()
        }
    })
}

/// How many PEs each host gets.
fn counts(rooms: &[Room], size: u32, per_host: Option<u32>) -> Result<Vec<u32>, Error> {
    let hosts = rooms.len() as u32;
    if let Some(each) = per_host {
        if u64::from(size) > u64::from(each) * u64::from(hosts) {
            return Err(Error::new(format!(
                "{size} PEs do not fit on {} with -N {each}",
                counted_as(rooms.len(), "host")
            ))
            .because(format!("{hosts} x {each} = {}", u64::from(each) * u64::from(hosts)))
            .fix("name more hosts, or a larger -N"));
        }
        return within(rooms, fill(&vec![each; rooms.len()], size));
    }
    if rooms.iter().all(|room| room.slots.is_none()) {
        // Without numbers the hosts have equal shares, and the first ones take the remainder.
        return within(rooms, (0..hosts).map(|host| size / hosts + u32::from(host < size % hosts)).collect());
    }
    let slots: Vec<u32> = rooms.iter().map(|room| room.slots.unwrap_or(1)).collect();
    let total: u64 = slots.iter().map(|&slots| u64::from(slots)).sum();
    if u64::from(size) <= total {
        return within(rooms, fill(&slots, size));
    }
    if rooms.iter().all(|room| room.most.is_some()) {
        // The scheduler's processors count where its tasks do not suffice.
        let most: Vec<u32> = rooms.iter().filter_map(|room| room.most).collect();
        let counts = fill(&most, size);
        let left = size - counts.iter().sum::<u32>();
        return match left {
            0 => Ok(counts),
            _ => Err(too_many(size, &most)),
        };
    }
    // More PEs than slots: the hosts are filled again and again.
    let rounds = (u64::from(size) / total) as u32;
    let rest = fill(&slots, (u64::from(size) % total) as u32);
    Ok(slots.iter().zip(rest).map(|(slots, rest)| slots * rounds + rest).collect())
}

/// One host after the other is filled.
fn fill(slots: &[u32], size: u32) -> Vec<u32> {
    let mut left = size;
    let take = |&slots: &u32| {
        let taken = slots.min(left);
        left -= taken;
        taken
    };
    slots.iter().map(take).collect()
}

/// The counts, unless the scheduler has set a lower limit.
fn within(rooms: &[Room], counts: Vec<u32>) -> Result<Vec<u32>, Error> {
    let over = rooms.iter().zip(&counts).any(|(room, &count)| room.most.is_some_and(|most| count > most));
    if over {
        Err(too_many(counts.iter().sum(), &rooms.iter().filter_map(|room| room.most).collect::<Vec<_>>()))
    } else {
        Ok(counts)
    }
}

fn too_many(size: u32, most: &[u32]) -> Error {
    let total: u32 = most.iter().fold(0, |total, &most| total.saturating_add(most));
    Error::new(format!("{size} PEs are more than the allocation has processors for"))
        .because(format!("there are {total} on {}", counted_as(most.len(), "host")))
        .fix(format!("run at most {total} PEs, ask the scheduler for more, or add --oversubscribe"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rooms(slots: &[Option<u32>]) -> Vec<Room> {
        slots.iter().map(|&slots| Room { slots, most: None }).collect()
    }

    fn placed(slots: &[Option<u32>], size: u32, per_host: Option<u32>, map: HostOrder) -> String {
        let hosts = place(&rooms(slots), size, per_host, map).unwrap();
        hosts.iter().map(u32::to_string).collect::<Vec<_>>().join("")
    }

    #[test]
    fn blocks_and_turns() {
        let unknown = [None, None];
        assert_eq!(placed(&unknown, 4, None, HostOrder::Block), "0011");
        assert_eq!(placed(&unknown, 5, None, HostOrder::Block), "00011");
        assert_eq!(placed(&unknown, 4, None, HostOrder::Cyclic), "0101");
        assert_eq!(placed(&unknown, 3, Some(2), HostOrder::Block), "001");
        let known = [Some(1), Some(3)];
        assert_eq!(placed(&known, 3, None, HostOrder::Block), "011");
        assert_eq!(placed(&known, 4, None, HostOrder::Cyclic), "0111");
        assert_eq!(placed(&known, 6, None, HostOrder::Block), "001111", "more than was meant");
        assert_eq!(placed(&known, 4, None, HostOrder::Numa), "0111");
        assert_eq!(natural_size(&rooms(&known), None), 4);
        assert_eq!(natural_size(&rooms(&known), Some(2)), 4);
        assert_eq!(natural_size(&rooms(&unknown), None), 2);
    }

    #[test]
    fn a_host_without_a_number_beside_others_that_have_one_is_meant_for_one_pe() {
        let mixed = [Some(3), None];
        assert_eq!(natural_size(&rooms(&mixed), None), 4);
        assert_eq!(placed(&mixed, 4, None, HostOrder::Block), "0001");
        assert_eq!(placed(&mixed, 8, None, HostOrder::Block), "00000011", "more than was meant");
        assert_eq!(placed(&[None, Some(2)], 3, None, HostOrder::Cyclic), "011");
    }

    #[test]
    fn problem_3_only_a_scheduler_sets_limits() {
        let allocated = [Room { slots: Some(1), most: Some(2) }; 2];
        assert_eq!(place(&allocated, 4, None, HostOrder::Block).unwrap(), [0, 0, 1, 1]);
        let refused = place(&allocated, 5, None, HostOrder::Block).unwrap_err().to_string();
        assert!(refused.contains("5 PEs") && refused.contains("at most 4") && refused.contains("--oversubscribe"));
        let told = place(&rooms(&[None]), 5, Some(4), HostOrder::Block).unwrap_err().to_string();
        assert!(told.contains("on 1 host with -N 4") && told.contains("1 x 4 = 4"), "{told}");
        assert!(place(&allocated, 3, Some(3), HostOrder::Block).is_err());
    }

    proptest! {
        #[test]
        fn everybody_has_a_place_and_nobody_two(
            slots in proptest::collection::vec(proptest::option::of(1u32..9), 1..12),
            size in 1u32..200,
            cyclic in any::<bool>(),
        ) {
            let map = if cyclic { HostOrder::Cyclic } else { HostOrder::Block };
            let hosts = place(&rooms(&slots), size, None, map).unwrap();
            prop_assert_eq!(hosts.len(), size as usize);
            let count = |host: u32| hosts.iter().filter(|&&h| h == host).count() as u32;
            let counts: Vec<u32> = (0..slots.len() as u32).map(count).collect();
            prop_assert_eq!(counts.iter().sum::<u32>(), size);
            if slots.iter().all(Option::is_none) {
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                prop_assert!(most - least <= 1);
            }
            if !cyclic {
                prop_assert!(hosts.is_sorted());
            }
        }
    }
}
