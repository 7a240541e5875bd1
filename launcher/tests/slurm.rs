//! `oshrun` inside an allocation of a real Slurm with two nodes: it takes the scheduler's hosts and starts through it.

mod launch;

use std::process::{Command, Stdio};

use launch::{ended, oshrun, probe};

const RIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/rigs/slurm-two-nodes");
/// With this status the rig says why it cannot be had here.
const NOT_PERMITTED: i32 = 77;

/// All of it in one allocation: Slurm takes seconds to start.
const JOBS: &str = "\
echo == places; $OSHRUN sh -c 'echo $SLURMD_NODENAME $PMI_RANK' | sort
echo == labels; SLURM_LABELIO=1 SRUN_CPUS_PER_TASK=1 SLURM_CPUS_PER_TASK=1 $OSHRUN -n 4 sh -c 'echo $PMI_RANK' | sort
echo == values; $OSHRUN -n 4 $PROBE exchange | sort
echo == one host; $OSHRUN -H n2 -n 2 sh -c 'echo $SLURMD_NODENAME'
echo == failure; $OSHRUN -n 4 sh -c '[ $PMI_RANK = 3 ] && exit 5; exec sleep 600' 2>&1; echo status $?
echo == too many; $OSHRUN -n 99 true 2>&1; echo status $?
echo == more all the same; $OSHRUN --oversubscribe -n 6 sh -c 'echo one' | wc -l
echo == nobody; for look in $(seq 100); do left=$(squeue -h -s -o %i | grep -cv extern); [ $left = 0 ] && break; sleep 0.2; done; echo $left";

#[test]
fn a_slurm_allocation_is_used() {
    let mut rig = Command::new(RIG);
    rig.args(["salloc", "-Q", "-N2", "--ntasks-per-node=2", "sh", "-c", JOBS]).stdin(Stdio::null());
    rig.env("OSHRUN", env!("CARGO_BIN_EXE_oshrun")).env("PROBE", probe());
    let ended = ended(&mut rig);
    if ended.status == Some(NOT_PERMITTED) {
        return println!("SKIPPED jobs in a Slurm allocation: {}{}", ended.stdout.trim(), ended.stderr.trim());
    }
    let parts: Vec<Vec<&str>> = ended.stdout.split("== ").skip(1).map(|part| part.lines().collect()).collect();
    let part = |name: &str| {
        let found = parts.iter().find(|part| part.first() == Some(&name));
        found.unwrap_or_else(|| panic!("no part `{name}` in\n{}{}", ended.stdout, ended.stderr))[1..].to_vec()
    };
    assert_eq!(part("places"), ["n1 0", "n1 1", "n2 2", "n2 3"], "{}", ended.stderr);
    assert_eq!(part("labels"), ["0", "1", "2", "3"], "{}", ended.stderr);
    assert_eq!(
        part("values"),
        ["PE 0 exchanged", "PE 1 exchanged", "PE 2 exchanged", "PE 3 exchanged"],
        "{}",
        ended.stderr
    );
    assert_eq!(part("one host"), ["n2", "n2"], "{}", ended.stderr);
    let failure = part("failure");
    assert!(failure[0].starts_with("oshrun: PE 3 (n2, pid ") && failure[0].ends_with("exit 5"), "{failure:?}");
    assert_eq!(failure.last(), Some(&"status 5"));
    let refused = part("too many").join("\n");
    assert!(
        refused.contains("99 PEs are more than the allocation") && refused.contains("--oversubscribe"),
        "{refused}"
    );
    assert!(refused.ends_with("status 2"), "{refused}");
    assert_eq!(part("more all the same"), ["6"]);
    assert_eq!(part("nobody"), ["0"], "steps that are left");
}

#[test]
fn options_of_srun_that_would_harm_an_agent_are_kept_from_it() {
    let script =
        "echo ${SLURM_LABELIO-none} ${SLURM_TRES_PER_TASK-none} ${SLURM_THREADS_PER_CORE-none} $SLURM_CPUS_PER_TASK";
    let words = ["-H", "a,b", "--launch-agent", "env ON={host}", "-n", "2", "sh", "-c", script];
    let set = [
        ("SLURM_LABELIO", "1"),
        ("SLURM_TRES_PER_TASK", "cpu:3"),
        ("SLURM_THREADS_PER_CORE", "1"),
        ("SLURM_CPUS_PER_TASK", "3"),
    ];
    let ended = ended(oshrun(words).envs(set)).expect(0);
    assert_eq!(ended.sorted(), ["none none none 3"; 2], "PEs have the number that `srun` must not read");
}
