//! A struct of Rust's own layout may lie otherwise in the next version of the program.
#[derive(Clone, Copy, oxshmem::Plain)]
struct Pair {
    one: u32,
    other: u32,
}
fn main() {}
