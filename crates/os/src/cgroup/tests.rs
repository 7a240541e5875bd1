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

/// As the name of a container of systemd that has a dash.
#[test]
fn a_backslash_in_the_name_of_a_container_hides_no_group_inside() {
    let files =
        [("step/memory.max", "1000\n"), ("step/memory.current", "0\n"), ("step/memory.stat", "inactive_file 0\n")];
    let fixture = Fixture::new("escaped", &files);
    let mounts = fixture.mount(r"/machine-my\134x2dos.scope", "cgroup2", "rw");
    let found = Hierarchies::from_text("0::/machine-my\\x2dos.scope/step\n", &mounts);
    assert_eq!(found.memory().map(|limit| limit.whole).collect::<Vec<_>>(), [1000]);
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
    let mounts = fixture.mount("/docker/x", "cgroup", "rw,memory") + &fixture.mount("/", "cgroup", "rw,cpuacct,cpu");
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
    let groups = [("low", "1000", "900"), ("only", "max", "800"), ("greater", "700", "5000"), ("none", "max", "max")];
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
fn huge_pages_have_limits_of_their_own() {
    let files = [
        ("pod/hugetlb.2MB.max", "0\n"),
        ("pod/hugetlb.2MB.current", "0\n"),
        ("pod/hugetlb.1GB.max", "max\n"),
        ("pod/hugetlb.1GB.current", "5\n"),
        ("one/hugetlb.1GB.limit_in_bytes", "3000\n"),
        ("one/hugetlb.1GB.usage_in_bytes", "1000\n"),
    ];
    let fixture = Fixture::new("huge", &files);
    let found = |groups, kind, options, size| {
        let found = Hierarchies::from_text(groups, &fixture.mount("/", kind, options));
        found.huge_pages(size).map(|limit| (limit.whole, limit.free, limit.reserve)).collect::<Vec<_>>()
    };
    assert_eq!(found("0::/pod\n", "cgroup2", "rw", 2 << 20), [(0, 0, 0)]);
    assert_eq!(found("0::/pod\n", "cgroup2", "rw", 1 << 30), []);
    assert_eq!(found("0::/pod\n", "cgroup2", "rw", 64 << 10), []);
    assert_eq!(found("7:hugetlb:/one\n", "cgroup", "rw,hugetlb", 1 << 30), [(3000, 2000, 0)]);
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
