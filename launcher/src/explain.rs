//! `oxshmem explain`: which way a call of a collective takes, and which row of the tables names its schedule.

use clap::Args;
use oxshmem_base::knobs::{Algorithms, NodeLevels, Settings};
use oxshmem_base::{Error, file};
use oxshmem_schedule::algorithm::names::FAMILIES;
use oxshmem_schedule::algorithm::{Collective, OperatorLaw};
use oxshmem_schedule::choose::{self, CROWDED, Question, Row, SERVED, STANDARD};
use oxshmem_schedule::node::{Shape, WIDTH, levels_pay};
use oxshmem_schedule::way::{CollectiveWay, LevelLines, Rules, TeamFacts};

use crate::schedules::{self, ELEMENT};
use crate::verdict;

/// A call to be explained.
#[derive(Args)]
pub struct ExplainArgs {
    /// sync, reduce-idempotent, broadcast, ..., or an operation: barrier, max, sum, ...
    #[arg(long, value_parser = schedules::collective)]
    collective: Collective,
    /// Members of the team
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pes: u32,
    /// Nodes on which they are; without it each is on a node of its own
    #[arg(long)]
    nodes: Option<u32>,
    /// Bytes of the array, or of one PE's block: 65536, 64K or 1M
    #[arg(long, default_value = "8", value_parser = schedules::bytes)]
    bytes: u64,
    /// Use this table instead of that of SHMEM_TUNING; SHMEM_*_ALGORITHM take precedence over both, as in a job
    #[arg(long, value_name = "FILE")]
    tuning: Option<String>,
}

/// The user's settings: the rows before the library's, with a sentence for each variable that they are from, and the levels of a node.
#[derive(Debug, Default)]
struct OwnRows {
    rows: Vec<Row>,
    told: String,
    node_levels: NodeLevels,
}

impl OwnRows {
    /// As a job reads them; a file on the command line takes the place of SHMEM_TUNING.
    fn read(table: Option<&str>, settings: &Settings) -> Result<Self, Error> {
        let mut own = Self { node_levels: settings.node_levels.clone(), ..Self::default() };
        match (table, &settings.tuning_file) {
            (Some(name), _) => own.rows = rows_of(name)?,
            (None, Some(name)) => {
                own.rows = rows_of(name)?;
                own.told += &format!("own rows are those of SHMEM_TUNING={name}\n");
            }
            (None, None) => {}
        }
        for ((family, collectives), name) in FAMILIES.iter().zip(settings.algorithms.by_family()) {
            choose::prefer(&mut own.rows, collectives, name)
                .map_err(|possible| Algorithms::unknown(family, name, &possible))?;
            if name != "auto" {
                own.told += &format!("SHMEM_{family}_ALGORITHM={name} is set, and goes before every table\n");
            }
        }
        Ok(own)
    }
}

/// The rows of a table for `SHMEM_TUNING`.
pub(crate) fn rows_of(name: &str) -> Result<Vec<Row>, Error> {
    let text = file::read(name).map_err(|error| {
        Error::new(format!("the table {name} cannot be read"))
            .because(error)
            .fix("name a table that `oxshmem tune` has written, with --tuning or SHMEM_TUNING")
    })?;
    choose::from_json(&text).map_err(|why| Error::new(format!("the table {name} cannot be used")).because(why))
}

/// The most PEs of one node whose levels are looked at: their shape takes memory for each of them.
const MOST_ON_A_NODE: u32 = 1 << 14;

/// Networks that differ in their tables: whether the nodes share too few processors, and whether the processor of the target serves.
const NETWORKS: [(&str, bool, bool); 3] = [
    ("over a network with one-sided access, which none of tcp, ofi and ucx claims today", false, false),
    ("where the target's processor serves messages, as with TCP, libfabric and UCX", false, true),
    ("the same on one machine with fewer processors than PEs, as with `oshrun --nodes` on a laptop", true, true),
];

impl ExplainArgs {
    /// The way of the call; which row of the tables answers for a schedule, and why not those before it. Variables of the environment
    /// count as in a job.
    pub fn run(&self) -> Result<String, Error> {
        let (settings, _) = Settings::from_env()?;
        self.with(&OwnRows::read(self.tuning.as_deref(), &settings)?)
    }

    fn nodes(&self) -> u32 {
        self.nodes.unwrap_or(self.pes)
    }

    fn with(&self, own: &OwnRows) -> Result<String, Error> {
        let (collective, size, nodes, bytes) = (self.collective, self.pes, self.nodes(), self.bytes);
        if nodes == 0 || nodes > size {
            return Err(Error::new(format!("{size} PEs cannot be on {nodes} nodes"))
                .because("each node has a member of the team")
                .fix(format!("say --nodes 1 to --nodes {size}")));
        }
        let (members, on) = (verdict::counted(size as usize), verdict::counted_as(nodes as usize, "node"));
        let length = if collective == Collective::Sync { String::new() } else { format!(", {bytes} bytes") };
        let mut text = format!("{collective}, {members} on {on}{length}\n{}", own.told);
        if nodes == 1 {
            let rules = Rules { own: &own.rows, ..Rules::default() };
            let shape = self.shape(&own.node_levels);
            let levels = shape.as_ref().map(LevelLines::of);
            // PEs that share processors meet by the levels that the user has named, and by no others.
            let named = if own.node_levels == NodeLevels::Auto { None } else { levels };
            let (way, crowded) = (self.way_by(rules, levels), self.way_by(Rules { crowded: true, ..rules }, named));
            text += &format!("way: {way}\n");
            if crowded != way {
                text += &format!("way with fewer processors than PEs: {crowded}\n");
            }
            if levels.is_some() {
                text += "where each PE has a processor, the members meet level by level\n";
            }
            text += "on one node a schedule runs only where a row of your own names one:\n";
            return Ok(text + &self.rows(&[("own", &own.rows)], rules));
        }
        for (words, crowded, served) in NETWORKS {
            let rules = Rules { own: &own.rows, crowded, served };
            text += &format!("\n{words}\nway: {}\n", self.way(rules));
            text += &format!("rows for a schedule among the {nodes} leaders, one of each node:\n");
            let crowded: &[Row] = if crowded { CROWDED } else { &[] };
            let served: &[Row] = if served { SERVED } else { &[] };
            text +=
                &self.rows(&[("own", &own.rows), ("crowded", crowded), ("TCP", served), ("standard", STANDARD)], rules);
        }
        if let Collective::Reduce(OperatorLaw::Exact) = collective {
            text += "\nThis is a sum or product of integers. For one of floating-point numbers say --collective reduce-fixed-tree.\n";
        }
        Ok(text)
    }

    fn way(&self, rules: Rules<'_>) -> CollectiveWay {
        self.way_by(rules, None)
    }

    /// The way of a team that meets by these levels.
    fn way_by(&self, rules: Rules<'_>, levels: Option<LevelLines<'_>>) -> CollectiveWay {
        let count = self.bytes.div_ceil(ELEMENT) as usize;
        let team = TeamFacts { levels, ..TeamFacts::spread(self.pes, self.nodes(), rules) };
        team.way(self.collective, ELEMENT as usize, count)
    }

    /// The levels by which PEs of one node meet, as `teams::cache_levels` makes them in a job, if they lie around one cache: the machine
    /// is not asked.
    fn shape(&self, levels: &NodeLevels) -> Option<Shape> {
        let widths: &[u32] = match levels {
            _ if self.pes > MOST_ON_A_NODE => return None,
            NodeLevels::Groups(widths) if self.pes > 1 => widths,
            NodeLevels::Auto if levels_pay(self.pes, 1) => &[],
            _ => return None,
        };
        let domains: Vec<Vec<u32>> = widths.iter().map(|width| (0..self.pes).map(|pe| pe / width).collect()).collect();
        let domains: Vec<&[u32]> = domains.iter().map(Vec::as_slice).collect();
        Some(Shape::nested(self.pes, &domains, WIDTH))
    }

    /// The rows, and what they have to do with the way.
    fn rows(&self, tables: &[(&str, &[Row])], rules: Rules<'_>) -> String {
        // Data that is only copied is counted in bytes.
        let combines = matches!(
            self.collective,
            Collective::Sync | Collective::Reduce(_) | Collective::Inscan | Collective::Exscan
        );
        let element = if combines { ELEMENT } else { 1 };
        let size = if self.nodes() == 1 { self.pes } else { self.nodes() };
        let count = self.bytes.div_ceil(element);
        let question = Question { collective: self.collective, size, count, element, root_apart: false };
        let text = choose::explain_from(tables, &question);
        if self.collective == Collective::Reduce(OperatorLaw::FixedTree) {
            return text;
        }
        let answer = tables.iter().find_map(|(_, rows)| choose::choose_from(rows, &question));
        let meets = self.collective == Collective::Sync && self.nodes() > 1;
        let way = self.way(rules);
        let without_own = self.way(Rules { own: &[], ..rules });
        let in_parts =
            matches!(way, CollectiveWay::Slices { .. } | CollectiveWay::Parts(_) | CollectiveWay::Gathered(_));
        let told = match (way.schedule(), answer) {
            (None, None) => return text,
            (None, Some(answer)) if meets => format!("the leaders meet by {answer}"),
            (None, Some(_)) => {
                "the way above runs no schedule, or none has room for this size: the row is not used".into()
            }
            // The schedules of several collectives share a name.
            (Some(run), Some(answer)) if run.to_string() == answer.to_string() => format!("the way above runs {run}"),
            (_, Some(answer)) if without_own != way => {
                format!("the row changes the way: without {answer} it is {without_own}")
            }
            (Some(run), _) if in_parts => {
                format!("the way above exchanges parts of nodes, by {run}: the row is not used")
            }
            (Some(run), _) if matches!(way, CollectiveWay::Inline(_)) => {
                format!("the way above is for so few bytes and runs {run}: the row is not used")
            }
            (Some(run), _) => format!("the way above runs {run}: the row's schedule has no room for this size"),
        };
        format!("{text}  {told}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, pes: u32, nodes: u32, bytes: u64) -> ExplainArgs {
        let collective = schedules::collective(name).expect("a collective");
        ExplainArgs { collective, pes, nodes: Some(nodes), bytes, tuning: None }
    }

    fn plain(call: ExplainArgs) -> String {
        call.with(&OwnRows::default()).expect("it can be explained")
    }

    fn set(change: impl FnOnce(&mut Settings)) -> Result<OwnRows, Error> {
        let mut settings = Settings::default();
        change(&mut settings);
        OwnRows::read(None, &settings)
    }

    #[test]
    fn explanations_name_the_way_and_the_row() {
        let barrier = |nodes| plain(of("barrier", 8, nodes, 0));
        assert!(barrier(1).starts_with("sync, 8 PEs on 1 node\n"), "{}", barrier(1));
        assert!(barrier(1).contains("exchange: ") && barrier(1).contains("no row answers"), "{}", barrier(1));
        assert_eq!(barrier(4).matches("the leaders meet by dissemination-4").count(), 2, "{}", barrier(4));
        assert!(barrier(4).contains("the leaders meet by dissemination-2"), "{}", barrier(4));
        let gather = |bytes| plain(of("fcollect", 8, 1, bytes));
        let crowded = "\nway with fewer processors than PEs: eager: ";
        assert!(gather(64).contains("\nway: members: ") && gather(64).contains(crowded), "{}", gather(64));
        assert!(!gather(8).contains("fewer processors") && !gather(64 << 10).contains("fewer processors"));
        let long = plain(of("max", 16, 4, 16 << 20));
        assert_eq!(long.matches("rendezvous: all meet").count(), 3, "{long}");
        for nodes in [5, 0] {
            assert!(of("max", 4, nodes, 8).with(&OwnRows::default()).is_err());
        }
        assert!(OwnRows::read(Some("/nowhere/table"), &Settings::default()).is_err());
    }

    #[test]
    fn large_teams_on_a_node_meet_level_by_level() {
        let levels = |text: &str| text.contains("\nway: levels: ");
        let large = |name, bytes| plain(of(name, 32, 1, bytes));
        assert!(levels(&large("max", 8)) && levels(&large("broadcast", 64)), "{}", large("max", 8));
        assert!(large("max", 8).contains("\nway with fewer processors than PEs: exchange: "), "{}", large("max", 8));
        assert!(large("barrier", 0).contains("the members meet level by level\n"), "{}", large("barrier", 0));
        let small = plain(of("max", 16, 1, 8));
        assert!(!small.contains("level"), "{small}");
        let with = |pes, levels| {
            let own = set(|settings| settings.node_levels = levels).expect("levels have no names");
            of("max", pes, 1, 8).with(&own).expect("it can be explained")
        };
        assert!(!with(32, NodeLevels::Off).contains("level"));
        let groups = with(4, NodeLevels::Groups(vec![2]));
        assert!(levels(&groups) && !groups.contains("fewer processors"), "{groups}");
        assert!(!plain(of("max", 1_000_000, 1, 8)).contains("level"));
    }

    #[test]
    fn the_row_that_answers_is_that_of_the_same_network() {
        let sum = plain(of("sum", 16, 4, 8192));
        let (one_sided, tcp) = sum.split_once("as with TCP").expect("all networks are told");
        let (tcp, crowded) = tcp.split_once("on a laptop").expect("all networks are told");
        assert!(crowded.contains("crowded row census           answers\n"), "{sum}");
        assert!(sum.ends_with("say --collective reduce-fixed-tree.\n"), "{sum}");
        assert!(one_sided.contains("standard row ring             answers\n"), "{sum}");
        assert!(one_sided.contains("exchanges parts of nodes, by pairwise: the row is not used\n"), "{sum}");
        assert!(tcp.contains("TCP row census           answers\n  the way above runs census\n"), "{sum}");
        let alltoall = plain(of("alltoall", 16, 4, 1 << 20));
        assert!(alltoall.contains("members: ") && alltoall.contains("the row is not used"), "{alltoall}");
    }

    #[test]
    fn a_row_that_takes_a_call_off_its_way_is_no_row_without_use() {
        let own = set(|settings| settings.algorithms.broadcast = "scatter-gather".into()).expect("it is a name");
        let told = of("broadcast", 2, 2, 8).with(&own).expect("it can be explained");
        assert!(told.contains("the row changes the way: without scatter-gather it is ring: "), "{told}");
        assert!(!told.contains("is not used"), "{told}");
        let collect = plain(of("collect", 16, 4, 1 << 20));
        assert!(collect.contains("the way above runs census\n") && !collect.contains("no room"), "{collect}");
    }

    #[test]
    fn variables_count_as_in_a_job() {
        let own = set(|settings| settings.algorithms.reduce = "ring".into()).expect("ring is a name");
        let told = of("sum", 16, 4, 64).with(&own).expect("it can be explained");
        assert!(told.contains("SHMEM_REDUCE_ALGORITHM=ring is set") && told.contains("own row ring"), "{told}");
        let few = of("max", 4, 2, 8).with(&own).expect("it can be explained");
        assert!(few.contains("is for so few bytes and runs dissemination-4: the row is not used"), "{few}");
        let error = set(|settings| settings.algorithms.reduce = "rong".into()).expect_err("rong is none").to_string();
        assert!(error.contains("set SHMEM_REDUCE_ALGORITHM=ring"), "{error}");
        let error = set(|settings| settings.tuning_file = Some("/nowhere/t.json".into())).expect_err("no file");
        assert!(error.to_string().contains("/nowhere/t.json cannot be read"));
    }
}
