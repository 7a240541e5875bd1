//! The Fortran module `shmem_f08`: all of OpenSHMEM 1.6 under generic names, with types for handles.
//!
//! Names and order of arguments are those of C. Counts of elements have a default, the size of the data, and `ierr` is always
//! optional; an argument behind one that was left out is named. A routine whose arguments Fortran can pass as they are is an
//! interface with the C routine's name. All others have a body, so this module, unlike `shmem`, has an object file.

mod argument;
mod handles;
mod kinds;
mod memory;
mod procedure;
mod usage;

use std::fmt::Write;

pub(super) use self::handles::{constant, in_fortran};
pub(super) use self::usage::synopsis;

use self::procedure::{Holder, Procedure};
use super::NOTE;
use crate::expand::{Symbol, symbols};
use crate::table::{Category, Status};

/// The source of the module.
pub fn fortran_2008() -> String {
    let procedures = procedures();
    let mut text = format!("! oxshmem: OpenSHMEM 1.6 for Fortran 2008.\n! {NOTE}\n");
    text += "module shmem_f08\n    use, intrinsic :: iso_c_binding\n    implicit none\n    private\n\n";
    text += &handles::constants();
    text += &handles::types(|holder| bindings(&procedures, holder));
    text += &handles::objects();
    text += &generics(&procedures);
    text += &memory::generics();
    text += handles::INTERFACES;
    text += "\ncontains\n";
    text += &handles::addresses();
    text += handles::BODIES;
    text += &memory::bodies();
    for body in procedures.iter().filter_map(|procedure| procedure.body.as_deref()) {
        text.push('\n');
        text += body;
    }
    text + "end module shmem_f08\n"
}

/// The names that programs use: every generic of the module, without constants and types.
pub fn fortran_2008_names() -> Vec<String> {
    let mut names: Vec<String> = procedures().into_iter().map(|procedure| procedure.generic).collect();
    names.extend(memory::NAMES.iter().map(|name| format!("shmem_{name}")));
    names.push("shmem_info_get_name".into());
    names.sort();
    names.dedup();
    names
}

/// Every routine of the table that the module has.
fn procedures() -> Vec<Procedure> {
    let routines: Vec<Symbol> = symbols().into_iter().filter(is_wanted).collect();
    kinds::chosen(&routines).into_iter().map(|form| Procedure::new(&form)).collect()
}

/// Those of the standard that are not on their way out, requests, and the clock. Memory and the library's name have
/// arguments that are Fortran's own.
fn is_wanted(symbol: &Symbol) -> bool {
    let function = symbol.family.function();
    match symbol.status {
        Status::Current => symbol.family.category != Category::Memory && symbol.name != "shmem_info_get_name",
        Status::Extension if function == "extension::wtime" => true,
        Status::Extension => function.starts_with("request::") && !symbol.name.starts_with("shmemx_req_"),
        Status::Deprecated | Status::Removed | Status::Compat => false,
    }
}

/// The part of a type that binds its procedures.
fn bindings(procedures: &[Procedure], holder: Holder) -> String {
    let bound: Vec<(&str, &Procedure)> = procedures
        .iter()
        .filter_map(|procedure| {
            Some((procedure.bound.as_ref().filter(|bound| bound.0 == holder)?.1.as_str(), procedure))
        })
        .collect();
    let mut text = String::new();
    for (name, specifics) in grouped(bound) {
        match &specifics[..] {
            [alone] if !alone.is_generic => writeln!(text, "        procedure :: {name} => {}", alone.specific),
            _ => {
                let list: Vec<&str> = specifics.iter().map(|procedure| procedure.specific.as_str()).collect();
                text += &wrapped("        procedure, private :: ", &list);
                let list = wrapped(&format!("        generic :: {name} => "), &list);
                write!(text, "{list}")
            }
        }
        .expect("a string takes everything");
    }
    text
}

/// Interfaces with the generic names, which hold the routines without a body.
fn generics(procedures: &[Procedure]) -> String {
    let named = procedures.iter().map(|procedure| (procedure.generic.as_str(), procedure)).collect();
    let (mut text, mut alone) = (String::new(), String::new());
    for (name, specifics) in grouped(named) {
        writeln!(text, "    public :: {name}").expect("a string takes everything");
        if let [procedure] = specifics[..]
            && !procedure.is_generic
        {
            alone += procedure.interface.as_deref().unwrap_or_default();
            continue;
        }
        writeln!(text, "    interface {name}").expect("a string takes everything");
        text += &specifics.iter().filter_map(|procedure| procedure.interface.as_deref()).collect::<String>();
        let bodies = specifics.iter().filter(|procedure| procedure.body.is_some());
        let list: Vec<&str> = bodies.map(|procedure| procedure.specific.as_str()).collect();
        if !list.is_empty() {
            text += &wrapped("        procedure ", &list);
        }
        text += "    end interface\n";
    }
    format!("{text}\n    interface\n{alone}    end interface\n")
}

/// Items by their names, in the order in which the names first come.
fn grouped<'a>(items: Vec<(&'a str, &'a Procedure)>) -> Vec<(&'a str, Vec<&'a Procedure>)> {
    let mut groups: Vec<(&str, Vec<&Procedure>)> = Vec::new();
    for (name, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(item),
            None => groups.push((name, vec![item])),
        }
    }
    groups
}

/// A statement with a list, in lines that every compiler takes.
fn wrapped(head: &str, list: &[&str]) -> String {
    let (mut text, mut line) = (String::new(), head.to_string());
    for (at, item) in list.iter().enumerate() {
        let item = if at + 1 < list.len() { format!("{item}, ") } else { item.to_string() };
        if line.len() + item.len() > 120 {
            text += &format!("{}&\n", line);
            line = "            ".into();
        }
        line += &item;
    }
    format!("{text}{line}\n")
}
