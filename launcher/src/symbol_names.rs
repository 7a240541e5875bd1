//! Names of symbols as the program's source has them.

use addr2line::gimli::{DW_LANG_C_plus_plus, DW_LANG_Rust, DwLang};
use addr2line::{demangle, demangle_auto};
use oxshmem_base::names;

/// The name of a variable.
pub(crate) fn of_variable(symbol: &str) -> String {
    let of_rust = || demangle(symbol, DW_LANG_Rust).filter(|_| names::is_mangled(symbol));
    of_rust().unwrap_or_else(|| names::with_demangler(symbol, |symbol| demangle(symbol, DW_LANG_C_plus_plus)))
}

/// The name of a function, whose language may be known.
pub(crate) fn of_function(symbol: &str, language: Option<DwLang>) -> String {
    if names::is_mangled(symbol) { demangle_auto(symbol.into(), language).into_owned() } else { symbol.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_the_names_of_their_source() {
        for (symbol, name) in [
            ("data", "data"),
            ("message.2", "message"),
            ("_ZZ4mainE4data", "data"),
            ("_ZN4heat4dataE", "heat::data"),
            ("_ZN4heat6SolverIdE5fieldE", "heat::Solver<double>::field"),
            ("_ZN5hello4DATA17h0123456789abcdefE", "hello::DATA"),
            ("_RNvC5hello4DATA", "hello::DATA"),
        ] {
            assert_eq!(of_variable(symbol), name);
        }
    }

    /// Names that a demangler of C++ reads as types.
    const TYPES: [&str; 8] = ["x", "i", "d", "f", "n", "Pc", "RC1x", "_R"];

    #[test]
    fn names_that_are_codes_of_types_stay_as_they_are() {
        for name in TYPES {
            assert_eq!(of_variable(name), name);
            assert_eq!(of_variable(&format!("{name}.0")), name, "a variable of a function");
            for language in [None, Some(DW_LANG_C_plus_plus), Some(DW_LANG_Rust)] {
                assert_eq!(of_function(name, language), name);
            }
        }
        assert_eq!(of_variable("_ZL1x"), "x");
        assert_eq!(of_variable("_ZZ4mainE1i_0"), "i");
    }

    #[test]
    fn functions_have_the_names_of_their_source() {
        for (symbol, language, name) in [
            ("_Z1fi", None, "f(int)"),
            ("_ZN4heat6SolverIdE4stepEv", Some(DW_LANG_C_plus_plus), "heat::Solver<double>::step()"),
            ("_ZN5hello4main17h0123456789abcdefE", None, "hello::main"),
            ("_RNvC5hello4main", Some(DW_LANG_Rust), "hello::main"),
            ("main", Some(DW_LANG_C_plus_plus), "main"),
        ] {
            assert_eq!(of_function(symbol, language), name);
        }
    }
}
