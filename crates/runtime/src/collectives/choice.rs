//! Which collectives run a schedule, and which one: what the user has set, the same on all PEs.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use oxshmem_base::chance::Sum;
use oxshmem_base::knobs::{Algorithms, Settings};
use oxshmem_base::{Error, file};
use oxshmem_schedule::algorithm::names::{COLLECTIVES, FAMILIES};
use oxshmem_schedule::algorithm::{Collective, Schedule};
use oxshmem_schedule::choose::{self, Question, Row};
use oxshmem_schedule::way::Rules;

use crate::network;

/// The rows that the job puts before the standard table, from `SHMEM_*_ALGORITHM` and `SHMEM_TUNING`.
pub(crate) struct Choice {
    rows: Vec<Row>,
    /// Whether all PEs are known to have the same rows.
    in_force: AtomicBool,
}

impl Choice {
    /// Reads the settings. An algorithm that is named comes before the rows of the file.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
        let mut rows = match &settings.tuning_file {
            Some(file) => read(file)?,
            None => Vec::new(),
        };
        for ((family, collectives), name) in FAMILIES.iter().zip(settings.algorithms.by_family()) {
            choose::prefer(&mut rows, collectives, name)
                .map_err(|possible| Algorithms::unknown(family, name, &possible))?;
        }
        Ok(Self { rows, in_force: AtomicBool::new(false) })
    }

    /// The rows in force: none before [`Self::enforce`]. PEs that have other rows must meet to notice it.
    pub(crate) fn rows(&self) -> &[Row] {
        if self.in_force.load(Relaxed) { &self.rows } else { &[] }
    }

    /// All PEs have the same rows.
    pub(crate) fn enforce(&self) {
        self.in_force.store(true, Relaxed);
    }

    /// The schedule that answers the question; `None`: the engine of the node does.
    fn schedule(&self, question: &Question) -> Option<Schedule> {
        Rules { own: &self.rows, ..Rules::default() }.wanted(question)
    }

    /// Whether any collective runs a schedule of its own.
    pub(crate) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// A number by which the rows differ from others.
    pub(crate) fn fingerprint(&self) -> u64 {
        Sum::of(choose::to_json(&self.rows).into_bytes())
    }

    /// One line, or several if schedules are wanted: what each collective of all `pes` takes, and why. On several nodes the leaders
    /// run it, one PE of each node, so limits of rows count nodes there.
    pub(crate) fn describe(&self, pes: u32, nodes: u32) -> String {
        let ways = format!("by loads and stores on a node{}", between_nodes());
        if self.rows.is_empty() {
            return format!("oxshmem: all collectives run {ways}");
        }
        let (size, members) = match (pes, nodes) {
            (1, _) => (1, "PE"),
            (_, 0 | 1) => (pes, "PEs"),
            _ => (nodes, "leaders of nodes"),
        };
        let mut text =
            format!("oxshmem: schedules wanted by SHMEM_*_ALGORITHM or SHMEM_TUNING stand below; auto runs {ways}");
        for (name, collective) in COLLECTIVES.into_iter().filter(|(_, part)| *part != Collective::Shares) {
            let question = |count| Question { collective, size, count, element: 8, root_apart: false };
            if SHOWN.into_iter().all(|count| self.schedule(&question(count)).is_none()) {
                let _ = write!(text, "\n{name}: auto");
                continue;
            }
            for count in SHOWN {
                let _ = match self.schedule(&question(count)) {
                    None => write!(text, "\n{name}, {size} {members}, {} bytes: auto", 8 * count),
                    Some(_) => {
                        let rows = choose::explain_from(&[("own", &self.rows)], &question(count));
                        write!(text, "\n{name}, {size} {members}, {} bytes\n{}", 8 * count, rows.trim_end())
                    }
                };
            }
        }
        text
    }
}

/// How many elements of 8 bytes the calls have whose schedules are shown: a short one, and one of 1 MiB.
const SHOWN: [u64; 2] = [1, 1 << 17];

/// The tables that name the schedules of leaders, if there are several nodes.
fn between_nodes() -> String {
    if !network::is_open() {
        return String::new();
    }
    let tables = [(network::is_crowded_host(), "crowded"), (network::is_served(), "TCP"), (true, "standard")];
    let tables: Vec<&str> = tables.iter().filter(|(applies, _)| *applies).map(|(_, name)| *name).collect();
    format!("; between nodes by the first fitting row of these tables: {}", tables.join(", "))
}

fn read(name: &str) -> Result<Vec<Row>, Error> {
    let text = file::read(name).map_err(|error| {
        Error::new(format!("the table of SHMEM_TUNING={name} cannot be read"))
            .because(error.to_string())
            .fix("name a file that every PE can read, or unset SHMEM_TUNING")
    })?;
    choose::from_json(&text).map_err(|why| {
        Error::new(format!("the table of SHMEM_TUNING={name} cannot be used"))
            .because(why)
            .fix("correct that place; `oxshmem explain --tuning` checks a table without a job")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_schedule::algorithm::OperatorLaw;
    use oxshmem_test_folder::TestFolder;

    fn question(collective: Collective) -> Question {
        Question { collective, size: 8, count: 4, element: 8, root_apart: false }
    }

    fn with(set: impl FnOnce(&mut Settings)) -> Result<Choice, Error> {
        let mut settings = Settings::default();
        set(&mut settings);
        Choice::new(&settings)
    }

    fn with_file<R>(name: &str, text: &str, check: impl FnOnce(String) -> R) -> R {
        let folder = TestFolder::new(name);
        check(folder.write("table.json", text).to_string_lossy().into_owned())
    }

    #[test]
    fn without_settings_the_node_does_everything() {
        let choice = with(|_| {}).unwrap();
        let answers = COLLECTIVES.iter().filter(|(name, _)| *name != "shares");
        assert!(answers.clone().all(|(_, collective)| choice.schedule(&question(*collective)).is_none()));
        assert!(choice.rows.is_empty());
    }

    #[test]
    fn rows_are_in_force_when_all_pes_have_the_same() {
        let choice = with(|settings| settings.algorithms.reduce = "ring".into()).unwrap();
        assert!(choice.has_rows() && choice.rows().is_empty());
        choice.enforce();
        assert!(!choice.rows().is_empty());
    }

    #[test]
    fn a_name_answers_for_what_it_serves_and_nothing_else() {
        let choice = with(|settings| settings.algorithms.reduce = "dissemination-2".into()).unwrap();
        let answer = |collective| choice.schedule(&question(collective)).map(|schedule| schedule.to_string());
        assert_eq!(answer(Collective::Reduce(OperatorLaw::Idempotent)).as_deref(), Some("dissemination-2"));
        assert_eq!(answer(Collective::Reduce(OperatorLaw::FixedTree)), None);
        assert_eq!(answer(Collective::Sync), None);
    }

    #[test]
    fn no_name_changes_the_order_of_a_sum_of_floating_point_numbers() {
        for name in ["butterfly-2", "ring", "circulant", "central"] {
            let choice = with(|settings| settings.algorithms.reduce = name.into()).unwrap();
            assert!(choice.schedule(&question(Collective::Reduce(OperatorLaw::Exact))).is_some(), "{name}");
            assert_eq!(choice.schedule(&question(Collective::Reduce(OperatorLaw::FixedTree))), None, "{name}");
        }
    }

    #[test]
    fn a_wrong_name_is_an_error_that_says_which_there_are() {
        let error = with(|settings| settings.algorithms.barrier = "disemination-2".into()).err().unwrap().to_string();
        assert!(error.contains("SHMEM_BARRIER_ALGORITHM=disemination-2"), "{error}");
        assert!(error.contains("auto, node, dissemination-2"), "{error}");
        assert!(error.contains("set SHMEM_BARRIER_ALGORITHM=dissemination-2"), "{error}");
        assert!(with(|settings| settings.algorithms.barrier = "ring".into()).is_err());
    }

    #[test]
    fn a_file_answers_up_to_its_limits_a_name_goes_first_and_node_takes_rows_away() {
        let text = r#"{"version": 1, "rows": [
            {"collective": "sync", "schedule": "central"},
            {"collective": "fcollect", "max_size": 2, "schedule": "ring"},
            {"collective": "broadcast", "max_bytes": 32, "schedule": "tree-2"}]}"#;
        with_file("rows", text, |file| {
            let from = |barrier: &str| {
                with(|settings| {
                    settings.tuning_file = Some(file.clone());
                    settings.algorithms.barrier = barrier.into();
                })
                .unwrap()
            };
            let sync = |choice: &Choice| choice.schedule(&question(Collective::Sync)).map(|s| s.to_string());
            assert_eq!(sync(&from("auto")).as_deref(), Some("central"));
            assert_eq!(sync(&from("dissemination-8")).as_deref(), Some("dissemination-8"));
            assert_eq!(sync(&from("node")), None);
            let broadcast = |count| from("auto").schedule(&Question { count, ..question(Collective::Broadcast) });
            assert!(broadcast(4).is_some() && broadcast(5).is_none());
            assert_ne!(from("auto").fingerprint(), from("node").fingerprint());
            let told = |nodes| from("auto").describe(8, nodes);
            assert!(told(1).contains("\nsync, 8 PEs, 8 bytes\n  own row central"), "{}", told(1));
            assert!(told(1).contains("\nfcollect: auto"), "{}", told(1));
            assert!(told(2).contains("\nfcollect, 2 leaders of nodes, 8 bytes\n  own row ring"), "{}", told(2));
        });
    }

    #[test]
    fn a_file_that_is_missing_or_wrong_is_an_error() {
        let error = with(|settings| settings.tuning_file = Some("/nowhere/table".into())).err().unwrap().to_string();
        assert!(error.contains("SHMEM_TUNING=/nowhere/table cannot be read"), "{error}");
        let error = with_file("wrong", "{\"version\": 7}", |file| {
            with(|settings| settings.tuning_file = Some(file)).err().unwrap().to_string()
        });
        assert!(error.contains("version 7"), "{error}");
    }
}
