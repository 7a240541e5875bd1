//! Reports of the tool `oxshmem` on the schedules of collectives. Nothing here runs one.

use oxshmem_base::{Error, names, size};
use oxshmem_schedule::algorithm::names::{COLLECTIVES, find, serving};
use oxshmem_schedule::algorithm::{Collective, OperatorLaw, Schedule};
use oxshmem_schedule::print;
use oxshmem_schedule::simulate::{self, Cluster, Setting};
use oxshmem_schedule::step::Plan;

/// Bytes of an element in every report.
pub(crate) const ELEMENT: u64 = 8;

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

/// A number of bytes, or a size such as 64K or 1M.
pub fn bytes(text: &str) -> Result<u64, String> {
    match size::ignored(text) {
        Some(rest) => Err(format!("`{text}` is not a size: `{rest}` follows its unit")),
        None => size::parse(text).map_err(|error| error.in_one_line()),
    }
}

/// The longest array or block of a simulation: one message with those of 2^24 PEs has fewer than 2^64 bytes.
const LONGEST: u64 = 1 << 38;

/// As [`bytes`], for a simulation.
pub fn simulated_bytes(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        bytes if bytes <= LONGEST => Ok(bytes),
        bytes => {
            Err(format!("{} are more than the {} that are simulated", size::display(bytes), size::display(LONGEST)))
        }
    }
}

/// The longest time within which PEs arrive. Arrivals are kept in single precision, so a longer one would hide the messages.
const LONGEST_SKEW: f64 = 1e9;

/// Nanoseconds within which PEs arrive.
pub fn skew(text: &str) -> Result<f64, String> {
    let skew = text.parse().ok().filter(|skew| (0.0..=LONGEST_SKEW).contains(skew));
    skew.ok_or_else(|| format!("`{text}` is not a number of nanoseconds from 0 to {LONGEST_SKEW}"))
}

/// The collective of this name, or of an operation of this name.
pub fn collective(name: &str) -> Result<Collective, String> {
    let known = COLLECTIVES.iter().chain(&OPERATIONS).find(|(known, _)| *known == name);
    known.map(|(_, collective)| *collective).ok_or_else(|| {
        let [collectives, operations] = [&COLLECTIVES[..], &OPERATIONS]
            .map(|names| names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "));
        format!("use one of {collectives}, or an operation: {operations}")
    })
}

/// Simulates a collective by these schedules, or by all that serve it if there are none, on teams of these sizes: the table, and
/// the drawing. `bytes` are those of the array, or of one PE's block; PEs arrive at random within `skew` nanoseconds.
pub fn simulated(
    collective: Collective,
    algorithms: &[String],
    sizes: &[u32],
    bytes: u64,
    skew: f64,
    machine: &Cluster,
) -> Result<(String, String), Error> {
    let all = || serving(&[collective]).collect();
    let names: Vec<&str> = if algorithms.is_empty() { all() } else { algorithms.iter().map(String::as_str).collect() };
    let schedules = names.into_iter().map(|name| schedule(collective, name)).collect::<Result<Vec<_>, _>>()?;
    let setting = Setting { element: ELEMENT, skew, ..Setting::default() };
    let count = bytes.div_ceil(ELEMENT);
    let entries = simulate::compare(&schedules, sizes, count, machine, &setting);
    let table = simulate::table(&entries, count, machine, &setting);
    Ok((format!("{collective}, {table}"), simulate::svg(&entries, count, machine, &setting)))
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
        let algorithms = ["dissemination-2".to_owned()];
        let simulated = simulated(Collective::Sync, &algorithms, &[1024, 4096], 0, 0.0, &Cluster::FAT_TREE);
        let (table, drawing) = simulated.unwrap();
        assert!(table.contains("simulated, not measured") && drawing.contains("simulated"), "{table}");
        // Each PE puts in each of 10 and 12 rounds.
        assert!(table.contains("10240") && table.contains("49152"), "{table}");
    }

    #[test]
    fn several_sizes_are_not_taken_for_the_first() {
        assert_eq!([bytes("4K"), bytes("64"), bytes("1.5MiB")], [Ok(4096), Ok(64), Ok(3 << 19)]);
        assert_eq!(bytes("4K,8K"), Err("`4K,8K` is not a size: `,8K` follows its unit".into()));
        assert!(bytes("lots").is_err_and(|why| why.contains("begin with a number")));
    }

    #[test]
    fn what_a_simulation_cannot_count_is_refused() {
        assert_eq!(simulated_bytes("256G"), Ok(LONGEST));
        for text in ["257G", "18446744073709551615", "lots"] {
            assert!(simulated_bytes(text).is_err(), "{text}");
        }
        assert_eq!([skew("0"), skew("2.5e3"), skew("1e9")], [Ok(0.0), Ok(2500.0), Ok(1e9)]);
        for text in ["nan", "inf", "-5", "1.1e9", ""] {
            assert!(skew(text).is_err(), "{text}");
        }
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
}
