//! The PMI-1 server with our own client and foreign ones, and our client with foreign servers.

mod launch;

use std::process::Command;

use launch::{ended, probe, run, run_script};
use oxshmem_test_folder::{TestFolder, not_run};

fn exchanged(n: usize) -> Vec<String> {
    let mut lines: Vec<String> = (0..n).map(|pe| format!("PE {pe} exchanged")).collect();
    lines.sort();
    lines
}

#[test]
fn pes_meet_and_exchange_values_and_descriptors() {
    for n in [1, 2, 3, 8] {
        assert_eq!(run(&format!("-n {n} PROBE exchange 3")).well().sorted(), exchanged(n));
    }
}

#[test]
fn problem_19_sixty_four_pes_meet() {
    assert_eq!(run("-n 64 PROBE exchange").well().sorted(), exchanged(64));
}

#[test]
fn pes_behind_a_shell_meet_too() {
    let script = format!("{} exchange; true", probe());
    assert_eq!(run_script("-n 3", &script).sorted(), exchanged(3));
}

#[test]
fn one_job_may_run_several_programs_in_turn() {
    let script = format!("{0} exchange && {0} hello && {0} exchange", probe());
    assert_eq!(run_script("-n 3", &script).well().stdout.matches("exchanged").count(), 6);
}

#[test]
fn pes_of_different_programs_meet() {
    assert_eq!(run("-n 2 PROBE exchange : -n 3 PROBE exchange").sorted(), exchanged(5));
}

#[test]
fn a_job_knows_itself() {
    let lines = run("-n 2 PROBE hello");
    assert_eq!(
        lines.sorted(),
        ["PE 0 of 2, node 0 of 1, members [0, 1], ours true", "PE 1 of 2, node 0 of 1, members [0, 1], ours true"]
    );
}

#[test]
fn problem_1_without_an_answer_several_tasks_are_an_error() {
    // Some machines have libraries that answer for a launcher that is not there.
    let no_libraries = TestFolder::new("pmi");
    for name in ["libpmi.so.0", "libpmi2.so.0"] {
        no_libraries.write(name, "");
    }
    let alone = |variables: &[(&str, &str)]| {
        let mut command = Command::new(probe());
        command.env("LD_LIBRARY_PATH", &*no_libraries);
        for name in ["PMI_FD", "PMI_RANK", "PMI_SIZE"] {
            command.env_remove(name);
        }
        ended(command.envs(variables.iter().copied()))
    };
    assert_eq!(alone(&[]).stdout, "PE 0 of 1, node 0 of 1, members [0], ours false\n");
    // A launcher that is started inside a job of ours hands on its mark.
    assert_eq!(alone(&[("OXSHMEM_JOB", "a1")]).stdout, "PE 0 of 1, node 0 of 1, members [0], ours false\n");
    let refused = alone(&[("SLURM_STEP_ID", "0"), ("SLURM_JOB_ID", "134"), ("SLURM_NTASKS", "4")]).expect(99);
    refused.says(&[
        "one of 4 tasks by Slurm (step 134.0)",
        "PMI_FD is not set; PMIX_NAMESPACE is not set; libpmi2.so.0: ",
        "srun --mpi=pmi2",
        "SHMEM_SINGLETON=1",
    ]);
    let dead = alone(&[("PMI_FD", "99"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")]);
    dead.says(&["PMI_FD=99 does not answer"]);
    // Every launcher's signs, each with the command that mends it.
    for (signs, words) in [
        (&[("PMI_SIZE", "4"), ("PMI_RANK", "1")][..], "one of 4 tasks by a PMI launcher"),
        (&[("PMIX_RANK", "0")], "one of several tasks by a PMIx launcher"),
        (&[("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "0")], "one of 4 tasks by Open MPI's mpirun"),
        (&[("PALS_RANKID", "0")], "one of several tasks by PALS"),
        (&[("FLUX_TASK_RANK", "0"), ("FLUX_JOB_SIZE", "4")], "one of 4 tasks by Flux"),
    ] {
        let refused = alone(signs);
        assert_eq!((refused.status, refused.stdout.as_str()), (Some(99), ""), "{signs:?}");
        refused.says(&[words, "oshrun -n"]);
    }
    let wanted = alone(&[("PMI_SIZE", "4"), ("SHMEM_SINGLETON", "1")]);
    assert_eq!(wanted.stdout, "PE 0 of 1, node 0 of 1, members [0], ours false\n");
}

/// A client written from the protocol alone, in the shell's own means.
#[test]
fn a_raw_client_is_served() {
    let script = r#"
        python3 - <<'END'
import os, socket
wire = socket.socket(fileno=os.dup(int(os.environ["PMI_FD"])))
lines = wire.makefile("rw")
def ask(line):
    lines.write(line + "\n"); lines.flush()
    return lines.readline().strip()
rank = os.environ["PMI_RANK"]
answers = [ask("cmd=init pmi_version=1 pmi_subversion=1"), ask("cmd=get_maxes"), ask("cmd=get_universe_size"),
           ask("cmd=publish_name service=a port=b")]
space = ask("cmd=get_my_kvsname").split("kvsname=")[1]
answers.append(ask(f"cmd=put kvsname={space} key=k{rank} value=v {rank}"))
answers.append(ask("cmd=barrier_in"))
answers.append(ask(f"cmd=get kvsname={space} key=k{1 - int(rank)}"))
answers.append(ask(f"cmd=get kvsname={space} key=none"))
answers.append(ask("cmd=finalize"))
print("\n".join(answers))
END
    "#;
    if !has("python3") {
        return not_run("python3 is not installed");
    }
    let ended = run_script("-l -n 2", script).expect(0);
    let of_0: Vec<&str> = ended.stdout.lines().filter_map(|line| line.strip_prefix("[0] ")).collect();
    assert_eq!(
        of_0,
        [
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
            "cmd=universe_size size=2",
            "cmd=publish_name_result rc=-1 msg=not_supported",
            "cmd=put_result rc=0 msg=success",
            "cmd=barrier_out",
            "cmd=get_result rc=0 msg=success value=v 1",
            "cmd=get_result rc=-1 msg=key_not_found value=unknown",
            "cmd=finalize_ack",
        ]
    );
}

#[test]
fn babble_on_the_socket_ends_the_job_with_a_reason() {
    run("-n 2 PROBE babble").expect(1).says(&["PE 1 (pid", "does not speak PMI"]);
}

#[test]
fn our_client_meets_under_hydra() {
    if !has("mpiexec.hydra") {
        return not_run("mpiexec.hydra is not installed");
    }
    for options in [&[][..], &["-pmi-port"], &["-genv", "SHMEM_PMI", "pmi2"]] {
        let mut hydra = Command::new("mpiexec.hydra");
        let ended = ended(hydra.args(options).args(["-n", "5"]).arg(probe()).args(["exchange", "2"])).expect(0);
        assert_eq!(ended.sorted(), exchanged(5), "{options:?}");
    }
}

#[test]
fn version_2_is_served_too() {
    for options in ["-n 1", "-n 5", "-n 4 --nodes 2"] {
        let ended = run(&format!("{options} -x SHMEM_PMI=pmi2 PROBE exchange 2")).well();
        assert!(ended.stdout.lines().all(|line| line.ends_with("exchanged")), "{options}: {}", ended.stdout);
    }
    // Version 2 carries no status.
    run("-n 2 -x SHMEM_PMI=pmi2 PROBE abort 7").expect(1).says(&["this is the end"]);
}

#[test]
fn a_foreign_mpi_program_runs_here() {
    if !has("mpicc.mpich") {
        return not_run("mpicc.mpich is not installed");
    }
    let folder = TestFolder::new("pmi");
    let source = folder.write(
        "sum.c",
        r#"#include <mpi.h>
           #include <stdio.h>
           int main(void) {
               int rank, sum;
               MPI_Init(NULL, NULL);
               MPI_Comm_rank(MPI_COMM_WORLD, &rank);
               MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
               printf("%d: %d\n", rank, sum);
               MPI_Finalize();
               return 0;
           }"#,
    );
    let program = folder.join("sum");
    let mut compiler = Command::new("mpicc.mpich");
    if !compiler.arg(source).arg("-o").arg(&program).status().unwrap().success() {
        return not_run("mpicc.mpich cannot compile (libmpich-dev?)");
    }
    let ended = run(&format!("-n 3 {}", program.display())).expect(0);
    assert_eq!(ended.sorted(), ["0: 3", "1: 3", "2: 3"]);
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
