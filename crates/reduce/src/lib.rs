//! Reduction operators and kernels for every type, picked for the processor at run time.
//!
//! # What the operators mean
//!
//! | types | and or xor | max min | sum prod |
//! |---|---|---|---|
//! | integers, signed and unsigned | bitwise | as the type compares | modulo 2 to the width |
//! | `float`, `double`, `long double`, binary128 | – | total order, below | each step rounded to nearest |
//! | `float` and `double` complex | – | – | sum by parts, product as Annex G of the C standard |
//!
//! * `char` is the type it is for the platform's C compiler: [`core::ffi::c_char`] is `i8` or `u8`.
//! * **Floating-point maximum and minimum** follow `maximum` and `minimum` of IEEE 754-2019: if an operand is NaN the
//!   result is NaN, and −0 is less than +0. Among several NaNs the maximum takes one with the sign bit set before one
//!   without, the minimum the other way round, and among NaNs of one sign the maximum takes the one that `totalOrder`
//!   puts last and the minimum the one it puts first; its bits stay as they are, a signalling NaN signalling. So the
//!   result has the same bits whatever the order and the grouping of the operands (`float_order.rs` says how), also
//!   where the program lets the processor take subnormal numbers for zeros (`-ffast-math`).
//! * **Sums and products** are folded from left to right in the order of the sources, never regrouped. The bits of the
//!   result depend on nothing else, with one exception, which IEEE 754 leaves open: which NaN it is if it is one.
//! * The padding of an x87 `long double` is ignored in operands and zero in results.
//!
//! # Kernels
//!
//! A [`Kernel`] folds arrays; [`Operand::combine`] folds two values. A scan is a fold of the sources up to and
//! including one's own. The kernels allocate nothing, and destinations may be sources.

mod body;
mod complex;
mod element;
mod extended;
mod float_order;
mod kernel;
mod operator;
mod subnormals;
mod variant;

pub use body::Store;
pub use element::{Complex, Element, Kind};
pub use extended::{LongDouble, Quad};
pub use kernel::Kernel;
pub use operator::{And, Max, Min, Op, Operand, Operator, Or, Prod, Sum, Xor};
pub use variant::{Variant, select};
