//! The linker's version map and the list of symbols.

use super::NOTE;
use crate::expand::{public_names, symbols};
use crate::fortran;
use crate::table::Status;

/// The version script: what liboxshmem.so shows, and nothing else.
pub(super) fn version_map() -> String {
    let mut names = public_names();
    names.sort();
    let names: String = names.iter().map(|name| format!("    {name};\n")).collect();
    format!("# {NOTE}\nOXSHMEM_1.0 {{\n  global:\n{names}  local: *;\n}};\n")
}

/// Every routine of the table, those still held back included, with the behaviour items that describe it.
pub fn symbol_list() -> String {
    let mut lines: Vec<String> = symbols()
        .iter()
        .map(|symbol| {
            let status = match symbol.status {
                Status::Current => "-",
                Status::Deprecated => "deprecated",
                Status::Removed => "removed",
                Status::Compat => "compat",
                Status::Extension => "extension",
            };
            let (name, since, family) = (&symbol.name, symbol.since, symbol.family);
            format!("{name}\t{since}\t{status}\t{}\t{}\n", family.category.name(), family.clauses)
        })
        .collect();
    lines.sort();
    format!("# {NOTE}\n# symbol, since, status, category, behaviour items\n{}", lines.concat())
}

/// Every entry point of the Fortran interface.
pub(super) fn fortran_list() -> String {
    let mut lines: Vec<String> = fortran::entries()
        .iter()
        .map(|entry| {
            let status = match entry.status {
                fortran::FortranStatus::Standard => "1.4",
                fortran::FortranStatus::Compat => "compat",
                fortran::FortranStatus::Cray => "cray",
                fortran::FortranStatus::Extension => "extension",
            };
            format!("{}\t{status}\t{}\t{}\n", entry.symbol, entry.usage(), entry.prototype.to_c())
        })
        .collect();
    lines.sort();
    format!("# {NOTE}\n# symbol, status, use, C declaration\n{}", lines.concat())
}
