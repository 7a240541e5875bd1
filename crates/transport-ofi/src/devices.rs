//! The devices of this node that libfabric could drive, as the kernel shows them.

use std::path::Path;

/// Whether the kernel shows a device of a kind that libfabric drives. To ask libfabric itself takes a quarter of a second,
/// because it opens the libraries of all cards. Providers without such a device are software.
pub(crate) fn has_device() -> bool {
    has_device_below(Path::new("/sys/class"))
}

/// Classes of the kernel's devices: cards for verbs, which EFA, Omni-Path and usNIC are too, and Slingshot. Omni-Path
/// without its verbs has a class of its own.
const CLASSES: &[&str] = &["infiniband", "cxi", "hfi1"];

fn has_device_below(classes: &Path) -> bool {
    let has_entry =
        |class: &&str| std::fs::read_dir(classes.join(class)).is_ok_and(|mut entries| entries.next().is_some());
    CLASSES.iter().any(has_entry)
}

/// How to get at the Slingshot card of this node, if it has one: a job may use it only if its launcher has asked for it, and the
/// variables tell.
pub(crate) fn slingshot() -> Option<String> {
    let card = std::fs::read_dir("/sys/class/cxi").ok()?.next()?.ok()?.file_name();
    let missing: Vec<&str> = ["SLINGSHOT_VNIS", "SLINGSHOT_SVC_IDS", "SLINGSHOT_DEVICES"]
        .into_iter()
        .filter(|name| std::env::var_os(name).is_none())
        .collect();
    let card = card.to_string_lossy().into_owned();
    Some(if missing.is_empty() {
        format!("this node has the Slingshot card {card} and the job has a VNI: look whether `fi_info -p cxi` finds it")
    } else {
        format!(
            "this node has the Slingshot card {card}, but the job has no VNI ({} not set): start it with \
             `srun --network=job_vni,def_tles=0` or `mpiexec --single-node-vni`",
            missing.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn fault_P2_devices_are_found_without_libfabric() {
        let classes = TestFolder::new("ofi-classes");
        assert!(!has_device_below(&classes));
        // A class without a device: the module is loaded and there is no card.
        std::fs::create_dir_all(classes.join("infiniband")).expect("a folder");
        std::fs::create_dir_all(classes.join("net/eth0")).expect("a folder");
        assert!(!has_device_below(&classes));
        for device in ["infiniband/efa_0", "cxi/cxi0"] {
            std::fs::create_dir_all(classes.join(device)).expect("a folder");
            assert!(has_device_below(&classes), "{device}");
            std::fs::remove_dir(classes.join(device)).expect("it was there");
        }
    }
}
