//! Memory: what a job may take, what happens when there is none, and what a transfer may touch.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::{Path, PathBuf};

use oxshmem_base::chance::Dice;
use oxshmem_faults::{Job, JobEnd, LIMIT, MemoryGroup, Running, not_run, program, program_with};

const MIB: u64 = 1 << 20;

/// Asserts that a job ended well although it was refused memory, and that all its PEs were told the same.
fn expect_agreement(ended: &JobEnd) {
    assert_eq!(ended.status, Some(0), "{ended}");
    assert!(!ended.stdout.contains("DIFFERENT") && !ended.stdout.contains("WRONG"), "{ended}");
}

#[test]
fn fault_M1_an_allocation_beyond_the_memory_returns_null_everywhere() {
    let allocate = program("allocate.c");
    let Some(group) = MemoryGroup::or_say(256 * MIB) else { return };
    // Each alone would fit; a small one after it fits again.
    for options in ["-n 2", "-n 4", "-n 2 --nodes 2"] {
        let sizes = [160 * MIB, 32 * MIB, 1 << 45, 160 * MIB, 16 * MIB];
        let job = Job::new(options).env("SHMEM_SYMMETRIC_SIZE", "1G").inside(&group);
        let ended = job.run(&allocate, sizes.map(|size| size.to_string()));
        expect_agreement(&ended);
        let answers: Vec<&str> = ended.stdout.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(answers, ["NULL", "served", "NULL", "NULL", "served"], "{options}: {ended}");
        ended.says(&["this node has no 160 MiB more", "memory.", "allocate less"]);
    }
}

#[test]
fn active_sets_that_take_places_from_each_other_do_not_fill_the_memory() {
    let sets_in_turn = program_with("sets_in_turn.c", &["-Wno-deprecated-declarations"]);
    Job::new("-n 1").run(&sets_in_turn, [""; 0]).expect(0);
}

#[test]
fn fault_M1_a_block_that_cannot_grow_stays_as_it_was() {
    let grow = program("grow.c");
    let Some(group) = MemoryGroup::or_say(256 * MIB) else { return };
    let ended = Job::new("-n 2").env("SHMEM_SYMMETRIC_SIZE", "1G").inside(&group).run(&grow, [""; 0]);
    expect_agreement(&ended);
    assert!(ended.stdout.contains("refused, then served") && !ended.stdout.contains("0 refused"), "{ended}");
}

/// Two jobs of 1 to 8 PEs at once, whose allocations are around the limit that they share. `OXSHMEM_MEMORY_RUNS` says how
/// many pairs of jobs run.
#[test]
fn fault_M1_two_jobs_at_once_are_never_promised_the_same_memory() {
    let runs = std::env::var("OXSHMEM_MEMORY_RUNS").ok().map_or(4, |runs| runs.parse().expect("a number of runs"));
    let allocate = program("allocate.c");
    let (mut served, mut refused) = (0, 0);
    for run in 0..runs {
        let mut random = Dice::new(run);
        let limit = 128 + random.next() % 256;
        let Some(group) = MemoryGroup::or_say(limit * MIB) else { return };
        let mut start = || {
            let pes = 1 + random.next() % 8;
            let size = |random: &mut Dice| (1 + random.next() % (limit * 5 / 4 * 1024 / pes)) * 1024;
            let sizes: Vec<String> = (0..6).map(|_| size(&mut random).to_string()).collect();
            let job = Job::new(&format!("-n {pes}")).env("SHMEM_SYMMETRIC_SIZE", "1G").inside(&group);
            job.start(&allocate, &sizes)
        };
        let jobs = [start(), start()];
        for ended in jobs.map(|job| Running::wait(job, LIMIT)) {
            expect_agreement(&ended);
            served += ended.stdout.matches("served").count();
            refused += ended.stdout.matches("NULL").count();
        }
    }
    println!("{runs} runs: {served} allocations served, {refused} refused");
    assert!(served > 0 && refused > 0);
}

#[test]
fn fault_M3_memory_that_one_pe_lacks_is_no_accusation() {
    let allocate = program("allocate.c");
    let Some(group) = MemoryGroup::or_say(64 * MIB) else { return };
    let enter = "if [ $PMI_RANK = 1 ]; then echo $$ > \"$0\"; fi; exec \"$@\"";
    let sizes = [40 * MIB, 96 * MIB, 8 * MIB, 96 * MIB, 8 * MIB];
    for options in ["-n 3", "-n 3 --nodes 3"] {
        let words = ["-c".into(), enter.into(), group.door(), allocate.clone()];
        let sizes = sizes.map(|size| PathBuf::from(size.to_string()));
        let job = Job::new(options).env("SHMEM_SYMMETRIC_SIZE", "256M");
        let ended = job.run(Path::new("/bin/sh"), words.into_iter().chain(sizes));
        expect_agreement(&ended);
        let answers: Vec<&str> = ended.stdout.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(answers, ["served", "NULL", "served", "NULL", "served"], "{options}: {ended}");
        ended.says(&["PE 1 of 3: shmem_malloc: this node has no"]);
    }
}

#[test]
fn fault_M2_a_core_file_has_what_the_pe_used_and_costs_no_memory() {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").expect("Linux has it");
    if pattern.starts_with(['|', '/']) {
        return not_run(format_args!("core files go to {}", pattern.trim()));
    }
    let crash = program("crash.c");
    let Some(group) = MemoryGroup::or_say(256 * MIB) else { return };
    let folder = crash.with_extension("core.d");
    std::fs::create_dir_all(&folder).expect("a folder for the core file");
    let mut job = Job::new("-n 2").inside(&group);
    job.command().current_dir(&folder);
    let shell = ["-c", "ulimit -c unlimited; exec \"$0\"", &crash.display().to_string()];
    let ended = job.run(Path::new("/bin/sh"), shell);
    let cores: Vec<u64> = std::fs::read_dir(&folder)
        .expect("our folder")
        .flatten()
        .filter(|file| file.file_name().to_string_lossy().starts_with("core"))
        .filter_map(|file| file.metadata().ok())
        .map(|core| std::os::unix::fs::MetadataExt::blocks(&core) * 512)
        .collect();
    std::fs::remove_dir_all(&folder).expect("our folder");
    let ended = ended.expect(139);
    assert!(ended.stderr.contains("core dumped") && cores.len() == 1, "{cores:?} {ended}");
    println!("a core file of {} KiB", cores[0] / 1024);
    // The block of a megabyte is in it.
    assert!((MIB..64 * MIB).contains(&cores[0]), "a core file of {} bytes", cores[0]);
}

#[test]
fn fault_M4_a_negative_stride_stays_inside_the_target() {
    let stride = program("negative_stride.c");
    for options in ["-n 3", "-n 3 --nodes 3"] {
        for call in ["put", "get"] {
            let ended = Job::new(options).run(&stride, ["inside", call]).expect(0);
            assert!(
                !ended.stdout.contains("element") && !ended.stdout.contains("fetched"),
                "{options} {call}: {ended}"
            );
            assert_eq!(ended.stdout.matches("is done").count(), 3, "{ended}");
        }
    }
    for call in ["iput", "iget"] {
        let ended = Job::new("-n 3").run(&stride, ["outside", &call[1..]]);
        assert!(!ended.stdout.contains("element"), "another PE's heap was written: {ended}");
        assert!(ended.status != Some(0) && !ended.crashed(), "{ended}");
        ended.says(&["shmem_long_", call, "is not symmetric memory"]);
    }
}

#[test]
fn fault_M5_the_default_cap_is_a_share_of_what_the_pes_may_use() {
    let allocate = program("allocate.c");
    let Some(group) = MemoryGroup::or_say(512 * MIB) else { return };
    for (options, cap) in [("-n 1", "496 MiB"), ("-n 2", "248 MiB"), ("-n 4", "124 MiB")] {
        let ended = Job::new(options).env("SHMEM_INFO", "1").inside(&group).run(&allocate, [""; 0]).expect(0);
        assert!(ended.stdout.contains(&format!("symmetric heap of at most {cap}")), "{options}: {ended}");
    }
}

#[test]
fn fault_M6_a_pe_that_was_killed_for_memory_is_named_as_such() {
    let hog = program("hog.c");
    let Some(group) = MemoryGroup::or_say(128 * MIB) else { return };
    let ended = Job::new("-n 2").inside(&group).run(&hog, [""; 0]).expect(137);
    assert!(ended.stdout.contains("a score of 500"), "the kernel does not prefer PEs: {ended}");
    ended.says(&["PE 1", "killed by SIGKILL, probably out of memory", "of 128 MiB", "exit 137"]);
}

/// The memory of the node, a limit of addresses, or another node: each asks for another remedy.
#[test]
fn a_full_heap_names_what_bounds_it() {
    let allocate = program("allocate.c");
    let more_than_any = (1_u64 << 46).to_string();
    let limited = "ulimit -v 41943040; exec \"$0\" \"$@\"";
    let limited_on_pe_1 = format!("test $PMI_RANK = 0 || {limited}");
    let table = [
        ("-n 2", "exec \"$0\" \"$@\"", "this PE's share of its node's memory"),
        ("-n 2", limited, "what the limit of addresses leaves to a heap"),
        ("-n 2 --nodes 2", &limited_on_pe_1, "what another node leaves to a heap"),
    ];
    for (options, before, bound) in table {
        let shell = ["-c", before, &allocate.display().to_string(), &more_than_any];
        let ended = Job::new(options).run(Path::new("/bin/sh"), shell).expect(0);
        assert!(ended.stdout.contains("NULL"), "{options}: {ended}");
        ended.says(&["PE 0", "no room for 64 TiB", bound]);
    }
}

/// The PE's own agent looks at its group, and tells `oshrun`.
#[test]
fn fault_M6_a_kill_for_memory_on_another_host_is_named_as_such() {
    let hog = program("hog.c");
    let Some(group) = MemoryGroup::or_say(160 * MIB) else { return };
    let ended = Job::new("-n 2 -H h1,h2").inside(&group).run(&hog, [""; 0]).expect(137);
    ended.says(&["PE 1", "h2", "killed by SIGKILL, probably out of memory", "of 160 MiB", "exit 137"]);
}

/// Huge pages are a reserve of their own, which no control group of memory counts: what is beyond it is refused, and a PE
/// that is killed for its other memory is named.
#[test]
fn fault_M6_a_kill_for_memory_beside_huge_pages_is_named_as_such() {
    let number = |file: &str| {
        let text = std::fs::read_to_string(format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{file}"));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0_u64)
    };
    let free = number("free_hugepages").saturating_sub(number("resv_hugepages")) * 2;
    if free < 32 {
        return not_run(format_args!("{free} MiB of huge pages are free (vm.nr_hugepages), 32 are needed"));
    }
    let (allocate, hog) = (program("allocate.c"), program("hog.c"));
    let Some(group) = MemoryGroup::or_say(128 * MIB) else { return };
    let huge = |options: &str| {
        let job = Job::new(options).env("SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES", "1");
        job.env("SHMEM_SYMMETRIC_HEAP_PAGE_SIZE", "2M").env("SHMEM_SYMMETRIC_SIZE", "1G").inside(&group)
    };
    let sizes = [8 * MIB, free * MIB, 8 * MIB];
    let ended = huge("-n 2").run(&allocate, sizes.map(|size| size.to_string()));
    expect_agreement(&ended);
    let answers: Vec<&str> = ended.stdout.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(answers, ["served", "NULL", "served"], "{ended}");
    let ended = huge("-n 2").run(&hog, [""; 0]).expect(137);
    ended.says(&["PE 1", "killed by SIGKILL, probably out of memory", "of 128 MiB"]);
}

#[test]
fn fault_M7_files_without_end_are_refused() {
    let allocate = program("allocate.c");
    let Some(group) = MemoryGroup::or_say(256 * MIB) else { return };
    let refused = |job: Job| {
        let ended = job.inside(&group).run(&allocate, ["1024"]);
        assert!(ended.status.is_some_and(|status| status != 0) && !ended.crashed(), "{ended}");
        ended.says(&["/dev/zero", "longer than 16 MiB"]);
    };
    refused(Job::new("-n 1 --hostfile /dev/zero"));
    refused(Job::new("-n 1").env("SHMEM_TUNING", "/dev/zero"));
    refused(Job::new("-n 1 --bind core").env("SHMEM_TOPOLOGY", "/dev/zero"));
    let ended = Job::new("-n 1").env("PBS_NODEFILE", "/dev/zero").inside(&group).run(&allocate, ["1024"]);
    assert!(ended.status.is_some_and(|status| status != 0) && !ended.crashed(), "{ended}");
    ended.says(&["PBS_NODEFILE", "longer than 16 MiB"]);
}
