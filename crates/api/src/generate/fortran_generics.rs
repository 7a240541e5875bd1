//! The generic interfaces of the module `shmemx`: Cray's names of transfers and atomics without a type.
//!
//! Fortran chooses a specific routine by the type, kind and rank of `dest`. Transfers of all types and ranks go to few
//! linker symbols, which know sizes only. So a specific routine has a name of its own, and its binding label is the
//! symbol; those of logicals, for which the standard allows none, are linker symbols of their own. No specific routine has a body: the module needs no object file.

use crate::fortran::{FortranEntry, GENERICS, LOGICALS, RANKS, entries, logical_get};

/// The imports of the module.
pub(super) const USES: &str = "    use shmem
    use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, c_float, c_double
    use, intrinsic :: iso_c_binding, only: c_float_complex, c_double_complex
";
/// Imports that programs do not see.
pub(super) const HIDES: &str = "    private :: c_int, c_int32_t, c_int64_t, c_float, c_double
    private :: c_float_complex, c_double_complex
";

/// A type of transferred elements.
struct Transferred {
    /// How names of specific routines spell it.
    name: &'static str,
    fortran: &'static str,
    bits: &'static str,
}

const fn transferred(name: &'static str, fortran: &'static str, bits: &'static str) -> Transferred {
    Transferred { name, fortran, bits }
}

/// Kinds of `iso_c_binding` where there is one, so that compilers do not warn.
const TRANSFERRED: &[Transferred] = &[
    transferred("integer4", "integer(c_int32_t)", "32"),
    transferred("integer8", "integer(c_int64_t)", "64"),
    transferred("real4", "real(c_float)", "32"),
    transferred("real8", "real(c_double)", "64"),
    transferred("complex4", "complex(c_float_complex)", "64"),
    transferred("complex8", "complex(c_double_complex)", "128"),
    transferred("logical4", "logical(4)", "32"),
    transferred("logical8", "logical(8)", "64"),
];

/// Declares arguments that take a variable of any type and rank. A nonblocking routine uses them after it has returned: without the
/// attributes that say so a compiler may load a local variable before the quiet that completes the get.
pub(super) fn untyped(routine: &str, list: &str) -> String {
    let lasting = if routine.contains("_nb") { ", asynchronous, target" } else { "" };
    format!(
        "            !GCC$ ATTRIBUTES NO_ARG_CHECK :: {list}\n            !DEC$ ATTRIBUTES NO_ARG_CHECK :: {list}\n            \
         !DIR$ IGNORE_TKR {list}\n            type(*), dimension(*){lasting} :: {list}\n"
    )
}

/// All generic interfaces.
pub(super) fn interfaces() -> String {
    let entries = entries();
    let interface = |&(name, pattern): &(&str, &str)| {
        let name = name.to_ascii_lowercase();
        let rows: Vec<&FortranEntry> = entries.iter().filter(|entry| entry.pattern == pattern).collect();
        let specifics = if pattern.contains("_<K>_") { named(&rows) } else { transfers(&name, &rows) };
        format!("\n    interface {name}\n{specifics}    end interface {name}\n")
    };
    GENERICS.iter().map(interface).collect()
}

/// Routines of the module `shmem`, whose `dest` has a type.
fn named(rows: &[&FortranEntry]) -> String {
    rows.iter().map(|entry| format!("        procedure {}\n", entry.name().to_ascii_lowercase())).collect()
}

/// One routine for each type and rank of `dest`. The source may have another rank: a scalar is as good as its array.
fn transfers(generic: &str, rows: &[&FortranEntry]) -> String {
    let mut text = String::new();
    for Transferred { name, fortran, bits } in TRANSFERRED {
        let entry = rows.iter().find(|entry| entry.kind.is_some_and(|kind| kind.name == *bits));
        let symbol = &entry.expect("the table has a routine of that size").symbol;
        for rank in 0..=RANKS {
            let specific = format!("{generic}_{name}_{rank}");
            let shape = match rank {
                0 => String::new(),
                _ => format!(", dimension({}*)", "1,".repeat(rank - 1)),
            };
            text += &if LOGICALS.iter().any(|logical| logical.0 == *name) {
                format!("        subroutine {}(dest, source, nelems, pe)\n", logical_get(name, rank))
            } else {
                format!(
                    "        subroutine {specific}(dest, source, nelems, pe) &\n                bind(c, name='{symbol}')\n"
                )
            };
            text += "            import\n";
            text += &untyped(generic, "source");
            text += &format!("            {fortran}{shape} :: dest\n");
            text += "            integer(c_int), intent(in) :: nelems, pe\n";
            text += &format!("        end subroutine {specific}\n");
        }
    }
    text
}
