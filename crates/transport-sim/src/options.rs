//! The text behind `SHMEM_TRANSPORT=sim:`: `[STRATEGY][:SEED][,kind=STEP][,death][,summary=FILE][,story=FILE]`.

use std::path::PathBuf;

use oxshmem_base::simulated::{self, STRATEGIES};
use oxshmem_base::{Error, names};

/// How the scheduler decides who is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strategy {
    /// The network does nothing until a PE would otherwise wait for ever; then one thing.
    Lazy,
    /// Every operation is complete before its caller goes on.
    Eager,
    /// All have the same chance, with a tempo of PEs and network that the seed chooses.
    Random,
    /// Each has a priority, which changes at a few steps that the seed chooses.
    Priority,
    /// One PE, with its operations, goes on only when no other one can.
    StarvedPe,
    /// The operations from one PE to another one happen only when nothing else can.
    StarvedPair,
}

impl Strategy {
    const ALL: [(&'static str, Self); 6] = [
        (STRATEGIES[0], Self::Lazy),
        (STRATEGIES[1], Self::Eager),
        (STRATEGIES[2], Self::Random),
        (STRATEGIES[3], Self::Priority),
        (STRATEGIES[4], Self::StarvedPe),
        (STRATEGIES[5], Self::StarvedPair),
    ];

    /// The strategy that a seed stands for where none is named: half of the seeds are random.
    fn of(seed: u64) -> Self {
        match seed % 8 {
            0 => Self::Lazy,
            1 => Self::Priority,
            2 => Self::StarvedPe,
            3 => Self::StarvedPair,
            _ => Self::Random,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, strategy)| *strategy == self).map_or("", |(name, _)| name)
    }
}

/// The choices of one job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SimOptions {
    pub(crate) strategy: Strategy,
    pub(crate) seed: u64,
    /// From this step on the network is kind: every operation is complete before any PE goes on.
    pub(crate) kind: u64,
    /// One PE is killed at a step that the seed chooses.
    pub(crate) death: bool,
    /// The file to which the last PE writes how the run went.
    pub(crate) summary: Option<PathBuf>,
    /// The file to which every step is written.
    pub(crate) story: Option<PathBuf>,
}

impl SimOptions {
    /// Reads the detail of `sim:DETAIL`.
    pub(crate) fn read(detail: &str) -> Result<Self, Error> {
        let (head, rest) = detail.split_once(',').unwrap_or((detail, ""));
        let mut options = Self::read_head(head).ok_or_else(|| wrong(detail, head))?;
        let mut rest = rest;
        while !rest.is_empty() {
            // This path may contain commas, so it comes last.
            if let Some(path) = rest.strip_prefix("story=") {
                options.story = Some(path.into());
                break;
            }
            // This one ends where an option follows.
            if let Some(path) = rest.strip_prefix("summary=") {
                let ends = [",kind=", ",death", ",story="].into_iter().filter_map(|option| path.find(option));
                let (path, next) = path.split_at(ends.min().unwrap_or(path.len()));
                options.summary = Some(path.into());
                rest = next.strip_prefix(',').unwrap_or(next);
                continue;
            }
            let (word, next) = rest.split_once(',').unwrap_or((rest, ""));
            match word.split_once('=') {
                Some(("kind", step)) => options.kind = step.parse().map_err(|_| wrong(detail, word))?,
                None if word == "death" => options.death = true,
                _ => return Err(wrong(detail, word)),
            }
            rest = next;
        }
        Ok(options)
    }

    fn read_head(head: &str) -> Option<Self> {
        let (name, seed) = simulated::strategy_and_seed(head)?;
        let named = Strategy::ALL.into_iter().find(|(known, _)| Some(*known) == name).map(|(_, strategy)| strategy);
        let strategy = named.unwrap_or_else(|| Strategy::of(seed));
        Some(Self { strategy, seed, kind: u64::MAX, death: false, summary: None, story: None })
    }
}

fn wrong(detail: &str, word: &str) -> Error {
    let words = || Strategy::ALL.into_iter().map(|(name, _)| name).chain(["kind", "death", "summary", "story"]);
    let near = names::nearest(word.split(['=', ':']).next().unwrap_or(word), words());
    let meant = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Error::new(format!("SHMEM_TRANSPORT=sim:{detail} cannot be read"))
        .because(format!("`{word}` is neither a seed nor a strategy nor an option{meant}"))
        .fix(simulated::ADVICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_read() {
        let plain =
            |strategy, seed| SimOptions { strategy, seed, kind: u64::MAX, death: false, summary: None, story: None };
        assert_eq!(SimOptions::read("").expect("nothing"), plain(Strategy::of(1), 1));
        assert_eq!(SimOptions::read("12").expect("a seed"), plain(Strategy::of(12), 12));
        assert_eq!(SimOptions::read("lazy").expect("a strategy"), plain(Strategy::Lazy, 1));
        assert_eq!(SimOptions::read("starved-pe:9").expect("both"), plain(Strategy::StarvedPe, 9));
        let all = SimOptions::read("priority:3,kind=40,death,summary=/tmp/c,story=/tmp/a,b").expect("everything");
        let expected = SimOptions {
            kind: 40,
            death: true,
            summary: Some("/tmp/c".into()),
            story: Some("/tmp/a,b".into()),
            ..plain(Strategy::Priority, 3)
        };
        assert_eq!(all, expected);
        let other = SimOptions::read("priority:3,summary=/t,mp/c,kind=40,death,story=/tmp/a,b").expect("another order");
        assert_eq!(other, SimOptions { summary: Some("/t,mp/c".into()), ..expected });
    }

    #[test]
    fn a_slip_names_what_was_meant() {
        for (detail, meant) in [("lasy", "lazy"), ("lazy:x", "lazy"), ("3,deth", "death"), ("3,kind=x", "kind")] {
            let error = SimOptions::read(detail).expect_err("a slip").to_string();
            assert!(error.contains(&format!("sim:{detail}")) && error.contains(meant), "{error}");
        }
    }
}
