//! The files that Fortran programs include or use: `shmem.fh` and `shmemx.fh`, the modules `shmem` and `shmemx`.
//!
//! `shmem.fh` declares constants and the functions of [`TYPED`], as the include files of other libraries do. Programs
//! declare all other functions themselves, in their own words, or use `my_pe` as the name of a variable; a second
//! declaration would be an error. `shmem_functions.fh` declares the other functions for programs that want that. A module
//! declares everything. Its buffers take variables of any type and rank.

use super::fortran_generics;
use super::{File, NOTE};
use crate::constants::{EXTENSIONS, FORTRAN_TEAMS, GROUPS};
use crate::fortran::{FortranEntry, FortranStatus, entries};
use crate::prototype::Parameter;

/// Both interfaces as include file and as module, in the folder of the C headers.
pub(super) fn files(folder: &str) -> Vec<File> {
    let standard = Interface {
        name: "shmem",
        title: "OpenSHMEM 1.4, the last edition with Fortran",
        constants: standard_constants(),
        entries: entries().into_iter().filter(|entry| entry.status != FortranStatus::Extension).collect(),
    };
    let extensions = Interface {
        name: "shmemx",
        title: "extensions to OpenSHMEM",
        constants: extension_constants(),
        entries: entries().into_iter().filter(|entry| entry.status == FortranStatus::Extension).collect(),
    };
    let mut files = Vec::new();
    for interface in [standard, extensions] {
        let name = interface.name;
        let file = |name: String, text: &str| File { path: format!("{folder}/{name}"), text: text.into() };
        for (name, text) in [(name.into(), interface.include()), (format!("{name}_functions"), interface.functions())] {
            files.push(file(format!("mpp/{name}.fh"), &text));
            files.push(file(format!("{name}.fh"), &text));
        }
        files.push(file(format!("{name}.f90"), &interface.module()));
    }
    files
}

/// The functions whose types `shmem.fh` declares. Programs expect that, because their types are not the implicit ones and
/// other libraries declare them.
const TYPED: &[&str] = &["SHMEM_PE_ACCESSIBLE", "SHMEM_ADDR_ACCESSIBLE", "SHMEM_PTR"];

/// One of the two interfaces.
struct Interface {
    name: &'static str,
    title: &'static str,
    constants: Vec<Constant>,
    entries: Vec<FortranEntry>,
}

struct Constant {
    kind: String,
    name: String,
    value: String,
}

fn standard_constants() -> Vec<Constant> {
    let constants = GROUPS.iter().filter(|group| group.fortran).flat_map(|group| group.constants);
    constants.map(|(name, value)| constant("integer", &format!("SHMEM_{name}"), value)).collect()
}

fn extension_constants() -> Vec<Constant> {
    let teams = FORTRAN_TEAMS.map(|(name, value)| (format!("SHMEM_TEAM_{name}"), value.to_string()));
    let teams = teams.map(|(name, value)| constant("integer(8)", &name, &value));
    let twins = [("SHMEM_TEAM_INVALID", "SHMEM_TEAM_NULL"), ("SHMEMX_TEAM_NODE", "SHMEM_TEAM_NODE")];
    let twins = twins.map(|(name, value)| constant("integer(8)", name, value));
    let others = EXTENSIONS.iter().map(|(name, value)| constant("integer", &format!("SHMEM_{name}"), value));
    teams.into_iter().chain(twins).chain(others).collect()
}

/// A constant of the C header in Fortran; strings are told by their quotes.
fn constant(kind: &str, name: &str, value: &str) -> Constant {
    let text = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let (kind, value) = match text {
        Some(text) => (format!("character(len={})", text.len()), format!("'{text}'")),
        None => (kind.into(), value.into()),
    };
    Constant { kind, name: name.into(), value }
}

impl Interface {
    /// Constants, and the functions that every program expects.
    fn include(&self) -> String {
        let mut text = self.head("For programs in fixed and in free form.");
        for Constant { kind, name, value } in &self.constants {
            text += &format!("      {kind} {name}\n      parameter ({name} = {value})\n");
        }
        text + &self.declarations(true)
    }

    /// All other functions.
    fn functions(&self) -> String {
        self.head(&format!("Types of functions, to be included behind {}.fh.", self.name)) + &self.declarations(false)
    }

    fn head(&self, purpose: &str) -> String {
        format!("! oxshmem: {}.\n! {purpose}\n{}", self.title, comment())
    }

    /// Valid in fixed and in free form: statements begin in column 7 and end before column 73.
    fn declarations(&self, typed: bool) -> String {
        let functions = self.entries.iter().filter_map(|entry| Some((entry.name(), result(entry)?)));
        functions
            .filter(|(name, _)| TYPED.contains(&name.as_str()) == typed)
            .map(|(name, kind)| format!("      {kind} {name}\n      external {name}\n"))
            .collect()
    }

    fn module(&self) -> String {
        let name = self.name;
        let mut text = format!("! oxshmem: {}.\n{}module {name}\n", self.title, comment());
        if name == "shmemx" {
            text += fortran_generics::USES;
        }
        text += "    implicit none\n";
        if name == "shmemx" {
            text += fortran_generics::HIDES;
        }
        text += "\n";
        for Constant { kind, name, value } in &self.constants {
            text += &format!("    {kind}, parameter :: {name} = {value}\n");
        }
        text += "\n    interface\n";
        text += &self.entries.iter().map(procedure).collect::<String>();
        text += "    end interface\n";
        if name == "shmemx" {
            text += &fortran_generics::interfaces();
        }
        text + &format!("end module {name}\n")
    }
}

/// The note in lines that are short enough for the fixed form.
fn comment() -> String {
    format!("! {}\n", NOTE.replacen(" from", "\n! from", 1))
}

/// Fortran's type of a function, `None` for a subroutine.
pub(super) fn result(entry: &FortranEntry) -> Option<&'static str> {
    match entry.prototype.result.as_str() {
        "void" => None,
        "int32_t" if entry.symbol.ends_with("_accessible_") => Some("logical"),
        ctype => Some(scalar(entry, ctype)),
    }
}

/// An integer of 4 bytes is a default INTEGER unless the routine's name says its size. An address is one of 8 bytes.
fn scalar(entry: &FortranEntry, ctype: &str) -> &'static str {
    match ctype {
        "int32_t" if entry.kind.is_some_and(|kind| kind.c == ctype) => "integer(4)",
        "int32_t" => "integer",
        "int64_t" | "void *" => "integer(8)",
        "float" => "real(4)",
        "double" => "real(8)",
        other => panic!("no scalar of the Fortran interface is of type `{other}`"),
    }
}

/// The interface of one entry point.
fn procedure(entry: &FortranEntry) -> String {
    let visible: Vec<&Parameter> = entry.prototype.parameters.iter().filter(|p| p.ctype.ends_with('*')).collect();
    let names: Vec<&str> = visible.iter().map(|p| p.name.as_str()).collect();
    let name = entry.name().to_ascii_lowercase();
    let kind = result(entry);
    let sort = if kind.is_some() { "function" } else { "subroutine" };
    // Free form has lines of 132 characters: the longest lists take two.
    let list = names.join(", ");
    let list = match list.get(60..).and_then(|rest| rest.find(", ")) {
        Some(at) => format!("{} &\n            {}", &list[..60 + at + 1], &list[60 + at + 2..]),
        None => list,
    };
    let mut text = format!("        {sort} {name}({list})\n");
    let buffers: Vec<&str> = visible.iter().filter(|p| is_buffer(entry, p)).map(|p| p.name.as_str()).collect();
    if !buffers.is_empty() {
        let list = buffers.join(", ");
        text += &fortran_generics::untyped(&name, &list);
    }
    for parameter in visible.iter().filter(|p| !is_buffer(entry, p)) {
        text += &format!("            {} :: {}\n", dummy(entry, parameter), parameter.name);
    }
    if let Some(kind) = kind {
        text += &format!("            {kind} :: {name}\n");
    }
    text + &format!("        end {sort} {name}\n")
}

/// Data that is moved; atomics work on one object of their type.
pub(super) fn is_buffer(entry: &FortranEntry, Parameter { ctype, name }: &Parameter) -> bool {
    let is_moved = matches!(name.as_str(), "dest" | "source" | "pWrk" | "lock");
    ctype.ends_with("void *") || is_moved && !entry.call.starts_with("amo::")
}

/// Declaration of an argument that is not a buffer.
pub(super) fn dummy(entry: &FortranEntry, Parameter { ctype, name }: &Parameter) -> String {
    let target = ctype.strip_suffix('*').expect("every argument is an address").trim_end();
    match (name.as_str(), target.strip_prefix("const ")) {
        ("name", _) => "character(len=*), intent(out)".into(),
        ("pSync", _) => "integer, dimension(*)".into(),
        ("t_offsets" | "t_sizes" | "s_offsets" | "s_sizes", _) => "integer(8), dimension(*)".into(),
        // Others may change it while the call runs.
        ("source", Some(target)) => scalar(entry, target).into(),
        (_, Some(target)) => format!("{}, intent(in)", scalar(entry, target)),
        (_, None) => scalar(entry, target).into(),
    }
}
