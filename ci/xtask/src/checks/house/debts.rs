//! The list of known breaches: one line `rule place number`.

use crate::checks::house::Tally;
use crate::{Outcome, top};

/// Where the list is, from the top of the repository.
pub(super) const FILE: &str = "ci/house-debts.txt";

const HEAD: &str = "\
# Places that break a rule of the house today, and how often. `cargo xtask house` checks the rules; this list only shrinks.
# rule place number
";

/// The list as it stands.
pub(super) fn read() -> Outcome<Tally> {
    let text = std::fs::read_to_string(top().join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    parse(&text)
}

/// Writes the list anew.
pub(super) fn write(tally: &Tally) -> Outcome {
    let lines: String = tally.iter().map(|(key, number)| format!("{key} {number}\n")).collect();
    std::fs::write(top().join(FILE), format!("{HEAD}{lines}")).map_err(|error| format!("{FILE}: {error}"))
}

fn parse(text: &str) -> Outcome<Tally> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let (key, number) = line.rsplit_once(' ')?;
        Some((key.to_owned(), number.parse().ok()?))
    };
    lines.map(|line| entry(line).ok_or_else(|| format!("{FILE}: `{line}` is not `rule place number`"))).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_that_is_none_is_an_error() {
        assert_eq!(super::parse("# head\nlong a/b.rs 1\n").expect("a list")["long a/b.rs"], 1);
        assert!(super::parse("long a/b.rs\n").is_err());
    }
}
