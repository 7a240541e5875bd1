//! The report: a table for the terminal and data for other programs.

use std::fmt::{self, Display};
use std::fs;

use serde::Serialize;

use crate::job::{Measured, Side};
use crate::rows::{BenchRow, Goal, RowGroup};
use crate::samples::Summary;

#[derive(Serialize)]
pub(crate) struct BenchReport {
    pub(crate) machine: BenchMachine,
    /// Jobs for each group.
    pub(crate) jobs: u32,
    /// Pairs of batches for each row of a job.
    pub(crate) pairs: u32,
    pub(crate) method: &'static str,
    pub(crate) rows: Vec<Finding>,
}

/// How ratios come about; part of every report.
pub(crate) const METHOD: &str = "limit and operation alternate in the same processes; a sample is the mean of one \
     batch; the quiet value of a job is the median of its quietest tenth, that of a row the median over its jobs; the \
     ratio is quiet to quiet";

#[derive(Serialize)]
pub(crate) struct BenchMachine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    /// Load average of the last minute when the run began: how busy others kept the machine.
    pub(crate) load: f64,
}

#[derive(Serialize)]
pub(crate) struct Finding {
    pub(crate) group: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) pes: u32,
    pub(crate) limit_is: &'static str,
    /// Nanoseconds, or bytes if the target is a number of bytes.
    pub(crate) limit: Option<Summary>,
    pub(crate) ours: Option<Summary>,
    /// Ours to the limit, for a target that is a share the limit to ours.
    pub(crate) ratio: Option<f64>,
    pub(crate) target: String,
    pub(crate) verdict: GoalVerdict,
    #[serde(skip)]
    pub(crate) aim: Goal,
}

/// Whether an operation comes as close to its limit as it should.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GoalVerdict {
    Met,
    NotMet,
    NotMeasured,
    ForScale,
}

impl BenchMachine {
    pub(crate) fn here() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        BenchMachine {
            processor: model.map_or("unknown", |(_, name)| name).to_owned(),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
            load: read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0),
        }
    }
}

impl Finding {
    /// The result of `row`, whose samples may be missing.
    pub(crate) fn new(group: &RowGroup, row: &BenchRow, measured: &Measured) -> Self {
        let side = |side| measured.get(&(row.name.to_owned(), side)).and_then(|samples| samples.summary());
        let (limit, ours) = (side(Side::Limit), side(Side::Ours));
        let ratio = limit.zip(ours).map(|(limit, ours)| match row.target {
            Goal::Share(_) => limit.quiet / ours.quiet,
            _ => ours.quiet / limit.quiet,
        });
        Finding {
            group: group.name,
            operation: row.name,
            pes: group.pes,
            limit_is: row.limit,
            limit,
            ours,
            ratio,
            target: row.target.to_string(),
            verdict: verdict(row.target, ours.map(|ours| ours.quiet), ratio),
            aim: row.target,
        }
    }

    /// A number of this row with its unit.
    pub(crate) fn with_unit(&self, value: f64) -> String {
        match self.aim {
            Goal::Bytes(_) => format!("{:.2} MB", value / 1e6),
            _ => time(value),
        }
    }
}

fn verdict(target: Goal, ours: Option<f64>, ratio: Option<f64>) -> GoalVerdict {
    let met = match target {
        Goal::Times(most) => ratio.map(|ratio| ratio <= most),
        Goal::Share(least) => ratio.map(|ratio| ratio >= least),
        Goal::More(most) => ours.zip(ratio).map(|(ours, ratio)| ours - ours / ratio <= most),
        Goal::Nanoseconds(most) | Goal::Bytes(most) => ours.map(|ours| ours <= most),
        Goal::Scale if ours.is_some() => return GoalVerdict::ForScale,
        Goal::Scale => None,
    };
    match met {
        Some(true) => GoalVerdict::Met,
        Some(false) => GoalVerdict::NotMet,
        None => GoalVerdict::NotMeasured,
    }
}

/// Nanoseconds in the unit that suits them.
pub(crate) fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        small if small < 1e3 => format!("{small:.2} ns"),
        medium if medium < 1e6 => format!("{:.2} µs", medium / 1e3),
        large => format!("{:.2} ms", large / 1e6),
    }
}

impl Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Goal::Times(most) => write!(f, "≤ {most}"),
            Goal::Share(least) => write!(f, "≥ {least}"),
            Goal::Nanoseconds(most) => write!(f, "≤ {}", time(most)),
            Goal::More(most) => write!(f, "≤ +{}", time(most)),
            Goal::Bytes(most) => write!(f, "≤ {} MB", most / 1e6),
            Goal::Scale => write!(f, "–"),
        }
    }
}

impl Display for GoalVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            GoalVerdict::Met => "met",
            GoalVerdict::NotMet => "NOT MET",
            GoalVerdict::NotMeasured => "not measured",
            GoalVerdict::ForScale => "",
        })
    }
}

impl Finding {
    pub(crate) fn header() -> String {
        format!(
            "{:<32}{:>4} {:>11}{:>11}{:>11}{:>11} {:>11} {:>7} {:>10}  {}",
            "operation", "PEs", "ours", "min", "median", "p90", "limit", "ratio", "target", "met?"
        )
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |summary: Option<Summary>, field: fn(Summary) -> f64| {
            summary.map_or("–".to_owned(), |summary| self.with_unit(field(summary)))
        };
        write!(f, "{:<32}{:>4} ", self.operation, self.pes)?;
        let columns: [fn(Summary) -> f64; 4] =
            [|ours| ours.quiet, |ours| ours.min, |ours| ours.median, |ours| ours.p90];
        for field in columns {
            write!(f, "{:>11}", of(self.ours, field))?;
        }
        let ratio = self.ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        let limit = of(self.limit, |limit| limit.quiet);
        write!(f, " {limit:>11} {ratio:>7} {:>10}  {}", self.target, self.verdict)
    }
}

impl BenchReport {
    /// One line that counts.
    pub(crate) fn count(&self) -> String {
        let of = |verdict| self.rows.iter().filter(|row| row.verdict == verdict).count();
        let missing = match of(GoalVerdict::NotMeasured) {
            0 => String::new(),
            count => format!(", {count} not measured"),
        };
        format!(
            "{} targets met, {} not met{missing}, {} rows for scale",
            of(GoalVerdict::Met),
            of(GoalVerdict::NotMet),
            of(GoalVerdict::ForScale)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Goal, GoalVerdict, time, verdict};

    #[test]
    fn a_verdict_compares_what_its_target_speaks_of() {
        let cases = [
            (Goal::Times(1.3), Some(9.0), Some(1.3), GoalVerdict::Met),
            (Goal::Times(1.3), Some(9.0), Some(1.31), GoalVerdict::NotMet),
            (Goal::Share(0.97), Some(9.0), Some(0.98), GoalVerdict::Met),
            (Goal::Share(0.97), Some(9.0), Some(0.9), GoalVerdict::NotMet),
            (Goal::Nanoseconds(5.0), Some(4.0), Some(2.0), GoalVerdict::Met),
            (Goal::More(15.0), Some(18.0), Some(6.0), GoalVerdict::Met),
            (Goal::More(15.0), Some(20.0), Some(5.0), GoalVerdict::NotMet),
            (Goal::Bytes(6e6), Some(7e6), None, GoalVerdict::NotMet),
            (Goal::Times(1.3), Some(9.0), None, GoalVerdict::NotMeasured),
            (Goal::Scale, Some(9.0), None, GoalVerdict::ForScale),
            (Goal::Scale, None, None, GoalVerdict::NotMeasured),
        ];
        for (target, ours, ratio, expected) in cases {
            assert_eq!(verdict(target, ours, ratio), expected, "{target}");
        }
    }

    #[test]
    fn times_carry_the_unit_that_suits_them() {
        assert_eq!([time(5.0), time(7000.0), time(30e6)], ["5.00 ns", "7.00 µs", "30.00 ms"]);
    }
}
