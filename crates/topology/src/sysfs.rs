//! Reads a node from the kernel's files, below a root folder so that a recorded tree can be read too.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cpulist;
use crate::node::{FoundDevice, FoundMemory, FoundProcessor, LoaderFindings, Node, natural};

/// The kernel's files below some root.
pub(crate) struct SysTree<'r> {
    root: &'r Path,
}

impl<'r> SysTree<'r> {
    pub(crate) fn at(root: &'r Path) -> Self {
        SysTree { root }
    }

    /// The node that these files describe; `None` if they tell of no processor.
    pub(crate) fn node(&self) -> Option<Node> {
        let (memories, distances) = self.memories();
        let mut devices = self.interfaces();
        devices.extend(self.fabrics(&devices));
        Node::assemble(LoaderFindings { processors: self.processors(), memories, devices, distances })
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok().map(|text| text.trim().to_owned())
    }

    fn list(&self, path: &str) -> Option<Vec<u32>> {
        self.read(path).map(|text| cpulist::parse(&text)).filter(|list| !list.is_empty())
    }

    /// Names in a folder, sorted as people count.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by(|one, other| natural(one).cmp(&natural(other)));
        names
    }

    /// Cores, caches and packages are known by their lowest processor.
    fn processors(&self) -> Vec<FoundProcessor> {
        let online = self.list("sys/devices/system/cpu/online").unwrap_or_default();
        let found = online.into_iter().map(|cpu| {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            // The newer of the two names comes first.
            let lowest = |names: [&str; 2]| {
                let lists = names.iter().find_map(|name| self.list(&format!("{folder}/topology/{name}")));
                lists.map(|list| u64::from(list[0]))
            };
            let l3 = self.names(&format!("{folder}/cache")).into_iter().find_map(|index| {
                let cache = format!("{folder}/cache/{index}");
                (self.read(&format!("{cache}/level"))? == "3")
                    .then(|| self.list(&format!("{cache}/shared_cpu_list")))?
            });
            FoundProcessor {
                cpu,
                core: lowest(["core_cpus_list", "thread_siblings_list"]).unwrap_or(cpu.into()),
                l3: l3.map(|list| list[0].into()),
                package: lowest(["package_cpus_list", "core_siblings_list"]).unwrap_or(0),
            }
        });
        found.collect()
    }

    fn memories(&self) -> (Vec<FoundMemory>, Vec<u16>) {
        let numbers = self.list("sys/devices/system/node/online").unwrap_or_default();
        let installed = |text: &str| {
            let mut words = text.lines().find(|line| line.contains("MemTotal:"))?.split_whitespace().rev();
            words.nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
        };
        if numbers.is_empty() {
            let cpus = self.list("sys/devices/system/cpu/online").unwrap_or_default();
            let bytes = self.read("proc/meminfo").and_then(|text| installed(&text)).unwrap_or(0);
            return (vec![FoundMemory { number: 0, cpus, bytes }], Vec::new());
        }
        let mut distances = Vec::new();
        let memory = |number: u32| {
            let folder = format!("sys/devices/system/node/node{number}");
            let row = self.read(&format!("{folder}/distance")).unwrap_or_default();
            distances.extend(row.split_whitespace().filter_map(|word| word.parse::<u16>().ok()));
            FoundMemory {
                number,
                cpus: self.list(&format!("{folder}/cpulist")).unwrap_or_default(),
                bytes: self.read(&format!("{folder}/meminfo")).and_then(|text| installed(&text)).unwrap_or(0),
            }
        };
        (numbers.into_iter().map(memory).collect(), distances)
    }

    /// The interfaces that are on cards. What is not plugged into anything (`lo`, `docker0`) is not.
    fn interfaces(&self) -> Vec<FoundDevice> {
        let interface = |name: String| {
            let bus = self.bus(&format!("sys/class/net/{name}"))?;
            Some(FoundDevice { fabric: false, near: self.near(&bus), bus, up: self.interface_is_up(&name), name })
        };
        self.names("sys/class/net").into_iter().filter_map(interface).collect()
    }

    /// The fabric devices, given the interfaces. hwloc does not know every kind, and nothing of those that are software
    /// on an interface, so its loader asks here too.
    pub(crate) fn fabrics(&self, interfaces: &[FoundDevice]) -> Vec<FoundDevice> {
        let classes = ["infiniband", "cxi"].iter();
        let names = classes
            .flat_map(|class| self.names(&format!("sys/class/{class}")).into_iter().map(move |name| (class, name)));
        let device = |(class, name): (&&str, String)| {
            let path = format!("sys/class/{class}/{name}");
            // Software devices (Soft-RoCE) name the interface that they run on.
            let parent = self.read(&format!("{path}/parent"));
            let under = interfaces.iter().find(|interface| parent.as_ref() == Some(&interface.name));
            let bus = under.map(|interface| interface.bus.clone()).or_else(|| self.bus(&path))?;
            let near = under.map_or_else(|| self.near(&bus), |interface| interface.near.clone());
            Some(FoundDevice { name, fabric: true, bus, near, up: self.ports_are_up(&path) })
        };
        names.filter_map(device).collect()
    }

    /// Whether an interface's link is up, if its driver tells.
    pub(crate) fn interface_is_up(&self, interface: &str) -> Option<bool> {
        let state = self.read(&format!("sys/class/net/{interface}/operstate")).filter(|state| state != "unknown")?;
        Some(state == "up")
    }

    fn ports_are_up(&self, device: &str) -> Option<bool> {
        let ports = self.names(&format!("{device}/ports"));
        let mut states = ports.iter().filter_map(|port| self.read(&format!("{device}/ports/{port}/state"))).peekable();
        states.peek()?;
        // The state is written as `4: ACTIVE`.
        Some(states.any(|state| state.starts_with('4')))
    }

    /// Where the device behind an entry of /sys/class is plugged in: the last PCI address on its path.
    fn bus(&self, entry: &str) -> Option<String> {
        let path: PathBuf = fs::canonicalize(self.root.join(entry).join("device")).ok()?;
        let mut names = path.iter().filter_map(|name| name.to_str());
        names.rfind(|name| is_pci_address(name)).map(str::to_owned)
    }

    /// The system's numbers of the NUMA nodes at which a PCI device is; none where the kernel does not tell.
    fn near(&self, bus: &str) -> Vec<u32> {
        let folder = format!("sys/bus/pci/devices/{bus}");
        let Some(cpus) = self.list(&format!("{folder}/local_cpulist")) else {
            let number = self.read(&format!("{folder}/numa_node")).and_then(|text| text.parse().ok());
            return number.into_iter().collect();
        };
        let numbers = self.list("sys/devices/system/node/online").unwrap_or_default();
        let holds = |number: &u32| {
            let own = self.list(&format!("sys/devices/system/node/node{number}/cpulist")).unwrap_or_default();
            own.iter().any(|cpu| cpus.contains(cpu))
        };
        numbers.into_iter().filter(holds).collect()
    }
}

/// `0000:3b:00.0`
fn is_pci_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let hexadecimal = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.len() == 4 && parts.iter().all(hexadecimal) && name.ends_with(&format!(".{}", parts[3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_are_told_from_other_names() {
        assert!(is_pci_address("0000:3b:00.0") && is_pci_address("10000:e1:00.1"));
        assert!(!is_pci_address("pci0000:3a") && !is_pci_address("virtio0") && !is_pci_address("net"));
    }
}
