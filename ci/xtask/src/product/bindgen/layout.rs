//! The parts of generated bindings that must not change: offsets and types of members, values of constants, signatures.
//!
//! Libraries grow their structs at the end; that changes nothing for us. So sizes may differ, and new members and
//! constants are of no interest; what we have must be there and be the same.

use std::collections::BTreeMap;

/// Facts by name: `fi_info::caps` is `offset 8`.
pub(super) type Facts = BTreeMap<String, String>;

/// Types without a name are numbered by where they stand, which is no fact of the interface.
const NAMELESS: &str = "_bindgen_ty_";

/// The differences of `theirs` from `ours`, one sentence each.
pub(super) fn changes(ours: &str, theirs: &str) -> Vec<String> {
    let theirs = facts(theirs);
    let change = |(name, fact): (&String, &String)| match theirs.get(name) {
        Some(same) if same == fact => None,
        Some(other) => Some(format!("{name} was {fact} and is {other} in the headers here")),
        None => Some(format!("{name} ({fact}) is not in the headers here")),
    };
    facts(ours).iter().filter_map(change).collect()
}

/// Reads generated text. Whatever rustfmt does to it, white space is not part of it.
pub(super) fn facts(text: &str) -> Facts {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut facts = offsets(&words);
    facts.extend(statements(&words, "pub const ").map(|statement| fact("constant ", statement, " = ")));
    facts.extend(statements(&words, "pub type ").map(|statement| fact("type ", statement, " = ")));
    facts.extend(statements(&words, "pub fn ").map(|statement| fact("function ", statement, "(")));
    facts.retain(|name, _| !name.contains(&format!("type {NAMELESS}")));
    facts
}

/// `["Offset of field: S::m"][::core::mem::offset_of!(S, m) - 8usize];`
fn offsets(words: &str) -> Facts {
    let fields = words.split("[\"Offset of field: ").skip(1);
    let read = |field: &str| {
        let (name, rest) = field.split_once("\"]")?;
        let (_, offset) = rest.split_once(" - ")?;
        let (offset, _) = offset.split_once("usize]")?;
        Some((name.to_owned(), format!("at offset {offset}")))
    };
    fields.filter_map(read).collect()
}

fn statements<'t>(words: &'t str, keyword: &'t str) -> impl Iterator<Item = &'t str> {
    words.split(keyword).skip(1).filter_map(|rest| rest.split_once(';').map(|(statement, _)| statement))
}

/// A statement cut at the first `cut`: what it is about, and what it says.
fn fact(kind: &str, statement: &str, cut: &str) -> (String, String) {
    // `FI_ENABLE: _bindgen_ty_7 = 6`, and `FI_MSG: u64 = 2`
    let cut = if kind == "constant " && !statement.contains(NAMELESS) { ": " } else { cut };
    let (name, says) = statement.split_once(cut).unwrap_or((statement, ""));
    // Trailing commas are rustfmt's.
    let says = format!("{}{says}", cut.trim()).replace(", )", ")").replace("( ", "(");
    (format!("{kind}{}", name.split(':').next().unwrap_or(name)), says)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = r#"
        pub const FI_MSG: u64 = 2;
        pub type fi_addr_t = u64;
        pub struct s { pub a: u64, pub b: u32 }
        const _: () = {
            ["Size of s"][::core::mem::size_of::<s>() - 16usize];
            ["Offset of field: s::a"][::core::mem::offset_of!(s, a) - 0usize];
            ["Offset of field: s::b"][::core::mem::offset_of!(s, b) - 8usize];
        };
        unsafe extern "C" { pub fn f(a: u64) -> i32; }"#;

    #[test]
    fn nothing_changes_by_growing() {
        assert_eq!(facts(OURS).len(), 5);
        let grown = OURS.replace("16usize", "24usize").replace(
            "};\n        unsafe",
            "[\"Offset of field: s::c\"][::core::mem::offset_of!(s, c) - 16usize]; };\n unsafe",
        );
        assert!(grown.contains("s::c"));
        assert_eq!(changes(OURS, &grown), [""; 0]);
        assert_eq!(changes(OURS, &OURS.replace("pub fn f(a: u64)", "pub fn f(\n a: u64,\n )")), [""; 0]);
    }

    #[test]
    fn what_moves_or_goes_is_named() {
        let moved = changes(OURS, &OURS.replace("8usize", "12usize"));
        assert_eq!(moved, ["s::b was at offset 8 and is at offset 12 in the headers here"]);
        for (from, to, word) in [
            ("u64 = 2", "u64 = 4", "FI_MSG"),
            ("u64 = 2", "u32 = 2", "FI_MSG"),
            ("fi_addr_t = u64", "fi_addr_t = u32", "fi_addr_t"),
            ("f(a: u64)", "f(a: u32)", "function f"),
            ("pub fn f", "pub fn g", "function f"),
        ] {
            let found = changes(OURS, &OURS.replace(from, to));
            assert!(found.len() == 1 && found[0].contains(word), "{found:?}");
        }
    }
}
