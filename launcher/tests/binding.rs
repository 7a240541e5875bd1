//! Where PEs go: what a user gets without asking, with `--bind`, and to see.

mod launch;

use std::path::{Path, PathBuf};
use std::process::Command;

use launch::{Ended, ended, has_several_cores, oshrun, run_script};
use oxshmem_os::cpus;
use oxshmem_test_folder::not_run;

/// Each PE tells where it may run.
const WHERE: &str = "echo $PMI_RANK $(sed -n 's/Cpus_allowed_list:.//p' /proc/self/status) $SHMEM_BIND";

fn allowed() -> Vec<u32> {
    cpus::allowed().into_iter().map(|cpu| cpu as u32).collect()
}

fn list(cpus: &[u32]) -> String {
    oxshmem_topology::cpulist::written(cpus)
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/topology").join(name)
}

#[test]
fn problem_24_without_a_word_nobody_is_bound() {
    let all = list(&allowed());
    for options in ["-n 2", "-n 2 --bind none", "-n 2 --bind=none"] {
        let ended = run_script(options, WHERE);
        let bound: Vec<&str> = ended.sorted().into_iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
        assert_eq!(bound, [&all, &all], "{options}: {}", ended.stderr);
    }
}

#[test]
fn bound_pes_have_cores_of_their_own() {
    let ended = run_script("-n 2 --bind", WHERE);
    let lines = ended.sorted();
    assert_eq!((ended.status, lines.len()), (Some(0), 2), "{}", ended.stderr);
    let places: Vec<&str> = lines.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
    // On a machine of one core they share it.
    assert_eq!(places[0] != places[1], has_several_cores(), "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(" core")), "the library is told: {lines:?}");
    // The value may stand apart, and a program's name is none.
    assert_eq!(run_script("-n 2 --bind core", WHERE).sorted(), lines);
    let mapped = run_script("-n 2 --bind=core --map numa", WHERE);
    assert_eq!((mapped.status, mapped.stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_order_of_numa_nodes_says_when_it_moves_no_pe() {
    let unbound = run_script("-n 2 --map numa", WHERE);
    assert_eq!(unbound.status, Some(0), "{}", unbound.stderr);
    assert!(unbound.stderr.contains("--map numa moves no PE without --bind"), "{}", unbound.stderr);
    // The variable binds as the option does, and PEs do not know the order.
    let by_option = run_script("-n 2 --map numa --bind core", WHERE);
    let mut command = oshrun(["-n", "2", "--map", "numa", "sh", "-c", WHERE]);
    let by_variable = ended(command.env("SHMEM_BIND", "core"));
    assert_eq!((by_variable.sorted(), &by_variable.stderr[..]), (by_option.sorted(), ""));
}

/// Otherwise each node would bind its PEs to the first cores.
#[test]
fn the_variable_binds_pes_of_several_nodes_as_the_option_does() {
    let by_option = run_script("-n 2 --nodes 2 --bind core", WHERE);
    let mut command = oshrun(["-n", "2", "--nodes", "2", "sh", "-c", WHERE]);
    let by_variable = ended(command.env("SHMEM_BIND", "core"));
    assert_eq!(by_variable.sorted(), by_option.sorted(), "{}", by_variable.stderr);
}

/// That of a scheduler, for example.
#[test]
fn problem_24_a_cpuset_is_obeyed() {
    let last = *allowed().last().expect("a processor");
    let mut command = Command::new("taskset");
    command.args(["-c", &last.to_string()]).arg(env!("CARGO_BIN_EXE_oshrun"));
    command.args(["-n", "2", "--bind", "core", "sh", "-c", WHERE]);
    let Ok(output) = command.output() else { return not_run("there is no taskset") };
    let ended = Ended::from(output);
    let wanted = [format!("0 {last} core"), format!("1 {last} core")];
    assert_eq!(ended.sorted(), wanted, "{}", ended.stderr);
}

fn displayed(machine: &str, arguments: &[&str]) -> Option<Ended> {
    ended(oshrun(arguments).env("SHMEM_TOPOLOGY", fixture(machine))).with_hwloc()
}

#[test]
fn the_map_of_a_laptop() {
    let arguments = ["-n", "4", "--bind", "core", "--display", "map", "--dry-run", "true"];
    let Some(ended) = displayed("fixtures/laptop.xml", &arguments) else { return };
    let table = ended.stdout.lines().skip(2).take(5).collect::<Vec<_>>().join("\n");
    let expected = "PE  processors  NUMA  L3  card\n 0  0,4         0     0   enp0s31f6\n \
                    1  1,5         0     0   wlp0s20f3\n 2  2,6         0     0   enp0s31f6\n \
                    3  3,7         0     0   wlp0s20f3";
    assert_eq!(table, expected, "{}", ended.stderr);
    assert!(ended.stdout.contains(": 1 package, 1 NUMA node, 1 L3, 4 cores, 8 processors"), "{}", ended.stdout);
}

/// A mapping of cards counts the PEs of a node, and so does this tool where PEs of one host count as several nodes.
#[test]
fn cards_are_given_node_by_node() {
    let mut command = oshrun(["-n", "4", "--nodes", "2", "--bind", "core", "--display", "map", "--dry-run", "true"]);
    command.env("SHMEM_TOPOLOGY", fixture("fixtures/laptop.xml"));
    command.env("SHMEM_OFI_NIC_POLICY", "user").env("SHMEM_OFI_NIC_MAPPING", "1:0; 0:1");
    let Some(ended) = ended(&mut command).with_hwloc() else { return };
    let last_words = ended.stdout.lines().filter_map(|line| line.split_whitespace().nth(4));
    let cards: Vec<&str> = last_words.filter(|word| word.starts_with("enp") || word.starts_with("wlp")).collect();
    assert_eq!(cards, ["wlp0s20f3", "enp0s31f6"].repeat(2), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn the_picture_is_printed_and_nothing_is_run() {
    let arguments = ["-n", "16", "--bind", "core", "--display", "map=svg", "sh", "-c", "echo it ran"];
    let Some(ended) = displayed("fixtures/slingshot-four-cards.xml", &arguments) else { return };
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("<svg ") && ended.stdout.ends_with("</svg>\n"));
    assert!(
        ended.stdout.contains(">PE 15<") && ended.stdout.contains(">cxi3 / hsn3<") && !ended.stdout.contains("it ran")
    );
}

#[test]
fn wishes_that_cannot_be_granted_start_nothing() {
    let table = [(vec!["--bind=cores"], "cores"), (vec!["--display", "picture"], "picture")];
    for (options, word) in table {
        let ended = ended(&mut oshrun(options.iter().chain(&["echo", "it", "ran"])));
        assert_eq!((ended.status, ended.stdout.as_str()), (Some(2), ""), "{options:?}");
        ended.says(&[word]);
    }
    let mut command = oshrun(["-n", "2", "--display", "map", "echo", "it ran"]);
    let ended = ended(command.env("SHMEM_OFI_NIC_POLICY", "user").env("SHMEM_TOPOLOGY", "sysfs"));
    assert!(
        !ended.stdout.contains("it ran") && ended.stderr.contains("SHMEM_OFI_NIC_MAPPING is not set"),
        "{}",
        ended.stderr
    );
}
