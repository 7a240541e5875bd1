//! The algorithms that variables name for families of collectives.

use super::Algorithms;
use crate::{Error, names};

/// The numbers in the names of algorithms.
const NUMBERS: [(&str, &str); 4] =
    [("tree", "2, 3, 4, 8"), ("dissemination", "2 to 64"), ("butterfly", "2 to 8"), ("chain", "any segment")];

/// These names, and which numbers are possible in them.
pub(super) fn with_numbers(names: &[&str]) -> String {
    let is_of = |kind: &str, name: &str| name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-'));
    let kinds = NUMBERS.iter().filter(|(kind, _)| names.iter().any(|name| is_of(kind, name)));
    let numbers = kinds.map(|(kind, numbers)| format!("; number of a {kind}: {numbers}"));
    numbers.fold(names.join(", "), |text, one| text + &one)
}

impl Algorithms {
    /// The names, in the order of the families of `oxshmem_schedule`: barrier, broadcast, reductions, collect, fcollect, all-to-all.
    pub fn by_family(&self) -> [&str; 6] {
        let Algorithms { barrier, broadcast, reduce, collect, fcollect, alltoall } = self;
        [barrier, broadcast, reduce, collect, fcollect, alltoall]
    }

    /// The error about a name that serves no collective of its family; `possible`: those that do.
    pub fn unknown(family: &str, name: &str, possible: &[&str]) -> Error {
        let near = names::nearest(name, possible.iter().copied()).unwrap_or("auto");
        Error::new(format!("SHMEM_{family}_ALGORITHM={name} names no algorithm for these collectives"))
            .because(format!("there are {}", with_numbers(possible)))
            .fix(format!("set SHMEM_{family}_ALGORITHM={near}"))
    }
}
