//! Mistakes that the types rule out: the compiler refuses each of these programs, for the reason beside it.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

/// The flags that `trybuild` gives to programs that are to be refused. Crates below them get all but the last one from it, so cargo would
/// compile each of them a second time for the programs. This variable of cargo's stands above both.
const FLAGS: (&str, &str) =
    ("CARGO_ENCODED_RUSTFLAGS", "--cfg\x1ftrybuild\x1f--verbose\x1f-A\x1fdead_code\x1f--diagnostic-width=140");

/// Other crates make neither operands nor operators (`own_operand.rs`, `own_operator.rs`), nor anything else that is not right.
#[test]
fn fault_W7_misuse_does_not_compile() {
    // SAFETY: this is the only test of its process, so no other thread looks at the environment.
    unsafe { std::env::set_var(FLAGS.0, FLAGS.1) };
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
