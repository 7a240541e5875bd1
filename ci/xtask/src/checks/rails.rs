//! The worth of several rails: the bandwidth of one PE's transfers, and of collectives, between two hosts with two cables, each of
//! which carries 1 Gb/s, over one rail and over two.

use std::path::Path;
use std::process::Command;

use crate::checks::namespaces;
use crate::counts::{CheckCounts, failed, skipped};
use crate::rigs::hosts::Rig;
use crate::{Outcome, command};

const RATE: &str = "1gbit";

/// Transfers of 1 MiB in each direction.
const TIMES: &str = "400";

/// The transports that have rails here, and how much faster two must be.
const TRANSPORTS: &[&str] = &["ofi:tcp", "tcp"];
const LEAST: f64 = 1.6;

const MEASURED: &[&str] = &["put", "get", "broadcast", "maximum"];

pub(crate) fn run(prefix: &Path) -> Outcome<CheckCounts> {
    let program = namespaces::program(prefix, "bandwidth")?;
    let rig = match Rig::with("", &["-2", "-r", RATE]) {
        Ok(rig) => rig,
        Err(why) => return Ok(skipped!("rails: {why}")),
    };
    println!("1 MiB between two hosts with two cables of 1 Gb/s (125 MB/s), MB/s\n");
    println!("{:<12}{:>6}{}", "transport", "rails", columns(MEASURED, |name| (*name).to_owned()));
    let mut counts = CheckCounts::default();
    for transport in TRANSPORTS {
        let measured = |rails| measure(&rig, prefix, &program, transport, rails);
        let (one, two) = (measured(1)?, measured(2)?);
        for (rails, rates) in [(1, one), (2, two)] {
            println!("{transport:<12}{rails:>6}{}", columns(&rates, |rate| format!("{rate:.1}")));
        }
        let gain: Vec<f64> = two.iter().zip(one).map(|(two, one)| two / one).collect();
        println!("{:<12}{:>6}{}\n", "", "gain", columns(&gain, |gain| format!("{gain:.2}")));
        let is_well = gain.iter().all(|gain| *gain >= LEAST);
        if !is_well {
            failed!("{transport}: two rails carry less than {LEAST} times what one does");
        }
        counts += CheckCounts::one(is_well);
    }
    Ok(counts)
}

fn columns<T>(values: &[T], text: impl Fn(&T) -> String) -> String {
    values.iter().map(|value| format!("{:>11}", text(value))).collect()
}

/// The bandwidth of everything in [`MEASURED`].
fn measure(rig: &Rig, prefix: &Path, program: &Path, transport: &str, rails: u32) -> Outcome<[f64; MEASURED.len()]> {
    let mut oshrun = Command::new(prefix.join("bin/oshrun"));
    oshrun.args(["-n", "2", "--nodes", "2"]).args(rig.through()).arg(program).arg(TIMES);
    oshrun.env("SHMEM_TRANSPORT", transport).env("SHMEM_RAILS", rails.to_string());
    let said = command::read(rig.enter(&mut oshrun))?;
    let numbers = said.lines().find_map(|line| line.strip_prefix("bandwidth ")).unwrap_or_default();
    let numbers: Vec<f64> = numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
    numbers.try_into().map_err(|_| format!("{} prints no bandwidth: {said}", program.display()))
}
