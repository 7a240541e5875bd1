//! Mistakes that the types rule out: the compiler refuses each of these programs, for the reason beside it.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

#[test]
fn misuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}

#[test]
fn fault_W7_no_other_crate_makes_operands_or_operators() {
    trybuild::TestCases::new().compile_fail("tests/misuse/own_opera*.rs");
}
