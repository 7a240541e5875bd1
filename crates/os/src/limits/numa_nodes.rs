//! The memory of the NUMA nodes from which this process gets pages, where other nodes of the machine have memory as well.
//!
//! A cpuset leaves a process some nodes: that of a scheduler's job, or of `docker run --cpuset-mems`. So does a policy that binds its memory
//! (`numactl --membind`). Where these nodes have no page left, the kernel kills a process, however much memory the others have.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::{Limit, NUMA_NODES};
use crate::{cgroup, kernel_text, numa_policy};

/// The nodes of the calling thread, which are some of those that have memory.
#[derive(Debug)]
pub(super) struct NumaNodes {
    /// The folder with a folder for each node.
    folder: PathBuf,
    numbers: Vec<u32>,
}

impl NumaNodes {
    /// `None`: pages come from all nodes, or the system does not tell.
    pub(super) fn of_this_thread() -> Option<NumaNodes> {
        let status = kernel_text::read("/proc/self/status").ok()?;
        NumaNodes::of(&status, numa_policy::bound_to().as_deref(), Path::new("/sys/devices/system/node"))
    }

    /// `status` is the text of /proc/self/status; the thread may be `bound` to some of the nodes that it names.
    fn of(status: &str, bound: Option<&[u32]>, folder: &Path) -> Option<NumaNodes> {
        let allowed = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:"))?;
        let allowed: Vec<_> = ranges(allowed).collect();
        let is_mine = |node: &u32| {
            allowed.iter().any(|range| range.contains(node)) && bound.is_none_or(|bound| bound.contains(node))
        };
        let with_memory = fs::read_to_string(folder.join("has_memory")).ok()?;
        let (numbers, others): (Vec<u32>, Vec<u32>) = ranges(&with_memory).flatten().partition(is_mine);
        let is_limit = !numbers.is_empty() && !others.is_empty();
        is_limit.then(|| NumaNodes { folder: folder.to_owned(), numbers })
    }

    /// Their memory as it is now. Cached files count as free, as they do for control groups.
    pub(super) fn look(&self) -> Option<Limit> {
        let (mut whole, mut free) = (0_u64, 0_u64);
        for &node in &self.numbers {
            let text = fs::read_to_string(self.file(node)).ok()?;
            whole = whole.saturating_add(bytes(&text, "MemTotal:")?);
            let parts = ["MemFree:", "Inactive(file):", "Active(file):"].map(|label| bytes(&text, label).unwrap_or(0));
            free = parts.into_iter().fold(free, u64::saturating_add);
        }
        let limited_by = if let [one] = self.numbers[..] { self.file(one) } else { self.folder.clone() };
        Some(Limit::new(self.identity(), whole, free.min(whole), limited_by.display().to_string()))
    }

    /// Their huge pages of this many bytes, of which the kernel can make so many more. It refuses requests where they end.
    pub(super) fn look_at_huge_pages(&self, size: u64, more: u64) -> Option<Limit> {
        let part = |node: u32| self.folder.join(format!("node{node}/hugepages/hugepages-{}kB", size / 1024));
        let count = |what: &str| -> Option<u64> {
            let of_node = |&node: &u32| cgroup::number(&fs::read_to_string(part(node).join(what)).ok()?);
            self.numbers.iter().map(of_node).sum()
        };
        let pages = [count("nr_hugepages")?, count("free_hugepages")?];
        let [whole, free] = pages.map(|pages| pages.saturating_add(more).saturating_mul(size));
        let limited_by = if let [one] = self.numbers[..] { part(one) } else { self.folder.clone() };
        let limited_by = limited_by.display().to_string();
        Some(Limit { identity: self.identity(), whole, free, reserve: 0, limited_by })
    }

    fn file(&self, node: u32) -> PathBuf {
        self.folder.join(format!("node{node}/meminfo"))
    }

    /// The same for processes that have the same nodes.
    fn identity(&self) -> u64 {
        let mix = |mixed: u64, node: &u32| (mixed ^ u64::from(*node)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The identities of control groups have the highest bit.
        self.numbers.iter().fold(NUMA_NODES, |mixed, node| mix(mixed, node).rotate_left(29)) >> 1 | 1 << 62
    }
}

/// The numbers of a list like `0-3,8`.
fn ranges(list: &str) -> impl Iterator<Item = RangeInclusive<u32>> + '_ {
    list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    })
}

/// The bytes in a line like `Node 0 MemFree:  24 kB`.
fn bytes(text: &str, label: &str) -> Option<u64> {
    let kilobytes = text.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(2);
        (words.next()? == label).then(|| words.next()?.parse::<u64>().ok())?
    });
    kilobytes?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    /// Three nodes with 100, 200 and 400 kB, and one without memory.
    fn machine() -> TestFolder {
        let folder = TestFolder::new("numa-nodes");
        folder.write("has_memory", "0-1,4\n");
        for (node, kilobytes) in [(0, 100), (1, 200), (4, 400)] {
            let lines = [("MemTotal:", kilobytes), ("MemFree:", 10), ("Inactive(file):", 5), ("Active(file):", 2)];
            let lines = lines.map(|(label, kilobytes)| format!("Node {node} {label}  {kilobytes} kB\n"));
            folder.write(format!("node{node}/meminfo"), lines.concat());
        }
        folder
    }

    fn bound(folder: &Path, allowed: &str, bound: Option<&[u32]>) -> Option<Limit> {
        NumaNodes::of(&format!("Name:\tprogram\nMems_allowed_list:\t{allowed}\n"), bound, folder)?.look()
    }

    fn limit(folder: &Path, allowed: &str) -> Option<Limit> {
        bound(folder, allowed, None)
    }

    #[test]
    fn the_nodes_that_a_cpuset_leaves_are_a_limit() {
        let folder = machine();
        let one = limit(&folder, "1").expect("there are others");
        assert_eq!((one.whole, one.free), (200 << 10, 17 << 10));
        assert!(one.limited_by.ends_with("/node1/meminfo"), "{}", one.limited_by);
        let two = limit(&folder, "0,4-7").expect("there is another one");
        assert_eq!((two.whole, two.free), (500 << 10, 34 << 10));
        assert_eq!(two.identity, limit(&folder, "0,4").expect("the same nodes").identity);
        assert!(one.identity != two.identity && one.identity >> 63 == 0);
    }

    #[test]
    fn the_nodes_to_which_a_policy_binds_are_a_limit() {
        let folder = machine();
        let of = |nodes: &[u32]| bound(&folder, "0-1,4", Some(nodes)).map(|limit| limit.whole);
        assert_eq!([of(&[4]), of(&[0, 1]), of(&[0, 1, 4])], [Some(400 << 10), Some(300 << 10), None]);
        let within = bound(&folder, "0-1", Some(&[1])).expect("there are others");
        assert_eq!(Some(within), limit(&folder, "1"));
        assert_eq!(bound(&folder, "0-1", Some(&[4])), None);
    }

    #[test]
    fn huge_pages_of_other_nodes_are_not_to_be_had() {
        let folder = machine();
        for (node, all, free) in [(0, 8, 5), (1, 0, 0), (4, 2, 1)] {
            let file = |name: &str| format!("node{node}/hugepages/hugepages-2048kB/{name}");
            folder.write(file("nr_hugepages"), format!("{all}\n"));
            folder.write(file("free_hugepages"), format!("{free}\n"));
        }
        let look = |allowed: &str, size, more| {
            let nodes = NumaNodes::of(&format!("Mems_allowed_list:\t{allowed}\n"), None, &folder).expect("others");
            nodes.look_at_huge_pages(size, more).map(|limit| (limit.whole >> 20, limit.free >> 20, limit.reserve))
        };
        assert_eq!([look("1", 2 << 20, 0), look("1", 2 << 20, 3)], [Some((0, 0, 0)), Some((6, 6, 0))]);
        assert_eq!(look("0,4", 2 << 20, 0), Some((20, 12, 0)));
        assert_eq!(look("0", 1 << 30, 0), None);
    }

    #[test]
    fn all_nodes_are_no_limit_beside_that_of_the_machine() {
        let folder = machine();
        for allowed in ["0-1,4", "0-1023", "2-3", "", "x"] {
            assert_eq!(limit(&folder, allowed), None, "{allowed}");
        }
        assert_eq!(limit(&folder.join("none"), "0"), None);
        assert!(NumaNodes::of("Name:\tprogram\n", None, &folder).is_none());
    }
}
