//! How programs call the generics of the module: for the pages of the manual.

use std::sync::LazyLock;

use super::procedure::Procedure;
use super::{handles, memory};

/// A line of a page is not longer.
const WIDTH: usize = 72;

/// The statements for these generic names, with the types of their arguments; TYPE stands for what varies. Nothing if the module has none of
/// them.
pub(in crate::generate) fn synopsis(names: &[String]) -> Vec<String> {
    static PROCEDURES: LazyLock<Vec<Procedure>> = LazyLock::new(super::procedures);
    let mut lines = Vec::new();
    for name in names {
        let alike: Vec<&Procedure> = PROCEDURES.iter().filter(|procedure| procedure.generic == *name).collect();
        let by_hand = memory::USAGES.iter().chain(&handles::USAGES).find(|(known, _)| known == name);
        let told = match (&alike[..], by_hand) {
            ([], None) => continue,
            ([], Some((_, usage))) => usage.iter().map(|line| (*line).to_owned()).collect(),
            _ => statement(name, &alike),
        };
        lines.push(String::new());
        lines.extend(told);
    }
    if !lines.is_empty() {
        lines.insert(0, "use shmem_f08".into());
    }
    lines
}

/// One statement for procedures with one generic name.
fn statement(name: &str, alike: &[&Procedure]) -> Vec<String> {
    let longest = alike.iter().max_by_key(|procedure| procedure.usage.arguments.len()).expect("somebody has this name");
    let mut call = String::new();
    let mut declared: Vec<String> = Vec::new();
    for (argument, kind, optional) in &longest.usage.arguments {
        let kinds = alike.iter().filter_map(|other| other.usage.arguments.iter().find(|known| known.0 == *argument));
        let (mut count, mut varies) = (0, false);
        for (_, other, _) in kinds {
            (count, varies) = (count + 1, varies || other != kind);
        }
        let may_be_left_out = *optional || count < alike.len();
        call += &match (call.is_empty(), may_be_left_out) {
            (true, true) => format!("[{argument},] "),
            (true, false) => argument.clone(),
            (false, true) => format!(" [, {argument}]"),
            (false, false) if call.ends_with(' ') => argument.clone(),
            (false, false) => format!(", {argument}"),
        };
        let behind = kind.split_once(" :: ").map_or("", |(_, behind)| behind);
        let kind = match kind {
            kind if !varies => kind.clone(),
            kind if kind.starts_with("integer") && argument == "nelems" => {
                format!("integer :: {behind}    ! or integer(c_size_t)")
            }
            _ => format!("TYPE :: {behind}"),
        };
        declared.push(format!("    {kind}"));
    }
    let results: Vec<&str> = alike.iter().filter_map(|procedure| procedure.usage.result).collect();
    let head = match results.first() {
        None => format!("call {name}("),
        Some(first) => {
            let kind = if results.iter().any(|other| other != first) { "TYPE" } else { first };
            declared.push(format!("    {kind} :: r"));
            format!("r = {name}(")
        }
    };
    let mut lines = vec![head];
    for piece in call.split_inclusive(", ") {
        let last = lines.last_mut().expect("there is always a line");
        if last.len() + piece.trim_end().len() > WIDTH {
            last.truncate(last.trim_end().len());
            *last += " &";
            lines.push(format!("        {piece}"));
        } else {
            *last += piece;
        }
    }
    *lines.last_mut().expect("there is always a line") += ")";
    lines.extend(declared);
    lines
}

#[cfg(test)]
mod tests {
    use super::synopsis;

    #[test]
    fn a_generic_is_told_once_with_what_may_be_left_out() {
        let told = synopsis(&["shmem_put".into(), "shmem_nosuch".into()]);
        let expected = [
            "use shmem_f08",
            "",
            "call shmem_put([ctx,] dest, source [, nelems], pe)",
            "    type(shmem_ctx) :: ctx",
            "    TYPE :: dest(..)",
            "    TYPE :: source(..)",
        ];
        assert_eq!(told[..expected.len()], expected);
        assert!(synopsis(&["shmem_g".into()])[2].starts_with("r = shmem_g([ctx,] source, pe)"));
        assert_eq!(synopsis(&["shmem_malloc".into()])[2], "call shmem_malloc(array [, shape])");
        assert!(synopsis(&["shmem_putmem".into()]).contains(&"    integer :: nelems    ! or integer(c_size_t)".into()));
        assert!(synopsis(&["shmem_nosuch".into()]).is_empty());
    }

    #[test]
    fn every_generic_of_the_module_is_told() {
        let of_cray = ["shmemx_team_split", "shmemx_team_split_strided"].map(String::from);
        for name in super::super::fortran_2008_names().into_iter().chain(of_cray) {
            let told = synopsis(std::slice::from_ref(&name));
            assert!(told.get(2).is_some_and(|line| line.contains(&format!("{name}("))), "{name}: {told:?}");
        }
    }
}
