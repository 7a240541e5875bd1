//! What the types rule out: each of these programs is refused by the compiler, for the reason beside it.

#[test]
fn misuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
