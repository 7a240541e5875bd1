//! The resources that the control groups around this process leave it, under both versions of the kernel's interface.

use crate::kernel_text;
use crate::limits::limit::Limit;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the groups of this process are found in the file system, from its own group up to the mount.
#[derive(Debug, Default)]
pub(crate) struct Hierarchies {
    memory: Vec<CgroupLevel>,
    processors: Vec<CgroupLevel>,
    processes: Vec<CgroupLevel>,
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
                found.processes.extend(levels);
            }
            // Several controllers may be mounted together.
            let kinds = [("memory", &mut found.memory), ("cpu", &mut found.processors), ("pids", &mut found.processes)];
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
        fits.then(|| (root.to_owned(), PathBuf::from(mount_point)))
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
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    /// A directory with files in it that goes away with the test.
    struct Fixture(TestFolder);

    impl Fixture {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = TestFolder::new(name);
            for (path, text) in files {
                root.write(path, text);
            }
            Fixture(root)
        }

        fn mount(&self, root: &str, kind: &str, options: &str) -> String {
            format!("31 24 0:27 {root} {} rw shared:9 - {kind} none {options}\n", self.0.display())
        }
    }

    #[test]
    fn version_2_limits_hold_at_every_level() {
        let fixture = Fixture::new(
            "v2",
            &[
                ("job/memory.max", "1000\n"),
                ("job/memory.current", "700\n"),
                ("job/memory.stat", "anon 1\ninactive_file 200\nactive_file 5\n"),
                ("job/cpu.max", "350000 100000\n"),
                ("job/step/memory.max", "max\n"),
                ("job/step/memory.current", "5\n"),
                ("job/step/cpu.max", "max 100000\n"),
            ],
        );
        let found = Hierarchies::from_text("0::/job/step\n", &fixture.mount("/", "cgroup2", "rw"));
        let limits: Vec<_> = found.memory().collect();
        assert_eq!(limits.len(), 1);
        assert_eq!((limits[0].whole, limits[0].free), (1000, 505));
        assert!(limits[0].limited_by.ends_with("/job/memory.max"));
        assert_eq!(found.processor_quota(), Some(3));
    }

    #[test]
    fn version_1_controllers_are_found_by_name_and_a_container_root_is_cut_off() {
        let fixture = Fixture::new(
            "v1",
            &[
                ("memory.limit_in_bytes", "4096\n"),
                ("memory.usage_in_bytes", "5000\n"),
                ("cpu.cfs_quota_us", "50000\n"),
                ("cpu.cfs_period_us", "100000\n"),
                ("step/cpu.cfs_quota_us", "-1\n"),
                ("step/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let mounts =
            fixture.mount("/docker/x", "cgroup", "rw,memory") + &fixture.mount("/", "cgroup", "rw,cpuacct,cpu");
        let groups = "5:name=systemd:/\n4:memory:/docker/x\n2:cpu,cpuacct:/step\nnonsense\n";
        let found = Hierarchies::from_text(groups, &mounts);
        assert_eq!(found.memory().map(|limit| limit.free).collect::<Vec<_>>(), [0]);
        assert_eq!(found.processor_quota(), Some(0));
    }

    #[test]
    fn version_1_controllers_that_are_mounted_together_all_count() {
        let files = [
            ("job/memory.limit_in_bytes", "4096\n"),
            ("job/memory.usage_in_bytes", "96\n"),
            ("job/cpu.cfs_quota_us", "200000\n"),
            ("job/cpu.cfs_period_us", "100000\n"),
            ("job/pids.max", "100\n"),
            ("job/pids.current", "95\n"),
        ];
        let fixture = Fixture::new("together", &files);
        let mounts = fixture.mount("/", "cgroup", "rw,cpu,memory,pids");
        let found = Hierarchies::from_text("3:cpu,memory,pids:/job\n", &mounts);
        assert_eq!(found.memory().map(|limit| limit.free).collect::<Vec<_>>(), [4000]);
        assert_eq!((found.processor_quota(), found.processes_left().map(|(left, ..)| left)), (Some(2), Some(5)));
    }

    #[test]
    fn a_limit_beyond_which_the_kernel_slows_a_group_down_is_one_of_its_limits() {
        let groups =
            [("low", "1000", "900"), ("only", "max", "800"), ("greater", "700", "5000"), ("none", "max", "max")];
        let files = groups.map(|(group, max, high)| {
            let file = |name: &str| format!("{group}/memory.{name}");
            [(file("max"), max), (file("high"), high), (file("current"), "100")]
        });
        let files: Vec<(&str, &str)> = files.iter().flatten().map(|(path, text)| (path.as_str(), *text)).collect();
        let fixture = Fixture::new("high", &files);
        let limit = |group: &str| {
            let found = Hierarchies::from_text(&format!("0::/{group}\n"), &fixture.mount("/", "cgroup2", "rw"));
            let limits: Vec<_> = found.memory().collect();
            limits.first().map(|limit| (limit.whole, limit.free, limit.limited_by.ends_with("/memory.high")))
        };
        let found = groups.map(|(group, ..)| limit(group));
        assert_eq!(found, [Some((900, 800, true)), Some((800, 700, true)), Some((700, 600, false)), None]);
    }

    /// Measured: in a group of 256 MiB with a file of 128 MiB that had been read five times, the kernel gave 210 MiB and killed nobody.
    #[test]
    fn cached_files_that_were_read_twice_count_as_free() {
        let active = "cache 6\ninactive_file 1\nactive_file 2\ntotal_inactive_file 100\ntotal_active_file 600\n";
        let files = [("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "900\n"), ("memory.stat", active)];
        let fixture = Fixture::new("active", &files);
        let found = Hierarchies::from_text("4:memory:/\n", &fixture.mount("/", "cgroup", "rw,memory"));
        assert_eq!(found.memory().map(|limit| limit.free).collect::<Vec<_>>(), [800]);
    }

    #[test]
    fn without_groups_there_is_no_limit() {
        let found = Hierarchies::from_text("", "");
        assert_eq!((found.memory().count(), found.processor_quota()), (0, None));
        let unmounted = Hierarchies::from_text("0::/a/b\n", "");
        assert_eq!((unmounted.memory().count(), unmounted.processor_quota()), (0, None));
    }

    #[test]
    fn fault_M1_processes_of_one_group_mean_the_same_limit() {
        let files = [("a/memory.max", "9\n"), ("a/memory.current", "1\n"), ("b/memory.max", "9\n")];
        let fixture = Fixture::new("identity", &[&files[..], &[("b/memory.current", "1\n")]].concat());
        let mount = fixture.mount("/", "cgroup2", "rw");
        let identity = |group: &str| Hierarchies::from_text(group, &mount).memory().next().expect("a limit").identity;
        assert_eq!(identity("0::/a\n"), identity("0::/a\n"));
        assert_ne!(identity("0::/a\n"), identity("0::/b\n"));
    }

    #[test]
    fn fault_L9_the_group_with_the_least_room_for_processes_is_found() {
        let fixture = Fixture::new(
            "pids",
            &[
                ("job/pids.max", "100\n"),
                ("job/pids.current", "95\n"),
                ("job/step/pids.max", "max\n"),
                ("job/step/pids.current", "7\n"),
            ],
        );
        let left = |groups, kind, options| {
            let found = Hierarchies::from_text(groups, &fixture.mount("/", kind, options)).processes_left();
            found.map(|(left, limit, file)| (left, limit, file.ends_with("/job/pids.max")))
        };
        assert_eq!(left("0::/job/step\n", "cgroup2", "rw"), Some((5, 100, true)));
        assert_eq!(left("8:pids:/job/step\n", "cgroup", "rw,pids"), Some((5, 100, true)));
        assert_eq!(left("8:pids:/\n", "cgroup", "rw,pids"), None);
    }

    #[test]
    fn fault_M6_kills_and_peaks_are_read_from_both_versions() {
        let fixture = Fixture::new(
            "kills",
            &[
                ("two/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n"),
                ("two/memory.max", "1000\n"),
                ("two/memory.peak", "990\n"),
                ("one/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"),
                ("one/memory.limit_in_bytes", "4096\n"),
                ("one/memory.max_usage_in_bytes", "4096\n"),
            ],
        );
        let of = |groups, kind, options| Hierarchies::from_text(groups, &fixture.mount("/", kind, options));
        let two = of("0::/two\n", "cgroup2", "rw");
        assert_eq!(two.memory_kills(), Some(2));
        assert_eq!(two.memory_peak().map(|(peak, limit, _)| (peak, limit)), Some((990, 1000)));
        let one = of("4:memory:/one\n", "cgroup", "rw,memory");
        assert_eq!(one.memory_kills(), Some(5));
        assert_eq!(one.memory_peak().map(|(peak, limit, _)| (peak, limit)), Some((4096, 4096)));
        assert_eq!(of("", "cgroup2", "rw").memory_kills(), None);
    }
}
