//! The verdicts of the doctor: what was looked at, how bad it is, why, and what to do.

use std::fmt::Write;

use serde::Serialize;

use crate::verdict::counted_as;

/// How bad it is; the worst is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Jobs cannot run.
    Fault,
    /// Jobs run, but slowly, or not all of them.
    Warning,
    /// It was looked at, and nothing has to be done.
    Good,
    /// A fact that is neither good nor bad: what is not there, or what oxshmem does not need.
    Note,
}

/// One line of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Diagnosis {
    pub(crate) severity: Severity,
    /// The host, or the pair of hosts.
    pub(crate) host: String,
    pub(crate) check: &'static str,
    pub(crate) verdict: String,
    pub(crate) because: Option<String>,
    pub(crate) fix: Option<String>,
}

impl Diagnosis {
    fn new(severity: Severity, verdict: impl Into<String>) -> Self {
        Self { severity, host: String::new(), check: "", verdict: verdict.into(), because: None, fix: None }
    }

    pub(crate) fn good(verdict: impl Into<String>) -> Self {
        Self::new(Severity::Good, verdict)
    }

    pub(crate) fn note(verdict: impl Into<String>) -> Self {
        Self::new(Severity::Note, verdict)
    }

    pub(crate) fn warning(verdict: impl Into<String>) -> Self {
        Self::new(Severity::Warning, verdict)
    }

    pub(crate) fn fault(verdict: impl Into<String>) -> Self {
        Self::new(Severity::Fault, verdict)
    }

    /// The host, or the pair of hosts, and the subject of the check.
    pub(crate) fn of(self, host: &str, check: &'static str) -> Self {
        Self { host: host.to_owned(), check, ..self }
    }

    /// The reason, with the measured value.
    pub(crate) fn because(self, why: impl Into<String>) -> Self {
        Self { because: Some(why.into()), ..self }
    }

    /// The exact command or variable.
    pub(crate) fn fix(self, what_to_do: impl Into<String>) -> Self {
        Self { fix: Some(what_to_do.into()), ..self }
    }
}

/// Puts the worst first; checks of equal severity keep their order.
pub(crate) fn worst_first(diagnoses: &mut [Diagnosis]) {
    diagnoses.sort_by_key(|diagnosis| diagnosis.severity);
}

pub(crate) fn text(diagnoses: &[Diagnosis]) -> String {
    let mut text = String::new();
    for Diagnosis { severity, host, check, verdict, because, fix } in diagnoses {
        let word = match severity {
            Severity::Fault => "FAULT",
            Severity::Warning => "warning",
            Severity::Good => "good",
            Severity::Note => "note",
        };
        let _ = writeln!(text, "{word:<8} {host}: {check}: {verdict}");
        for (title, part) in [("because:", because), ("to fix: ", fix)] {
            if let Some(part) = part {
                let _ = writeln!(text, "           {title} {}", part.replace('\n', "\n                    "));
            }
        }
    }
    let count = |severity| diagnoses.iter().filter(|diagnosis| diagnosis.severity == severity).count();
    let named = |severity: Severity, noun: &str| counted_as(count(severity), noun);
    let (faults, warnings) = (named(Severity::Fault, "fault"), named(Severity::Warning, "warning"));
    let (good, notes) = (count(Severity::Good), named(Severity::Note, "note"));
    let _ = writeln!(text, "{faults}, {warnings}, {good} good, {notes}");
    let _ = writeln!(
        text,
        "{}",
        match (count(Severity::Fault), count(Severity::Warning)) {
            (0, 0) => "jobs run here, and nothing has to be done",
            (0, _) => "jobs run here; each warning says what may be slow or fail, and what to do",
            _ => "jobs do not run here, or not all of them: do what stands behind each FAULT",
        }
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_first_with_reason_and_fix() {
        let mut all = [
            Diagnosis::note("none").of("a", "cards"),
            Diagnosis::good("8 GiB").of("a", "memory"),
            Diagnosis::fault("no way").because("refused").fix("start sshd").of("b", "ssh"),
            Diagnosis::warning("few").of("a", "files"),
        ];
        worst_first(&mut all);
        let text = text(&all);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "FAULT    b: ssh: no way");
        assert_eq!(lines[1..3], ["           because: refused", "           to fix:  start sshd"]);
        assert!(lines[3].starts_with("warning  a: files") && lines[4].starts_with("good     a: memory"));
        assert_eq!(lines[5..7], ["note     a: cards: none", "1 fault, 1 warning, 1 good, 1 note"]);
        assert!(lines[7].starts_with("jobs do not run here"));
    }
}
