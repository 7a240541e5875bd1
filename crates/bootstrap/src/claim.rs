//! What the environment claims about the job: the signs that each launcher leaves.

/// A launcher's claim that this process is one of several.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// `4 tasks by Slurm (step 134.0)` or `several tasks by PALS`.
    pub(crate) what: String,
    /// The command that makes this launcher answer us.
    pub(crate) remedy: String,
}

struct Sign {
    launcher: &'static str,
    /// Variable that must be there for the sign to count.
    present: &'static str,
    /// Variables that hold the number of tasks, the first one found counts.
    size: &'static [&'static str],
    /// Variable with this task's number; more than 0 proves company even where no size is given.
    rank: &'static str,
    remedy: &'static str,
}

/// In the order in which they are believed: a launcher started inside another one's job speaks first.
const SIGNS: &[Sign] = &[
    Sign {
        launcher: "a PMI launcher",
        present: "PMI_SIZE",
        size: &["PMI_SIZE"],
        rank: "PMI_RANK",
        remedy: "mpiexec.hydra -n {n} …",
    },
    Sign {
        launcher: "Open MPI's mpirun",
        present: "OMPI_COMM_WORLD_SIZE",
        size: &["OMPI_COMM_WORLD_SIZE"],
        rank: "OMPI_COMM_WORLD_RANK",
        remedy: "mpiexec.hydra -n {n} …",
    },
    Sign {
        launcher: "Slurm",
        present: "SLURM_STEP_ID",
        size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        rank: "SLURM_PROCID",
        remedy: "srun --mpi=pmi2 -n {n} …",
    },
    Sign {
        launcher: "Flux",
        present: "FLUX_TASK_RANK",
        size: &["FLUX_JOB_SIZE"],
        rank: "FLUX_TASK_RANK",
        remedy: "flux run -o pmi=simple -n {n} …",
    },
    Sign {
        launcher: "PALS", present: "PALS_RANKID", size: &[], rank: "PALS_RANKID", remedy: "mpiexec.hydra -n {n} …"
    },
    Sign {
        launcher: "a PMIx launcher",
        present: "PMIX_RANK",
        size: &[],
        rank: "PMIX_RANK",
        remedy: "mpiexec.hydra -n {n} …",
    },
];

/// The first sign in the environment that this process is one of several tasks.
pub(crate) fn claimed(variable: impl Fn(&str) -> Option<String>) -> Option<Claim> {
    let number = |name: &&str| variable(name)?.trim().parse::<u64>().ok();
    SIGNS.iter().filter(|sign| variable(sign.present).is_some()).find_map(|sign| {
        let size = sign.size.iter().find_map(number);
        let several = size.map_or_else(|| number(&sign.rank).is_some_and(|rank| rank > 0), |size| size > 1);
        several.then(|| {
            let tasks = size.map_or("several".into(), |size| size.to_string());
            let step = match (sign.present, variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID")) {
                ("SLURM_STEP_ID", Some(job), Some(step)) => format!(" (step {job}.{step})"),
                _ => String::new(),
            };
            let n = size.map_or("N".into(), |size| size.to_string());
            Claim {
                what: format!("one of {tasks} tasks by {}{step}", sign.launcher),
                remedy: format!("`{}` or `oshrun -n {n} …`", sign.remedy.replace("{n}", &n)),
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(variables: &[(&str, &str)]) -> Option<Claim> {
        claimed(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn init_n_tasks_without_a_server_are_noticed() {
        let slurm = claim(&[("SLURM_STEP_ID", "0"), ("SLURM_JOB_ID", "134"), ("SLURM_NTASKS", "4")]).unwrap();
        assert_eq!(slurm.what, "one of 4 tasks by Slurm (step 134.0)");
        assert!(slurm.remedy.contains("srun --mpi=pmi2 -n 4") && slurm.remedy.contains("oshrun -n 4"));
        for several in [
            &[("PMI_SIZE", "2")][..],
            &[("OMPI_COMM_WORLD_SIZE", "2")],
            &[("PMIX_RANK", "1")],
            &[("PALS_RANKID", "3")],
            &[("FLUX_TASK_RANK", "0"), ("FLUX_JOB_SIZE", "8")],
        ] {
            assert!(claim(several).is_some(), "{several:?}");
        }
    }

    #[test]
    fn one_task_is_one_pe() {
        for alone in [
            &[][..],
            &[("PMI_SIZE", "1")],
            &[("SLURM_NTASKS", "4")],
            &[("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_NTASKS", "4")],
            &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")],
        ] {
            assert_eq!(claim(alone), None, "{alone:?}");
        }
    }
}
