//! Reports of the tool `oxshmem` on the schedules of collectives. Nothing here runs one.

use oxshmem_base::{Error, file, names};
use oxshmem_schedule::algorithm::names::{COLLECTIVES, find, serving};
use oxshmem_schedule::algorithm::{Collective, OperatorLaw, Schedule};
use oxshmem_schedule::choose::{self, Question, Row};
use oxshmem_schedule::print;
use oxshmem_schedule::simulate::{self, Cluster, Setting};
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::{Rules, TeamFacts};

/// Bytes of an element in every report.
const ELEMENT: u64 = 8;

/// Names of operations that users know, and the collectives that stand for them. A sum is that of integers: sums of
/// floating-point numbers are folded in the order of the team.
const OPERATIONS: [(&str, Collective); 9] = [
    ("barrier", Collective::Sync),
    ("reduce", Collective::Reduce(OperatorLaw::Idempotent)),
    ("max", Collective::Reduce(OperatorLaw::Idempotent)),
    ("min", Collective::Reduce(OperatorLaw::Idempotent)),
    ("and", Collective::Reduce(OperatorLaw::Idempotent)),
    ("or", Collective::Reduce(OperatorLaw::Idempotent)),
    ("xor", Collective::Reduce(OperatorLaw::Exact)),
    ("sum", Collective::Reduce(OperatorLaw::Exact)),
    ("prod", Collective::Reduce(OperatorLaw::Exact)),
];

/// The collective of this name, or of an operation of this name.
pub fn collective(name: &str) -> Result<Collective, String> {
    let known = COLLECTIVES.iter().chain(&OPERATIONS).find(|(known, _)| *known == name);
    known.map(|(_, collective)| *collective).ok_or_else(|| {
        let [collectives, operations] = [&COLLECTIVES[..], &OPERATIONS]
            .map(|names| names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "));
        format!("use one of {collectives}, or an operation: {operations}")
    })
}

/// The subject of a simulation.
pub struct Simulation {
    /// The collective.
    pub collective: Collective,
    /// Names of schedules; all that serve the collective if there are none.
    pub algorithms: Vec<String>,
    /// Team sizes.
    pub sizes: Vec<u32>,
    /// Bytes of the array, or of one PE's block.
    pub bytes: u64,
    /// PEs arrive at random within this time, in nanoseconds.
    pub skew: f64,
    /// The model machine.
    pub machine: Cluster,
}

impl Simulation {
    /// Runs it: the table, and the drawing.
    pub fn run(&self) -> Result<(String, String), Error> {
        let all = || serving(&[self.collective]).map(str::to_owned).collect();
        let names: Vec<String> = if self.algorithms.is_empty() { all() } else { self.algorithms.clone() };
        let schedules =
            names.iter().map(|name| schedule(self.collective, name)).collect::<Result<Vec<Schedule>, Error>>()?;
        let setting = Setting { element: ELEMENT, skew: self.skew, ..Setting::default() };
        let count = self.bytes.div_ceil(ELEMENT);
        let entries = simulate::compare(&schedules, &self.sizes, count, &self.machine, &setting);
        let table = simulate::table(&entries, count, &self.machine, &setting);
        let drawing = simulate::svg(&entries, count, &self.machine, &setting);
        Ok((format!("{}, {table}", self.collective), drawing))
    }
}

/// The steps of all PEs of a small team. Without a collective, the first one that the schedule serves.
pub fn steps(collective: Option<Collective>, algorithm: &str, plan: &Plan) -> Result<String, Error> {
    let served = || COLLECTIVES.into_iter().map(|(_, collective)| collective).find(|c| find(*c, algorithm).is_some());
    let collective = match collective.or_else(served) {
        Some(collective) => collective,
        None => return Err(unknown(algorithm, &COLLECTIVES.map(|(_, collective)| collective))),
    };
    if collective == Collective::Collect {
        return Err(Error::new("the steps of a collect cannot be printed")
            .because("they depend on how much each PE contributes")
            .fix("print fcollect, whose blocks are equal"));
    }
    let text = print::print(&schedule(collective, algorithm)?, plan);
    Ok(format!("{collective} by {algorithm}, {} PEs, {} elements\n{text}", plan.size, plan.count))
}

/// The way of a call of `size` PEs on `nodes` nodes; which row of the tables answers for a schedule among the leaders, and why not
/// those before it. `table` is a file with rows of one's own.
pub fn explain(
    collective: Collective,
    size: u32,
    nodes: u32,
    bytes: u64,
    table: Option<&str>,
) -> Result<String, Error> {
    if nodes == 0 || nodes > size {
        return Err(Error::new(format!("{size} PEs cannot be on {nodes} nodes"))
            .because("each node has a member of the team")
            .fix(format!("say --nodes 1 to --nodes {size}")));
    }
    let rows: Vec<Row> = match table {
        Some(name) => {
            let text = file::read(name)
                .map_err(|error| Error::new(format!("the table {name} cannot be read")).because(error))?;
            choose::from_json(&text)
                .map_err(|why| Error::new(format!("the table {name} cannot be used")).because(why))?
        }
        None => Vec::new(),
    };
    let count = bytes.div_ceil(ELEMENT);
    let way = |served| {
        let rules = Rules { own: &rows, crowded: false, served };
        TeamFacts::spread(size, nodes, rules).way(collective, ELEMENT as usize, count as usize)
    };
    let mut text =
        format!("{collective}, {size} PEs on {nodes} {}, {bytes} bytes\n", if nodes == 1 { "node" } else { "nodes" });
    if nodes == 1 {
        text += &format!("  {}\n", way(false));
        text += "Schedules run on a node only where a row of your own names one.\n";
    } else {
        text += &format!("  over a network with one-sided access: {}\n", way(false));
        text += &format!("  where the target's processor serves messages, as with TCP: {}\n", way(true));
    }
    text += "The rows of the tables for a schedule among them:\n";
    let leaders = if nodes == 1 { size } else { nodes };
    let question = Question { collective, size: leaders, count, element: ELEMENT, root_apart: false };
    Ok(text + &choose::explain(&rows, &question))
}

/// The schedule of that name for a collective.
pub(crate) fn schedule(collective: Collective, name: &str) -> Result<Schedule, Error> {
    find(collective, name).ok_or_else(|| unknown(name, &[collective]))
}

fn unknown(name: &str, collectives: &[Collective]) -> Error {
    let possible: Vec<&str> = serving(collectives).collect();
    let what = match collectives {
        [one] => format!("no schedule {name} serves {one}"),
        _ => format!("there is no schedule {name}"),
    };
    let error = Error::new(what).because(format!("there are {}", possible.join(", ")));
    match names::nearest(name, possible.iter().copied()) {
        Some(near) => error.fix(format!("say --algorithm {near}")),
        None => error.fix("name one of these"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_says_that_it_is_one() {
        let simulation = Simulation {
            collective: Collective::Sync,
            algorithms: vec!["dissemination-2".into()],
            sizes: vec![1024, 4096],
            bytes: 0,
            skew: 0.0,
            machine: Cluster::FAT_TREE,
        };
        let (table, drawing) = simulation.run().unwrap();
        assert!(table.contains("simulated, not measured") && drawing.contains("simulated"), "{table}");
        // Everybody puts in each of 10 and 12 rounds.
        assert!(table.contains("10240") && table.contains("49152"), "{table}");
    }

    #[test]
    fn operations_stand_for_their_collectives() {
        assert_eq!(collective("max"), collective("reduce-idempotent"));
        assert_eq!(collective("sum"), collective("reduce-exact"));
        assert_eq!(collective("barrier"), Ok(Collective::Sync));
        let error = collective("maximum").unwrap_err();
        assert!(error.contains("fcollect") && error.contains("max"), "{error}");
    }

    #[test]
    fn a_name_that_serves_another_collective_is_refused_with_those_that_serve() {
        let error = schedule(Collective::Sync, "ring").unwrap_err().to_string();
        assert!(error.contains("no schedule ring serves sync") && error.contains("dissemination-2"), "{error}");
        let error = steps(None, "rong", &Plan::new(4, 1)).unwrap_err().to_string();
        assert!(error.contains("--algorithm ring"), "{error}");
    }

    #[test]
    fn the_steps_of_a_tree_are_those_of_a_broadcast() {
        let text = steps(None, "tree-2", &Plan::new(3, 4)).unwrap();
        assert!(text.starts_with("broadcast by tree-2, 3 PEs, 4 elements\nPE 0\n  put    to PE"), "{text}");
    }

    #[test]
    fn explanations_name_the_way_and_the_row() {
        let barrier = |nodes| explain(Collective::Sync, 8, nodes, 0, None).unwrap();
        assert!(barrier(1).contains("exchange: ") && barrier(1).contains("dissemination-4"), "{}", barrier(1));
        assert!(barrier(4).contains("sync, 4 PEs, 0 bytes"), "{}", barrier(4));
        let maximum = collective("max").unwrap();
        let long = explain(maximum, 16, 4, 16 << 20, None).unwrap();
        assert_eq!(long.matches("rendezvous: all meet").count(), 2, "{long}");
        assert!(explain(maximum, 4, 5, 8, None).is_err() && explain(maximum, 4, 0, 8, None).is_err());
        assert!(explain(Collective::Sync, 8, 8, 0, Some("/nowhere/table")).is_err());
    }
}
