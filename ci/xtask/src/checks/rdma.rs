//! Checks in the emulated machine of the rig `rdma`: the conformance programs over InfiniBand, with PEs on two nodes, each with
//! the nearest of two cards. The step of the checks looks at the places of PEs and at a bad cable there, too.

use std::path::Path;

use crate::checks::conformance::{self, CaseSelection};
use crate::checks::{namespaces, placement};
use crate::counts::CheckCounts;
use crate::{OWN_PATH, Outcome, command, default_prefix, rigs, target, top};

/// The brief selection for the checks: a transport and cases.
const BRIEF: &[(&str, &str)] = &[
    ("ucx:rc", "smoke/,signals/SIG_2_put_signal_nbi,signals/SIG_3,ordering/ORD_1_quiet"),
    ("ofi:verbs;ofi_rxm", "smoke/,signals/SIG_2_zero,signals/SIG_7_fence,amo/AMO_4_barrier"),
];

/// PEs of a job, unless the command line says more: one on each node.
const PES: &str = "2";

/// How long the machine may take for the checks and for cases that are named.
const SECONDS: &str = "3600";
/// The same for all cases.
const EVERYTHING_SECONDS: &str = "36000";

/// A check in the machine: its name, and the command for a shell.
struct MachineCheck {
    name: String,
    command: String,
}

/// The step of `cargo xtask test`: in one machine, because it takes as long to boot as some cases take.
pub(crate) fn brief(prefix: &Path) -> Outcome<CheckCounts> {
    let mut checks = vec![MachineCheck::of("placement", &placement::check_words(prefix)?)];
    checks.extend(brief_conformance()?);
    checks.push(MachineCheck::of("a bad cable", &namespaces::bad_cable_words(prefix)?));
    in_one_machine(&checks, SECONDS)
}

/// The brief selection of cases, built.
fn brief_conformance() -> Outcome<Vec<MachineCheck>> {
    let cases: Vec<&str> = BRIEF.iter().map(|(_, cases)| *cases).collect();
    // The machine would take minutes to compile them.
    conformance::build(&CaseSelection::of(&cases.join(",")))?;
    Ok(BRIEF.iter().map(|(transport, cases)| MachineCheck::conformance(transport, PES, Some(cases), "")).collect())
}

#[derive(clap::Args)]
pub(crate) struct RdmaArguments {
    /// Transports, separated by commas
    #[arg(long = "transport", default_value = "ucx:rc")]
    transports: String,
    /// Devices of atomics, separated by commas: processor, network
    #[arg(long)]
    amo: Option<String>,
    /// Numbers of PEs, separated by commas
    #[arg(long, default_value = PES)]
    pes: String,
    /// Seconds after which a case counts as hung
    #[arg(long)]
    limit: Option<u64>,
    /// Jobs at a time
    #[arg(long)]
    at_once: Option<u64>,
    /// Run every case, each printed as it ends, which takes hours
    #[arg(long)]
    everything: bool,
    /// Instead of cases: operations, alternating with those of the bare library, over rc and over verbs
    #[arg(long)]
    rows: bool,
    /// Only cases whose `program/NAME` contains one of these texts, separated by commas
    filter: Option<String>,
}

/// Runs the cases that were asked for, or a brief selection.
pub(crate) fn run(arguments: &RdmaArguments) -> Outcome<CheckCounts> {
    if arguments.rows {
        return rows(&default_prefix());
    }
    let [limit, at_once] = [arguments.limit, arguments.at_once].map(|number| number.map(|number| number.to_string()));
    let given = [("limit", limit), ("at-once", at_once), ("amo", arguments.amo.clone())];
    let given = given.into_iter().filter_map(|(name, value)| Some(format!(" --{name} '{}'", value?)));
    let filter = arguments.filter.as_deref();
    let (selection, seconds) = match filter {
        Some(cases) => (CaseSelection::of(cases), SECONDS),
        None if arguments.everything => (CaseSelection::everything(), EVERYTHING_SECONDS),
        None => return in_one_machine(&brief_conformance()?, SECONDS),
    };
    conformance::build(&selection)?;
    let more = given.collect::<String>();
    let check = MachineCheck::conformance(&arguments.transports, &arguments.pes, filter, &more);
    in_one_machine(&[check], seconds)
}

/// The jobs of `--rows`: their names, the programs, and the variables that give both sides the same card.
const ROWS: [(&str, &str, &str); 4] = [
    ("UCX over rc", "ucx", "SHMEM_TRANSPORT=ucx:rc UCX_NET_DEVICES=rxe0:1"),
    ("UCX over rc, its atomics", "ucx", "SHMEM_TRANSPORT=ucx:rc UCX_NET_DEVICES=rxe0:1 SHMEM_AMO=network"),
    (
        "libfabric over verbs",
        "ofi",
        "SHMEM_TRANSPORT='ofi:verbs;ofi_rxm' SHMEM_OFI_DOMAIN=rxe0 SHMEM_RAILS=1 BESIDE_DOMAIN=rxe0",
    ),
    (
        "libfabric over verbs, its atomics",
        "ofi",
        "SHMEM_TRANSPORT='ofi:verbs;ofi_rxm' SHMEM_OFI_DOMAIN=rxe0 SHMEM_RAILS=1 BESIDE_DOMAIN=rxe0 SHMEM_AMO=network",
    ),
];

/// Operations that alternate with those of the bare library (`ci/beside`) in one process. The machine is emulated: a
/// time says nothing, and the ratio of two says what a layer adds where the card is slow.
fn rows(prefix: &Path) -> Outcome<CheckCounts> {
    let (folder, sources) = (target().join("beside"), top().join("ci/beside"));
    for (program, libraries) in [("ucx", &["-lucp", "-lucs"][..]), ("ofi", &["-lfabric"])] {
        let files = [sources.join("main.c"), sources.join(program).with_extension("c")];
        let options = [&["-O2", "-Wall", "-Wl,--no-as-needed"], libraries].concat();
        command::compile(prefix, &options, &files, &folder.join(program))?;
    }
    let job = |(name, program, variables): &(&str, &str, &str)| {
        let (oshrun, program) = (prefix.join("bin/oshrun"), folder.join(program));
        let name = (*name).to_string();
        let command =
            format!("echo '{name}'; env {variables} '{}' --nodes 2 -n 2 '{}'", oshrun.display(), program.display());
        MachineCheck { name, command: format!("( {command} )") }
    };
    in_one_machine(&ROWS.each_ref().map(job), SECONDS)
}

impl MachineCheck {
    fn of(name: &str, words: &[String]) -> Self {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        Self { name: name.into(), command: quoted.join(" ") }
    }

    /// Conformance programs. The machine's two processors are enough for the PEs of one job.
    fn conformance(transports: &str, pes: &str, cases: Option<&str>, more: &str) -> Self {
        let filter = cases.map(|cases| format!(" --filter '{cases}'")).unwrap_or_default();
        let options = "--nodes 2 --emulated --at-once 1 --progress";
        let own = OWN_PATH.display();
        let command = format!("'{own}' conformance {options} --pes {pes} --transport '{transports}'{filter}{more}");
        Self { name: format!("conformance over {transports}"), command }
    }
}

/// The status of a machine whose first check failed. It is twice as much for each further one, and the statuses add up. Those of
/// the rig itself (1, 2, 77, 124) are no such sum of at most four checks.
const FIRST_FAILED: i32 = 8;

fn in_one_machine(checks: &[MachineCheck], seconds: &str) -> Outcome<CheckCounts> {
    let mut script = "status=0\n".to_string();
    for (at, check) in checks.iter().enumerate() {
        script += &format!("{} || status=$((status + {}))\n", check.command, FIRST_FAILED << at);
    }
    let status = rigs::status("rdma", &["-t", seconds, "bash", "-c", &(script + "exit $status")])?;
    let failed = match status.code() {
        Some(rigs::SKIPPED) => return Ok(CheckCounts { skipped: checks.len(), ..CheckCounts::default() }),
        Some(sum) if sum % FIRST_FAILED == 0 && sum < FIRST_FAILED << checks.len() => sum,
        _ => return Err(rigs::unwell("rdma", status)),
    };
    let counted = |(at, check): (usize, &MachineCheck)| {
        let is_well = failed & (FIRST_FAILED << at) == 0;
        let why = "it did not end well in the emulated machine, whose output is above";
        CheckCounts::of(&check.name, is_well.then_some(()).ok_or_else(|| why.into()))
    };
    Ok(checks.iter().enumerate().map(counted).sum())
}
