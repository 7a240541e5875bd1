//! Looks at the machine: by hwloc, the kernel's files or a description.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use oxshmem_base::{Error, file};
use oxshmem_os::cpus;

use crate::hwloc::{self, HwlocView};
use crate::nic;
use crate::node::{FoundProcessor, LoaderFindings, Node};
use crate::sysfs::SysTree;

/// Where a description comes from.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum DescriptionSource {
    /// hwloc's view of this machine, with the kernel's names of fabric devices.
    Hwloc,
    /// The kernel's files.
    Sysfs,
    /// Only which processors this process may run on.
    Affinity,
    /// Another machine: a file in hwloc's XML, or a synthetic description.
    Text(String),
}

impl DescriptionSource {
    /// Whether it tells of the machine on which this process runs.
    pub fn is_here(&self) -> bool {
        !matches!(self, DescriptionSource::Text(_))
    }
}

impl fmt::Display for DescriptionSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescriptionSource::Hwloc => formatter.write_str("hwloc"),
            DescriptionSource::Sysfs => formatter.write_str("/sys"),
            DescriptionSource::Affinity => formatter.write_str("the affinity mask"),
            DescriptionSource::Text(text) => formatter.write_str(text),
        }
    }
}

/// A way to look at this machine, by the files below a root.
type Way = (DescriptionSource, fn(&Path) -> Result<Node, Error>);

/// A node and how it was found.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Discovered {
    /// The node.
    pub node: Node,
    /// The source of the description.
    pub source: DescriptionSource,
    /// Why better sources did not.
    pub rejected: Vec<String>,
}

/// Looks at the machine as `SHMEM_TOPOLOGY` says: `auto` (hwloc, or else the kernel's files, which
/// also do where there is but one NUMA node and one card), `hwloc`, `sysfs`, the name
/// of a file in hwloc's XML, or a synthetic description such as `package:2 core:4 pu:2`.
pub fn discover(how: &str) -> Result<Discovered, Error> {
    let root = Path::new("/");
    let mut rejected = Vec::new();
    match how {
        "hwloc" => Ok(found_by(DescriptionSource::Hwloc, with_hwloc(root)?)),
        "sysfs" => Ok(found_by(DescriptionSource::Sysfs, below(root)?)),
        "auto" | "" => {
            // hwloc takes tens of milliseconds and brings libraries into the process. Where there is nothing to choose
            // between, the kernel's files say the same in one.
            let plain = |node: &Node| node.memories.len() == 1 && nic::cards(node).len() <= 1;
            let allowed = cpus::allowed();
            if let Some(node) = below(root).ok().filter(|node| plain(node) && knows(node, &allowed)) {
                return Ok(found_by(DescriptionSource::Sysfs, node));
            }
            let ways: [Way; 3] = [
                (DescriptionSource::Hwloc, with_hwloc),
                (DescriptionSource::Sysfs, below),
                (DescriptionSource::Affinity, from_affinity),
            ];
            for (source, look) in ways {
                match look(root) {
                    Ok(node) if source == DescriptionSource::Affinity || knows(&node, &allowed) => {
                        return Ok(Discovered { rejected, ..found_by(source, node) });
                    }
                    Ok(_) => rejected.push(format!("{source} lacks processors that this process may run on")),
                    Err(why) => rejected.push(why.to_string().replace("\n  because", "")),
                }
            }
            Err(nothing())
        }
        text => from_text(text).map(|node| found_by(DescriptionSource::Text(text.into()), node)),
    }
}

/// The node that the kernel's files below a folder describe: of this machine, or recorded on another.
pub fn below(root: &Path) -> Result<Node, Error> {
    SysTree::at(root).node().ok_or_else(nothing)
}

/// Whether a description knows all processors that this process may run on. A container may have files of its own in the place
/// of the kernel's, in which its processors are counted from 0 (LXCFS).
fn knows(node: &Node, allowed: &[usize]) -> bool {
    let known: BTreeSet<usize> = node.processors.iter().map(|processor| processor.cpu as usize).collect();
    allowed.iter().all(|cpu| known.contains(cpu))
}

fn found_by(source: DescriptionSource, node: Node) -> Discovered {
    Discovered { node, source, rejected: Vec::new() }
}

fn with_hwloc(root: &Path) -> Result<Node, Error> {
    let mut found = hwloc::found(HwlocView::Here)?;
    let tree = SysTree::at(root);
    for interface in found.devices.iter_mut().filter(|device| !device.fabric) {
        interface.up = tree.interface_is_up(&interface.name);
    }
    found.devices.extend(tree.fabrics(&found.devices));
    Node::assemble(found).ok_or_else(nothing)
}

/// Where nothing else tells: each processor that this process may run on is a core.
fn from_affinity(_root: &Path) -> Result<Node, Error> {
    let processor = |cpu: usize| FoundProcessor { cpu: cpu as u32, core: cpu as u64, l3: None, package: 0 };
    let processors = cpus::allowed().into_iter().map(processor).collect();
    Node::assemble(LoaderFindings { processors, ..LoaderFindings::default() }).ok_or_else(nothing)
}

fn from_text(text: &str) -> Result<Node, Error> {
    let named = |error: Error| {
        let fix =
            "set SHMEM_TOPOLOGY to auto, hwloc, sysfs, a file in hwloc's XML or a text like `package:2 core:4 pu:2`";
        Error::new(format!("SHMEM_TOPOLOGY={text} describes no machine")).because(error).fix(fix)
    };
    let look = |look: HwlocView<'_>| hwloc::found(look).and_then(|found| Node::assemble(found).ok_or_else(nothing));
    match file::read(text) {
        Ok(xml) => look(HwlocView::Xml(&xml)).map_err(named),
        Err(error) if text.contains('/') || text.ends_with(".xml") => Err(named(Error::new(error.to_string()))),
        Err(_) => look(HwlocView::Synthetic(text)).map_err(named),
    }
}

fn nothing() -> Error {
    Error::new("the machine's processors are not known")
        .because("neither hwloc nor /sys/devices/system/cpu tells of any")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_loaders_see_the_same_machine() {
        let sysfs = below(Path::new("/")).expect("Linux tells");
        assert!(!sysfs.processors.is_empty());
        match with_hwloc(Path::new("/")) {
            Ok(hwloc) => assert_eq!(hwloc, sysfs),
            Err(why) => oxshmem_test_folder::not_run(why),
        }
    }

    #[test]
    fn the_last_resort_knows_the_processors() {
        let node = from_affinity(Path::new("/")).expect("this process runs somewhere");
        assert_eq!(node.processors.len(), cpus::allowed().len());
        assert!(below(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn a_description_that_lacks_a_processor_of_this_process_is_not_taken() {
        let processor = |cpu: u32| FoundProcessor { cpu, core: cpu.into(), l3: None, package: 0 };
        let processors = vec![processor(0), processor(1)];
        let node = Node::assemble(LoaderFindings { processors, ..LoaderFindings::default() }).expect("two processors");
        assert!(knows(&node, &[1]) && knows(&node, &[0, 1]));
        assert!(!knows(&node, &[1, 5]));
    }

    #[test]
    fn what_describes_nothing_is_refused_by_name() {
        for text in ["/nowhere/machine.xml", "package:none"] {
            let error = discover(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("SHMEM_TOPOLOGY={text} describes no machine\n")), "{error}");
        }
    }
}
