//! The Python module's part of the routine table: the functions in C with their documentation, their types, and the names by
//! which the module calls the other routines.

use super::{File, NOTE};
use crate::constants;
use crate::table::{Category, Family, Status, families};

/// The folder of the module.
const FOLDER: &str = "python/oxshmem";

/// The files.
pub(super) fn files() -> Vec<File> {
    vec![
        File { path: "python/native/routines.inc".into(), text: native() },
        File { path: format!("{FOLDER}/_core.pyi"), text: types() },
        File { path: format!("{FOLDER}/_table.py"), text: table() },
    ]
}

/// One function that is made in C: a paragraph of `python.txt`.
struct PythonRow {
    name: &'static str,
    /// Its signature with types.
    signature: &'static str,
    /// The function of `python/native` that does it, and two numbers for it.
    function: &'static str,
    numbers: [&'static str; 2],
    family: &'static Family,
    /// Which of the family's forms are called: by `type`, by `size`, in bytes (`mem`), or the only one (`alone`).
    form: &'static str,
    /// Its documentation: a sentence or two, and lines that show it.
    text: &'static str,
}

fn rows() -> impl Iterator<Item = PythonRow> {
    let text = include_str!("../../python.txt");
    text.split("\n\n")
        .filter(|paragraph| !paragraph.starts_with('#'))
        .map(|paragraph| PythonRow::read(paragraph.trim_end()))
}

impl PythonRow {
    fn read(paragraph: &'static str) -> PythonRow {
        let mut parts = paragraph.splitn(3, '\n');
        let mut part = || parts.next().unwrap_or_else(|| panic!("a signature, a line with =, and a text: {paragraph}"));
        let (signature, what, text) = (part(), part(), part());
        let words: Vec<&str> = what.split(' ').collect();
        let [_, function, first, second, pattern, form] = words[..] else { panic!("six words: {what}") };
        let family = families().find(|family| family.pattern() == pattern).unwrap_or_else(|| panic!("no {pattern}"));
        let name = signature.split('(').next().expect("there is a first part");
        PythonRow { name, signature, function, numbers: [first, second], family, form, text }
    }

    /// The signature without types, as Python's `inspect` reads it.
    fn plain_signature(&self) -> String {
        let (list, _) = self.signature[self.name.len() + 1..].rsplit_once(") -> ").expect("a function has a result");
        let plain = |parameter: &str| {
            let (name, kind) = parameter.split_once(": ").expect("a parameter has a type");
            kind.split_once(" = ").map_or_else(|| name.to_string(), |(_, default)| format!("{name}={default}"))
        };
        let list: Vec<String> = list.split(", ").map(plain).collect();
        format!("{}({})", self.name, list.join(", "))
    }

    /// The names of the family's routines as a format of C with one place, which stands for the type, the size, or for nothing.
    fn format(&self) -> String {
        let pattern = self.family.pattern();
        let filled = match self.form {
            "type" => pattern.replace("<T>", "%s").replace("<N>", ""),
            "size" => pattern.replace("<T>_", "").replace("<N>", "%s"),
            "mem" => pattern.replace("<T>_", "").replace("<N>", "mem") + "%s",
            _ => pattern + "%s",
        };
        if self.family.ctx { filled.replacen("shmem_", "shmem_ctx_", 1) } else { filled }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn native() -> String {
    let line = |row: PythonRow| {
        let (first, rest) = row.text.split_once('\n').expect("lines that show it");
        let text = quoted(&format!("{}\n--\n\n{first}\n\n{rest}", row.plain_signature()));
        let ([first, second], pattern) = (row.numbers, quoted(&row.format()));
        format!("ROUTINE({}, {}, {first}, {second}, {pattern},\n        {text})\n", row.function, row.name)
    };
    format!("/* {NOTE} */\n{}", rows().map(line).collect::<String>())
}

const TYPES: &str = "
import ctypes
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from ._contexts import Ctx

Array = NDArray[Any]
Scalar = Union[int, float, complex, np.generic]
Comparison = Union[str, int]

library: ctypes.CDLL

";

const PLUMBING: &str = "def call(routine: int, result: str, *arguments: Any) -> Any: ...
def call_into(answers: List[Any], routine: int, result: str, *arguments: Any) -> None: ...
def call_out_of(answers: List[Any], turns: Dict[str, Any], routine: int, result: str, *arguments: Any) -> bool: ...
def symbol(name: str) -> int: ...
def inspect(array: Any, need: int, routine: str, argument: str) -> Tuple[int, int, int, int, int, bool, bool]: ...
def prepare(start: Callable[[], None], to_bytes: Callable[..., bytes], from_bytes: Callable[..., Any], kept: List[Any]) -> None: ...
def started(*what: Any) -> None: ...
def begin_library(threads: int) -> int: ...
def finalize_at_exit() -> None: ...
";

fn types() -> String {
    let functions: String = rows().map(|row| format!("def {}: ...\n", row.signature)).collect();
    format!("# {NOTE}{TYPES}{functions}{PLUMBING}")
}

/// The routines that the module calls by their C names: collectives, and waits for several variables.
fn table() -> String {
    let mut text =
        format!("# {NOTE}\n\"\"\"Names of routines by element type, and the constants of the header.\"\"\"\n\n");
    text += "FAMILIES = {\n";
    for family in families().filter(|family| is_called_by_name(family)) {
        let pattern = family.pattern().replace("<T>", "{}").replace("<N>", "");
        let name = pattern.replace("shmemx_{}_", "").replace("shmem_{}_", "");
        text += &format!("    \"{name}\": \"{pattern}\",\n");
    }
    text += "}\n\nCONSTANTS = {\n";
    for group in constants::GROUPS {
        for (name, value) in group.constants.iter().filter(|(_, value)| !value.starts_with('"')) {
            text += &format!("    \"{name}\": {},\n", value.replace('L', ""));
        }
    }
    text += "}\n\n# The functions that are made in C, in the order of the table.\nNATIVE = (\n";
    for row in rows() {
        text += &format!("    \"{}\",\n", row.name);
    }
    text + ")\n"
}

fn is_called_by_name(family: &Family) -> bool {
    let pattern = family.pattern();
    let is_typed = pattern.contains("<T>");
    let is_current = family.parts.iter().any(|part| part.status == Status::Current);
    let waits_for_many =
        family.category == Category::P2p && ["_all", "_any", "_some"].iter().any(|word| pattern.contains(word));
    let returns_at_once = pattern.starts_with("shmemx_<T>") && family.call.starts_with("request::");
    is_typed && (is_current && (family.category == Category::Collective || waits_for_many) || returns_at_once)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::expand::symbols;

    #[test]
    fn every_family_of_the_standard_that_moves_data_is_in_the_module() {
        let data = [Category::Rma, Category::Amo, Category::Signal, Category::P2p, Category::Collective];
        let here: BTreeSet<String> = rows().map(|row| row.family.pattern()).collect();
        for family in families().filter(|family| data.contains(&family.category)) {
            let is_current = family.parts.iter().any(|part| part.status == Status::Current);
            let pattern = family.pattern();
            assert!(!is_current || is_called_by_name(family) || here.contains(&pattern), "{pattern} is not in Python");
        }
    }

    #[test]
    fn every_row_names_routines_of_the_library() {
        let names: BTreeSet<String> = symbols().into_iter().map(|symbol| symbol.name).collect();
        for row in rows() {
            let place = match row.form {
                "type" => "uint",
                "size" => "32",
                _ => "",
            };
            let name = row.format().replace("%s", place);
            assert!(names.contains(&name), "{}: {name}", row.name);
        }
    }
}
