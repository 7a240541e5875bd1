//! Warnings about variables that are read in another way than their writer may have meant.

use super::{Knob, Reading, all};
use crate::{cut, names, size};

/// Whether a variable is one of the library's, by its name.
pub(super) fn is_ours(name: &str) -> bool {
    name.starts_with("SHMEM_") || name.starts_with("SMA_")
}

/// Families of names that belong to other libraries: they mean nothing here. One of them is a typing error only if it is one edit from
/// a name of ours; no name of those libraries is so near.
const FOREIGN: [&str; 7] =
    ["SMA_", "SHMEM_OFI_", "SHMEM_UCX_", "SHMEM_MPI_", "SHMEM_PMI_", "SHMEM_PORTALS_", "SHMEM_LOCALITY_"];

/// Names by which module systems and build scripts say where a library is installed.
const PLACES: [&str; 9] = [
    "SHMEM_ROOT",
    "SHMEM_HOME",
    "SHMEM_DIR",
    "SHMEM_PATH",
    "SHMEM_PREFIX",
    "SHMEM_BIN",
    "SHMEM_INC",
    "SHMEM_INCLUDE",
    "SHMEM_LIB",
];

/// The warning about an unknown name. It names the variable that was meant if the name resembles one.
pub(super) fn unknown(name: &str) -> Option<String> {
    let known = || all().flat_map(Knob::names);
    if PLACES.contains(&name) || known().any(|k| k == name) {
        return None;
    }
    let is_foreign = FOREIGN.iter().any(|family| name.starts_with(family));
    // Letters that all names share do not make two names alike.
    let bare = |name: &'static str| name.strip_prefix("SHMEM_").unwrap_or(name);
    let meant = match name.strip_prefix("SHMEM_") {
        _ if is_foreign => names::one_slip_from(name, known()),
        Some(rest) => names::nearest(rest, known().map(bare)).and_then(|near| known().find(|name| bare(name) == near)),
        None => names::nearest(name, known()),
    };
    let shown = cut(name);
    match meant {
        Some(meant) => Some(format!("{shown} is not a variable of oxshmem; did you mean {meant}?")),
        None if is_foreign => None,
        // A name that begins otherwise may be a variable of anything.
        None => name.starts_with("SHMEM_").then(|| format!("{shown} is not a variable of oxshmem and is ignored")),
    }
}

/// The warning about letters behind a size, which the standard tells us to ignore.
pub(super) fn letters_behind_a_size(reading: &Reading<'_>) -> Option<String> {
    let (rest, bytes) = (size::ignored(reading.value)?, size::parse(reading.value).ok()?);
    let (value, rest, read) = (cut(reading.value), cut(rest), size::display(bytes));
    Some(format!("{}={value} is read as {read}; `{rest}` at its end is ignored", reading.name))
}
