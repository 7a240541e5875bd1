//! Samples of one side of a row.

use hdrhistogram::Histogram;
use serde::Serialize;

/// The samples of all PEs, in thousandths of the unit (nanoseconds or bytes).
pub(crate) struct Samples(Histogram<u64>);

/// What the report says about them.
#[derive(Serialize, Clone, Copy)]
pub(crate) struct Summary {
    /// The smallest sample.
    pub(crate) min: f64,
    /// The median of the quietest tenth: what ratios are made of. One lucky sample does not decide it, and a machine
    /// that is busy nine tenths of the time does not spoil it.
    pub(crate) quiet: f64,
    pub(crate) median: f64,
    pub(crate) p90: f64,
    pub(crate) samples: u64,
}

impl Samples {
    pub(crate) fn new() -> Self {
        Samples(Histogram::new(3).expect("three digits are allowed"))
    }

    /// Adds the samples that one PE took.
    pub(crate) fn merge(&mut self, values: &[f64]) {
        let mut of_pe = Samples::new();
        for value in values {
            of_pe.0.record((value * 1000.0).round() as u64).expect("the range resizes itself");
        }
        self.0.add(&of_pe.0).expect("the range resizes itself");
    }

    pub(crate) fn summary(&self) -> Option<Summary> {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 / 1000.0;
        (!self.0.is_empty()).then(|| Summary {
            min: self.0.min() as f64 / 1000.0,
            quiet: at(0.05),
            median: at(0.5),
            p90: at(0.9),
            samples: self.0.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn samples_of_several_pes_make_one_distribution() {
        let mut samples = Samples::new();
        samples.merge(&(1..=50).map(f64::from).collect::<Vec<_>>());
        samples.merge(&(51..=100).map(f64::from).collect::<Vec<_>>());
        let summary = samples.summary().expect("there are samples");
        assert_eq!(summary.samples, 100);
        for (found, expected) in [(summary.min, 1.0), (summary.quiet, 5.0), (summary.median, 50.0), (summary.p90, 90.0)]
        {
            assert!((found - expected).abs() <= expected / 500.0, "{found} is not {expected}");
        }
    }

    #[test]
    fn no_samples_have_no_summary() {
        assert!(Samples::new().summary().is_none());
    }
}
