//! Finds the process manager of this process: one that answers, not one that has only left variables behind.

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;

use crate::claim::{self, Claim};
use crate::manager::{Alone, Manager};
use crate::pmi1::client::{self as pmi1, TaskFacts};
use crate::refusal::{ManagerRefusal, RefusalCause};
use crate::wire::{self, PmiSocket};
use crate::{library, pmi2, pmix};

/// The manager of this process: the first that answers. Without one the process is a job of its own, unless the
/// environment claims otherwise.
///
/// A descriptor is asked before PMIx: launchers close the descriptors of the jobs that they were started in, but hand
/// on the variables. PMI-1 is asked before PMI-2, because only PMI-1 tells the launcher a status when a job is ended.
pub(crate) fn manager(
    variable: &dyn Fn(&str) -> Option<String>,
    settings: &Settings,
) -> Result<Box<dyn Manager>, Error> {
    if settings.singleton {
        return Ok(Box::<Alone>::default());
    }
    let wanted = |name: &str| settings.pmi == "auto" || settings.pmi == name;
    let claim = claim::claimed(variable);
    let mut refusals: Vec<ManagerRefusal> = Vec::new();
    if wanted("pmi1") || wanted("pmi2") {
        match on_a_wire(variable, wanted("pmi1"), wanted("pmi2")) {
            Ok(manager) => return Ok(manager),
            Err(why) => refusals.push(why),
        }
    }
    if wanted("pmix") {
        match pmix::join(variable) {
            Ok(manager) => return Ok(manager),
            Err(why) => refusals.push(why),
        }
    }
    // A library is opened only if the launcher has said that there are several tasks, or if SHMEM_PMI asks for it. A launcher with a
    // descriptor has no other way: a library that joins without it brings no values, and one that writes to it may end the process (SIGPIPE).
    let may_help = wanted("library") && claim.is_some() && variable("PMI_FD").is_none();
    if settings.pmi == "library" || may_help {
        match library::join() {
            Ok(manager) if manager.size() == 1 && claim.as_ref().is_some_and(|claim| !claim.may_be_alone) => {
                refusals.push(format!("{} numbers this task as the only one", manager.protocol()).into());
            }
            Ok(manager) => return Ok(manager),
            Err(why) => refusals.push(why.into()),
        }
    }
    match claim {
        Some(claim) => Err(unanswered(&claim, settings, &refusals)),
        None if settings.pmi != "auto" => Err(Error::new(format!("SHMEM_PMI={} found no server", settings.pmi))
            .because(in_words(&refusals))
            .fix("start the program with a launcher that speaks it, or unset SHMEM_PMI")),
        None => Ok(Box::<Alone>::default()),
    }
}

fn in_words(refusals: &[ManagerRefusal]) -> String {
    let words: Vec<&str> = refusals.iter().map(|refusal| refusal.why.as_str()).collect();
    words.join("; ")
}

/// The error of one of several tasks that has found no server.
fn unanswered(Claim { what, remedy, again, .. }: &Claim, settings: &Settings, refusals: &[ManagerRefusal]) -> Error {
    let has = |cause| refusals.iter().any(|refusal| refusal.cause == cause);
    // A user who names one protocol leaves the others out, and starts the program the right way perhaps.
    let (named, unset) = match settings.pmi.as_str() {
        "auto" => (String::new(), ""),
        pmi => (format!("SHMEM_PMI={pmi} leaves other protocols out; "), "unset SHMEM_PMI; or else "),
    };
    // Python's subprocess, sudo and programs that become daemons close all descriptors that they do not know.
    let keep = if has(RefusalCause::ClosedDescriptor) {
        "let that program keep the descriptors that it does not know (Python: subprocess.run(…, close_fds=False)); \
         or else "
    } else {
        ""
    };
    // PMIx serves one life of one process for each number: neither its second program nor a child.
    let remedy = if has(RefusalCause::PmixCall) { again } else { remedy };
    let alone = if has(RefusalCause::TwoSpeak) { format!("{}; or else ", wire::ONE_AT_A_TIME) } else { String::new() };
    Error::new(format!("this process was started as {what}, but no PMI server answered"))
        .because(format!("{named}{}", in_words(refusals)))
        .fix(format!("{unset}{keep}{alone}{remedy}; SHMEM_SINGLETON=1 makes every task a job of its own"))
}

/// The error of a job that cannot begin. Slurm's library believes the numbers in the environment and joins without a server; then the
/// first value of another task is missing.
pub(crate) fn explained(
    error: Error,
    protocol: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    settings: &Settings,
) -> Error {
    let claim = claim::claimed(variable).filter(|_| library::is_one(protocol));
    match claim {
        Some(claim) => {
            let why = format!("{protocol} has joined and brings no values: {}", error.in_one_line());
            unanswered(&claim, settings, &[why.into()])
        }
        None => error,
    }
}

/// A server on an inherited descriptor or at a port.
fn on_a_wire(
    variable: &dyn Fn(&str) -> Option<String>,
    one: bool,
    two: bool,
) -> Result<Box<dyn Manager>, ManagerRefusal> {
    let number = |name| variable(name)?.trim().parse::<u32>().ok();
    let (from, wire, place) = match (variable("PMI_FD"), variable("PMI_PORT")) {
        (Some(fd), _) => {
            let from = format!("PMI_FD={fd}");
            let place = match (number("PMI_RANK"), number("PMI_SIZE")) {
                (Some(rank), Some(size)) if rank < size => TaskFacts { rank, size },
                _ => return Err(format!("{from}, but PMI_RANK and PMI_SIZE do not number this task").into()),
            };
            let wire = fd.trim().parse().map_err(|_| "no number".into()).and_then(PmiSocket::inherited);
            (from, wire, Some(place))
        }
        (None, Some(port)) => {
            (format!("PMI_PORT={port}"), PmiSocket::connected(port.trim()).map_err(ManagerRefusal::from), None)
        }
        (None, None) => return Err("PMI_FD is not set".into()),
    };
    let silent = |refusal: ManagerRefusal| refusal.told(|why| format!("{from} does not answer as a PMI server: {why}"));
    let wire = wire.map_err(silent)?;
    let place = match place {
        Some(place) => place,
        None => pmi1::introduce(&wire, number("PMI_ID").unwrap_or(0)).map_err(silent)?,
    };
    let (wire, refusal) = if one {
        match pmi1::Pmi1Client::greet(wire, place) {
            Ok(client) => return Ok(Box::new(client)),
            Err((refusal, wire)) => (wire, refusal),
        }
    } else {
        (wire, ManagerRefusal::new(RefusalCause::OtherVersion, String::new()))
    };
    if two && refusal.cause == RefusalCause::OtherVersion {
        let job = variable("PMI_JOBID").unwrap_or_default();
        return match pmi2::client::Pmi2Client::greet(wire, place.rank, &job) {
            Ok(client) => Ok(Box::new(client)),
            Err(why) => Err(silent(why.into())),
        };
    }
    Err(silent(refusal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_that_was_not_handed_on_has_a_remedy() {
        let variable = |name: &str| match name {
            "PMI_FD" => Some(i32::MAX.to_string()),
            "PMI_RANK" => Some("0".to_owned()),
            "PMI_SIZE" => Some("2".to_owned()),
            _ => None,
        };
        let settings = Settings { pmi: "pmi1".into(), ..Settings::default() };
        let told = manager(&variable, &settings).expect_err("nothing has that number").to_string();
        assert!(told.contains("(os error 9): this program, or one between the launcher"), "{told}");
        assert!(told.contains("to fix:  unset SHMEM_PMI; or else let that program keep"), "{told}");
    }

    #[test]
    fn a_second_program_of_a_task_is_not_told_to_look_for_a_library_that_is_there() {
        let claim = claim::claimed(&|name| (name == "OMPI_COMM_WORLD_SIZE").then(|| "2".to_owned())).unwrap();
        let settings = Settings { pmi: "auto".into(), ..Settings::default() };
        let refused = |cause, why: &str| unanswered(&claim, &settings, &[ManagerRefusal::new(cause, why.into())]);
        let told = refused(RefusalCause::PmixCall, "PMIx_Get: NOT-FOUND (-46)").to_string();
        assert!(
            told.contains("each program that a PE starts, by a launcher of its own") && !told.contains("libpmix"),
            "{told}"
        );
        assert!(refused(RefusalCause::Other, "libpmix.so.2: not found").to_string().contains("put libpmix.so.2"));
    }

    #[test]
    fn a_library_that_joins_without_a_server_is_told_as_such() {
        let missing = || Error::new("PE 1 has not published host.1").because("PMI_KVS_Get failed with 4");
        let variable = |name: &str| (name == "PMI_SIZE").then(|| "2".to_owned());
        let settings = Settings { pmi: "auto".into(), ..Settings::default() };
        let told = explained(missing(), "libpmi.so.0", &variable, &settings).to_string();
        for part in [
            "this process was started as one of 2 tasks by a PMI launcher, but no PMI server answered\n",
            "because: libpmi.so.0 has joined and brings no values: PE 1 has not published host.1: PMI_KVS_Get failed",
            "to fix:  start it with `mpiexec.hydra -n 2",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let own = missing().to_string();
        assert_eq!(explained(missing(), "PMI-1", &variable, &settings).to_string(), own);
        assert_eq!(explained(missing(), "libpmi.so.0", &|_| None, &settings).to_string(), own);
    }
}
