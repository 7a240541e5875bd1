//! The hosts that a scheduler gave us, as its environment tells: Slurm, PBS, Flux.

use std::path::Path;
use std::process::Command;

use oxshmem_base::{Error, file};
use oxshmem_os::sockets;

use super::nodelist;
use super::placement::Room;

/// The hosts that a scheduler granted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    /// The hosts' names and their room.
    pub(crate) hosts: Vec<(String, Room)>,
    /// The words that start something on one of them, `{host}` standing for its name.
    pub(crate) shell: Option<&'static str>,
    /// Sentences about what is not used.
    pub(crate) notes: Vec<String>,
}

/// Each agent is a job step of its own with pipes of its own; it shares the processors only with its PEs.
const SRUN: &str = "srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist={host} --overlap --mem=0 --mpi=none \
                    --cpu-bind=none --unbuffered --quiet --input=0 --kill-on-bad-exit=0";

/// Variables by which users give `srun` options that an agent must not have, and that no other option takes back. Its pipe would be
/// labelled, or lead to a file, and all PEs of its host would have the processors of one task. A number of threads for each core
/// (`sbatch --threads-per-core=1`, `--hint=nomultithread`) limits a step to its tasks, as `--exact` does. Releases of Slurm differ
/// in which of the last three `srun` reads.
pub(crate) const OPTIONS_OF_SRUN: [&str; 10] = [
    "SLURM_LABELIO",
    "SLURM_STDOUTMODE",
    "SLURM_STDERRMODE",
    "SLURM_EXACT",
    "SLURM_EXCLUSIVE",
    "SLURM_HINT",
    "SLURM_THREADS_PER_CORE",
    "SRUN_CPUS_PER_TASK",
    "SLURM_CPUS_PER_TASK",
    "SLURM_TRES_PER_TASK",
];

/// The scheduler's own shell; hosts are numbered there, so the number is the place in the list.
const FLUX: &str = "flux exec --quiet -r {index}";

/// The allocation that the environment describes; none if no scheduler started us.
pub(crate) fn found(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Allocation>, Error> {
    if variable("SLURM_JOB_ID").is_some()
        && let Some(list) = variable("SLURM_JOB_NODELIST").or_else(|| variable("SLURM_NODELIST"))
    {
        return slurm(&list, &variable).map(Some).map_err(|why| unusable("Slurm", "SLURM_JOB_NODELIST", why));
    }
    if let Some(path) = variable("PBS_NODEFILE") {
        let text = file::read(Path::new(&path)).map_err(|error| error.to_string());
        return text.and_then(|text| pbs(&text)).map(Some).map_err(|why| unusable("PBS", "PBS_NODEFILE", why));
    }
    if variable("FLUX_URI").is_some() {
        let list = flux_hosts().map_err(|why| unusable("Flux", "`flux getattr hostlist`", why))?;
        return flux(&list).map(Some).map_err(|why| unusable("Flux", "`flux getattr hostlist`", why));
    }
    Ok(None)
}

/// A launcher that starts a command once for each task.
struct TaskLauncher {
    name: &'static str,
    /// How it starts a program.
    start: &'static str,
    /// The variables with the number of tasks, and with the number of this one.
    size: &'static str,
    rank: &'static str,
}

const FOR_EACH_TASK: [TaskLauncher; 3] = [
    TaskLauncher { name: "srun", start: "srun --mpi=pmi2", size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID" },
    TaskLauncher { name: "mpirun", start: "mpirun", size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK" },
    TaskLauncher { name: "a launcher (mpiexec, oshrun)", start: "mpiexec", size: "PMI_SIZE", rank: "PMI_RANK" },
];

/// A note, from the first task alone, that each task of another launcher runs `oshrun`: there are as many jobs as tasks.
pub(crate) fn repeated(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    // A PE hands its variables to the programs that it starts, and its connection to the launcher not: they are no tasks.
    if variable("PMI_FD").is_some_and(|fd| fd.trim().parse().is_ok_and(|number| sockets::inherited(number).is_err())) {
        return None;
    }
    let several = |launcher: &TaskLauncher| number(launcher.size).is_some_and(|tasks| tasks > 1);
    let TaskLauncher { name, start, size, rank } = FOR_EACH_TASK.into_iter().find(several)?;
    let tasks = number(size).filter(|_| number(rank) == Some(0))?;
    Some(format!(
        "note: {name} runs oshrun in {tasks} tasks, and each of them starts a job of its own: write `oshrun …` alone, or \
         let the launcher start the program itself, `{start} -n {tasks} …`"
    ))
}

fn slurm(list: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<Allocation, String> {
    let names = nodelist::expand(list)?;
    let mut notes = Vec::new();
    let mut counts = |name| {
        let text = variable(name)?;
        let counts = nodelist::counts(&text).filter(|all| all.len() == names.len());
        if counts.is_none() {
            notes.push(format!(
                "note: {name} is `{text}`, which has no number for each of the hosts of SLURM_JOB_NODELIST ({}), so it is not used; -N says how \
                 many PEs each host gets",
                names.len()
            ));
        }
        counts
    };
    let (tasks, processors) = (counts("SLURM_TASKS_PER_NODE"), counts("SLURM_JOB_CPUS_PER_NODE"));
    let room = |i: usize| {
        let slots = tasks.as_ref().map(|tasks| tasks[i]);
        // A user who asked for more tasks than processors got them.
        let most = processors.as_ref().map(|processors| processors[i].max(slots.unwrap_or(0)));
        Room { slots: slots.or(most), most }
    };
    let hosts = names.iter().cloned().zip((0..names.len()).map(room)).collect();
    Ok(Allocation { hosts, shell: Some(SRUN), notes })
}

/// One line for each place; a host may come several times. PBS's own `pbsdsh` gives a program no input, so agents are
/// started by the remote shell.
fn pbs(text: &str) -> Result<Allocation, String> {
    let mut hosts: Vec<(String, Room)> = Vec::new();
    for name in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match hosts.iter_mut().find(|(known, _)| known == name) {
            Some((_, room)) => room.slots = room.slots.map(|slots| slots + 1),
            None => hosts.push((name.to_string(), Room { slots: Some(1), most: None })),
        }
    }
    if hosts.is_empty() {
        Err("the file names no host".into())
    } else {
        Ok(Allocation { hosts, shell: None, notes: Vec::new() })
    }
}

fn flux(list: &str) -> Result<Allocation, String> {
    let names = nodelist::expand(list.trim())?;
    let hosts = names.into_iter().map(|name| (name, Room { slots: None, most: None })).collect();
    Ok(Allocation { hosts, shell: Some(FLUX), notes: Vec::new() })
}

fn flux_hosts() -> Result<String, String> {
    let output = Command::new("flux").args(["getattr", "hostlist"]).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_string())
    }
}

fn unusable(scheduler: &str, source: &str, why: String) -> Error {
    Error::new(format!("the hosts of this {scheduler} allocation cannot be read from {source}"))
        .because(why)
        .fix("name them with -H, or run on this host alone with -H localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Option<Allocation> {
        found(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())).unwrap()
    }

    fn note(variables: &[(&str, &str)]) -> Option<String> {
        repeated(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn slurm_tells_hosts_tasks_and_processors() {
        let allocation = read(&[
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_NODELIST", "n[1-2],gpu"),
            ("SLURM_TASKS_PER_NODE", "2(x2),1"),
            ("SLURM_JOB_CPUS_PER_NODE", "4(x3)"),
        ])
        .unwrap();
        let two = Room { slots: Some(2), most: Some(4) };
        let one = Room { slots: Some(1), most: Some(4) };
        assert_eq!(allocation.hosts, [("n1".into(), two), ("n2".into(), two), ("gpu".into(), one)]);
        assert!(allocation.shell.unwrap().contains("--nodelist={host}"));
        assert_eq!(allocation.notes, [""; 0]);
        let bare = read(&[("SLURM_JOB_ID", "7"), ("SLURM_NODELIST", "n1")]).unwrap();
        assert_eq!(bare.hosts, [("n1".into(), Room { slots: None, most: None })]);
    }

    #[test]
    fn counts_for_other_hosts_are_noted() {
        for (tasks, processors) in [("2(x3)", "4(x2)"), ("", "4(x2)"), ("2,x", "4(x2)"), ("2(x2)", "4")] {
            let allocation = read(&[
                ("SLURM_JOB_ID", "7"),
                ("SLURM_JOB_NODELIST", "n[1-2]"),
                ("SLURM_TASKS_PER_NODE", tasks),
                ("SLURM_JOB_CPUS_PER_NODE", processors),
            ])
            .unwrap();
            let [note] = &allocation.notes[..] else { panic!("{:?}", allocation.notes) };
            let (name, text) = match processors {
                "4" => ("SLURM_JOB_CPUS_PER_NODE", processors),
                _ => ("SLURM_TASKS_PER_NODE", tasks),
            };
            assert!(note.starts_with(&format!("note: {name} is `{text}`, which has no number for each")), "{note}");
        }
    }

    #[test]
    fn oshrun_in_every_task_is_noted_once() {
        let slurm = note(&[("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_PROCID", "0"), ("PMI_SIZE", "4")]).unwrap();
        assert!(slurm.contains("srun runs oshrun in 4 tasks") && slurm.contains("`srun --mpi=pmi2 -n 4 …`"), "{slurm}");
        assert!(note(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]).unwrap().contains("`mpiexec -n 2 …`"));
        for silent in [
            &[][..],
            &[("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")],
            &[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")],
            &[("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "1")],
        ] {
            assert_eq!(note(silent), None, "{silent:?}");
        }
    }

    #[test]
    fn pbs_counts_lines() {
        let hosts = pbs("n1\nn1\nn2\n\nn1\n").unwrap().hosts;
        let room = |slots| Room { slots: Some(slots), most: None };
        assert_eq!(hosts, [("n1".into(), room(3)), ("n2".into(), room(1))]);
        assert!(pbs("\n").is_err());
        let missing = found(|name| (name == "PBS_NODEFILE").then(|| "/no/such/file".into())).unwrap_err().to_string();
        assert!(missing.contains("PBS_NODEFILE") && missing.contains("-H"), "{missing}");
    }

    #[test]
    fn nobody_granted_anything() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("SLURM_JOB_NODELIST", "n1")]), None, "left over from somewhere");
        assert!(found(|name| (name.starts_with("SLURM_JOB")).then(|| "n[".into())).is_err());
        assert_eq!(flux("f[0-1]\n").unwrap().hosts.len(), 2);
    }
}
