//! Scales of axes: from values to places, with the values that deserve a label.

/// How an axis divides its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Division {
    /// Equal factors are equally far apart; labels at powers of two. For bytes.
    Binary,
    /// The same; labels at powers of ten. For times and rates.
    Decimal,
    /// Equal differences are equally far apart.
    Linear,
    /// The same, from 0 to 100.
    Percent,
    /// Shares of samples as nines: 90 % is 1, 99 % is 2.
    Nines,
}

/// A range of values, divided.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    division: Division,
    first: f64,
    last: f64,
    /// Values with a line through the chart, and whether they have a label too.
    ticks: Vec<(f64, bool)>,
}

/// The most labels of an axis, so that they do not touch each other.
const MOST_LABELS: usize = 7;

impl Scale {
    /// A scale that has room for all these values. Values that a logarithm has no place for are left out.
    pub fn around(division: Division, values: impl Iterator<Item = f64>) -> Self {
        let logarithmic = matches!(division, Division::Binary | Division::Decimal);
        let usable = values.filter(|value| value.is_finite() && (!logarithmic || *value > 0.0));
        let (least, most) =
            usable.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
        let (least, most) = if least > most { (1.0, 10.0) } else { (least, most) };
        match division {
            Division::Binary => binary(least, most),
            Division::Decimal => decimal(least, most),
            Division::Linear => linear(most),
            Division::Percent => linear(100.0),
            Division::Nines => nines(most),
        }
    }

    /// Where a value lies: 0 at the first value of the axis, 1 at the last.
    pub fn place(&self, value: f64) -> f64 {
        let along = match self.division {
            Division::Binary | Division::Decimal => {
                (value.max(self.first).ln() - self.first.ln()) / (self.last.ln() - self.first.ln())
            }
            Division::Linear | Division::Percent | Division::Nines => (value - self.first) / (self.last - self.first),
        };
        along.clamp(0.0, 1.0)
    }

    /// Values with a line through the chart, and whether they have a label too.
    pub fn ticks(&self) -> &[(f64, bool)] {
        &self.ticks
    }
}

fn binary(least: f64, most: f64) -> Scale {
    let (first, mut last) = (least.log2().floor() as i32, most.log2().ceil() as i32);
    if first == last {
        last += 1;
    }
    let step = (last - first) as usize / MOST_LABELS + 1;
    let ticks = (first..=last).step_by(step).map(|power| (2f64.powi(power), true)).collect();
    Scale { division: Division::Binary, first: 2f64.powi(first), last: 2f64.powi(last), ticks }
}

/// From a 1, 2 or 5 of a decade to another one.
fn decimal(least: f64, most: f64) -> Scale {
    let (low, high) = (least.log10().floor() as i32, most.log10().floor() as i32 + 1);
    let round: Vec<f64> =
        (low..=high).flat_map(|power| [1.0, 2.0, 5.0].map(|digit: f64| digit * 10f64.powi(power))).collect();
    let tolerance = 1.0 + 1e-9;
    let first = round.iter().copied().rfind(|tick| *tick <= least * tolerance).unwrap_or(least);
    let last = round.iter().copied().find(|tick| *tick * tolerance >= most && *tick > first).unwrap_or(most);
    let within: Vec<f64> = round.into_iter().filter(|tick| (first..=last).contains(tick)).collect();
    let is_decade = |tick: f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
    let decades: Vec<f64> = within.iter().copied().filter(|tick| is_decade(*tick)).collect();
    let all = within.len() <= MOST_LABELS;
    let step = decades.len() / (MOST_LABELS + 1) + 1;
    let labelled = |tick: f64| all || decades.iter().step_by(step).any(|decade| *decade == tick);
    let ticks = within.iter().map(|tick| (*tick, labelled(*tick))).collect();
    Scale { division: Division::Decimal, first, last, ticks }
}

/// From zero.
fn linear(most: f64) -> Scale {
    let rough = most.max(1e-12) / 5.0;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade).into_iter().find(|step| *step * 1.000001 >= rough);
    let step = step.unwrap_or(rough);
    let count = (most / step - 1e-9).ceil().max(1.0) as u32;
    let ticks = (0..=count).map(|number| (f64::from(number) * step, true)).collect();
    Scale { division: Division::Linear, first: 0.0, last: f64::from(count) * step, ticks }
}

/// From no sample to this many nines.
fn nines(most: f64) -> Scale {
    let last = most.ceil().max(2.0);
    let half = 2f64.log10();
    let ticks = std::iter::once((half, true)).chain((1..=last as u32).map(|nines| (f64::from(nines), true))).collect();
    Scale { division: Division::Nines, first: 0.0, last, ticks }
}

/// The share of samples that this many nines are.
pub fn as_percent(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10f64.powf(-nines));
    let digits = (nines.round() as i32 - 2).max(0) as usize;
    format!("{percent:.digits$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<f64> {
        scale.ticks().iter().filter(|(_, labelled)| *labelled).map(|(value, _)| *value).collect()
    }

    #[test]
    fn a_scale_has_room_for_its_values_and_few_labels() {
        let cases = [
            (Division::Binary, 8.0, 4194304.0),
            (Division::Binary, 8.0, 8.0),
            (Division::Decimal, 3.0, 4e7),
            (Division::Decimal, 101.0, 140.0),
            (Division::Decimal, 1e-3, 1e12),
            (Division::Linear, 0.0, 97.0),
            (Division::Percent, 0.0, 1.0),
            (Division::Nines, 0.0, 3.7),
        ];
        for (division, least, most) in cases {
            let scale = Scale::around(division, [least, most].into_iter());
            let labels = labels(&scale);
            assert!((2..=MOST_LABELS + 2).contains(&labels.len()), "{division:?}: {labels:?}");
            assert!(scale.first <= least && most <= scale.last, "{division:?}: {scale:?}");
            assert!(scale.place(least) <= scale.place(most) && scale.place(scale.last) == 1.0, "{scale:?}");
        }
    }

    #[test]
    fn equal_factors_are_equally_far_apart() {
        let scale = Scale::around(Division::Decimal, [10.0, 1000.0].into_iter());
        assert!((scale.place(100.0) - 0.5).abs() < 1e-9);
        assert_eq!(labels(&scale), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
    }

    #[test]
    fn what_has_no_logarithm_is_left_out() {
        let scale = Scale::around(Division::Decimal, [0.0, f64::NAN, 5.0].into_iter());
        assert_eq!((scale.first, scale.last), (5.0, 10.0));
        assert_eq!(Scale::around(Division::Binary, std::iter::empty()).first, 1.0);
    }

    #[test]
    fn shares_are_written_with_their_nines() {
        assert_eq!([2f64.log10(), 1.0, 2.0, 3.0, 4.0].map(as_percent), ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
    }
}
