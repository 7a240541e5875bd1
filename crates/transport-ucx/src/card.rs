//! The devices that a PE uses when it shall use certain cards: those cards' ports and every interface, but no other card.
//!
//! UCX takes the card that is nearest to the processor which the calling thread is on at that moment; a PE's card is chosen
//! for where it is bound, and among equals in turn. Interfaces stay, because a peer without such a card may be reached by
//! TCP only.

use std::fs;
use std::path::Path;

const CLASSES: &str = "/sys/class";

/// Which of these cards have an active port of the kind that UCX drives.
pub(crate) fn active(cards: &[String]) -> Vec<String> {
    cards.iter().filter(|card| !ports(Path::new(CLASSES), card).is_empty()).cloned().collect()
}

/// UCX's names of the devices (`UCX_NET_DEVICES`); none if there are no cards.
pub(crate) fn devices(cards: &[String]) -> Option<String> {
    listed(Path::new(CLASSES), cards)
}

fn listed(classes: &Path, cards: &[String]) -> Option<String> {
    let mut devices: Vec<String> = cards.iter().flat_map(|card| ports(classes, card)).collect();
    if devices.is_empty() {
        return None;
    }
    devices.extend(names(&classes.join("net")));
    Some(devices.join(","))
}

/// The active ports of a card, as UCX names them.
fn ports(classes: &Path, card: &str) -> Vec<String> {
    let ports = classes.join("infiniband").join(card).join("ports");
    let state = |port: &str| fs::read_to_string(ports.join(port).join("state")).unwrap_or_default();
    let active = names(&ports).into_iter().filter(|port| state(port).contains("ACTIVE"));
    active.map(|port| format!("{card}:{port}")).collect()
}

/// The entries of a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_ports_of_the_card_and_every_interface_are_named() {
        let classes = std::env::temp_dir().join(format!("oxshmem-ucx-card-{}", std::process::id()));
        let port = |card: &str, port: &str, state: &str| {
            let folder = classes.join("infiniband").join(card).join("ports").join(port);
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("state"), state).expect("a file");
        };
        port("mlx5_0", "1", "4: ACTIVE\n");
        port("mlx5_1", "1", "1: DOWN\n");
        port("mlx5_1", "2", "4: ACTIVE\n");
        port("mlx5_2", "1", "1: DOWN\n");
        fs::create_dir_all(classes.join("net/ib0")).expect("a folder");
        fs::create_dir_all(classes.join("net/eth0")).expect("a folder");
        let listed = |cards: &[&str]| listed(&classes, &cards.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(listed(&["mlx5_0"]).as_deref(), Some("mlx5_0:1,eth0,ib0"));
        assert_eq!(listed(&["mlx5_1"]).as_deref(), Some("mlx5_1:2,eth0,ib0"));
        assert_eq!(listed(&["mlx5_1", "mlx5_2", "mlx5_0"]).as_deref(), Some("mlx5_1:2,mlx5_0:1,eth0,ib0"));
        assert_eq!(listed(&["mlx5_2"]), None);
        assert_eq!(listed(&["eth0"]), None);
        fs::remove_dir_all(&classes).expect("it was there");
    }
}
