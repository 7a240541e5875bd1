//! A signature says in 16 bits which collective call it is. Every word and message between its members carries it.
//!
//! Members that meet compare signatures before they act on what they receive. A member in another call is noticed where
//! it is met, at every level of `SHMEM_CHECK`, and none of its data is used. The signature has the kind of the call as it is, and a
//! digest of what must be alike on all members: the size, the root.
//!
//! Two calls of one kind may have the same digest by chance. So a digest only finds mistakes; memory is never touched on its
//! word. A member that stores into another one's destination compares that in full first (`Call::enter_to_write`). Messages between
//! nodes are bounded by what the receiver has prepared (`between_nodes::leader_wire`).

use core::fmt;

#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallKind {
    /// A barrier or a sync that waits. These may meet each other.
    Barrier,
    Broadcast,
    Collect,
    Fcollect,
    Alltoall,
    Alltoalls,
    Alltoallv,
    And,
    Or,
    Xor,
    Max,
    Min,
    Sum,
    Prod,
    Inscan,
    Exscan,
    /// `shmem_malloc` and its relatives, which compare the history of the heap by themselves.
    Heap,
    /// Split calls that agree on slots for teams.
    Split,
    /// The colours of a split, which come before its slot.
    Colors,
    Destroy,
    /// The members of an active set leave the place that they have leased.
    Leave,
    Init,
    /// The last `shmem_finalize`, which ends the life of the library.
    Finalize,
    /// One that takes back an inner `shmem_init`. It does not meet the last one, whose PE would be gone then.
    InnerFinalize,
    /// An exchange of a binding.
    Values,
    /// A barrier or a sync that returns at once. It meets only calls of its kind. The others count when they leave; this one cannot,
    /// because it ends at no fixed place in the order of the PE's calls.
    IssuedBarrier,
}

/// The kinds in the order of their numbers, by the families of routines that make such calls.
const NAMES: [&str; 26] = [
    "a barrier or sync",
    "shmem_broadcast",
    "shmem_collect",
    "shmem_fcollect",
    "shmem_alltoall",
    "shmem_alltoalls",
    "shmemx_alltoallv",
    "shmem_and_to_all or shmem_and_reduce",
    "shmem_or_to_all or shmem_or_reduce",
    "shmem_xor_to_all or shmem_xor_reduce",
    "shmem_max_to_all or shmem_max_reduce",
    "shmem_min_to_all or shmem_min_reduce",
    "shmem_sum_to_all or shmem_sum_reduce",
    "shmem_prod_to_all or shmem_prod_reduce",
    "shmem_sum_inscan",
    "shmem_sum_exscan",
    "an allocation or free of symmetric memory",
    "a split of a team",
    "a split of a team by colour",
    "shmem_team_destroy",
    "the end of an active set's meeting",
    "shmem_init",
    "shmem_finalize",
    "a shmem_finalize that takes back an inner shmem_init",
    "an exchange of values",
    "a barrier or sync that returns at once",
];
const _: () = assert!(NAMES.len() == CallKind::IssuedBarrier as usize + 1 && NAMES.len() <= 1 << KIND_BITS);

/// Bits of a signature that say the kind; the rest is the digest.
const KIND_BITS: u32 = 5;

/// See the head of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signature(u16);

pub(crate) const BITS: u32 = u16::BITS;

impl Signature {
    /// Of a call of which nothing but the kind must be alike.
    #[inline(always)]
    pub(crate) const fn of(kind: CallKind) -> Self {
        Self((kind as u16) << (BITS - KIND_BITS))
    }

    /// The same kind of call, with the size and the root that all members must name.
    #[inline(always)]
    pub(crate) const fn with(self, bytes: usize, root: u32) -> Self {
        // The upper bits of a product depend on all bits of its factors; odd constants of the golden ratio mix well. The shift keeps
        // the digests of equally spaced sizes from being equally spaced: members that count in are compared by the sum alone.
        let product = (bytes as u64 ^ (root as u64).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = product ^ product >> 32;
        Self(self.0 | (mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) >> (u64::BITS - BITS + KIND_BITS)) as u16)
    }

    /// This signature in the exchange of a team whose roots of broadcasts went on at once: `posted` digests these broadcasts. The same again
    /// gives the signature back.
    #[inline(always)]
    pub(crate) const fn after(self, posted: u32) -> Self {
        Self(self.0 ^ (posted >> (u32::BITS - BITS + KIND_BITS)) as u16)
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Whether both are of one kind of call.
    pub(crate) fn is_like(self, other: Self) -> bool {
        (self.0 ^ other.0) >> (BITS - KIND_BITS) == 0
    }

    /// Whether it is a reduction or a prefix sum: the root of its declaration is the type of its elements.
    pub(crate) fn is_reduction(self) -> bool {
        let kind = usize::from(self.0 >> (BITS - KIND_BITS));
        (CallKind::And as usize..=CallKind::Exscan as usize).contains(&kind)
    }

    /// Whether the team, the job or an initialisation ends with the call, which declares how many splits the PE has made.
    pub(crate) fn ends_team(self) -> bool {
        [CallKind::Destroy, CallKind::Finalize, CallKind::InnerFinalize]
            .iter()
            .any(|kind| self.is_like(Self::of(*kind)))
    }

    /// The word for exchange number `number` of a call with this signature: it grows with the number. Ten million a second
    /// fill the 48 bits in 326 days.
    #[inline(always)]
    pub(crate) const fn stamp(self, number: u64) -> u64 {
        number << BITS | self.0 as u64
    }
}

/// The number in a stamped word.
#[inline(always)]
pub(crate) const fn number_of(stamped: u64) -> u64 {
    stamped >> BITS
}

/// The signature in a stamped word.
#[inline(always)]
pub(crate) const fn signature_of(stamped: u64) -> Signature {
    Signature(stamped as u16)
}

/// Strides below this stand in the root of a declaration as they are.
const PLAIN_STRIDES: isize = 1 << 15;

/// Both strides of an all-to-all as one word, in the place of a root: exchanged strides give another one.
pub(crate) fn root_of_strides(dst: isize, sst: isize) -> u32 {
    let are_plain = [dst, sst].iter().all(|stride| (0..PLAIN_STRIDES).contains(stride));
    let pair = (dst as u32).rotate_left(16) ^ sst as u32;
    if are_plain { pair } else { pair | 1 << 31 }
}

/// The strides behind [`root_of_strides`], unless they are too long to stand there.
pub(crate) fn strides_of_root(root: u32) -> Option<[u32; 2]> {
    (root >> 31 == 0).then_some([root >> 16, root & 0xffff])
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.get(usize::from(self.0 >> (BITS - KIND_BITS))).unwrap_or(&"no call of this library"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamped_word_grows_with_the_number_whatever_the_signature() {
        let (low, high) = (Signature::from_bits(0), Signature::from_bits(u16::MAX));
        for number in [0, 1, 1 << 31, (1 << 48) - 2] {
            assert!(high.stamp(number) < low.stamp(number + 1));
            assert_eq!((number_of(high.stamp(number)), signature_of(high.stamp(number))), (number, high));
        }
    }

    #[test]
    fn kinds_are_told_apart_whatever_the_digest() {
        let max = Signature::of(CallKind::Max).with(8, 0);
        assert!(max.is_like(Signature::of(CallKind::Max).with(1 << 40, 7)));
        assert!(!max.is_like(Signature::of(CallKind::Min).with(8, 0)));
        assert_eq!(max.to_string(), "shmem_max_to_all or shmem_max_reduce");
        assert_eq!(Signature::of(CallKind::Values).to_string(), "an exchange of values");
        assert_eq!(Signature::from_bits(u16::MAX).to_string(), "no call of this library");
    }

    #[test]
    fn small_sizes_and_roots_have_digests_of_their_own() {
        let all = |of: &dyn Fn(u32) -> Signature| -> std::collections::BTreeSet<u16> {
            (0..64).map(|i| of(i).bits()).collect()
        };
        // Some coincide; a mistake that stays unnoticed by chance does no harm.
        assert!(all(&|i| Signature::of(CallKind::Sum).with(8 * i as usize, 0)).len() >= 60);
        assert!(all(&|i| Signature::of(CallKind::Broadcast).with(64, i)).len() >= 60);
    }

    #[test]
    fn strides_have_a_root_that_tells_which_is_which() {
        for (dst, sst) in [(1, 1), (2, 3), (3, 2), (1, 6), (0, PLAIN_STRIDES - 1), (PLAIN_STRIDES - 1, 0)] {
            assert_eq!(strides_of_root(root_of_strides(dst, sst)), Some([dst as u32, sst as u32]));
        }
        for (dst, sst) in [(PLAIN_STRIDES, 1), (1, PLAIN_STRIDES), (-1, 1), (1, isize::MIN)] {
            assert_eq!(strides_of_root(root_of_strides(dst, sst)), None, "{dst} {sst}");
        }
        assert_ne!(root_of_strides(1 << 20, 2), root_of_strides(2, 1 << 20));
    }

    #[test]
    fn posted_broadcasts_change_the_digest_and_not_the_kind() {
        let max = Signature::of(CallKind::Max).with(8, 0);
        for posted in [0, 1 << 21, 0x9e37_79b1, u32::MAX] {
            assert!(max.after(posted).is_like(max));
            assert_eq!(max.after(posted).after(posted), max);
            assert_eq!(max.after(posted) == max, posted == 0);
        }
    }

    /// Three members that count in with one, two and three elements: the sum of their signatures is that of one of them three times
    /// only by chance.
    #[test]
    fn sums_of_different_sizes_seldom_look_like_sums_of_one() {
        let bits = |n: usize| u32::from(Signature::of(CallKind::Max).with(4 * n, 0).bits());
        let pairs = || (1..64).flat_map(|n| (1..64).map(move |apart| (n, apart)));
        let looks_alike = |(n, apart): (usize, usize)| bits(n) + bits(n + 2 * apart) == 2 * bits(n + apart);
        let alike = pairs().filter(|&pair| looks_alike(pair)).count();
        // One of 2^11 digests is a third one's by chance: 2 of these pairs, and not all, as where digests are equally spaced.
        assert!(alike <= 12, "{alike} of {}", pairs().count());
    }
}
