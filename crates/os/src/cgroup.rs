//! The resources that the control groups around this process leave it, under both versions of the kernel's interface.

use crate::kernel_text;
use crate::limits::limit::Limit;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the groups of this process are found in the file system, from its own group up to the mount.
#[derive(Debug, Default)]
pub(crate) struct Hierarchies {
    memory: Vec<CgroupLevel>,
    processors: Vec<CgroupLevel>,
    processes: Vec<CgroupLevel>,
    huge_pages: Vec<CgroupLevel>,
}

/// One group and the version of the interface it speaks.
#[derive(Debug, Clone)]
enum CgroupLevel {
    V1(PathBuf),
    V2(PathBuf),
}

impl Hierarchies {
    pub(crate) fn of_this_process() -> Self {
        let read = |path| kernel_text::read(path).unwrap_or_default();
        Self::from_text(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
    }

    /// `groups` is the text of /proc/self/cgroup, `mounts` that of /proc/self/mountinfo.
    fn from_text(groups: &str, mounts: &str) -> Self {
        let mut found = Hierarchies::default();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
                continue;
            };
            let has = |name: &str| controllers.split(',').any(|controller| controller == name);
            if controllers.is_empty() {
                let levels = levels(mounts, "cgroup2", "", group).map(CgroupLevel::V2);
                found.memory.extend(levels.clone());
                found.processors.extend(levels.clone());
                found.processes.extend(levels.clone());
                found.huge_pages.extend(levels);
            }
            // Several controllers may be mounted together.
            let kinds = [
                ("memory", &mut found.memory),
                ("cpu", &mut found.processors),
                ("pids", &mut found.processes),
                ("hugetlb", &mut found.huge_pages),
            ];
            for (controller, found) in kinds.into_iter().filter(|(controller, _)| has(controller)) {
                found.extend(levels(mounts, "cgroup", controller, group).map(CgroupLevel::V1));
            }
        }
        found
    }

    /// Every group with a limit. Cached file pages do not count as used, because the kernel drops them before it kills: those of its list of
    /// active pages too, to which a file goes that is read twice. Beyond `memory.high` it does not kill, but has the process sleep
    /// for up to two seconds behind each 64 pages.
    pub(crate) fn memory(&self) -> impl Iterator<Item = Limit> {
        self.memory.iter().filter_map(|level| {
            let (limits, usage, lists) = match level {
                CgroupLevel::V1(_) => {
                    let lists = ["total_inactive_file", "total_active_file"];
                    (&["memory.limit_in_bytes"][..], "memory.usage_in_bytes", lists)
                }
                CgroupLevel::V2(_) => {
                    (&["memory.max", "memory.high"][..], "memory.current", ["inactive_file", "active_file"])
                }
            };
            let read = |file: &&'static str| Some((number(&level.read(file)?)?, *file));
            let (whole, limit) = limits.iter().filter_map(read).min()?;
            let counts = level.read("memory.stat").unwrap_or_default();
            let cached: u64 = lists.iter().filter_map(|list| labelled(&counts, list)).sum();
            let used = number(&level.read(usage)?)?.saturating_sub(cached);
            let limited_by = level.path(limit).display().to_string();
            Some(Limit::new(level.identity(), whole, whole.saturating_sub(used), limited_by))
        })
    }

    /// Every group with a limit of huge pages of this many bytes: of none, where a container was given none. The kernel refuses others.
    pub(crate) fn huge_pages(&self, size: u64) -> impl Iterator<Item = Limit> {
        let size = match size {
            size if size >= 1 << 30 => format!("{}GB", size >> 30),
            size if size >= 1 << 20 => format!("{}MB", size >> 20),
            size => format!("{}KB", size >> 10),
        };
        self.huge_pages.iter().filter_map(move |level| {
            let (limit, usage) = match level {
                CgroupLevel::V1(_) => ("limit_in_bytes", "usage_in_bytes"),
                CgroupLevel::V2(_) => ("max", "current"),
            };
            let [limit, usage] = [limit, usage].map(|name| format!("hugetlb.{size}.{name}"));
            let (whole, used) = (number(&level.read(&limit)?)?, number(&level.read(&usage)?)?);
            let (identity, limited_by) = (level.identity(), level.path(&limit).display().to_string());
            Some(Limit { identity, whole, free: whole.saturating_sub(used), reserve: 0, limited_by })
        })
    }

    /// How many processes the kernel has killed for memory in the innermost group that counts them.
    pub(crate) fn memory_kills(&self) -> Option<u64> {
        self.memory.iter().find_map(|level| {
            let counts = match level {
                CgroupLevel::V1(_) => "memory.oom_control",
                CgroupLevel::V2(_) => "memory.events",
            };
            labelled(&level.read(counts)?, "oom_kill")
        })
    }

    /// For the group that has come closest to its limit: the most it has used, its limit, and the file that says so.
    pub(crate) fn memory_peak(&self) -> Option<(u64, u64, String)> {
        let peaks = self.memory.iter().filter_map(|level| {
            let (limit, peak) = match level {
                CgroupLevel::V1(_) => ("memory.limit_in_bytes", "memory.max_usage_in_bytes"),
                CgroupLevel::V2(_) => ("memory.max", "memory.peak"),
            };
            let limit_file = level.path(limit).display().to_string();
            Some((number(&level.read(peak)?)?, number(&level.read(limit)?)?, limit_file))
        });
        peaks.min_by_key(|(peak, limit, _)| limit.saturating_sub(*peak))
    }

    /// For the group that has room for the fewest more processes and threads: how many, its limit, and the file that says so.
    pub(crate) fn processes_left(&self) -> Option<(u64, u64, String)> {
        let groups = self.processes.iter().filter_map(|level| {
            let limit = number(&level.read("pids.max")?)?;
            let left = limit.saturating_sub(number(&level.read("pids.current")?)?);
            Some((left, limit, level.path("pids.max").display().to_string()))
        });
        groups.min_by_key(|(left, ..)| *left)
    }

    /// The fewest processors' worth of time any of the groups grants, in whole processors.
    pub(crate) fn processor_quota(&self) -> Option<usize> {
        let granted = |level: &CgroupLevel| {
            let (quota, period) = match level {
                CgroupLevel::V1(_) => {
                    (number(&level.read("cpu.cfs_quota_us")?)?, number(&level.read("cpu.cfs_period_us")?)?)
                }
                CgroupLevel::V2(_) => {
                    let text = level.read("cpu.max")?;
                    let (quota, period) = text.split_once(' ')?;
                    (number(quota)?, number(period)?)
                }
            };
            quota.checked_div(period).map(|whole| whole as usize)
        };
        self.processors.iter().filter_map(granted).min()
    }
}

impl CgroupLevel {
    /// The same for every process that sees this group, wherever it is mounted.
    fn identity(&self) -> u64 {
        let found = fs::metadata(self.path("")).map_or((0, 0), |folder| (folder.dev(), folder.ino()));
        (found.0.rotate_left(32) ^ found.1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63
    }

    fn path(&self, file: &str) -> PathBuf {
        let (CgroupLevel::V1(group) | CgroupLevel::V2(group)) = self;
        group.join(file)
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.path(file)).ok()
    }
}

/// The directories of `group` and the groups around it, as far as a mount of this kind shows them.
fn levels(mounts: &str, kind: &str, controller: &str, group: &str) -> impl Iterator<Item = PathBuf> + Clone + use<> {
    let mount = mounts.lines().find_map(|line| {
        let (place, source) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, mount_point) = (place.next()?, place.next()?);
        let mut source = source.split(' ');
        let fits = source.next()? == kind
            && (controller.is_empty() || source.nth(1)?.split(',').any(|option| option == controller));
        fits.then(|| (unescaped(root), unescaped(mount_point)))
    });
    let below = mount.map(|(root, mount_point)| {
        // A container may see its own group mounted as if it were the root.
        let inner = Path::new(group).strip_prefix(&root).unwrap_or(Path::new(""));
        (mount_point.join(inner), mount_point)
    });
    let (start, top) = below.unzip();
    let above = move |path: &PathBuf| path.parent().filter(|_| Some(path) != top.as_ref()).map(Path::to_path_buf);
    std::iter::successors(start, above)
}

/// A path of /proc/self/mountinfo, where a backslash and three octal digits stand for a backslash, a blank, or the end of a line.
fn unescaped(text: &str) -> PathBuf {
    let (mut path, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        path.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(path).into()
}

/// A file that holds one number. `max` and -1 are no numbers, they mean that there is no limit.
pub(crate) fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The number behind a label at the start of a line.
pub(crate) fn labelled(text: &str, label: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == label).then(|| words.next()?.parse().ok())?
    })
}

/// A line like `MemAvailable:  24 kB`, in bytes.
pub(crate) fn kilobytes(text: &str, label: &str) -> Option<u64> {
    labelled(text, label)?.checked_mul(1024)
}

#[cfg(test)]
mod tests;
