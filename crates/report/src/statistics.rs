//! Statistics that assume nothing about how measurements are distributed.

use serde::{Deserialize, Serialize};

/// How sure an interval is meant to be.
pub const CONFIDENCE: f64 = 0.95;

/// Parts of a decade that one bucket of a histogram takes: a bucket is 2.3 % wide.
const BUCKETS_PER_DECADE: f64 = 100.0;

/// A percentile is told only where this many samples lie beyond it.
const SAMPLES_BEYOND: f64 = 10.0;

/// The median of numbers in any order; of an even number of them the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The interval that covers the median of the population with at least 95 %, made of two of the values themselves. Fewer than
/// six values cannot give one.
///
/// Of n independent values the number below the median is binomial with p = 1/2. So the k-th least and the k-th greatest
/// enclose the median unless fewer than k values are on one of its sides.
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let length = sorted.len();
    let rank = (1..=length / 2).take_while(|rank| coverage(length, *rank) >= CONFIDENCE).last()?;
    Some((sorted[rank - 1], sorted[length - rank]))
}

/// The probability that the `rank`-th least and the `rank`-th greatest of `length` values enclose the median.
fn coverage(length: usize, rank: usize) -> f64 {
    // The logarithm of a term: of a thousand values the first term is too small for a number.
    let mut term = length as f64 * 0.5f64.ln();
    let mut below = 0.0;
    for count in 0..rank {
        below += term.exp();
        term += ((length - count) as f64 / (count + 1) as f64).ln();
    }
    1.0 - 2.0 * below
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// How single samples are distributed. Percentiles are exact; the histogram is for drawing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// How many samples there are.
    pub count: u64,
    /// The least sample.
    pub min: f64,
    /// The greatest sample.
    pub max: f64,
    /// Percent and sample, for the percentiles that the samples are enough for.
    pub percentiles: Vec<(f64, f64)>,
    /// The lower edge of a bucket, and how many samples are in it.
    pub buckets: Vec<(f64, u64)>,
}

/// The percentiles of every report.
pub const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

impl Distribution {
    /// Of samples that are given as values and how often each occurred, in any order. No samples have no distribution.
    pub fn new(samples: &[(u64, u64)]) -> Option<Self> {
        let mut samples: Vec<(u64, u64)> = samples.iter().copied().filter(|(_, times)| *times > 0).collect();
        samples.sort_unstable();
        let (min, max) = (samples.first()?.0 as f64, samples.last()?.0 as f64);
        let count = samples.iter().map(|(_, times)| times).sum();
        let tell = |percent: &f64| Some((*percent, exact(&samples, count, *percent)?));
        let percentiles = PERCENTILES.iter().filter_map(tell).collect();
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        for (value, times) in &samples {
            let edge = lower_edge((*value).max(1) as f64);
            match buckets.last_mut() {
                Some((last, sum)) if *last == edge => *sum += times,
                _ => buckets.push((edge, *times)),
            }
        }
        Some(Self { count, min, max, percentiles, buckets })
    }

    /// The percentile, if it is one of the list and there were samples enough.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        self.percentiles.iter().find(|(told, _)| *told == percent).map(|(_, value)| *value)
    }

    /// Points of the curve of percentiles: how many nines the share of quicker samples has (90 % is one, 99 % is two), and
    /// the upper edge of the bucket that this share ends in.
    pub fn nines(&self) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        let mut below = 0;
        for (edge, times) in &self.buckets {
            below += times;
            let beyond = (self.count - below) as f64;
            if beyond < SAMPLES_BEYOND {
                break;
            }
            points.push(((self.count as f64 / beyond).log10(), upper_edge(*edge).min(self.max)));
        }
        points
    }
}

/// The least sample that this percentage does not exceed; none where too few samples lie beyond it.
fn exact(samples: &[(u64, u64)], count: u64, percent: f64) -> Option<f64> {
    let wanted = count as f64 * percent / 100.0;
    // Half a sample of tolerance: 99.99 % of 100000 is not a whole number in binary.
    if count as f64 - wanted + 0.5 < SAMPLES_BEYOND {
        return None;
    }
    let mut below = 0;
    samples.iter().find_map(|(value, times)| {
        below += times;
        (below as f64 + 1e-6 >= wanted).then_some(*value as f64)
    })
}

/// The lower edge of the bucket that a value is in.
fn lower_edge(value: f64) -> f64 {
    10f64.powf((value.log10() * BUCKETS_PER_DECADE + 1e-9).floor() / BUCKETS_PER_DECADE)
}

/// The edge that follows this one.
pub fn upper_edge(edge: f64) -> f64 {
    edge * 10f64.powf(1.0 / BUCKETS_PER_DECADE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_does_not_depend_on_the_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    /// The ranks that tables of the sign test give for 95 %.
    #[test]
    fn intervals_have_the_ranks_of_the_sign_test() {
        let values = |count: u32| (1..=count).map(f64::from).collect::<Vec<_>>();
        assert_eq!(interval(&values(5)), None);
        for (count, low, high) in [(6, 1.0, 6.0), (8, 1.0, 8.0), (9, 2.0, 8.0), (12, 3.0, 10.0), (20, 6.0, 15.0)] {
            assert_eq!(interval(&values(count)), Some((low, high)), "{count}");
        }
        // Of many the ranks are those of a normal distribution.
        let (low, high) = interval(&values(2000)).expect("there are values enough");
        assert!((950.0..962.0).contains(&low), "{low}");
        assert_eq!(low + high, 2001.0);
    }

    #[test]
    fn percentiles_are_samples_and_need_samples_beyond_them() {
        let samples: Vec<(u64, u64)> = (1..=100_000).rev().map(|value| (value, 1)).collect();
        let all = Distribution::new(&samples).expect("there are samples");
        let told = [(50.0, 50_000.0), (90.0, 90_000.0), (99.0, 99_000.0), (99.9, 99_900.0), (99.99, 99_990.0)];
        assert_eq!((all.count, all.min, all.max, &all.percentiles[..]), (100_000, 1.0, 100_000.0, &told[..]));
        let few = Distribution::new(&samples[..1000]).expect("there are samples");
        assert_eq!(few.percentiles.iter().map(|(percent, _)| *percent).collect::<Vec<_>>(), [50.0, 90.0, 99.0]);
        assert_eq!(few.percentile(99.99), None);
        assert_eq!(Distribution::new(&[]), None);
    }

    #[test]
    fn buckets_lose_no_sample_and_the_curve_of_nines_rises() {
        let all = Distribution::new(&[(100, 9_000), (101, 900), (5_000, 90), (70_000, 10)]).expect("there are samples");
        assert_eq!(all.buckets.iter().map(|(_, times)| times).sum::<u64>(), all.count);
        let curve = all.nines();
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1), "{curve:?}");
        assert!(curve.iter().any(|(nines, value)| (nines - 2.0).abs() < 1e-9 && *value < 105.0), "{curve:?}");
        assert!(all.buckets.iter().all(|(edge, _)| upper_edge(*edge) > *edge));
    }
}
