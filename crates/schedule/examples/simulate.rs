//! Compares the schedules of a collective on a model machine: a table on standard output, a drawing on request.
//!
//! `simulate [--machine fat-tree|dragonfly] [--collective NAME] [--bytes N] [--pes N,N,…] [--skew NS] [--svg FILE]
//! [--schedule NAME]`, or `simulate --print NAME --collective NAME --pes N` for the steps of a small team.

use oxshmem_schedule::algorithm::names::{COLLECTIVES, NAMES, find};
use oxshmem_schedule::choose::{Question, choose, explain};
use oxshmem_schedule::print::print;
use oxshmem_schedule::simulate::{Machine, Setting, compare, svg, table};
use oxshmem_schedule::step::Plan;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("simulate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (mut machine, mut collective, mut bytes) = (Machine::FAT_TREE, COLLECTIVES[0], 8u64);
    let (mut sizes, mut setting) = (vec![1024, 4096, 16_384, 65_536, 262_144, 1_048_576], Setting::default());
    let (mut drawing, mut steps, mut only) = (None, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(key) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{key} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{key} {value}: expected a whole number"));
        match key.as_str() {
            "--machine" => {
                machine = match value.as_str() {
                    "fat-tree" => Machine::FAT_TREE,
                    "dragonfly" => Machine::DRAGONFLY,
                    _ => return Err(format!("--machine {value}: use fat-tree or dragonfly")),
                }
            }
            "--collective" => {
                let known = COLLECTIVES.iter().find(|(name, _)| *name == value);
                let names = || COLLECTIVES.map(|(name, _)| name).join(", ");
                collective = *known.ok_or_else(|| format!("--collective {value}: use one of {}", names()))?;
            }
            "--bytes" => bytes = number()?,
            "--pes" => {
                let parsed: Result<Vec<u32>, _> = value.split(',').map(str::parse).collect();
                let fits = |sizes: &Vec<u32>| sizes.iter().all(|&n| n > 0 && n <= 1 << 24);
                let wrong = || format!("--pes {value}: expected numbers from 1 to 16777216, separated by commas");
                sizes = parsed.ok().filter(fits).ok_or_else(wrong)?;
            }
            "--skew" => setting.skew = number()? as f64,
            "--svg" => drawing = Some(value),
            "--print" => steps = Some(value),
            "--schedule" => only = Some(value),
            _ => return Err(format!("unknown option {key}")),
        }
    }
    let (name, collective) = collective;
    let count = bytes.div_ceil(setting.element);
    let named = |wanted: &str| find(collective, wanted).ok_or_else(|| format!("no schedule {wanted} serves {name}"));
    if let Some(wanted) = steps {
        if name == "collect" {
            return Err("the steps of a collect depend on the PEs' lengths; print fcollect".into());
        }
        let plan = Plan::new(*sizes.first().ok_or("--pes is empty")?, count);
        std::print!("{}", print(&named(&wanted)?, &plan));
        return Ok(());
    }
    let schedules = match only {
        Some(wanted) => vec![named(&wanted)?],
        None => NAMES.iter().filter_map(|wanted| find(collective, wanted)).collect(),
    };
    let entries = compare(&schedules, &sizes, count, &machine, &setting);
    println!("{name}, {}", table(&entries, count, &machine, &setting));
    for &size in &sizes {
        let question = Question { collective, size, count, element: setting.element, root_apart: false };
        println!("the table takes {} for {}", choose(&[], &question), explain(&[], &question).trim_end());
    }
    match drawing {
        Some(file) => std::fs::write(&file, svg(&entries, count, &machine, &setting))
            .map_err(|error| format!("cannot write {file}: {error}; choose another place for --svg")),
        None => Ok(()),
    }
}
