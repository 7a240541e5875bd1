//! The algorithms that variables name for families of collectives.

use super::Algorithms;
use crate::{Error, names};

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
            .because(format!("there are {}", possible.join(", ")))
            .fix(format!("set SHMEM_{family}_ALGORITHM={near}"))
    }
}
