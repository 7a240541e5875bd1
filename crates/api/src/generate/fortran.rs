//! The exported functions of the Fortran interface: one line into the runtime each.

use super::exports::{snake, takes_name};
use super::{EXPORTS, File, NOTE};
use crate::fortran::{FortranEntry, entries};
use crate::prototype::Parameter;
use crate::table::families;
use crate::types::rust_type;

const PRELUDE: &str = r#"use super::*;
use oxshmem_runtime::Quad;

/// An entry point under gfortran's name, and its other names as weak aliases.
macro_rules! fortran {
    ($name:ident = $($alias:literal)+ ($($argument:ident: $type:ty),*) $(-> $result:ty)? { $call:expr }) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: Fortran passes addresses of arguments, and the standard asks the program for the other promises.
            unsafe { $call }
        }
        $(global_asm!(concat!(".weak ", $alias, "\n.type ", $alias, ", @function\n.set ", $alias, ", ", stringify!($name)));)+
    };
}

"#;

/// `exports/fortran.rs`.
pub(super) fn exports() -> File {
    let lines: String = entries().iter().map(line).collect();
    let text = format!("//! {NOTE}\n//!\n//! The Fortran interface: every argument is an address.\n\n{PRELUDE}{lines}");
    File { path: format!("{EXPORTS}/fortran.rs"), text }
}

fn line(entry: &FortranEntry) -> String {
    let FortranEntry { symbol, prototype, call, .. } = entry;
    let aliases: Vec<String> = entry.aliases().iter().map(|alias| format!("\"{alias}\"")).collect();
    let parameters: Vec<String> = prototype
        .parameters
        .iter()
        .map(|Parameter { ctype, name }| format!("{}: {}", snake(name), argument_type(entry, ctype)))
        .collect();
    let result = match prototype.result.as_str() {
        "void" if *call == "init::global_exit" => " -> !".into(),
        "void" => String::new(),
        result => format!(" -> {}", rust_type(result)),
    };
    let via = families().any(|family| family.via && family.function() == *call);
    let via = via.then(|| format!("InWorld(\"{}\")", entry.name()));
    let function = function(call);
    let name = takes_name(function).then(|| format!("\"{}\"", entry.name()));
    let arguments: Vec<String> = via
        .into_iter()
        .chain(name)
        .chain(prototype.parameters.iter().map(|parameter| pass(entry, parameter)))
        .collect();
    format!(
        "fortran!({symbol} = {} ({}){result} {{ calls::{function}({}) }});\n",
        aliases.join(" "),
        parameters.join(", "),
        arguments.join(", ")
    )
}

/// The runtime's function: that of C, or one of its own where it would speak of C's routine.
fn function(call: &str) -> &str {
    match call {
        "init::finalize" => "fortran::finalize",
        "order::barrier_all" => "fortran::barrier_all",
        "p2p::wait" => "fortran::wait",
        "p2p::wait_until" => "fortran::wait_until",
        call => call,
    }
}

/// Buffers whose elements have only a size get an unsigned integer of that size.
fn argument_type(entry: &FortranEntry, ctype: &str) -> String {
    match entry.kind.filter(|kind| kind.c == "void") {
        Some(kind) => rust_type(ctype).replace("c_void", &format!("u{}", 8 * kind.bytes)),
        None => rust_type(ctype),
    }
}

/// One argument as the runtime wants it.
fn pass(entry: &FortranEntry, Parameter { ctype, name }: &Parameter) -> String {
    let argument = snake(name);
    match (name.as_str(), ctype.as_str()) {
        ("nelems", _) => format!("calls::fortran::count(\"{}\", *{argument})", entry.name()),
        ("dst" | "sst", _) => format!("*{argument} as isize"),
        ("target_len", _) => format!("(*{argument}).max(0) as usize"),
        ("dest" | "source" | "ivar" | "pWrk" | "lock", _) => argument,
        ("value" | "cond" | "cmp_value", _) | (_, "const int32_t *") => format!("*{argument}"),
        ("parent_team" | "newteam" | "team1" | "team2", "const int64_t *") => {
            format!("calls::fortran::team({argument})")
        }
        (_, "const int64_t *") => format!("{argument}.cast_mut().cast()"),
        ("pSync", _) | (_, "int64_t *") => format!("{argument}.cast()"),
        _ => argument,
    }
}
