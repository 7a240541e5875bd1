//! Machines that the tests know, as the kernel's files of each.
#![allow(dead_code, reason = "every test program uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};

use oxshmem_test_folder::TestFolder;

/// A machine in which everything is equally divided.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    packages: u32,
    /// NUMA nodes of each package; with 0 the kernel tells of none at all.
    numas: u32,
    /// L3s of each NUMA node; with 0 none is told of.
    l3s: u32,
    /// Cores of each L3 (or NUMA node, or package, where there are none).
    cores: u32,
    threads: u32,
    gigabytes: u64,
    devices: &'static [Device],
}

#[derive(Clone, Copy)]
struct Device {
    bus: &'static str,
    numa: i32,
    /// PCI class: network 0x0200, InfiniBand 0x0207, display 0x0300.
    class: &'static str,
    interface: Option<(&'static str, &'static str)>,
    /// Class and name of the fabric device.
    fabric: Option<(&'static str, &'static str)>,
}

const fn device(bus: &'static str, numa: i32, class: &'static str) -> Device {
    Device { bus, numa, class, interface: None, fabric: None }
}

impl Device {
    const fn interface(self, name: &'static str, state: &'static str) -> Device {
        Device { interface: Some((name, state)), ..self }
    }

    const fn fabric(self, class: &'static str, name: &'static str) -> Device {
        Device { fabric: Some((class, name)), ..self }
    }
}

pub(crate) const MACHINES: [Machine; 4] = [
    Machine {
        name: "two-socket-infiniband",
        packages: 2,
        numas: 1,
        l3s: 1,
        cores: 16,
        threads: 2,
        gigabytes: 256,
        devices: &[
            device("0000:18:00.0", 0, "0x020000").interface("eno1", "up"),
            device("0000:3b:00.0", 0, "0x020700").interface("ib0", "up").fabric("infiniband", "mlx5_0"),
            device("0000:af:00.0", 1, "0x020700").interface("ib1", "up").fabric("infiniband", "mlx5_1"),
        ],
    },
    Machine {
        name: "slingshot-four-cards",
        packages: 1,
        numas: 4,
        l3s: 2,
        cores: 8,
        threads: 2,
        gigabytes: 512,
        devices: &[
            device("0000:11:00.0", 2, "0x030000"),
            device("0000:21:00.0", 0, "0x030000"),
            device("0000:31:00.0", 3, "0x030000"),
            device("0000:41:00.0", 1, "0x030000"),
            device("0000:51:00.0", 3, "0x020000").interface("hsn0", "up").fabric("cxi", "cxi0"),
            device("0000:61:00.0", 1, "0x020000").interface("hsn1", "up").fabric("cxi", "cxi1"),
            device("0000:71:00.0", 0, "0x020000").interface("hsn2", "up").fabric("cxi", "cxi2"),
            device("0000:81:00.0", 2, "0x020000").interface("hsn3", "up").fabric("cxi", "cxi3"),
        ],
    },
    Machine {
        name: "laptop",
        packages: 1,
        numas: 1,
        l3s: 1,
        cores: 4,
        threads: 2,
        gigabytes: 16,
        devices: &[
            device("0000:00:14.3", -1, "0x028000").interface("wlp0s20f3", "up"),
            device("0000:00:1f.6", -1, "0x020000").interface("enp0s31f6", "down"),
        ],
    },
    Machine {
        name: "cloud-without-numa",
        packages: 1,
        numas: 0,
        l3s: 0,
        cores: 2,
        threads: 2,
        gigabytes: 8,
        devices: &[device("0000:00:03.0", -1, "0x020000").interface("eth0", "up")],
    },
];

pub(crate) fn machine(name: &str) -> Machine {
    *MACHINES.iter().find(|machine| machine.name == name).expect("a machine of the list")
}

/// A folder with a machine's files in it, gone at the end of the test.
pub(crate) struct Tree(pub(crate) TestFolder);

impl Machine {
    pub(crate) fn fixture(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(format!("{}.xml", self.name))
    }

    fn count(&self) -> u32 {
        self.all_cores() * self.threads
    }

    fn all_cores(&self) -> u32 {
        self.packages * self.numas.max(1) * self.l3s.max(1) * self.cores
    }

    /// As Linux numbers processors: the first threads of all cores, then the second ones.
    fn cpus_of_cores(&self, first: u32, count: u32) -> Vec<u32> {
        let all = self.all_cores();
        (0..self.threads).flat_map(|thread| (first..first + count).map(move |core| thread * all + core)).collect()
    }

    /// The kernel's files, in a new folder.
    pub(crate) fn tree(&self) -> Tree {
        let tree = Tree(TestFolder::new(self.name));
        let everything: Vec<u32> = (0..self.count()).collect();
        tree.write("proc/meminfo", &format!("MemTotal:       {} kB\n", self.gigabytes << 20));
        tree.write("proc/cpuinfo", "");
        for name in ["online", "possible", "present"] {
            tree.write(&format!("sys/devices/system/cpu/{name}"), &(list(&everything) + "\n"));
        }
        let cores = self.all_cores();
        let (of_package, of_l3) = (cores / self.packages, self.cores);
        for cpu in everything {
            let core = cpu % cores;
            let part = |size: u32| self.cpus_of_cores(core / size * size, size);
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            tree.write(&format!("{topology}/core_id"), &format!("{}\n", core % of_package));
            tree.write(&format!("{topology}/physical_package_id"), &format!("{}\n", core / of_package));
            tree.write_set(&format!("{topology}/thread_siblings"), &part(1));
            tree.write_set(&format!("{topology}/core_siblings"), &part(of_package));
            if self.l3s > 0 {
                let cache = format!("sys/devices/system/cpu/cpu{cpu}/cache/index3");
                tree.write(&format!("{cache}/level"), "3\n");
                tree.write(&format!("{cache}/type"), "Unified\n");
                tree.write(&format!("{cache}/size"), "32768K\n");
                tree.write(&format!("{cache}/shared_cpu_list"), &(list(&part(of_l3)) + "\n"));
                tree.write(&format!("{cache}/shared_cpu_map"), &(mask(&part(of_l3)) + "\n"));
            }
        }
        let numas = self.packages * self.numas;
        for numa in 0..numas {
            let node = format!("sys/devices/system/node/node{numa}");
            let cpus = self.cpus_of_numa(numa);
            tree.write(&format!("{node}/cpulist"), &(list(&cpus) + "\n"));
            tree.write(&format!("{node}/cpumap"), &(mask(&cpus) + "\n"));
            let kilobytes = (self.gigabytes << 20) / u64::from(numas);
            tree.write(&format!("{node}/meminfo"), &format!("Node {numa} MemTotal:       {kilobytes} kB\n"));
            let distance = |other: u32| match (numa == other, numa / self.numas == other / self.numas) {
                (true, _) => "10",
                (_, true) => "12",
                _ => "21",
            };
            tree.write(&format!("{node}/distance"), &((0..numas).map(distance).collect::<Vec<_>>().join(" ") + "\n"));
        }
        if numas > 0 {
            for name in ["online", "possible"] {
                tree.write(&format!("sys/devices/system/node/{name}"), &(list(&(0..numas).collect::<Vec<_>>()) + "\n"));
            }
        }
        self.devices.iter().for_each(|device| self.write_device(&tree, device));
        tree
    }

    fn cpus_of_numa(&self, numa: u32) -> Vec<u32> {
        let size = self.all_cores() / (self.packages * self.numas.max(1));
        self.cpus_of_cores(numa * size, size)
    }

    fn write_device(&self, tree: &Tree, device: &Device) {
        let bridge = format!("sys/devices/pci{}", device.bus.rsplit_once(':').expect("an address").0);
        let folder = format!("{bridge}/{}", device.bus);
        let near = match u32::try_from(device.numa) {
            Ok(numa) => self.cpus_of_numa(numa),
            Err(_) => (0..self.count()).collect(),
        };
        tree.write(&format!("{folder}/class"), &format!("{}\n", device.class));
        tree.write(&format!("{folder}/vendor"), "0x15b3\n");
        tree.write(&format!("{folder}/device"), "0x1017\n");
        tree.write(&format!("{folder}/numa_node"), &format!("{}\n", device.numa));
        tree.write(&format!("{folder}/local_cpulist"), &(list(&near) + "\n"));
        tree.write(&format!("{folder}/local_cpus"), &(mask(&near) + "\n"));
        tree.link(&format!("sys/bus/pci/devices/{}", device.bus), &folder);
        if let Some((name, state)) = device.interface {
            let place = format!("{folder}/net/{name}");
            tree.write(&format!("{place}/operstate"), &format!("{state}\n"));
            tree.link(&format!("{place}/device"), &folder);
            tree.link(&format!("sys/class/net/{name}"), &place);
        }
        if let Some((class, name)) = device.fabric {
            let place = format!("{folder}/{class}/{name}");
            if class == "infiniband" {
                tree.write(&format!("{place}/ports/1/state"), "4: ACTIVE\n");
            }
            tree.link(&format!("{place}/device"), &folder);
            tree.link(&format!("sys/class/{class}/{name}"), &place);
        }
    }
}

impl Tree {
    fn write(&self, path: &str, text: &str) {
        self.0.write(path, text);
    }

    /// A set under its two names.
    fn write_set(&self, path: &str, cpus: &[u32]) {
        self.write(path, &(mask(cpus) + "\n"));
        self.write(&format!("{path}_list"), &(list(cpus) + "\n"));
    }

    /// A link from one place of the tree to another, relative as in the kernel's.
    fn link(&self, path: &str, to: &str) {
        let up = "../".repeat(path.matches('/').count());
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("inside the tree")).expect("a folder");
        fs::create_dir_all(self.0.join(to)).expect("a folder");
        std::os::unix::fs::symlink(format!("{up}{to}"), path).expect("a link");
    }
}

fn list(numbers: &[u32]) -> String {
    oxshmem_topology::cpulist::written(numbers)
}

/// As the kernel writes masks: words of 32 bits, the highest first.
fn mask(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(1, |most| most / 32 + 1);
    let word = |word: u32| cpus.iter().filter(|cpu| **cpu / 32 == word).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
    (0..words).rev().map(|number| format!("{:08x}", word(number))).collect::<Vec<_>>().join(",")
}
