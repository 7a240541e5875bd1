//! Values of options, read from their text.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use oxshmem_base::Error;

use crate::hosts::{self, HostEntry};
use crate::link::remote_shell;
use crate::plan::{MOST_PES, Stdin};

/// The value of `-H`.
pub(super) type Hosts = std::sync::Arc<Vec<HostEntry>>;

pub(super) fn host_list(text: &str) -> Result<Hosts, String> {
    hosts::from_option(text).map(Hosts::new)
}

/// The value of `--launch-agent`, which is taken apart for each host.
pub(super) fn remote_command(text: &str) -> Result<String, String> {
    remote_shell::words(text).map(|_| text.to_owned())
}

pub(super) fn number_of_pes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(pes @ 1..=MOST_PES) => Ok(pes),
        _ if text.strip_prefix('-').unwrap_or(text).bytes().all(|digit| digit.is_ascii_digit()) => {
            Err(format!("a job has 1 to {MOST_PES} PEs"))
        }
        _ => Err(format!("{text} is no number: the number of PEs is missing after -n")),
    }
}

pub(super) fn stdin(text: &str) -> Result<Stdin, String> {
    match text {
        "none" => Ok(Stdin::None),
        "all" => Ok(Stdin::All),
        pe => pe.parse().map(Stdin::Pe).map_err(|_| "a PE's number, all or none is expected".to_string()),
    }
}

/// A value of `-x`: the name and the value of a variable. Without a value it has the one that it has here, if any.
pub(super) fn variable(text: &OsStr) -> Result<Option<(String, OsString)>, Error> {
    let mut parts = text.as_bytes().splitn(2, |&byte| byte == b'=');
    let name = OsStr::from_bytes(parts.next().unwrap_or_default());
    let refused = |why: &str| {
        Err(Error::new(format!("-x {}: {why}", text.display()))
            .fix("write -x NAME=VALUE, or -x NAME for its present value"))
    };
    match (name.to_str(), parts.next()) {
        (Some(""), _) => refused("the variable has no name"),
        (None, _) => refused("the variable's name is not UTF-8"),
        (Some(name), Some(value)) => Ok(Some((name.to_owned(), OsStr::from_bytes(value).to_owned()))),
        (Some(name), None) => Ok(std::env::var_os(name).map(|value| (name.to_owned(), value))),
    }
}

/// A note about a value of `-x` that is the name of a variable which is not set here.
pub(super) fn unset(text: &OsStr) -> Option<String> {
    let name = text.to_str().filter(|name| !name.is_empty() && !name.contains('='))?;
    let is_set = std::env::var_os(name).is_some();
    (!is_set).then(|| format!("note: -x {name}: this variable is not set here, so no PE gets it"))
}

/// A longer time is as good as no limit, and its end may be outside the range of the clock.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);
/// The launcher looks at hosts after a fraction of a time, and of a shorter one that would be zero.
const SHORTEST: Duration = Duration::from_millis(1);

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>();
    let number = number.map_err(|_| format!("{text} is no number of seconds: 60, 0.5 or 60s"))?;
    if number > 0.0 {
        // A number that is too large for a duration is longer than the longest, too.
        Ok(Duration::try_from_secs_f64(number).unwrap_or(LONGEST).clamp(SHORTEST, LONGEST))
    } else {
        Err("a number of seconds above 0 is expected".to_string())
    }
}
