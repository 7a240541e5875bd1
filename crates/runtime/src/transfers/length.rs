//! How many bytes the counts and strides of a call are: the only place where they are multiplied.
//!
//! A product that overflows becomes [`IMPOSSIBLE`] or more, and sums saturate. Such a length lies inside no memory, so the check of the
//! range refuses it, and every call checks its ranges before it computes anything else from a length. What has passed fits the memory
//! of a machine, and products of it with an index below the count do so too.

/// No memory has this length or a greater one.
pub(crate) const IMPOSSIBLE: usize = 1 << (usize::BITS - 1);

/// A length from the negative of this to -1 is a negative count. Any other impossible length comes from an overflow.
const FARTHEST: isize = 1 << 48;

/// How many bytes `n` elements of `element` bytes have.
#[inline(always)]
pub(crate) const fn of(n: usize, element: usize) -> usize {
    match n.checked_mul(element) {
        Some(bytes) => bytes,
        None => overflown(n),
    }
}

/// The length of more elements than there are addresses: the count itself if it is a negative number, so that a message can name it.
/// On the path of every transfer this takes one instruction.
#[inline(always)]
const fn overflown(n: usize) -> usize {
    n | IMPOSSIBLE
}

/// Whether a length is that of a negative number of elements, which it equals then.
pub(crate) fn is_negative_count(bytes: usize) -> bool {
    (-FARTHEST..0).contains(&(bytes as isize))
}

/// How many bytes `n` elements of the type have.
#[inline(always)]
pub(crate) const fn bytes<T>(n: usize) -> usize {
    of(n, size_of::<T>())
}

/// How many elements `nblocks` blocks of `bsize` elements have, if the blocks lie one behind the other on both sides and memory can have so
/// many.
#[inline(always)]
pub(crate) fn joined(dst: isize, sst: isize, bsize: usize, nblocks: usize) -> Option<usize> {
    let elements = of(nblocks, bsize);
    (dst == sst && dst == bsize as isize && elements < IMPOSSIBLE).then_some(elements)
}

/// A distance, which is no count of elements.
#[inline(always)]
const fn product(one: usize, other: usize) -> usize {
    match one.checked_mul(other) {
        Some(product) => product,
        None => IMPOSSIBLE,
    }
}

/// The memory between the lowest and the highest byte of an array, gaps included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cover {
    /// How far it reaches back from the array's address, which is where a negative stride leads.
    pub(crate) back: usize,
    pub(crate) bytes: usize,
}

impl Cover {
    /// That of `count` pieces of `piece` elements of `element` bytes, whose beginnings are `stride` elements apart.
    #[inline(always)]
    pub(crate) const fn strided(element: usize, stride: isize, piece: usize, count: usize) -> Self {
        let between = product(product(stride.unsigned_abs(), count.saturating_sub(1)), element);
        let back = if stride < 0 { between } else { 0 };
        Self { back, bytes: between.saturating_add(of(piece, element)) }
    }

    /// Its lowest byte, if the array is at `address`. If that is below zero, the length wraps around the address space, and no memory
    /// holds it.
    #[inline(always)]
    pub(crate) fn lowest(self, address: usize) -> usize {
        address.wrapping_sub(self.back)
    }

    /// Whether it fits between the array's address and the ends of the address space.
    pub(crate) fn is_possible(self, address: usize) -> bool {
        self.bytes <= isize::MAX as usize
            && address.checked_sub(self.back).and_then(|lowest| lowest.checked_add(self.bytes)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_M4_a_negative_stride_covers_what_lies_before_the_first_piece() {
        let cover = |stride, piece, count| Cover::strided(4, stride, piece, count);
        assert_eq!(cover(3, 2, 5), Cover { back: 0, bytes: 56 });
        assert_eq!(cover(-3, 2, 5), Cover { back: 48, bytes: 56 });
        assert_eq!(cover(-3, 2, 1), Cover { back: 0, bytes: 8 });
        assert_eq!(cover(0, 7, 9), Cover { back: 0, bytes: 28 });
    }

    #[test]
    fn fault_S1_what_overflows_is_longer_than_any_memory() {
        assert_eq!(bytes::<u64>(1 << 61), IMPOSSIBLE | 1 << 61);
        for (stride, piece, count) in [
            (isize::MIN, 1, 3),
            (isize::MAX, 1, 3),
            (1 << 60, 1, 17),
            (1, 1 << 61, 1),
            (1, 1, 1 << 61),
            (-1, 1, 1 << 62),
        ] {
            let cover = Cover::strided(8, stride, piece, count);
            assert!(cover.bytes >= IMPOSSIBLE, "{stride} {piece} {count}");
            assert_eq!(cover.back >= IMPOSSIBLE, stride < 0, "{stride} {piece} {count}");
            assert!(!cover.is_possible(0) && !cover.is_possible(0x7000_0000_0000));
        }
    }

    #[test]
    fn a_negative_count_can_be_named() {
        let minus = |n: usize| n.wrapping_neg();
        assert_eq!([bytes::<u8>(minus(1)), bytes::<u32>(minus(5)), of(minus(7), 3)], [minus(1), minus(5), minus(7)]);
        assert!([minus(1), minus(5), of(minus(5), 1), of(of(minus(5), 8), 4)].into_iter().all(is_negative_count));
        let others = [0, 40, IMPOSSIBLE, bytes::<u64>(1 << 61), Cover::strided(4, 2, 1, minus(5)).bytes];
        assert!(!others.into_iter().any(is_negative_count));
    }

    #[test]
    fn blocks_without_gaps_are_joined() {
        assert_eq!([joined(3, 3, 3, 5), joined(1, 1, 1, 7)], [Some(15), Some(7)]);
        let minus = 5_usize.wrapping_neg();
        for (dst, sst, bsize, nblocks) in
            [(4, 3, 3, 5), (3, 4, 3, 5), (4, 4, 3, 5), (-1, -1, 1, 5), (1, 1, 1, minus), (4, 4, 4, minus)]
        {
            assert_eq!(joined(dst, sst, bsize, nblocks), None, "{dst} {sst} {bsize} {nblocks}");
        }
    }

    #[test]
    fn fault_S1_an_array_reaches_neither_below_zero_nor_round_the_addresses() {
        let cover = Cover::strided(8, -2, 1, 3);
        assert!(cover.is_possible(32) && !cover.is_possible(31));
        let cover = Cover::strided(8, 2, 1, 3);
        assert!(cover.is_possible(usize::MAX - 40) && !cover.is_possible(usize::MAX - 39));
    }
}
