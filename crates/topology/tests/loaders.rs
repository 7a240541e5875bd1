//! Two ways to look at a machine, one model of it.

mod machines;

use std::process::Command;

use machines::{MACHINES, Machine, machine};
use oxshmem_test_folder::not_run;
use oxshmem_topology::{Node, below, discover};

fn from_tree(machine: &Machine) -> Node {
    below(&machine.tree().0).expect("a whole tree")
}

/// The fixture in hwloc's XML; `None` without hwloc.
fn from_xml(machine: &Machine) -> Option<Node> {
    let path = machine.fixture();
    match discover(path.to_str().expect("a path that is text")) {
        Ok(found) => Some(found.node),
        Err(why) if why.to_string().contains("libhwloc.so") => None,
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn the_kernels_files_and_hwlocs_xml_give_one_model() {
    for machine in MACHINES {
        match from_xml(&machine) {
            Some(node) => {
                let mut ours = from_tree(&machine);
                // hwloc's XML does not say whether the link of an interface is up.
                ours.nics.iter_mut().filter(|nic| !nic.fabric).for_each(|nic| nic.up = true);
                assert_eq!(node, ours, "{}", machine.name);
            }
            None => not_run(format_args!("{}: no hwloc here", machine.name)),
        }
    }
}

/// hwloc reads the same files. It does not know every class of fabric device, so only the rest is compared.
/// With BLESS=1 its answers become the fixtures.
#[test]
fn hwloc_reads_the_same_from_the_kernels_files() {
    for machine in MACHINES {
        let tree = machine.tree();
        let lstopo = Command::new("lstopo-no-graphics").arg("-i").arg(&*tree.0).args(["--of", "xml", "-"]).output();
        let Ok(output) = lstopo else {
            not_run(format_args!("{}: there is no lstopo-no-graphics (package hwloc-nox)", machine.name));
            continue;
        };
        let xml = String::from_utf8(output.stdout).expect("XML is text");
        let path = tree.0.write("hwloc.xml", &xml);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(machine.fixture(), with_cxi(&xml)).expect("the fixture");
        }
        let mut seen = discover(path.to_str().expect("a path that is text")).expect("hwloc's own XML").node;
        let mut ours = below(&tree.0).expect("a whole tree");
        seen.nics.clear();
        ours.nics.clear();
        assert_eq!(seen, ours, "{}", machine.name);
    }
}

/// hwloc before 2.11 does not know Slingshot's devices; later ones write this beside the interface.
fn with_cxi(xml: &str) -> String {
    let mut text = String::new();
    for line in xml.lines() {
        text += line;
        text.push('\n');
        if let Some((_, rest)) = line.split_once("name=\"hsn") {
            let number = &rest[..1];
            let indent = &line[..line.len() - line.trim_start().len()];
            let index = 9000 + number.parse::<u32>().expect("a digit");
            text += &format!(
                "{indent}<object type=\"OSDev\" gp_index=\"{index}\" name=\"cxi{number}\" subtype=\"Slingshot\" osdev_type=\"3\"/>\n"
            );
        }
    }
    text
}

#[test]
fn the_machines_are_what_they_are_called() {
    let table = [
        ("two-socket-infiniband", "2 packages, 2 NUMA nodes, 2 L3s, 32 cores, 64 processors"),
        ("slingshot-four-cards", "1 package, 4 NUMA nodes, 8 L3s, 64 cores, 128 processors"),
        ("laptop", "1 package, 1 NUMA node, 1 L3, 4 cores, 8 processors"),
        ("cloud-without-numa", "1 package, 1 NUMA node, 1 L3, 2 cores, 4 processors"),
    ];
    for (name, what) in table {
        assert_eq!(from_tree(&machine(name)).describe(), what);
    }
    let node = from_tree(&machine("slingshot-four-cards"));
    let cards: Vec<String> = node.nics.iter().map(|nic| nic.describe(&node)).collect();
    assert_eq!(cards, ["cxi0 (NUMA 3)", "cxi1 (NUMA 1)", "cxi2 (NUMA 0)", "cxi3 (NUMA 2)"]);
    assert_eq!(node.nics[0].interfaces, ["hsn0"]);
    let node = from_tree(&machine("laptop"));
    let cards: Vec<String> = node.nics.iter().map(|nic| nic.describe(&node)).collect();
    assert_eq!(cards, ["enp0s31f6 (NUMA 0, down)", "wlp0s20f3 (NUMA 0)"]);
}
