//! Samples of one side of a row.

use hdrhistogram::Histogram;
use serde::Serialize;

/// The samples of all jobs and PEs, in thousandths of the unit (nanoseconds or bytes).
pub(crate) struct Samples {
    all: Histogram<u64>,
    /// Those of the job under way.
    job: Histogram<u64>,
    /// The [`quiet`](Summary::quiet) value of every job that has ended.
    quiet: Vec<u64>,
}

/// A summary of the samples for the report.
#[derive(Serialize, Clone, Copy)]
pub(crate) struct Summary {
    pub(crate) min: f64,
    /// The base of ratios: of each job the median of its quietest tenth, of these the median. So a machine that
    /// is busy nine tenths of the time does not spoil it, nor does it hang on one job's luck with its cache lines.
    pub(crate) quiet: f64,
    pub(crate) median: f64,
    pub(crate) p90: f64,
    pub(crate) samples: u64,
}

impl Samples {
    pub(crate) fn new() -> Self {
        let empty = || Histogram::new(3).expect("three digits are allowed");
        Samples { all: empty(), job: empty(), quiet: Vec::new() }
    }

    pub(crate) fn add(&mut self, values: &[f64]) {
        for value in values {
            self.job.record((value * 1000.0).round() as u64).expect("the range resizes itself");
        }
    }

    /// Separates the samples of one job from those of the next.
    pub(crate) fn end_job(&mut self) {
        if !self.job.is_empty() {
            self.quiet.push(self.job.value_at_quantile(0.05));
            self.all.add(&self.job).expect("the range resizes itself");
            self.job.reset();
        }
    }

    /// Sums up the jobs that have ended.
    pub(crate) fn summary(&self) -> Option<Summary> {
        let mut quiet = self.quiet.clone();
        quiet.sort_unstable();
        let unit = |thousandths: u64| thousandths as f64 / 1000.0;
        Some(Summary {
            quiet: unit(*quiet.get(quiet.len().saturating_sub(1) / 2)?),
            min: unit(self.all.min()),
            median: unit(self.all.value_at_quantile(0.5)),
            p90: unit(self.all.value_at_quantile(0.9)),
            samples: self.all.len(),
        })
    }
}

/// The median, whatever the order; not a number where there are no figures.
pub(crate) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn a_summary_is_of_all_pes_and_typical_of_the_jobs() {
        let mut samples = Samples::new();
        for factor in [1.0, 10.0, 2.0] {
            for values in [1..=50, 51..=100] {
                samples.add(&values.map(|value| f64::from(value) * factor).collect::<Vec<_>>());
            }
            samples.end_job();
        }
        let summary = samples.summary().expect("three jobs have ended");
        assert_eq!(summary.samples, 300);
        for (found, expected) in [(summary.min, 1.0), (summary.quiet, 10.0), (summary.p90, 700.0)] {
            assert!((found - expected).abs() <= expected / 500.0, "{found} is not {expected}");
        }
    }

    #[test]
    fn no_samples_have_no_summary() {
        let mut samples = Samples::new();
        samples.end_job();
        assert!(samples.summary().is_none());
    }
}
