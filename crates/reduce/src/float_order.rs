//! The order behind the floating-point maximum and minimum.
//!
//! `totalOrder` of IEEE 754 puts all bit patterns of a format in a row: −NaNs, −∞ … −0, +0 … +∞, +NaNs. Bend the row
//! into a circle and cut it where it suits the operator:
//!
//! * for the maximum before −∞, so that −∞ is the lowest number and all NaNs rank above +∞;
//! * for the minimum after +∞, so that +∞ is the highest number and all NaNs rank below −∞.
//!
//! A *rank* is a value's place on the cut circle, as a signed integer. Maximum and minimum of floating-point values
//! are maximum and minimum of ranks: NaN wins, −0 is less than +0, and whatever the order and the association, every
//! PE gets the same bits. A NaN is handed on as it is, never quieted. Encodings of x87 that no processor produces
//! since the 80387 stand where their bits put them.

use crate::{LongDouble, Quad, extended::LONG_DOUBLE_BITS};

/// A floating-point type with its ranks.
pub trait Ranked: Copy {
    /// As wide as the value.
    type Rank: Copy + Ord;
    /// Place on the circle cut before −∞.
    fn rank_for_max(self) -> Self::Rank;
    /// Place on the circle cut after +∞.
    fn rank_for_min(self) -> Self::Rank;
    /// The value at this place on the circle cut before −∞.
    fn from_rank_for_max(rank: Self::Rank) -> Self;
    /// The value at this place on the circle cut after +∞.
    fn from_rank_for_min(rank: Self::Rank) -> Self;
}

macro_rules! ranked {
    ($t:ty, $rank:ident, $bits:ident, $to_bits:expr, $from_bits:expr, $infinity:expr) => {
        const _: () = {
            /// Between a bit pattern and its place in the row; its own inverse.
            #[inline(always)]
            const fn row(bits: $rank) -> $rank {
                bits ^ ((bits >> ($rank::BITS - 1)) as $bits >> 1) as $rank
            }
            const INFINITY: $rank = $infinity;
            const MAX_CUT: $rank = row(INFINITY | $rank::MIN).wrapping_sub($rank::MIN);
            const MIN_CUT: $rank = row(INFINITY).wrapping_sub($rank::MAX);

            impl Ranked for $t {
                type Rank = $rank;
                #[inline(always)]
                fn rank_for_max(self) -> $rank {
                    row($to_bits(self) as $rank).wrapping_sub(MAX_CUT)
                }
                #[inline(always)]
                fn rank_for_min(self) -> $rank {
                    row($to_bits(self) as $rank).wrapping_sub(MIN_CUT)
                }
                #[inline(always)]
                fn from_rank_for_max(rank: $rank) -> $t {
                    $from_bits(row(rank.wrapping_add(MAX_CUT)) as $bits)
                }
                #[inline(always)]
                fn from_rank_for_min(rank: $rank) -> $t {
                    $from_bits(row(rank.wrapping_add(MIN_CUT)) as $bits)
                }
            }
        };
    };
}

ranked!(f32, i32, u32, f32::to_bits, f32::from_bits, f32::INFINITY.to_bits() as i32);
ranked!(f64, i64, u64, f64::to_bits, f64::from_bits, f64::INFINITY.to_bits() as i64);
ranked!(Quad, i128, u128, Quad::to_bits, Quad::from_bits, 0x7fff << 112);
ranked!(LongDouble, i128, u128, bits_at_the_top, from_bits_at_the_top, long_double_infinity());

/// The sign must be the topmost bit.
#[inline(always)]
fn bits_at_the_top(value: LongDouble) -> u128 {
    value.to_bits() << (128 - LONG_DOUBLE_BITS)
}

#[inline(always)]
fn from_bits_at_the_top(bits: u128) -> LongDouble {
    LongDouble::from_bits(bits >> (128 - LONG_DOUBLE_BITS))
}

/// x87 writes the leading 1 of a significand, and infinity has it too.
const fn long_double_infinity() -> i128 {
    if LONG_DOUBLE_BITS == 80 { 0x0007_fff8 << 108 } else { 0x7fff << 112 }
}
