//! One host as the doctor sees it. The facts travel from other hosts as JSON, so all judging is done in one place.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use oxshmem_os::{Pages, SharedMemory, cpus, interfaces, limits, memory, process};
use oxshmem_topology::discover;
use serde::{Deserialize, Serialize};

use super::releases;
use crate::link::remote_shell::LIBRARY_PATH;
use crate::machine::beside;
use crate::wrapper::{library_folders, modules};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) host: String,
    /// Version of the tool, and a checksum of the library.
    pub(crate) build: String,
    /// Nanoseconds since 1970, when the facts were complete.
    pub(crate) time: u64,
    /// Bytes that a process may lock; `None`: no limit.
    pub(crate) lockable: Option<u64>,
    /// Descriptors that a process may open: the library raises the limit as far as this where they might not fit.
    pub(crate) open_files: u64,
    /// Bytes of addresses that a process may have; `None`: no limit.
    #[serde(default)]
    pub(crate) addresses: Option<u64>,
    /// Bytes of memory that are free, and the limit that says so.
    pub(crate) memory: (u64, String),
    /// Processors that may be used, and processors that the process may run on.
    pub(crate) processors: (usize, usize),
    /// The machine's processors.
    pub(crate) online_processors: usize,
    /// Packages, NUMA nodes and cores in words.
    pub(crate) topology: Option<String>,
    /// Whether the kernel moves pages between NUMA nodes.
    pub(crate) numa_balancing: bool,
    /// Why shared memory cannot be made, if it cannot.
    pub(crate) no_shared_memory: Option<String>,
    /// The size of huge pages, and how many are free.
    pub(crate) huge_pages: Option<(u64, u64)>,
    /// The size of `/dev/shm`.
    pub(crate) dev_shm: Option<u64>,
    /// `kernel.yama.ptrace_scope`.
    pub(crate) ptrace_scope: Option<u32>,
    pub(crate) cards: Vec<CardPort>,
    /// Interfaces that lead out of the host.
    pub(crate) interfaces: Vec<String>,
    /// Why no port can be opened, if none can.
    pub(crate) no_port: Option<String>,
    /// Libraries that are used where they are there: name and file.
    pub(crate) libraries: Vec<(String, Option<String>)>,
    /// Variables of a launcher or scheduler around us.
    pub(crate) launcher: Vec<String>,
    /// Tools of the same names that a shell finds before ours, or that it finds while ours are in no folder of `PATH`.
    pub(crate) other_tools: Vec<String>,
    /// The folder of Fortran modules that are not compiled although gfortran is there.
    pub(crate) missing_modules: Option<String>,
    /// How many processes run or want to run, in the mean of the last minute.
    pub(crate) load: f64,
    /// Processes that control groups still allow, their limit, and the file that says so.
    pub(crate) processes: Option<(u64, u64, String)>,
}

/// A port of a card for fabrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CardPort {
    pub(crate) name: String,
    /// `4: ACTIVE`, as the kernel writes it.
    pub(crate) state: String,
    /// `InfiniBand` or `Ethernet`.
    pub(crate) link: String,
    pub(crate) rate: String,
    /// How many addresses for RoCE version 2 it has.
    pub(crate) roce_addresses: usize,
}

/// Libraries that are opened at run time: the name for a reader, and the beginning of the file's name.
const LIBRARIES: [(&str, &str); 4] =
    [("libfabric", "libfabric.so.1"), ("UCX", "libucp.so.0"), ("PMIx", "libpmix.so.2"), ("hwloc", "libhwloc.so.15")];

/// Variables by which launchers and schedulers are known.
const LAUNCHERS: [&str; 8] =
    ["PMI_FD", "PMI_RANK", "PMIX_RANK", "PMIX_NAMESPACE", "SLURM_JOB_ID", "PBS_JOBID", "FLUX_URI", "PALS_RANKID"];

impl Facts {
    pub(crate) fn gather() -> Self {
        let tightest = limits::tightest();
        let seen = discover("auto").ok();
        let shared_memory =
            SharedMemory::create(c"oxshmem_doctor", 1 << 16, Pages::Small).and_then(|file| file.commit(0, 1 << 16));
        let with_release = |(name, file): (String, Option<String>)| {
            let told = file.map(|file| releases::with_file(&name, &file));
            (name, told)
        };
        let huge_pages = memory::huge_page_size().map(|size| (size, memory::free_huge_pages(size)));
        Self {
            host: line("/proc/sys/kernel/hostname"),
            build: build(),
            lockable: process::lockable(),
            open_files: process::openable().unwrap_or(u64::MAX),
            addresses: process::addresses(),
            memory: (tightest.free, tightest.limited_by),
            processors: (cpus::usable(), cpus::allowed().len()),
            online_processors: cpus::online(),
            topology: seen.as_ref().map(|seen| seen.node.describe()),
            numa_balancing: line("/proc/sys/kernel/numa_balancing") == "1",
            no_shared_memory: shared_memory.err().map(|error| error.to_string()),
            huge_pages,
            dev_shm: size_of_dev_shm(),
            ptrace_scope: line("/proc/sys/kernel/yama/ptrace_scope").parse().ok(),
            cards: cards(Path::new("/sys/class/infiniband")),
            interfaces: interfaces::leading_out(),
            no_port: TcpListener::bind(("0.0.0.0", 0)).err().map(|error| error.to_string()),
            libraries: libraries().into_iter().map(with_release).collect(),
            launcher: LAUNCHERS
                .iter()
                .filter(|name| std::env::var_os(name).is_some())
                .map(ToString::to_string)
                .collect(),
            other_tools: other_tools(),
            missing_modules: missing_modules(),
            load: line("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0),
            processes: process::processes_left_by_groups(),
            time: now(),
        }
    }

    pub(crate) fn has_card(&self) -> bool {
        !self.cards.is_empty()
    }
}

/// The first tools of these names in the folders of `PATH` that are not ours.
fn other_tools() -> Vec<String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let own = |name: &str| beside(name).ok().and_then(|path| path.canonicalize().ok());
    let other = |name: &&str| {
        let first = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())?;
        (first.canonicalize().ok() != own(name)).then(|| first.display().to_string())
    };
    ["oshrun", "oshcc", "oshfort"].iter().filter_map(other).collect()
}

/// The folder of this installation's Fortran modules, if they are not compiled although gfortran is there.
fn missing_modules() -> Option<String> {
    let include = beside("oshrun").ok()?.parent()?.parent()?.join("include");
    let folders = std::env::var_os("PATH")?;
    let is_there = || std::env::split_paths(&folders).any(|folder| folder.join("gfortran").is_file());
    (modules::are_missing(&include) && is_there()).then(|| include.display().to_string())
}

/// Nanoseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn line(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The version, and a checksum of the library's file.
fn build() -> String {
    let bytes = beside("oshrun").ok().and_then(|tool| library(tool.parent()?.parent()?)).unwrap_or_default();
    format!("{} {:016x}", env!("CARGO_PKG_VERSION"), oxshmem_base::chance::Sum::of(bytes))
}

/// The file of the library in this installation.
fn library(prefix: &Path) -> Option<Vec<u8>> {
    library_folders(prefix).iter().find_map(|folder| fs::read(folder.join("liboxshmem.so.1")).ok())
}

fn size_of_dev_shm() -> Option<u64> {
    let output = Command::new("df").args(["--block-size=1", "--output=size", "/dev/shm"]).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().nth(1)?.trim().parse().ok()
}

/// The ports of all cards below the kernel's folder.
fn cards(class: &Path) -> Vec<CardPort> {
    let entries = |folder: &Path| {
        let mut all: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        all.sort();
        all
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut cards = Vec::new();
    for device in entries(class) {
        for port in entries(&device.join("ports")) {
            let types = entries(&port.join("gid_attrs/types"));
            cards.push(CardPort {
                name: format!("{}:{}", name(&device), name(&port)),
                state: line(port.join("state")),
                link: line(port.join("link_layer")),
                rate: line(port.join("rate")),
                roce_addresses: types.iter().filter(|file| line(file).contains("v2")).count(),
            });
        }
    }
    cards
}

/// Where the loader finds the libraries.
fn libraries() -> Vec<(String, Option<String>)> {
    let listing = ["/sbin/ldconfig", "ldconfig"].iter().find_map(|tool| Command::new(tool).arg("-p").output().ok());
    let listing = listing.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let variable = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
    LIBRARIES.iter().map(|(name, file)| (name.to_string(), loaded(file, &variable, &listing))).collect()
}

/// The file that the loader takes for a library: of the first folder of its variable that has it, or else of its own table.
fn loaded(name: &str, variable: &OsStr, listing: &str) -> Option<String> {
    // An empty variable names no folder.
    let folders = (!variable.is_empty()).then(|| std::env::split_paths(variable));
    let named = folders.into_iter().flatten().map(|folder| folder.join(name)).find(|path| path.is_file());
    let listed = || {
        let line = listing.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")))?;
        Some(PathBuf::from(line.split("=> ").nth(1)?.trim()))
    };
    let path = named.or_else(listed)?;
    // The real name carries the version of the interface.
    Some(fs::canonicalize(&path).unwrap_or(path).display().to_string())
}

/// The libraries with their releases, or with what their own tools say of them.
pub(crate) fn library_versions() -> Vec<(String, String)> {
    let first_line = |tool: &str, argument: &str| {
        let output = Command::new(tool).arg(argument).output().ok().filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(str::trim).find(|line| line.contains(|c: char| c.is_ascii_digit())).map(str::to_owned)
    };
    let told = |name: &str| match name {
        "libfabric" => first_line("fi_info", "--version"),
        "UCX" => first_line("ucx_info", "-v"),
        "PMIx" => first_line("pmix_info", "--version"),
        _ => first_line("lstopo-no-graphics", "--version"),
    };
    let described = |(name, file): (String, Option<String>)| {
        let value = match file {
            None => "not found by the loader".to_owned(),
            Some(file) if releases::release(&name, &file).is_some() => releases::with_file(&name, &file),
            Some(file) => match told(&name) {
                Some(version) => format!("{file} ({})", version.trim_start_matches("# ")),
                None => file,
            },
        };
        (name, value)
    };
    libraries().into_iter().map(described).collect()
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn this_host_can_be_described_and_its_description_travels() {
        let facts = Facts::gather();
        assert!(facts.processors.0 >= 1 && facts.memory.0 > 0 && facts.open_files > 0, "{facts:?}");
        let text = serde_json::to_string(&facts).expect("facts have a JSON form");
        let read: Facts = serde_json::from_str(&text).expect("and can be read");
        assert_eq!((read.host, read.build, read.time), (facts.host, facts.build, facts.time));
    }

    #[test]
    fn the_library_is_found_in_each_folder_that_an_installation_may_have() {
        let prefix = TestFolder::new("prefix");
        for (place, folder) in library_folders(&prefix).iter().enumerate().rev() {
            prefix.write(folder.join("liboxshmem.so.1"), [place as u8]);
            assert_eq!(library(&prefix), Some(vec![place as u8]), "{}", folder.display());
        }
    }

    #[test]
    fn a_library_in_a_folder_of_the_variable_goes_before_that_of_the_table() {
        let folder = TestFolder::new("loader");
        let file = folder.write("libucp.so.0", "");
        let table = "1 libs found in cache\n\tlibucp.so.0 (libc6,x86-64) => /nowhere/libucp.so.0\n";
        let own = fs::canonicalize(file).expect("it is there").display().to_string();
        assert_eq!(loaded("libucp.so.0", folder.as_os_str(), table), Some(own));
        for other in ["", "/nowhere"] {
            assert_eq!(loaded("libucp.so.0", OsStr::new(other), table).as_deref(), Some("/nowhere/libucp.so.0"));
        }
        assert_eq!(loaded("libfabric.so.1", folder.as_os_str(), table), None);
    }

    #[test]
    fn ports_of_cards_are_read_from_the_kernels_folder() {
        let class = TestFolder::new("cards");
        for (file, text) in [
            ("state", "4: ACTIVE\n"),
            ("link_layer", "Ethernet\n"),
            ("rate", "100 Gb/sec (4X EDR)\n"),
            ("gid_attrs/types/0", "IB/RoCE v1\n"),
            ("gid_attrs/types/1", "RoCE v2\n"),
        ] {
            class.write(format!("mlx5_0/ports/1/{file}"), text);
        }
        let expected = CardPort {
            name: "mlx5_0:1".into(),
            state: "4: ACTIVE".into(),
            link: "Ethernet".into(),
            rate: "100 Gb/sec (4X EDR)".into(),
            roce_addresses: 1,
        };
        assert_eq!(cards(&class), [expected]);
    }
}
