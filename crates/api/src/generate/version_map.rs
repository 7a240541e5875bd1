//! The linker's version map.

use super::NOTE;
use crate::expand::public_names;

/// The version script: what liboxshmem.so shows, and nothing else.
pub(super) fn version_map() -> String {
    let mut names = public_names();
    names.sort();
    let names: String = names.iter().map(|name| format!("    {name};\n")).collect();
    format!("# {NOTE}\nOXSHMEM_1.0 {{\n  global:\n{names}  local: *;\n}};\n")
}
