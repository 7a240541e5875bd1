//! Whether a card that this process sees is one that it could use. A container sees the host's cards in /sys, but may have
//! neither their device files nor the network that they are on; UCX would then quietly take TCP, or fail at the first
//! transfer.

use std::fs::{self, OpenOptions};
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use oxshmem_os::interfaces;

use crate::devices::{active_ports, names};

/// Says whether some card of the verbs family, but for those that [`left_to_others`] names, has an active port, a device file that this process may open, and, if it is
/// on Ethernet, an address of this network namespace; otherwise what the cards lack.
pub(crate) fn usable_card() -> Result<(), String> {
    let ours = interfaces::addresses().unwrap_or_default().into_iter().map(|(ip, _)| ip);
    among(Path::new("/"), &ours.collect::<Vec<_>>())
}

fn among(root: &Path, ours: &[IpAddr]) -> Result<(), String> {
    let classes = root.join("sys/class");
    let mut lacking = Vec::new();
    for card in names(&classes.join("infiniband")) {
        let ports = active_ports(&classes, &card);
        if ports.is_empty() {
            lacking.push(format!("{card} has no active port"));
        } else if let Some(why) = driver(&classes, &card).and_then(|driver| left_to_others(&driver)) {
            lacking.push(format!("{card} is {why}"));
        } else if let Err(why) = device_file(root, &card) {
            lacking.push(format!("{card} {why}"));
        } else if ports.iter().any(|port| is_reached(&classes, &card, port, ours)) {
            return Ok(());
        } else {
            lacking.push(format!("{card} has none of this host's addresses, so it is on another network"));
        }
    }
    if lacking.is_empty() { Err("no InfiniBand card is here".into()) } else { Err(lacking.join(", ")) }
}

/// The reason why cards of this driver of the kernel are not UCX's.
///
/// Amazon's cards have no connections and no shared queues of receives: UCX prints errors and makes no worker. Intel's have no verbs of their
/// own: the kernel's driver emulates them, and their makers' libraries move more data in less time.
fn left_to_others(driver: &str) -> Option<&'static str> {
    match driver {
        "efa" => Some("an EFA card, which is libfabric's to drive"),
        "hfi1" => Some(
            "an Omni-Path card, whose verbs the processor emulates (SHMEM_TRANSPORT=ofi:opx or ofi:psm2 does without them)",
        ),
        "qib" => {
            Some("a TrueScale card, whose verbs the processor emulates (SHMEM_TRANSPORT=ucx takes it all the same)")
        }
        _ => None,
    }
}

/// The kernel's driver of a card.
fn driver(classes: &Path, card: &str) -> Option<String> {
    let driver = fs::read_link(classes.join("infiniband").join(card).join("device/driver")).ok()?;
    Some(driver.file_name()?.to_string_lossy().into_owned())
}

/// Whether the file by which programs drive the card can be opened.
fn device_file(root: &Path, card: &str) -> Result<(), String> {
    let verbs = root.join("sys/class/infiniband_verbs");
    let is_of =
        |name: &String| fs::read_to_string(verbs.join(name).join("ibdev")).is_ok_and(|ibdev| ibdev.trim() == card);
    let Some(name) = names(&verbs).into_iter().find(is_of) else {
        return Err("has no device for programs (is the module ib_uverbs loaded?)".into());
    };
    let file = root.join("dev/infiniband").join(name);
    match OpenOptions::new().read(true).write(true).open(&file) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("cannot be used: {}: {error}", file.display())),
    }
}

/// Whether what a port calls itself is an address of this network namespace, as UCX's RoCE needs it; InfiniBand does not.
fn is_reached(classes: &Path, card: &str, port: &str, ours: &[IpAddr]) -> bool {
    let port = classes.join("infiniband").join(card).join("ports").join(port);
    if fs::read_to_string(port.join("link_layer")).is_ok_and(|layer| layer.trim() == "InfiniBand") {
        return true;
    }
    let gids = port.join("gids");
    let gid = |name: String| fs::read_to_string(gids.join(name)).ok()?.trim().parse::<Ipv6Addr>().ok();
    names(&gids).into_iter().filter_map(gid).any(|gid| ours.contains(&gid.to_canonical()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn a_card_counts_where_it_can_be_opened_and_is_on_our_network() {
        let root = TestFolder::new("ucx-usable");
        let ours = ["10.0.0.5".parse().expect("an address"), "fe80::1".parse().expect("an address")];
        let says = || among(&root, &ours);
        assert_eq!(says(), Err("no InfiniBand card is here".into()));
        root.write("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
        assert_eq!(says(), Err("mlx5_0 has no active port".into()));
        root.write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
        root.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
        assert!(says().is_err_and(|why| why.contains("mlx5_0 has no device for programs")));
        root.write("sys/class/infiniband_verbs/abi_version", "6\n");
        root.write("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
        assert!(says().is_err_and(|why| why.contains("uverbs0: No such file")));
        root.write("dev/infiniband/uverbs0", "");
        root.write("sys/class/infiniband/mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0002\n");
        root.write("sys/class/infiniband/mlx5_0/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:0006\n");
        assert_eq!(says(), Err("mlx5_0 has none of this host's addresses, so it is on another network".into()));
        root.write("sys/class/infiniband/mlx5_0/ports/1/gids/2", "0000:0000:0000:0000:0000:ffff:0a00:0005\n");
        assert_eq!(says(), Ok(()));
        fs::remove_file(root.join("sys/class/infiniband/mlx5_0/ports/1/gids/2")).expect("it was there");
        root.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
        assert_eq!(says(), Ok(()));
        let device = root.join("sys/class/infiniband/mlx5_0/device");
        fs::create_dir(&device).expect("a folder");
        let others = [("efa", "libfabric"), ("hfi1", "SHMEM_TRANSPORT=ofi:opx or ofi:psm2"), ("qib", "TrueScale")];
        for (driver, why) in others.into_iter().chain([("mlx5_core", "")]) {
            symlink(format!("../drivers/{driver}"), device.join("driver")).expect("a link");
            match says() {
                Ok(()) => assert!(why.is_empty(), "{driver} is left to UCX"),
                Err(said) => assert!(!why.is_empty() && said.contains(why), "{driver}: {said}"),
            }
            fs::remove_file(device.join("driver")).expect("it was there");
        }
    }
}
