//! The patterns: their groups, and the unit in which a reader wants their figures.

use oxshmem_report::units;

use super::campaign::{Campaign, Figure, Measurand};

/// The groups of patterns, each of which is a job of its own.
pub(crate) const GROUPS: [&str; 10] =
    ["latency", "bandwidth", "overlap", "atomics", "barriers", "collectives", "reductions", "teams", "limits", "usage"];

/// The names of all patterns, which `--only` looks into.
pub(crate) const NAMES: [&str; 32] = [
    "start-up",
    "p",
    "g",
    "put",
    "get",
    "iput",
    "iget",
    "put and flag",
    "put with signal",
    "put bandwidth",
    "get bandwidth",
    "overlap",
    "max_reduce_nb overlap",
    "atomic",
    "contended atomic",
    "barrier",
    "sync",
    "broadcast",
    "collect",
    "fcollect",
    "alltoall",
    "alltoalls",
    "sum of doubles",
    "maximum of longs",
    "inclusive scan",
    "exclusive scan",
    "team",
    "memcpy",
    "loads and stores",
    "bare TCP",
    "bare TCP stream",
    "memory per PE",
];

/// The job without any pattern, which is timed from outside.
pub(crate) const START: &str = "start";

/// The meaning of a figure's value to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Nanoseconds of an operation.
    Time,
    /// Bytes in a second.
    Bandwidth,
    /// Bytes of memory.
    Memory,
}

pub(crate) fn quantity(pattern: &str) -> Quantity {
    match pattern {
        "put bandwidth" | "get bandwidth" | "bare TCP stream" => Quantity::Bandwidth,
        "memory per PE" => Quantity::Memory,
        _ => Quantity::Time,
    }
}

impl Figure {
    /// Bytes in a second, over all that move in this pattern at once.
    pub(crate) fn bandwidth(&self, pes: u32) -> f64 {
        self.at_once(pes) * self.of.bytes as f64 * 1e9 / self.value
    }

    /// Operations in a second, over all that run at once.
    pub(crate) fn rate(&self, pes: u32) -> f64 {
        self.at_once(pes) * 1e9 / self.value
    }

    /// How many such operations run at once.
    fn at_once(&self, pes: u32) -> f64 {
        match self.of.form.as_str() {
            "both ways" => 2.0,
            "all pairs" => f64::from(pes / 2),
            _ => 1.0,
        }
    }

    /// The value as a bandwidth, a time or bytes, by its pattern.
    pub(crate) fn told(&self, pes: u32) -> String {
        match quantity(&self.of.pattern) {
            Quantity::Time => units::time(self.value),
            Quantity::Bandwidth => units::bandwidth(self.bandwidth(pes)),
            Quantity::Memory => units::size(self.value),
        }
    }

    /// The interval in the same unit.
    pub(crate) fn interval_told(&self, pes: u32) -> Option<String> {
        let (low, high) = self.interval?;
        let at = |value: f64| Figure { value, ..self.clone() }.told(pes);
        // More bandwidth is less time.
        Some(match quantity(&self.of.pattern) {
            Quantity::Bandwidth => format!("{} – {}", at(high), at(low)),
            _ => format!("{} – {}", at(low), at(high)),
        })
    }

    /// Operation and form in one.
    pub(crate) fn name(&self) -> String {
        self.of.name()
    }
}

impl Measurand {
    /// Operation and form in one.
    pub(crate) fn name(&self) -> String {
        match self.form.as_str() {
            "" => self.pattern.clone(),
            form if self.pattern == "team" => form.to_owned(),
            form => format!("{}, {form}", self.pattern),
        }
    }
}

/// A share that is hidden behind a computation means something only where the communication takes longer than this.
const LEAST_OVERLAP_NS: f64 = 1000.0;

/// The patterns that measure it, with what communicates in them.
pub(crate) const OVERLAPS: [(&str, &str); 2] = [("overlap", "put"), ("max_reduce_nb overlap", "max_reduce_nb")];

/// By size how much of the time of a communication went by behind a computation as long: all of it is 1.
pub(crate) fn overlap(campaign: &Campaign, contender: &str, pattern: &str) -> Vec<(u64, f64)> {
    let value = |form: &str, bytes: u64| {
        campaign
            .sweep(contender, pattern, form)
            .into_iter()
            .find(|figure| figure.of.bytes == bytes)
            .map(|figure| figure.value)
    };
    let share = |figure: &&Figure| {
        let (bytes, communication) = (figure.of.bytes, figure.value);
        let (computation, both) = (value("computation", bytes)?, value("both", bytes)?);
        let hidden = (communication + computation - both) / communication.min(computation);
        (communication >= LEAST_OVERLAP_NS).then_some((bytes, hidden.clamp(0.0, 1.0)))
    };
    campaign.sweep(contender, pattern, "communication").iter().filter_map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::super::campaign::Measurand;
    use super::*;

    fn figure(pattern: &str, form: &str, bytes: u64, value: f64) -> Figure {
        let of = Measurand { contender: "ours".into(), pattern: pattern.into(), form: form.into(), bytes };
        Figure {
            of,
            batch: 1,
            rounds: vec![value],
            value,
            interval: Some((value / 2.0, value * 2.0)),
            clock: 0.0,
            distribution: None,
            operations: 1.0,
        }
    }

    #[test]
    fn every_pattern_of_the_program_has_its_name_in_the_list() {
        let sources = [
            include_str!("../../bench/atomics.c"),
            include_str!("../../bench/bandwidth.c"),
            include_str!("../../bench/carrier.c"),
            include_str!("../../bench/collectives.c"),
            include_str!("../../bench/latency.c"),
            include_str!("../../bench/limits.c"),
            include_str!("../../bench/meetings.c"),
            include_str!("../../bench/overlap.c"),
            include_str!("../../bench/reductions.c"),
            include_str!("../../bench/usage.c"),
        ]
        .concat();
        for name in NAMES {
            assert!(name == "start-up" || sources.contains(&format!("\"{name}\"")), "{name} is no pattern");
        }
        for row in sources.split("(struct row){\"").skip(1) {
            let name = row.split('"').next().expect("the first part is there");
            assert!(NAMES.contains(&name), "{name} is not in the list");
        }
    }

    #[test]
    fn bandwidth_counts_all_who_move_at_once() {
        assert_eq!(figure("put bandwidth", "", 1000, 100.0).told(8), "10.0 GB/s");
        assert_eq!(figure("put bandwidth", "both ways", 1000, 100.0).told(8), "20.0 GB/s");
        assert_eq!(figure("put bandwidth", "all pairs", 1000, 100.0).told(8), "40.0 GB/s");
        assert_eq!(figure("put bandwidth", "all pairs", 8, 100.0).rate(8), 4e7);
        assert_eq!(figure("put bandwidth", "", 1000, 100.0).interval_told(8).as_deref(), Some("5.00 GB/s – 20.0 GB/s"));
        assert_eq!(figure("put", "", 1000, 100.0).interval_told(8).as_deref(), Some("50.0 ns – 200 ns"));
    }

    #[test]
    fn overlap_is_the_share_of_the_shorter_part_that_is_hidden() {
        let mut campaign = super::super::tests::empty();
        for (bytes, both) in [(1 << 20, 1500.0), (1 << 21, 2000.0), (8, 1000.0)] {
            let communication = if bytes == 8 { 10.0 } else { 1000.0 };
            campaign.figures.push(figure("overlap", "communication", bytes, communication));
            campaign.figures.push(figure("overlap", "computation", bytes, 1000.0));
            campaign.figures.push(figure("overlap", "both", bytes, both));
        }
        assert_eq!(overlap(&campaign, "ours", "overlap"), [(1 << 20, 0.5), (1 << 21, 0.0)]);
    }
}
