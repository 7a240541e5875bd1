//! The calls of the Rust API beside those of C.

use super::Goal::{Nanoseconds, Scale, Times};
use super::{BenchRow, row};

const C: &str = "the same call of C";

/// The calls of the Rust API are inlined, and C's are not.
pub(super) const ROWS: &[BenchRow] = &[
    row("Rust put of a word", C, Times(1.02)),
    row("Rust get of a word", C, Times(1.02)),
    row("Rust fetch_add", C, Times(1.02)),
    row("Rust compare_swap", C, Times(1.02)),
    row("Rust quiet", C, Times(1.02)),
    row("Rust put 8 B", C, Times(1.02)),
    row("Rust get 8 B", C, Times(1.02)),
    row("Rust put 64 B", C, Times(1.02)),
    row("Rust get 64 B", C, Times(1.02)),
    row("Rust put 512 B", C, Times(1.02)),
    row("Rust get 512 B", C, Times(1.02)),
    row("Rust put 4096 B", C, Times(1.02)),
    row("Rust get 4096 B", C, Times(1.02)),
    row("Rust put 32768 B", C, Times(1.02)),
    row("Rust get 32768 B", C, Times(1.02)),
    row("Rust put 262144 B", C, Times(1.02)),
    row("Rust get 262144 B", C, Times(1.02)),
    row("Rust put 1048576 B", C, Times(1.02)),
    row("Rust get 1048576 B", C, Times(1.02)),
    row("Rust put 64 B as a future", "the blocking call", Nanoseconds(40.0)),
    row("Rust barrier", C, Times(1.02)),
    row("Rust max of 1", C, Times(1.02)),
    row("Rust max of 8", C, Times(1.02)),
    row("Rust max of 128", C, Times(1.02)),
    row("Rust max of 1024", C, Times(1.02)),
    row("Rust max of 16384", C, Times(1.02)),
    row("Rust max_of a value", "the call of C over memory", Scale),
];
