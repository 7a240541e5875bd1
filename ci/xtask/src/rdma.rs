//! The conformance programs over emulated InfiniBand: two PEs, each a node of its own, in the rig `rdma`.

use crate::Outcome;
use crate::conformance::{self, Options};
use crate::rig::{self, Ending};
use crate::test::Counts;

/// What the checks have time for: a transport and cases.
const BRIEF: &[(&str, &str)] = &[(
    "ucx:rc",
    "smoke/,signals/SIG_2_put,signals/SIG_2_zero,signals/SIG_3,signals/SIG_7_fence,ordering/ORD_1_quiet,ordering/ORD_6",
)];

/// How long the machine may take for the checks, which is two minutes, and for any program, which may be half an hour.
const BRIEF_SECONDS: &str = "900";
/// See [`BRIEF_SECONDS`].
const SECONDS: &str = "3600";

/// The step of `cargo xtask test`.
pub(crate) fn brief() -> Outcome<Counts> {
    in_one_machine(BRIEF, BRIEF_SECONDS)
}

/// `cargo xtask rdma [--transport NAME,NAME] [--everything | FILTER]`.
pub(crate) fn run(arguments: &[String]) -> Outcome<Counts> {
    let mut arguments = arguments.iter();
    let (mut transports, mut everything, mut filter) = ("ucx:rc".to_string(), false, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--transport" => transports.clone_from(arguments.next().ok_or("--transport needs a value")?),
            "--everything" => everything = true,
            text if !text.starts_with('-') => filter = Some(text),
            other => return Err(format!("`{other}` is not an option of `rdma`")),
        }
    }
    match filter {
        _ if everything => Ok(all_programs(&transports)),
        Some(filter) => in_one_machine(&[(&transports, filter)], SECONDS),
        None => brief(),
    }
}

/// Every program in a machine of its own, so that one which hangs does not keep the others from being run.
fn all_programs(transports: &str) -> Counts {
    let programs = conformance::programs();
    let mut counts = Counts::default();
    for (program, at) in programs.iter().zip(1..) {
        println!("{program}, {at} of {}:", programs.len());
        counts += in_one_machine(&[(transports, &format!("{program}/"))], SECONDS).unwrap_or_else(|why| {
            println!("FAILED {program}: {why}");
            Counts { failed: 1, ..Counts::default() }
        });
    }
    counts
}

/// Each of these is one check.
fn in_one_machine(runs: &[(&str, &str)], seconds: &str) -> Outcome<Counts> {
    let mut script = "status=0\n".to_string();
    for (transports, cases) in runs {
        // The machine would take minutes to compile them.
        conformance::build(&Options::of(cases))?;
        let options = format!("--nodes 2 --pes 2 --emulated --transport '{transports}' --filter '{cases}'");
        script += &format!("'{}' conformance {options} || status=1\n", crate::OWN_PATH.display());
    }
    let ending = rig::start("rdma", &["-t", seconds, "bash", "-c", &(script + "exit $status")])?;
    Ok(match ending {
        Ending::Well => Counts { passed: runs.len(), ..Counts::default() },
        Ending::Skipped => Counts { skipped: runs.len(), ..Counts::default() },
    })
}
