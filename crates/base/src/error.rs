//! The error of every control call: what happened, why, and what to do about it.

use std::fmt;

/// One line what happened, one line why with the measured value, one line what to do.
///
/// ```
/// let error = oxshmem_base::Error::new("PE 3 cannot grow its symmetric heap to 2 GiB")
///     .because("1.4 GiB of memory are available (/sys/fs/cgroup/memory.max)")
///     .fix("set SHMEM_SYMMETRIC_SIZE=1.4G");
/// assert_eq!(error.to_string().lines().count(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    what: String,
    because: Option<String>,
    fix: Option<String>,
}

impl Error {
    /// Says what happened: who, which call, on what.
    pub fn new(what: impl Into<String>) -> Self {
        Error { what: what.into(), because: None, fix: None }
    }

    /// Says why, with the value that was measured.
    #[must_use]
    pub fn because(mut self, why: impl fmt::Display) -> Self {
        self.because = Some(why.to_string());
        self
    }

    /// Says what the user can do: the exact command or variable.
    #[must_use]
    pub fn fix(mut self, what_to_do: impl fmt::Display) -> Self {
        self.fix = Some(what_to_do.to_string());
        self
    }

    /// The first two parts, what happened and why, for a list.
    pub fn in_one_line(&self) -> String {
        let because = self.because.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        format!("{}{because}", self.what).replace('\n', " ")
    }

    /// The first line alone.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(why) = &self.because {
            write!(f, "\n  because: {why}")?;
        }
        if let Some(fix) = &self.fix {
            write!(f, "\n  to fix:  {fix}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_known_are_not_shown() {
        assert_eq!(Error::new("a").to_string(), "a");
        assert_eq!(Error::new("a").fix("c").to_string(), "a\n  to fix:  c");
        assert_eq!(Error::new("a").fix("c").because(7).to_string(), "a\n  because: 7\n  to fix:  c");
    }
}
