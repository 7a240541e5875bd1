//! Signs that each launcher leaves in the environment: how many tasks the job claims to have, and which launcher started it.

/// A launcher's claim that this process is one of several.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// `one of 4 tasks by Slurm (step 134.0)` or `one of several tasks by PALS`.
    pub(crate) what: String,
    /// The option that makes this launcher answer us.
    pub(crate) remedy: String,
    /// The remedy where the launcher's own library answers that it knows this process no more.
    pub(crate) again: String,
    /// It may be the only task, if the launcher's library says so.
    pub(crate) may_be_alone: bool,
}

struct Sign {
    launcher: &'static str,
    /// Variable that must be there for the sign to count.
    present: &'static str,
    /// Variables that hold the number of tasks, the first one found counts. A sign without them cannot say that this
    /// task is alone.
    size: &'static [&'static str],
    remedy: &'static str,
}

/// In the order in which they are believed: a launcher started inside another one's job speaks first.
const SIGNS: &[Sign] = &[
    Sign {
        launcher: "a PMI launcher",
        present: "PMI_SIZE",
        size: &["PMI_SIZE"],
        remedy: "start it with `mpiexec.hydra -n {n} …`",
    },
    // `mpiexec.hydra -pmi-port` says no more than where it listens.
    Sign {
        launcher: "a PMI launcher",
        present: "PMI_PORT",
        size: &["PMI_SIZE"],
        remedy: "look whether this host can resolve and reach the host in PMI_PORT, or start it with `mpiexec.hydra -n {n} …`",
    },
    Sign {
        launcher: "Open MPI's mpirun",
        present: "OMPI_COMM_WORLD_SIZE",
        size: &["OMPI_COMM_WORLD_SIZE"],
        remedy: "put libpmix.so.2 (Debian's libpmix2) where the loader finds it (LD_LIBRARY_PATH), or start it with \
                 `mpiexec.hydra -n {n} …`",
    },
    Sign {
        launcher: "Slurm",
        present: "SLURM_STEP_ID",
        size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        remedy: "start it with `srun --mpi=pmi2 -n {n} …`",
    },
    Sign {
        launcher: "Flux",
        present: "FLUX_TASK_RANK",
        size: &["FLUX_JOB_SIZE"],
        remedy: "start it with `flux run -o pmi=simple -n {n} …`",
    },
    Sign {
        launcher: "PALS",
        present: "PALS_RANKID",
        size: &[],
        remedy: "put Cray's libpmi2.so.0 where the loader finds it (`module load cray-pmi`)",
    },
    Sign {
        launcher: "a PMIx launcher",
        present: "PMIX_RANK",
        size: &[],
        remedy: "put libpmix.so.2 (Debian's libpmix2) where the loader finds it (LD_LIBRARY_PATH)",
    },
];

/// The first sign in the environment that this process is one of several tasks.
pub(crate) fn claimed(variable: &dyn Fn(&str) -> Option<String>) -> Option<Claim> {
    let number = |name: &&str| variable(name)?.trim().parse::<u64>().ok();
    let signs = || SIGNS.iter().filter(|sign| variable(sign.present).is_some());
    let sized = || signs().filter_map(|sign| sign.size.iter().find_map(number).map(|size| (sign, Some(size))));
    let several = sized().find(|(_, size)| size.is_some_and(|size| size > 1));
    // A sign without a number does not say that this task is alone.
    let unknown = || signs().map(|sign| (sign, None)).next().filter(|_| sized().next().is_none());
    let (sign, size) = several.or_else(unknown)?;
    let step = match (sign.present, variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID")) {
        ("SLURM_STEP_ID", Some(job), Some(step)) => format!(" (step {job}.{step})"),
        _ => String::new(),
    };
    let tasks = size.map_or("several".into(), |size| size.to_string());
    let n = size.map_or("N".into(), |size| size.to_string());
    // PALS tells the number to its library alone, which fails without a server. Of several tasks the others would not start.
    let may_be_alone = size.is_none() && sign.present == "PALS_RANKID" && number(&sign.present) == Some(0);
    Some(Claim {
        may_be_alone,
        again: format!(
            "start each program of a script, and each program that a PE starts, by a launcher of its own, as `oshrun -n {n} …`"
        ),
        what: format!("one of {tasks} tasks by {}{step}", sign.launcher),
        remedy: format!("{} or with `oshrun -n {n} …`", sign.remedy.replace("{n}", &n)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(variables: &[(&str, &str)]) -> Option<Claim> {
        claimed(&|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn init_n_tasks_without_a_server_are_noticed() {
        let slurm = claim(&[("SLURM_STEP_ID", "0"), ("SLURM_JOB_ID", "134"), ("SLURM_NTASKS", "4")]).unwrap();
        assert_eq!(slurm.what, "one of 4 tasks by Slurm (step 134.0)");
        assert!(slurm.remedy.contains("srun --mpi=pmi2 -n 4") && slurm.remedy.contains("oshrun -n 4"));
        for (signs, words) in [
            (&[("PMI_SIZE", "2")][..], "mpiexec.hydra -n 2"),
            (&[("OMPI_COMM_WORLD_SIZE", "2")], "libpmix.so.2"),
            (&[("PALS_RANKID", "0")], "cray-pmi"),
            (&[("FLUX_TASK_RANK", "0"), ("FLUX_JOB_SIZE", "8")], "flux run -o pmi=simple -n 8"),
            (&[("PMIX_RANK", "0")], "libpmix.so.2"),
        ] {
            let remedy = claim(signs).unwrap().remedy;
            assert!(remedy.contains(words) && remedy.contains("oshrun -n"), "{signs:?}: {remedy}");
        }
        let alone = |signs: &[(&str, &str)]| claim(signs).unwrap().may_be_alone;
        assert!(alone(&[("PALS_RANKID", "0")]) && !alone(&[("PALS_RANKID", "1")]));
        assert!(!alone(&[("PMIX_RANK", "0")]) && !alone(&[("PMI_SIZE", "2"), ("PALS_RANKID", "0")]));
        for several in [
            &[("PMI_SIZE", "2")][..],
            &[("OMPI_COMM_WORLD_SIZE", "2")],
            &[("PMI_PORT", "elsewhere:4711")],
            &[("PMIX_RANK", "1")],
            &[("PMIX_RANK", "0")],
            &[("PALS_RANKID", "3")],
            &[("PALS_RANKID", "0")],
            &[("PMI_SIZE", "1"), ("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "2")],
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
