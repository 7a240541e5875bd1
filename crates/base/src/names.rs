//! Names as people write them: the name that a user meant to type, and the name of a variable in its source.

/// Finds the candidate with the smallest edit distance from `unknown`. The limit is a quarter of (characters + 1),
/// rounded down. Swapped neighbours count as a single edit. The comparison ignores case. On a tie the first
/// candidate wins.
pub fn nearest<'a>(unknown: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = unknown.to_ascii_uppercase();
    let near_enough = |&(edits, _): &(usize, &str)| edits * 4 <= typed.chars().count() + 1;
    candidates
        .into_iter()
        .map(|name| (strsim::osa_distance(&typed, &name.to_ascii_uppercase()), name))
        .min_by_key(|&(edits, _)| edits)
        .filter(near_enough)
        .map(|(_, name)| name)
}

/// Finds the first candidate that is at most one edit from `unknown`, by the distance of [`nearest`].
pub fn one_slip_from<'a>(unknown: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = unknown.to_ascii_uppercase();
    candidates.into_iter().find(|name| strsim::osa_distance(&typed, &name.to_ascii_uppercase()) <= 1)
}

/// The name that a variable has in its source. Compilers number the static variables of functions: `message.2`.
pub fn in_source(symbol: &str) -> &str {
    match symbol.rsplit_once('.') {
        Some((name, number))
            if !name.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            name
        }
        _ => symbol,
    }
}

/// The name that a variable of C++ has in its source, as far as that is written plainly: `_ZL4data`, `_ZN4heat4dataE`, and
/// variables of functions, `_ZZL4mainE4data`. Other names stay as they are, those with arguments of templates too.
pub fn of_cpp(symbol: &str) -> String {
    let Some(mut rest) = symbol.strip_prefix("_Z") else { return symbol.into() };
    if rest.starts_with('Z') {
        // The last name that follows the function is the variable's.
        let Some((_, last)) = rest.rsplit_once('E').filter(|(_, last)| !last.is_empty()) else { return symbol.into() };
        rest = last.trim_start_matches('s');
    }
    rest = rest.trim_start_matches(['N', 'L']);
    let mut names = Vec::new();
    while let Some(end) = rest.find(|letter: char| !letter.is_ascii_digit()).filter(|&end| end > 0) {
        let len = rest[..end].parse().unwrap_or(usize::MAX);
        let Some(name) = rest[end..].get(..len) else { return symbol.into() };
        names.push(if name.starts_with("_GLOBAL__N") { "(anonymous)" } else { name });
        rest = rest[end + len..].trim_start_matches('L');
    }
    if names.is_empty() || rest.starts_with('I') { symbol.into() } else { names.join("::") }
}

/// Whether a compiler of C++ or Rust has made the symbol of a name with its path and types. Nothing else must be given to a demangler: that
/// of C++ also reads bare codes of types, so that a variable `x` would become `long long`, and a function `f` would become `float`.
pub fn is_mangled(symbol: &str) -> bool {
    ["_Z", "_R"].iter().any(|beginning| symbol.starts_with(beginning))
}

/// The name that a variable or function of C, Fortran or C++ has in its source. `demangle` reads what [`of_cpp`] leaves as it is; `None`:
/// it cannot.
pub fn with_demangler(symbol: &str, demangle: impl FnOnce(&str) -> Option<String>) -> String {
    let name = of_cpp(in_source(symbol));
    if is_mangled(&name) { demangle(&name).unwrap_or(name) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_compilers_are_left_out() {
        for (symbol, name) in
            [("message.2", "message"), ("now.4", "now"), ("a.b", "a.b"), ("x", "x"), (".7", ".7"), ("y.", "y.")]
        {
            assert_eq!(in_source(symbol), name);
        }
    }

    #[test]
    fn variables_of_cpp_have_the_names_of_their_source() {
        for (symbol, name) in [
            ("_ZL4flag", "flag"),
            ("_ZN4heat4dataE", "heat::data"),
            ("_ZN4heatL4dataE", "heat::data"),
            ("_ZN12_GLOBAL__N_15countE", "(anonymous)::count"),
            ("_ZZ4mainE4data", "data"),
            ("_ZN4heat6SolverIdE5fieldE", "_ZN4heat6SolverIdE5fieldE"),
            ("_Z2piIdE", "_Z2piIdE"),
            ("_Z9x", "_Z9x"),
            ("_Z", "_Z"),
            ("flag", "flag"),
        ] {
            assert_eq!(of_cpp(symbol), name);
        }
    }

    #[test]
    fn a_demangler_reads_only_what_a_compiler_has_made_of_names() {
        for (symbol, name) in [
            ("x", "x"),
            ("f", "f"),
            ("i.0", "i"),
            ("Pc", "Pc"),
            ("_x", "_x"),
            ("_ZL1x", "x"),
            ("_ZZ4mainE1x", "x"),
            ("_ZL1x.7", "x"),
            ("_Z2piIdE", "demangled _Z2piIdE"),
            ("_RNvC4heat4DATA", "demangled _RNvC4heat4DATA"),
        ] {
            assert_eq!(with_demangler(symbol, |symbol| Some(format!("demangled {symbol}"))), name);
        }
        assert_eq!(with_demangler("_Z2piIdE", |_| None), "_Z2piIdE");
    }

    #[test]
    fn a_slip_is_forgiven_and_a_different_word_is_not() {
        let names = ["SHMEM_SYMMETRIC_SIZE", "SHMEM_DEBUG", "SHMEM_WAIT"];
        assert_eq!(nearest("SHMEM_SYMETRIC_SIZE", names), Some("SHMEM_SYMMETRIC_SIZE"));
        assert_eq!(nearest("shmem_debgu", names), Some("SHMEM_DEBUG"));
        assert_eq!(nearest("SHMEM_INSTALL_ROOT", names), None);
        assert_eq!(nearest("tpc", ["ofi", "tcp", "ucx"]), Some("tcp"));
        assert_eq!(nearest("foo", ["amo", "wait"]), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(one_slip_from("shmem_debgu", names), Some("SHMEM_DEBUG"));
        assert_eq!(one_slip_from("SHMEM_SYMETRC_SIZE", names), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 256 }, failure_persistence: None, ..ProptestConfig::default() })]
    }
}
