//! One case, as `prog --list` describes it (see `check.h`): NAME, then `key=value` fields, separated by tabs.

#[derive(Debug, Default)]
pub(super) struct ConformanceCase {
    pub(super) name: String,
    pub(super) title: String,
    /// The numbers of the behaviours it shows.
    pub(super) items: Vec<String>,
    pub(super) exit: i32,
    /// The library must end the job with an error.
    pub(super) aborts: bool,
    /// Texts that the output must contain, must contain once, must not contain.
    pub(super) says: Vec<String>,
    pub(super) says_once: Vec<String>,
    pub(super) quiet_on: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) min_pes: Option<u32>,
    pub(super) max_pes: Option<u32>,
    /// Exactly these numbers of PEs (Fortran programs name them).
    pub(super) listed_pes: Vec<u32>,
    pub(super) one_node: bool,
    /// Run with a /dev/shm of this many MiB.
    pub(super) dev_shm_mib: Option<u32>,
    /// The last PE runs this other program.
    pub(super) beside: Option<String>,
}

impl ConformanceCase {
    /// The case of one line of the list, or what is wrong with the line.
    pub(super) fn parse(line: &str) -> Result<ConformanceCase, String> {
        let mut fields = line.split('\t');
        let mut case =
            ConformanceCase { name: fields.next().unwrap_or_default().to_string(), ..ConformanceCase::default() };
        for field in fields {
            let (key, value) = field.split_once('=').ok_or(format!("`{field}` has no `=`"))?;
            let number = || value.parse::<u32>().map_err(|_| format!("`{field}` is not a number"));
            let assignment =
                |text: &str| text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
            let pieces = || value.split('|').map(str::to_string).collect();
            match key {
                "title" => case.title = value.to_string(),
                "items" => case.items = value.split(' ').map(str::to_string).collect(),
                "exit" => case.exit = number()? as i32,
                "aborts" => case.aborts = true,
                "says" => case.says = pieces(),
                "says_once" => case.says_once = pieces(),
                "quiet_on" => case.quiet_on = pieces(),
                "env" => case.environment = value.split(' ').filter_map(assignment).collect(),
                "min_pes" => case.min_pes = Some(number()?),
                "max_pes" => case.max_pes = Some(number()?),
                "one_node" => case.one_node = true,
                "dev_shm_mib" => case.dev_shm_mib = Some(number()?),
                "beside" => case.beside = Some(value.to_string()),
                _ => return Err(format!("`{key}` is not a field of a case")),
            }
        }
        Ok(case)
    }

    pub(super) fn runs_with(&self, pes: u32) -> bool {
        self.min_pes.is_none_or(|min| pes >= min) && self.max_pes.is_none_or(|max| pes <= max)
    }

    /// The numbers of PEs it can run with, for people.
    pub(super) fn pes_text(&self) -> String {
        format!("{} to {}", self.min_pes.unwrap_or(1), self.max_pes.map_or("any".to_string(), |max| max.to_string()))
    }

    /// Why a job with this exit status and output is not what the case expects.
    pub(super) fn judge(&self, status: i32, output: &str) -> Result<(), String> {
        if output.contains("CHECK FAILED") {
            return Err("a check failed".to_string());
        }
        if self.aborts {
            // Ends that are no message of the library: the timeout, program not runnable, memory faults.
            if [0, 124, 126, 127, 132, 135, 136, 139].contains(&status) {
                return Err(format!("exit status {status}, not that of an error of the library"));
            }
        } else if status != self.exit {
            return Err(format!("exit status {status} instead of {}", self.exit));
        }
        for text in &self.says {
            if !output.contains(text.as_str()) {
                return Err(format!("the output lacks `{text}`"));
            }
        }
        for text in &self.says_once {
            let times = occurrences(output, text);
            if times != 1 {
                return Err(format!("`{text}` occurs {times} times in the output instead of once"));
            }
        }
        match self.quiet_on.iter().find(|text| output.contains(text.as_str())) {
            Some(text) => Err(format!("the output contains `{text}`")),
            None => Ok(()),
        }
    }
}

/// Why a case has looked at nothing, if it says so: its exit status is 0 then, as if all its checks had held.
pub(super) fn not_run(output: &str) -> Option<&str> {
    output.lines().find_map(|line| line.strip_prefix("SKIP: "))
}

/// How often `name` occurs as a whole word, so that `shmem_p` is not found in `shmem_put`.
fn occurrences(output: &str, name: &str) -> usize {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    output
        .match_indices(name)
        .filter(|(at, _)| {
            let after = &output[at + name.len()..];
            !is_part(output[..*at].chars().next_back()) && !is_part(after.chars().next())
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_understood() {
        let case =
            ConformanceCase::parse("A_1_x\titems=A-1 B-2\ttitle=a = b\texit=7\tsays=x|y z\tenv=A=1 B=c=d\tmin_pes=2")
                .unwrap();
        assert_eq!((case.name.as_str(), case.title.as_str(), case.exit), ("A_1_x", "a = b", 7));
        assert_eq!(case.items, ["A-1", "B-2"]);
        assert_eq!(case.says, ["x", "y z"]);
        assert_eq!(case.environment, [("A".into(), "1".into()), ("B".into(), "c=d".into())]);
        assert!(!case.runs_with(1) && case.runs_with(2));
        assert!(ConformanceCase::parse("A_1\tcolour=red").is_err());
    }

    #[test]
    fn a_job_is_judged_by_status_and_output() {
        let case = ConformanceCase::parse("A_1\titems=A-1\taborts=1\tsays_once=shmem_p\tsays=PE 99").unwrap();
        assert!(case.judge(1, "shmem_p: PE 99, shmem_put").is_ok());
        assert!(case.judge(0, "shmem_p: PE 99").is_err());
        assert!(case.judge(139, "shmem_p: PE 99").is_err());
        assert!(case.judge(1, "shmem_p: PE 99 shmem_p").is_err());
        assert!(case.judge(1, "shmem_p: PE 9").is_err());
        assert!(case.judge(1, "shmem_p: PE 99 CHECK FAILED").is_err());
    }

    #[test]
    fn a_case_that_looks_at_nothing_is_no_success() {
        assert_eq!(not_run("SKIP: needs 10 GiB\n"), Some("needs 10 GiB"));
        // A part of a case.
        assert_eq!(not_run("all well\nSKIP threads: not provided\n"), None);
    }
}
