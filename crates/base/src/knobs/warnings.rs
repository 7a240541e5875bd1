//! Warnings about variables that are read in another way than their writer may have meant.

use super::{KNOBS, Knob, Reading};
use crate::{names, size};

/// Families of names that belong to other libraries: they mean nothing here and are no slips of the finger either.
const FOREIGN: [&str; 7] =
    ["SMA_", "SHMEM_OFI_", "SHMEM_UCX_", "SHMEM_MPI_", "SHMEM_PMI_", "SHMEM_PORTALS_", "SHMEM_LOCALITY_"];

/// The warning about a name that nobody reads and that looks like one of ours. Names that resemble none are left alone:
/// module systems and build scripts set things like `SHMEM_ROOT`.
pub(super) fn misspelt(name: &str) -> Option<String> {
    let known = || KNOBS.iter().flat_map(Knob::names);
    if known().any(|k| k == name) || FOREIGN.iter().any(|family| name.starts_with(family)) {
        return None;
    }
    let meant = names::nearest(name, known())?;
    Some(format!("{name} is not a variable of oxshmem; did you mean {meant}?"))
}

/// The warning about letters behind a size, which the standard tells us to ignore.
pub(super) fn letters_behind_a_size(reading: &Reading<'_>) -> Option<String> {
    let (rest, bytes) = (size::ignored(reading.value)?, size::parse(reading.value).ok()?);
    let read = size::display(bytes);
    Some(format!("{}={} is read as {read}; `{rest}` at its end is ignored", reading.name, reading.value))
}
