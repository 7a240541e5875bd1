//! The findings of a run of `oxshmem bench`, in the form in which they are kept, compared and drawn.

use oxshmem_report::chart::Stroke;
use oxshmem_report::statistics::{Distribution, interval, median};
use serde::{Deserialize, Serialize};

use crate::verdict::{counted, counted_as};

/// The version of the form.
pub(crate) const FORMAT: u32 = 1;

/// Everything that one run has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Campaign {
    pub(crate) format: u32,
    /// When it began, in UTC.
    pub(crate) date: String,
    pub(crate) command: String,
    /// Where it ran: names and values.
    pub(crate) machine: Vec<(String, String)>,
    /// Bytes a second of the fastest line between hosts, where there are several.
    pub(crate) line_rate: Option<f64>,
    pub(crate) pes: u32,
    /// On how many nodes, where that is known.
    #[serde(default)]
    pub(crate) nodes: Option<u32>,
    /// Whether its PEs were bound, where that is known.
    #[serde(default)]
    pub(crate) bound: Option<bool>,
    pub(crate) rounds: u32,
    /// The libraries, ours first.
    pub(crate) contenders: Vec<Entrant>,
    pub(crate) figures: Vec<Figure>,
    /// Why something was not measured.
    pub(crate) missing: Vec<Unmeasured>,
}

/// A library that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entrant {
    /// Its name in tables.
    pub(crate) name: String,
    /// Its own name and version.
    pub(crate) library: String,
    /// The version of the standard that it says.
    pub(crate) standard: String,
    /// How its jobs were started.
    pub(crate) launcher: String,
}

impl Entrant {
    /// The name with the version. Some libraries give an address instead of a name.
    pub(crate) fn title(&self) -> String {
        if self.library.contains(&self.name) { self.library.clone() } else { self.name.clone() }
    }
}

/// A group of patterns that could not be measured with a library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Unmeasured {
    pub(crate) contender: String,
    pub(crate) group: String,
    pub(crate) why: String,
}

/// The subject of a figure: an operation, the form of the call, and its size.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Measurand {
    /// The library.
    pub(crate) contender: String,
    /// The operation.
    pub(crate) pattern: String,
    /// The form of the call; may be empty.
    pub(crate) form: String,
    pub(crate) bytes: u64,
}

/// One result. Values are nanoseconds of one operation; of memory they are bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    #[serde(flatten)]
    pub(crate) of: Measurand,
    /// Repetitions of a batch, the greatest of all rounds; 1: each was timed by itself.
    pub(crate) batch: u64,
    /// The median of each round.
    pub(crate) rounds: Vec<f64>,
    /// The median of these.
    pub(crate) value: f64,
    /// The interval that covers the median with 95 %, where there were rounds enough.
    pub(crate) interval: Option<(f64, f64)>,
    /// The cost of one reading of the clock, which every single sample contains.
    pub(crate) clock: f64,
    /// The distribution of repetitions that were timed one by one.
    pub(crate) distribution: Option<Distribution>,
    /// How many operations a repetition is.
    pub(crate) operations: f64,
}

/// A result whose rounds are still coming.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnfinishedFigure {
    rounds: Vec<f64>,
    batch: u64,
    clock: f64,
    operations: f64,
    singles: Vec<(u64, u64)>,
}

/// One round of a result, as PE 0 prints it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Sampling {
    pub(crate) pattern: String,
    pub(crate) form: String,
    pub(crate) bytes: u64,
    batch: u64,
    clock: f64,
    operations: f64,
    /// Nanoseconds of an operation, for each batch.
    pub(crate) samples: Vec<f64>,
    /// Nanoseconds of a repetition, and how often it was seen.
    singles: Vec<(u64, u64)>,
}

impl Sampling {
    /// A round that was measured from outside.
    pub(crate) fn of_time(pattern: &str, form: &str, nanoseconds: f64) -> Self {
        let (pattern, form) = (pattern.to_owned(), form.to_owned());
        Self {
            pattern,
            form,
            bytes: 0,
            batch: 1,
            clock: 0.0,
            operations: 1.0,
            samples: vec![nanoseconds],
            singles: Vec::new(),
        }
    }
}

impl UnfinishedFigure {
    pub(crate) fn add(&mut self, round: &Sampling) {
        self.rounds.extend(median(&round.samples));
        self.batch = self.batch.max(round.batch);
        self.clock = self.clock.max(round.clock);
        self.operations = round.operations;
        self.singles.extend(&round.singles);
    }

    /// The result, if there was a round.
    pub(crate) fn finish(self, of: Measurand) -> Option<Figure> {
        let Self { rounds, batch, clock, operations, singles } = self;
        Some(Figure {
            of,
            batch,
            value: median(&rounds)?,
            interval: interval(&rounds),
            distribution: Distribution::new(&singles),
            rounds,
            clock,
            operations,
        })
    }
}

impl Campaign {
    pub(crate) fn figure(&self, of: &Measurand) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.of == *of)
    }

    /// All results of a pattern and form, small sizes first.
    pub(crate) fn sweep(&self, contender: &str, pattern: &str, form: &str) -> Vec<&Figure> {
        let wanted = |of: &Measurand| of.contender == contender && of.pattern == pattern && of.form == form;
        let mut figures: Vec<&Figure> = self.figures.iter().filter(|figure| wanted(&figure.of)).collect();
        figures.sort_by_key(|figure| figure.of.bytes);
        figures
    }

    pub(crate) fn shape(&self) -> String {
        let nodes = self.nodes.map_or_else(String::new, |nodes| format!(" on {}", counted_as(nodes as usize, "node")));
        let bound = self.bound.map_or("", |bound| if bound { ", bound" } else { ", not bound" });
        format!("{}{nodes}{bound}", counted(self.pes as usize))
    }

    /// A sentence about an earlier run of jobs of another shape.
    pub(crate) fn unlike(&self, earlier: &Campaign) -> Option<String> {
        let differ = |now: Option<u32>, before: Option<u32>| now.zip(before).is_some_and(|(now, before)| now != before);
        let bound = |run: &Campaign| run.bound.map(u32::from);
        let unlike =
            self.pes != earlier.pes || differ(self.nodes, earlier.nodes) || differ(bound(self), bound(earlier));
        unlike.then(|| {
            let (before, now) = (earlier.shape(), self.shape());
            format!("the earlier run had {before}, and this one has {now}: their figures are of unlike jobs")
        })
    }

    /// The libraries by name, with what a legend adds for each and how its curves are drawn.
    pub(super) fn drawn(&self) -> impl Iterator<Item = (&str, String, Stroke)> {
        let is_alone = self.contenders.len() == 1;
        self.contenders.iter().enumerate().map(move |(place, subject)| {
            let added = if is_alone { String::new() } else { format!(" ({})", subject.name) };
            (subject.name.as_str(), added, if place == 0 { Stroke::Whole } else { Stroke::Dashed })
        })
    }

    /// The name of our own library in this run.
    pub(crate) fn ours(&self) -> &str {
        self.contenders.first().map_or("", |subject| &subject.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_median_of_rounds_and_keeps_what_it_is_made_of() {
        let line = r#"{"pattern":"put","form":"","bytes":8,"batch":100,"clock":22.0,"operations":2,"samples":[5,1,9],"singles":[[40,3],[50,1]]}"#;
        let mut pending = UnfinishedFigure::default();
        for factor in 1..=6 {
            let mut round: Sampling = serde_json::from_str(line).expect("the line is well formed");
            round.samples.iter_mut().for_each(|sample| *sample *= f64::from(factor));
            pending.add(&round);
        }
        let of = Measurand { contender: "ours".into(), pattern: "put".into(), form: String::new(), bytes: 8 };
        let figure = pending.finish(of.clone()).expect("there were rounds");
        assert_eq!((figure.value, figure.interval, figure.rounds.len()), (17.5, Some((5.0, 30.0)), 6));
        assert_eq!(figure.distribution.as_ref().map(|samples| (samples.count, samples.max)), Some((24, 50.0)));
        let text = serde_json::to_string(&figure).expect("a figure can be written");
        let read: Figure = serde_json::from_str(&text).expect("and read");
        assert_eq!((read.of, read.value, read.distribution), (figure.of, figure.value, figure.distribution));
        assert!(UnfinishedFigure::default().finish(of).is_none());
    }

    #[test]
    fn runs_of_other_shapes_are_told_apart() {
        let run = |pes, nodes, bound| Campaign { pes, nodes, bound, ..super::super::tests::empty() };
        let now = run(4, Some(1), Some(true));
        for alike in [run(4, Some(1), Some(true)), run(4, None, None)] {
            assert_eq!(now.unlike(&alike), None);
        }
        let told = now.unlike(&run(2, Some(1), Some(true))).expect("the numbers of PEs differ");
        assert!(told.starts_with("the earlier run had 2 PEs on 1 node, bound, and this one has 4 PEs"), "{told}");
        for unlike in [run(4, Some(2), Some(true)), run(4, Some(1), Some(false)), run(1, None, None)] {
            assert!(now.unlike(&unlike).is_some(), "{}", unlike.shape());
        }
    }
}
