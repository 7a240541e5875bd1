//! The generated parts of a manual page: declarations, types and editions.

use super::f08;
use super::fortran_source::{dummy, is_buffer, result};
use crate::expand::{CallForm, Symbol, expand};
use crate::fortran::{self, FortranEntry, FortranKind};
use crate::manual::Page;
use crate::prototype::{Parameter, Prototype};
use crate::table::{Family, Status};

/// Lines of source code are not longer than a terminal is wide beside a page's margin.
const WIDTH: usize = 72;

/// The C declarations, with TYPE, TYPENAME and SIZE for what varies.
pub(super) fn c(page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    let is_extension = |family: &Family| family.parts[0].status == Status::Extension;
    for (header, extension) in [("shmem.h", false), ("shmemx.h", true)] {
        let mut rows = page.families.iter().copied().filter(|family| is_extension(family) == extension).peekable();
        if rows.peek().is_some() {
            separate(&mut lines);
            lines.push(format!("#include <{header}>"));
        }
        for family in rows {
            lines.push(String::new());
            for prototype in declarations(family) {
                lines.extend(wrapped(&prototype.to_c(), ""));
            }
        }
    }
    lines
}

/// The declarations of the C11 macros and C++ overloads.
pub(super) fn generics(page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    let with_sync = |family: &&&Family| family.generic.is_some() || family.call == "team::sync";
    for family in page.families.iter().filter(with_sync) {
        let mut prototype = Prototype::parse(family.prototype);
        prototype.name = match family.generic {
            Some(_) => family.generic_name(),
            None => "shmem_sync".into(),
        };
        let context = if family.ctx { "([shmem_ctx_t ctx,] " } else { "(" };
        lines.extend(wrapped(&typed(prototype).to_c().replacen('(', context, 1), ""));
    }
    lines
}

/// One declaration for each sort of form, first without and then with a context.
fn declarations(family: &'static Family) -> Vec<Prototype> {
    let contexts = if family.ctx { &[false, true][..] } else { &[false] };
    let mut declarations: Vec<Prototype> = Vec::new();
    for &ctx in contexts {
        for symbol in expand(family, ctx) {
            let mut prototype = match symbol.form {
                CallForm::Typed(_) => {
                    let mut pattern = Prototype::parse(family.prototype);
                    pattern.name = pattern.name.replace("<T>", "TYPENAME").replace("<N>", "");
                    typed(pattern)
                }
                CallForm::Sized(bits) => {
                    let mut sized = symbol.prototype.clone();
                    sized.name = sized.name.replace(&bits.to_string(), "SIZE");
                    sized
                }
                CallForm::Alone | CallForm::Mem => symbol.prototype.clone(),
            };
            if ctx && matches!(symbol.form, CallForm::Typed(_)) {
                prototype.name = prototype.name.replacen('_', "_ctx_", 1);
                prototype.parameters.insert(0, Parameter::new("shmem_ctx_t", "ctx"));
            }
            if !declarations.contains(&prototype) {
                declarations.push(prototype);
            }
        }
    }
    declarations
}

/// The prototype with TYPE for its `T`.
fn typed(mut prototype: Prototype) -> Prototype {
    let filled = |ctype: &str| {
        let words: Vec<&str> = ctype.split(' ').map(|word| if word == "T" { "TYPE" } else { word }).collect();
        words.join(" ")
    };
    prototype.result = filled(&prototype.result);
    prototype.parameters.iter_mut().for_each(|parameter| parameter.ctype = filled(&parameter.ctype));
    prototype
}

/// A table of the forms, for rows of the routine table that have the same.
pub(super) struct Forms {
    /// The routines it is about.
    pub(super) names: Vec<String>,
    /// Cells; the first row is the heading. Empty for routines with one form.
    pub(super) rows: Vec<Vec<String>>,
    /// Standing of routines with one form.
    pub(super) standing: String,
}

/// The tables of all forms on the page.
pub(super) fn forms(page: &Page) -> Vec<Forms> {
    let mut tables: Vec<Forms> = Vec::new();
    for &family in &page.families {
        let symbols = expand(family, false);
        let mut rows: Vec<Vec<String>> = symbols.iter().filter_map(row).collect();
        if !rows.is_empty() {
            rows.insert(0, ["NAME", "TYPE", "SINCE"].map(String::from).to_vec());
        }
        let standing = standing(&symbols[0]);
        let name = family.generic_name();
        match tables.iter_mut().find(|known| known.rows == rows && known.standing == standing) {
            Some(known) => known.names.push(name),
            None => tables.push(Forms { names: vec![name], rows, standing }),
        }
    }
    tables
}

fn row(symbol: &Symbol) -> Option<Vec<String>> {
    let (name, ctype) = match symbol.form {
        CallForm::Alone => return None,
        CallForm::Typed(element) => (element.name.to_string(), element.c.to_string()),
        CallForm::Sized(bits) => (bits.to_string(), format!("any of {bits} bits")),
        CallForm::Mem => ("mem".to_string(), "bytes".to_string()),
    };
    Some(vec![name, ctype, standing(symbol)])
}

fn standing(symbol: &Symbol) -> String {
    match symbol.status {
        Status::Current => symbol.since.into(),
        Status::Deprecated => format!("{}, deprecated", symbol.since),
        Status::Removed => format!("{}, removed from the standard", symbol.since),
        Status::Compat => "not in the standard".into(),
        Status::Extension => "extension".into(),
    }
}

/// The Fortran statements and the types of their arguments.
pub(super) fn fortran(page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    for (file, extension) in [("shmem", false), ("shmemx", true)] {
        let entries: Vec<&FortranEntry> = page
            .entries
            .iter()
            .filter(|entry| (entry.status == fortran::FortranStatus::Extension) == extension)
            .collect();
        if entries.is_empty() {
            continue;
        }
        separate(&mut lines);
        lines.push(format!("INCLUDE '{file}.fh'    ! or USE {file}"));
        let mut done: Vec<&str> = Vec::new();
        for entry in &entries {
            if done.contains(&entry.pattern.as_str()) {
                continue;
            }
            done.push(&entry.pattern);
            let alike: Vec<&FortranEntry> =
                entries.iter().copied().filter(|other| other.pattern == entry.pattern).collect();
            lines.push(String::new());
            lines.extend(statement(&alike));
        }
    }
    lines
}

/// The statements of the module `shmem_f08`.
pub(super) fn fortran_2008(page: &Page) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for &family in &page.families {
        let forms = expand(family, false).into_iter().filter(|symbol| matches!(symbol.form, CallForm::Mem));
        for name in std::iter::once(family.generic_name()).chain(forms.map(|symbol| symbol.name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    f08::synopsis(&names)
}

/// One statement for entries that differ in their kind only.
fn statement(entries: &[&FortranEntry]) -> Vec<String> {
    let entry = entries[0];
    let usage = match entry.kind {
        Some(_) => entry.usage().replace(&entry.name(), &entry.pattern.replace("<K>", "KIND")),
        None => entry.usage(),
    };
    let mut lines = wrapped(&usage, " &");
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    let mut declare = |kind: String, name| match groups.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, names)) => names.push(name),
        None => groups.push((kind, vec![name])),
    };
    let spelled =
        |sorts: Vec<String>| if sorts.iter().all(|sort| *sort == sorts[0]) { sorts[0].clone() } else { "KIND".into() };
    if entry.prototype.result != "void" {
        let sorts = entries.iter().filter_map(|entry| result(entry)).map(str::to_ascii_uppercase).collect();
        declare(spelled(sorts), "r");
    }
    for (at, parameter) in entry.prototype.parameters.iter().enumerate().filter(|(_, p)| p.ctype.ends_with('*')) {
        // A parameter with one C type in all kinds does not depend on the kind.
        let same = |other: &&FortranEntry| other.prototype.parameters[at].ctype == parameter.ctype;
        let plain = FortranEntry { kind: None, ..entry.clone() };
        let sort = |other: &&FortranEntry| {
            let parameter = &other.prototype.parameters[at];
            if is_buffer(other, parameter) {
                return if other.kind.is_some() { "KIND".into() } else { "any type".into() };
            }
            let declared = if entries.len() > 1 && entries.iter().all(same) { &plain } else { *other };
            dummy(declared, parameter).replace(", intent(in)", "").replace(", intent(out)", "").to_ascii_uppercase()
        };
        let array =
            if is_buffer(entry, parameter) || dummy(entry, parameter).contains("dimension") { "(*)" } else { "" };
        let sort = spelled(entries.iter().map(sort).collect()).replace(", DIMENSION(*)", "");
        declare(format!("{sort}{array}"), parameter.name.as_str());
    }
    for (kind, names) in groups {
        let (kind, array) = kind.strip_suffix("(*)").map_or((kind.as_str(), ""), |kind| (kind, "(*)"));
        let names: Vec<String> = names.iter().map(|name| format!("{name}{array}")).collect();
        lines.extend(wrapped(&format!("    {kind} {}", names.join(", ")), " &"));
    }
    let kinds: Vec<&FortranKind> = entries.iter().filter_map(|entry| entry.kind).collect();
    if !kinds.is_empty() {
        let kinds: Vec<String> = kinds.iter().map(|kind| described(kind)).collect();
        lines.extend(wrapped(&format!("    ! KIND is {}", kinds.join(", ")), "").into_iter().enumerate().map(
            |(at, line)| {
                if at == 0 { line } else { line.replacen("        ", "    !   ", 1) }
            },
        ));
    }
    lines
}

/// A kind's spelling and what it means.
fn described(kind: &FortranKind) -> String {
    let name = kind.name.to_ascii_uppercase();
    let meaning = match (kind.name, kind.c) {
        ("character" | "complex" | "double" | "integer" | "logical" | "real", _) => return name,
        ("mem", _) => "bytes".into(),
        ("", _) => return "nothing (8 bytes)".into(),
        (_, "void") => format!("{} bytes", kind.bytes),
        (_, c) if c.contains("int") => format!("INTEGER({})", kind.bytes),
        (_, c) if c.contains("Complex") => format!("COMPLEX({})", kind.bytes / 2),
        _ => format!("REAL({})", kind.bytes),
    };
    format!("{name} ({meaning})")
}

/// An empty line between two headers' declarations.
fn separate(lines: &mut Vec<String>) {
    if !lines.is_empty() {
        lines.push(String::new());
    }
}

/// A long line broken at its commas, with `end` behind every broken one.
fn wrapped(line: &str, end: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, piece) in line.split_inclusive(", ").enumerate() {
        let last = lines.last_mut().expect("there is always a line");
        if at > 0 && last.len() + piece.trim_end().len() > WIDTH {
            last.truncate(last.trim_end().len());
            *last += end;
            lines.push(format!("        {piece}"));
        } else {
            *last += piece;
        }
    }
    lines
}
