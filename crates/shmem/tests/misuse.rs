//! Mistakes that the types rule out: the compiler refuses each of these programs, for the reason beside it.

#[test]
fn misuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
