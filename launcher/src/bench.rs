//! `oxshmem bench`: what every operation costs, by size, on the PEs that the user asks for, perhaps beside another library.
//!
//! One C program of standard calls (`launcher/bench`) has all patterns. Each group of patterns is a job, each round runs all
//! groups, and a figure is the median of its rounds. What a pattern has moved is checked between timed parts, never in them.

mod campaign;
mod contender;
mod html;
mod measure;
mod patterns;
mod peers;
mod progress_bar;
mod spread;
mod surroundings;
mod sweeps;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use oxshmem_base::{Error, file};
use oxshmem_os::process;

use campaign::{Campaign, FORMAT};
use contender::{Contender, JobShape, free_name};
use measure::{Effort, measure};
use peers::{MessageCarrier, PeerLibrary};

use crate::scratch::Scratch;
use crate::wrapper::quoted;
use crate::{results, schedules};

/// The operations to measure, and the places for the results.
#[derive(Args)]
pub struct BenchArgs {
    /// Number of PEs (also -np N) [default: 2]
    #[arg(short = 'n', long = "np", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pes: Option<u32>,
    /// Treat the PEs of this machine as if they were on N nodes, which reach each other by the network
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: u32,
    /// Run on these hosts, as oshrun -H
    #[arg(short = 'H', long = "host", value_name = "HOSTS", conflicts_with = "nodes")]
    hosts: Option<String>,
    /// A minute at most: fewer sizes and rounds
    #[arg(long)]
    quick: bool,
    /// How often everything is measured; the spread over rounds gives the intervals [default: 12, quick 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Sizes: 8,4096,1M or a range 8..4M, which goes in factors of 2
    /// [default: 8..4M; quick 8 to 2M in factors of 8]
    #[arg(long, value_parser = sizes)]
    sizes: Option<SweepSizes>,
    /// Only operations whose names contain this; a word that no name contains lists the names
    #[arg(long, value_name = "WORD", default_value = "", hide_default_value = true)]
    only: String,
    /// Measure this library alternately with ours: openmpi, sandia or osss-ucx, with =PREFIX for the folder where it is
    /// installed; may be given several times
    #[arg(long, value_name = "LIBRARY", value_parser = peers::peer, conflicts_with = "with_oshcc")]
    compare: Vec<PeerLibrary>,
    /// Carrier of the messages of all libraries between nodes: tcp, ofi:PROVIDER, ucx:TRANSPORTS
    /// [default: tcp beside openmpi, ofi:tcp beside sandia, ucx:tcp beside osss-ucx]
    #[arg(long, value_name = "CARRIER", value_parser = peers::carrier, requires = "compare")]
    over: Option<MessageCarrier>,
    /// Measure another library beside ours: its compiler wrapper
    #[arg(long, value_name = "PATH", requires = "with_oshrun")]
    with_oshcc: Option<PathBuf>,
    /// Its launcher, with the options that it needs; `-np N` and the program follow
    #[arg(long, value_name = "COMMAND", requires = "with_oshcc")]
    with_oshrun: Option<String>,
    /// Its name in the report
    #[arg(long, value_name = "NAME", default_value = "other", requires = "with_oshcc")]
    with_name: String,
    /// Write everything that was found to this file, for --against and --from
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write one row for each figure to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a self-contained page with charts to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Compare with an earlier run, which --json has written
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Measure nothing: show an earlier run, which --json has written
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["compare", "with_oshcc", "quick", "rounds", "sizes", "only", "pes", "nodes", "hosts", "oshrun"]
    )]
    from: Option<PathBuf>,
    /// Further arguments of oshrun
    #[arg(last = true, value_name = "OSHRUN ARGUMENTS")]
    oshrun: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct SweepSizes(Vec<u64>);

/// No run has more to say: the longest one has some megabytes.
const LONGEST_RUN: u64 = 64 << 20;

/// Everything is moved in words.
const WORD: u64 = 8;

/// The most sizes of a sweep, and the largest one.
const MOST_SIZES: usize = 60;
const LARGEST: u64 = 1 << 30;

fn sizes(text: &str) -> Result<SweepSizes, String> {
    let size = |part: &str| {
        let bytes = schedules::bytes(part)?;
        if bytes % WORD == 0 && (WORD..=LARGEST).contains(&bytes) {
            Ok(bytes)
        } else {
            Err(format!("`{part}` is not a multiple of {WORD} bytes from {WORD} to 1 GiB"))
        }
    };
    let sizes: Vec<u64> = match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (size(first)?, size(last)?);
            std::iter::successors(Some(first), |size| size.checked_mul(2)).take_while(|size| *size <= last).collect()
        }
        None => text.split(',').map(size).collect::<Result<_, _>>()?,
    };
    match sizes.len() {
        0 => Err(format!("`{text}` is an empty range")),
        count if count > MOST_SIZES => Err(format!("{count} sizes are more than {MOST_SIZES}")),
        _ => Ok(SweepSizes(sizes)),
    }
}

impl BenchArgs {
    /// Measures, or reads what was measured, and writes what was asked for. The text is the table.
    pub fn run(&self) -> Result<String, Error> {
        let against = self.against.as_deref().map(read).transpose()?;
        // A file that cannot be written is reported before minutes of measurement.
        for file in [&self.json, &self.csv, &self.html].into_iter().flatten() {
            results::create(file).map_err(results::unwritten(file, ELSEWHERE))?;
        }
        let campaign = match &self.from {
            Some(file) => read(file)?,
            None => self.measured()?,
        };
        if campaign.figures.is_empty() {
            return Err(nothing(&self.only, campaign.pes));
        }
        if let Some(file) = &self.json {
            write(file, &serde_json::to_string(&campaign).expect("numbers and words have a JSON form"))?;
        }
        if let Some(file) = &self.csv {
            write(file, &table::csv(&campaign))?;
        }
        if let Some(file) = &self.html {
            write(file, &html::page(&campaign, against.as_ref()))?;
        }
        Ok(table::text(&campaign, against.as_ref()))
    }

    fn measured(&self) -> Result<Campaign, Error> {
        let beside_another = !self.compare.is_empty() || self.with_oshcc.is_some();
        let is_between_nodes = self.nodes > 1 || self.hosts.is_some();
        if self.over.is_some() && !is_between_nodes {
            return Err(Error::new("--over is for messages between nodes")
                .because("all PEs are on one node, which share memory")
                .fix("let them count as several nodes: --nodes 2"));
        }
        // Between hosts each library takes what it thinks best, unless the user says.
        let carrier = if self.nodes > 1 || self.over.is_some() {
            peers::agreed(self.over.as_ref(), &self.compare)?
        } else {
            None
        };
        let shape = JobShape {
            pes: self.pes,
            nodes: self.nodes,
            hosts: self.hosts.as_deref(),
            oshrun: &self.oshrun,
            bound: beside_another,
            carrier,
        };
        let mut contenders = vec![Contender::ours(&shape)?];
        let scratch = Scratch::new("bench")?;
        for peer in &self.compare {
            let name = free_name(peer.kind.name(), &contenders);
            contenders.push(Contender::peer(peer, &name, &shape, scratch.path())?);
        }
        if let (Some(compiler), Some(launcher)) = (&self.with_oshcc, &self.with_oshrun) {
            let name = free_name(&self.with_name, &contenders);
            contenders.push(Contender::other(&name, compiler, launcher, &shape, scratch.path())?);
        }
        let (date, mut machine) = (surroundings::now(), surroundings::describe());
        if let Some(note) = surroundings::note() {
            process::say(&format!("oxshmem: note: {note}\n"));
        }
        let processors = surroundings::ProcessorTime::so_far();
        let mut findings = measure(&contenders, &self.effort())?;
        machine.extend(processors.of_others().map(|share| (surroundings::OTHERS.to_owned(), format!("{share:.0} %"))));
        Ok(Campaign {
            format: FORMAT,
            date,
            command: std::env::args_os().map(|word| quoted(&word)).collect::<Vec<_>>().join(" "),
            machine,
            line_rate: self.hosts.as_ref().and_then(|_| surroundings::line_rate()),
            pes: findings.pes,
            nodes: contenders[0].nodes(findings.pes),
            bound: Some(contenders[0].binds()),
            rounds: findings.rounds,
            figures: findings.figures(),
            contenders: findings.subjects,
            missing: findings.missing,
        })
    }

    fn effort(&self) -> Effort {
        let ms = Duration::from_millis;
        let (rounds, batch, singles, limit) = if self.quick {
            (6, Duration::from_micros(250), ms(4), Some(Duration::from_secs(50)))
        } else {
            (12, ms(1), ms(40), None)
        };
        let standard = || {
            if self.quick {
                (0..7).map(|step| WORD << (3 * step)).collect()
            } else {
                (0..20).map(|step| WORD << step).collect()
            }
        };
        Effort {
            rounds: self.rounds.unwrap_or(rounds),
            batch,
            singles,
            sizes: self.sizes.as_ref().map_or_else(standard, |SweepSizes(sizes)| sizes.clone()),
            only: self.only.clone(),
            limit,
        }
    }
}

/// Why a run on `pes` PEs has no figure.
fn nothing(only: &str, pes: u32) -> Error {
    let nothing = |why: &str| Error::new(format!("nothing was measured: {why}"));
    if !patterns::NAMES.iter().any(|name| name.contains(only)) {
        return nothing(&format!("no operation's name contains `{only}`"))
            .because(format!("there are {}", patterns::NAMES.join(", ")))
            .fix("leave --only out, or use one of these names or a part of one, in lower case as they stand here");
    }
    if pes < 2 {
        return nothing("the operations that were chosen need two PEs")
            .because(format!("the job has {pes}"))
            .fix("measure with two or more: -n 2");
    }
    nothing("the operations that were chosen do not occur here")
        .because(format!("there are {pes} PEs, and the sizes are those of --sizes"))
        .fix("leave --sizes or --only out")
}

/// The advice about a place that cannot be written.
const ELSEWHERE: &str = "choose another place";

fn write(path: &Path, text: &str) -> Result<(), Error> {
    results::write(path, text).map_err(results::unwritten(path, ELSEWHERE))
}

fn read(path: &Path) -> Result<Campaign, Error> {
    let refused = |why: String| {
        Error::new(format!("{} is no run of `oxshmem bench`", path.display()))
            .because(why)
            .fix("name a file that `oxshmem bench --json FILE` has written")
    };
    let text = file::bytes(path, LONGEST_RUN).map_err(|error| refused(error.to_string()))?;
    let campaign: Campaign = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
    match campaign.format {
        FORMAT => Ok(campaign),
        other => Err(refused(format!("its format is {other}, and this version reads {FORMAT}"))),
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::campaign::{Campaign, Entrant, FORMAT, Measurand, Sampling, UnfinishedFigure, Unmeasured};
    use super::*;

    /// A run that has found nothing.
    pub(crate) fn empty() -> Campaign {
        let subject = |name: &str| Entrant {
            name: name.into(),
            library: format!("{name} 1"),
            standard: "1.4".into(),
            launcher: "oshrun".into(),
        };
        Campaign {
            format: FORMAT,
            date: "2026-01-01 00:00 UTC".into(),
            command: "oxshmem bench".into(),
            machine: vec![("kernel".into(), "6.1".into())],
            line_rate: Some(12.5e9),
            pes: 4,
            nodes: Some(1),
            bound: Some(false),
            rounds: 6,
            contenders: vec![subject("ours"), subject("Open MPI")],
            figures: Vec::new(),
            missing: vec![Unmeasured { contender: "Open MPI".into(), group: "teams".into(), why: "no teams".into() }],
        }
    }

    /// A run that has found something of every kind.
    pub(crate) fn sample() -> Campaign {
        let mut campaign = empty();
        let sweeps = [
            ("put", ""),
            ("get", ""),
            ("put and flag", ""),
            ("put with signal", ""),
            ("put bandwidth", ""),
            ("put bandwidth", "both ways"),
            ("put bandwidth", "all pairs"),
            ("get bandwidth", ""),
            ("overlap", "communication"),
            ("overlap", "computation"),
            ("overlap", "both"),
            ("broadcast", "set"),
            ("broadcast", "team"),
            ("sum of doubles", "team"),
            ("memcpy", "limit"),
        ];
        let single = [
            ("p", ""),
            ("atomic", "fetch_add"),
            ("barrier", "all"),
            ("team", "split_2d and destroy"),
            ("start-up", "shmem_init"),
            ("memory per PE", "after init"),
        ];
        for contender in ["ours", "Open MPI"] {
            let sizes = |(pattern, form)| [8u64, 512, 32768, 2 << 20].map(move |bytes| (pattern, form, bytes));
            let all = sweeps.into_iter().flat_map(sizes).chain(single.map(|(pattern, form)| (pattern, form, 0)));
            for (pattern, form, bytes) in all {
                let of = Measurand { contender: contender.into(), pattern: pattern.into(), form: form.into(), bytes };
                let mut pending = UnfinishedFigure::default();
                for round in 0..6 {
                    let time = 100.0 + bytes as f64 / 10.0 + f64::from(round);
                    let singles: Vec<(u64, u64)> = (1..200).map(|step| (time as u64 + step * step / 10, 100)).collect();
                    let line = serde_json::json!({ "pattern": pattern, "form": form, "bytes": bytes, "batch": 10, "clock": 20.0,
                        "operations": 1.0, "samples": [time], "singles": singles });
                    let round: Sampling = serde_json::from_value(line).expect("a round");
                    pending.add(&round);
                }
                campaign.figures.extend(pending.finish(of));
            }
        }
        campaign
    }

    #[test]
    fn a_run_without_a_figure_says_what_stands_in_the_way() {
        for (only, pes, words) in [
            ("putt", 2, "no operation's name contains `putt`"),
            ("put", 1, "need two PEs\n  because: the job has 1"),
            ("put", 2, "do not occur here"),
        ] {
            let told = nothing(only, pes).to_string();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn sizes_are_words_lists_or_ranges() {
        assert_eq!(sizes("8,4K"), Ok(SweepSizes(vec![8, 4096])));
        assert_eq!(sizes("8..64"), Ok(SweepSizes(vec![8, 16, 32, 64])));
        for wrong in ["7", "0", "64..8", "x", "8..4T", "8K..1M..4", "8;16"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_that_was_written_is_read_again_and_others_are_refused() {
        let folder = TestFolder::new("campaign");
        let file = folder.join("run.json");
        let campaign = sample();
        write(&file, &serde_json::to_string(&campaign).expect("it has a JSON form")).expect("the folder is writable");
        assert_eq!(read(&file).map(|read| read.figures.len()), Ok(campaign.figures.len()));
        write(&file, &serde_json::to_string(&Campaign { format: 99, ..campaign }).expect("it has a JSON form"))
            .expect("as before");
        assert!(read(&file).is_err_and(|error| error.to_string().contains("format is 99")));
    }
}
