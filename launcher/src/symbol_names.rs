//! Names of symbols as the program's source has them.

use addr2line::demangle;
use addr2line::gimli::{DW_LANG_C_plus_plus, DW_LANG_Rust};
use oxshmem_base::names;

/// The name of a variable.
pub(crate) fn of_variable(symbol: &str) -> String {
    let name = demangle(symbol, DW_LANG_Rust).unwrap_or_else(|| names::of_cpp(names::in_source(symbol)));
    demangle(&name, DW_LANG_C_plus_plus).unwrap_or(name)
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
        ] {
            assert_eq!(of_variable(symbol), name);
        }
    }
}
