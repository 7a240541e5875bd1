//! How much memory this process can still get: from the machine, from the NUMA nodes of the calling thread, and from every control group
//! around it.

pub(crate) mod limit;
mod numa_nodes;
pub(crate) mod turn;

use std::fs;

use oxshmem_base::size;

use crate::cgroup::{self, Hierarchies};
use crate::memory::{free_huge_pages, huge_pages, huge_pages_to_make, page_size};

pub use limit::Limit;
use numa_nodes::NumaNodes;
pub use turn::{MemoryQueue, MemoryTurn, TurnAnswer, leave_to_parent};

/// The limits around this process. They are found once; each look reads what they leave at that moment.
#[derive(Debug)]
pub struct Limits(LimitSource);

#[derive(Debug)]
enum LimitSource {
    Ordinary(Hierarchies, Option<NumaNodes>),
    /// Pages of this size come from a reserve of their own, of which each NUMA node has a part.
    HugePages(u64, Hierarchies, Option<NumaNodes>),
}

/// Identities of limits that are no control groups, whose identities are hashes. That of NUMA nodes begins a hash of their numbers.
const MACHINE: u64 = 1;
const HUGE_PAGES: u64 = 2;
const NUMA_NODES: u64 = 3;

impl Limits {
    /// Those of memory in pages of this size.
    pub fn of_pages(size: u64) -> Limits {
        let (groups, nodes) = (Hierarchies::of_this_process(), NumaNodes::of_this_thread());
        if size > page_size() as u64 {
            Limits(LimitSource::HugePages(size, groups, nodes))
        } else {
            Limits(LimitSource::Ordinary(groups, nodes))
        }
    }

    /// The same without the NUMA nodes of this process: another one of its job may have others.
    pub fn without_nodes(self) -> Limits {
        match self.0 {
            LimitSource::Ordinary(groups, _) => Limits(LimitSource::Ordinary(groups, None)),
            LimitSource::HugePages(size, groups, _) => Limits(LimitSource::HugePages(size, groups, None)),
        }
    }

    /// All of them as they are now: at least one, of the machine.
    pub fn look(&self) -> Vec<Limit> {
        match &self.0 {
            LimitSource::Ordinary(groups, nodes) => {
                let nodes = nodes.as_ref().and_then(NumaNodes::look);
                std::iter::once(machine()).chain(nodes).chain(groups.memory()).collect()
            }
            LimitSource::HugePages(size, groups, nodes) => {
                let [free, whole] =
                    [free_huge_pages(*size), huge_pages(*size)].map(|pages| pages.saturating_mul(*size));
                let limited_by = "/sys/kernel/mm/hugepages".to_owned();
                // The kernel takes nothing from this reserve for itself, and refuses requests where it ends.
                let reserved = Limit { identity: HUGE_PAGES, whole, free, reserve: 0, limited_by };
                let nodes = nodes.as_ref().and_then(|nodes| nodes.look_at_huge_pages(*size, huge_pages_to_make(*size)));
                std::iter::once(reserved).chain(nodes).chain(groups.huge_pages(*size)).collect()
            }
        }
    }
}

/// The tightest of the limits on memory in ordinary pages, as it is now. Beyond the machine's memory a commit fails; beyond that of the
/// thread's NUMA nodes, or a control group's limit, the kernel kills the process.
pub fn tightest() -> Limit {
    let limits = Limits::of_pages(page_size() as u64).look();
    limits.into_iter().min_by_key(|limit| limit.free).expect("at least the machine")
}

fn machine() -> Limit {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let number = |label| cgroup::kilobytes(&text, label).unwrap_or(u64::MAX);
    Limit::new(MACHINE, number("MemTotal:"), number("MemAvailable:"), "/proc/meminfo".to_owned())
}

/// How many processes the kernel has killed for memory: in this process's control group, and on the machine.
#[derive(Clone, Copy, Debug)]
pub struct Kills {
    group: Option<u64>,
    machine: Option<u64>,
}

impl Kills {
    /// Those so far.
    pub fn so_far() -> Kills {
        Kills::counted(&Hierarchies::of_this_process(), &fs::read_to_string("/proc/vmstat").unwrap_or_default())
    }

    fn counted(groups: &Hierarchies, vmstat: &str) -> Kills {
        Kills { group: groups.memory_kills(), machine: cgroup::labelled(vmstat, "oom_kill") }
    }

    /// Why a process that was killed since then is probably a victim of it, if any was.
    pub fn since(self) -> Option<String> {
        self.explain(Kills::so_far(), Hierarchies::of_this_process().memory_peak())
    }

    fn explain(self, now: Kills, peak: Option<(u64, u64, String)>) -> Option<String> {
        let more = |now: Option<u64>, before: Option<u64>| now.zip(before).is_some_and(|(now, before)| now > before);
        match peak {
            Some((peak, limit, file)) if more(now.group, self.group) => {
                let [peak, limit] = [peak, limit].map(size::display);
                Some(format!("its control group has used {peak} of {limit} ({file})"))
            }
            _ if more(now.machine, self.machine) => {
                Some("the kernel has killed a process of this machine for memory meanwhile (/proc/vmstat)".into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_M1_a_reserve_is_never_promised() {
        let limit = |whole, free| Limit::new(9, whole, free, String::new());
        assert_eq!(limit(1 << 30, 1 << 29).spare(), (1 << 29) - (32 << 20));
        assert_eq!(limit(1 << 30, 20 << 20).spare(), 0);
        assert_eq!(limit(16 << 20, 16 << 20).spare(), 8 << 20);
        assert_eq!(limit(1 << 40, 1 << 40).most(), (1 << 40) - (1 << 30));
    }

    #[test]
    fn fault_M1_the_machine_is_a_limit_and_names_its_source() {
        let limits = Limits::of_pages(page_size() as u64).look();
        assert_eq!(limits[0].identity, MACHINE);
        assert!(limits.iter().all(|limit| tightest().free <= limit.whole), "{limits:?}");
        for limit in &limits {
            assert!(limit.free <= limit.whole && limit.whole > 1 << 20, "{limit:?}");
            assert!(fs::metadata(&limit.limited_by).is_ok(), "{limit:?}");
        }
        let huge = Limits::of_pages(1 << 21).look();
        assert_eq!(huge[0].identity, HUGE_PAGES);
        assert!(huge.iter().all(|limit| limit.reserve == 0), "{huge:?}");
    }

    #[test]
    fn fault_M6_a_group_that_killed_is_named_before_a_machine_that_did() {
        let kills = |group, machine| Kills { group, machine };
        let peak = || Some((256 << 20, 256 << 20, "/group/memory.max".to_owned()));
        let said = |before: Kills, now| before.explain(now, peak()).unwrap_or_default();
        assert!(
            said(kills(Some(1), Some(1)), kills(Some(2), Some(2))).contains("256 MiB of 256 MiB (/group/memory.max)")
        );
        assert!(said(kills(Some(1), Some(1)), kills(Some(1), Some(2))).contains("this machine"));
        assert!(said(kills(None, Some(1)), kills(None, Some(2))).contains("this machine"));
        assert_eq!(said(kills(Some(1), Some(1)), kills(Some(1), Some(1))), "");
        assert_eq!(said(kills(None, None), kills(None, None)), "");
        assert_eq!(Kills::counted(&Hierarchies::default(), "nr_free 5\noom_kill 7\n").machine, Some(7));
    }
}
