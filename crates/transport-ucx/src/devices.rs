//! The devices that a PE uses, where the user has not named them: certain cards' ports, or all that are active, and the
//! interfaces that lead out of the host.
//!
//! UCX takes the card that is nearest to the processor which the calling thread is on at that moment; a PE's card is chosen
//! for where it is bound, and among equals in turn. Interfaces stay, because a peer without such a card may be reached by
//! TCP only. Of those UCX would take the fastest, and a bridge of containers or the end of a pair, which leads to no other
//! host or goes away while the job runs, says of itself that it is faster than most cards.

use std::path::Path;
use std::{fmt, fs};

use oxshmem_os::interfaces;

const CLASSES: &str = "/sys/class";

/// The devices that a PE lets UCX use.
pub(crate) struct Devices {
    /// UCX's names of them; `None` leaves the choice to the user (`UCX_NET_DEVICES`) or to UCX.
    pub(crate) names: Option<String>,
    /// How many cards were asked for, to be used at once.
    pub(crate) cards: usize,
}

impl Devices {
    /// These cards, as far as they have an active port of the kind that UCX drives; without one of them every card that has.
    pub(crate) fn with(cards: &[String]) -> Self {
        if named().is_some() {
            return Self { names: None, cards: 0 };
        }
        let classes = Path::new(CLASSES);
        let cards: Vec<String> = cards.iter().filter(|card| !ports(classes, card).is_empty()).cloned().collect();
        Self { names: listed(classes, &cards, interfaces::leading_out()), cards: cards.len() }
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names.clone().or_else(named).as_deref().unwrap_or("all"))
    }
}

/// The devices that the user names.
fn named() -> Option<String> {
    std::env::var("UCX_NET_DEVICES").ok().filter(|devices| !devices.is_empty())
}

fn listed(classes: &Path, cards: &[String], leading_out: Vec<String>) -> Option<String> {
    let of = |cards: &[String]| cards.iter().flat_map(|card| ports(classes, card)).collect::<Vec<_>>();
    let chosen = of(cards);
    if chosen.is_empty() && leading_out.is_empty() {
        return None;
    }
    let ports = if chosen.is_empty() { of(&names(&classes.join("infiniband"))) } else { chosen };
    let interfaces = if leading_out.is_empty() { names(&classes.join("net")) } else { leading_out };
    Some(ports.into_iter().chain(interfaces).collect::<Vec<_>>().join(","))
}

/// The active ports of a card, as UCX names them.
fn ports(classes: &Path, card: &str) -> Vec<String> {
    active_ports(classes, card).into_iter().map(|port| format!("{card}:{port}")).collect()
}

pub(crate) fn active_ports(classes: &Path, card: &str) -> Vec<String> {
    let ports = classes.join("infiniband").join(card).join("ports");
    let state = |port: &str| fs::read_to_string(ports.join(port).join("state")).unwrap_or_default();
    names(&ports).into_iter().filter(|port| state(port).contains("ACTIVE")).collect()
}

/// The entries of a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn problem_15_the_card_and_the_interfaces_that_lead_out_are_named() {
        let classes = TestFolder::new("ucx-card");
        let port = |card: &str, port: &str, state: &str| {
            classes.write(format!("infiniband/{card}/ports/{port}/state"), state);
        };
        port("mlx5_0", "1", "4: ACTIVE\n");
        port("mlx5_1", "1", "1: DOWN\n");
        port("mlx5_1", "2", "4: ACTIVE\n");
        port("mlx5_2", "1", "1: DOWN\n");
        for interface in ["docker0", "eth0", "ib0"] {
            fs::create_dir_all(classes.join("net").join(interface)).expect("a folder");
        }
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let listed = |cards: &[&str], leading_out: &[&str]| listed(&classes, &words(cards), words(leading_out));
        let both = ["eth0", "ib0"];
        assert_eq!(listed(&["mlx5_0"], &both).as_deref(), Some("mlx5_0:1,eth0,ib0"));
        assert_eq!(listed(&["mlx5_1", "mlx5_2", "mlx5_0"], &both).as_deref(), Some("mlx5_1:2,mlx5_0:1,eth0,ib0"));
        // None of the cards is active: all that are.
        assert_eq!(listed(&["mlx5_2"], &["eth0"]).as_deref(), Some("mlx5_0:1,mlx5_1:2,eth0"));
        // In a container nothing is known to lead out.
        assert_eq!(listed(&["mlx5_0"], &[]).as_deref(), Some("mlx5_0:1,docker0,eth0,ib0"));
        assert_eq!(listed(&["eth0"], &[]), None);
    }
}
