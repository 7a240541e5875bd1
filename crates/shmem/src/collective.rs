//! Collectives over symmetric slices: all members of a team call them, with the same slices.

use oxshmem_reduce::{And, Max, Min, Operand, Or, Prod, Sum, Xor};
use oxshmem_runtime as runtime;

use crate::backend::{binding, collective as calls, combine, number, rma, team};
use crate::epoch::ExchangeKind;
use crate::overlap::{apart, disjoint, disjoint_rows, first};
use crate::{Error, Plain, Symmetric, Team, mistake};

impl Team<'_> {
    /// Copies the root's `source` to every member's `dest`.
    ///
    /// Slices whose lengths do not fit together end the job, here and in all collectives: the standard calls that
    /// undefined. So do slices that overlap, except one slice that is both `dest` and `source`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (dest, source) = (world.allocate_slice(2, 0)?, world.allocate_slice(2, 5)?);
    /// world.broadcast(&dest, &source, 0);
    /// assert_eq!(dest.to_vec(), [5, 5]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_broadcast")]
    #[track_caller]
    pub fn broadcast<T: Plain>(&self, dest: &Symmetric<[T]>, source: &Symmetric<[T]>, root: usize) {
        const CALL: &str = "Team::broadcast";
        apart(CALL, dest, source);
        let team = self.meet(CALL, dest, Some(source.len()));
        // SAFETY: places are symmetric or the call ends the job, both have the elements and are the same or do not
        // overlap, and one thread has the team.
        unsafe { calls::broadcast(team, dest.as_ptr(), source.as_ptr(), source.len(), number(root)) };
    }

    /// Concatenates the `source` of all members, all of one length, in every member's `dest`. Slices that have elements in
    /// common end the job.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (dest, source) = (world.allocate_slice(2 * world.n_pes(), 0)?, world.allocate_slice(2, 5)?);
    /// world.fcollect(&dest, &source);
    /// assert!(dest.to_vec().iter().all(|&number| number == 5));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_fcollect")]
    #[track_caller]
    pub fn fcollect<T: Plain>(&self, dest: &Symmetric<[T]>, source: &Symmetric<[T]>) {
        const CALL: &str = "Team::fcollect";
        disjoint(CALL, dest, source);
        let team = self.meet(CALL, dest, source.len().checked_mul(self.n_pes()));
        // SAFETY: places are symmetric or the call ends the job; `meet` has checked that `dest` has room for all members'
        // elements and `disjoint` that it has none of `source`, and one thread has the team.
        unsafe { calls::fcollect(team, dest.as_ptr(), source.as_ptr(), source.len()) };
    }

    /// Concatenates the first elements of all members' `source`, `count` of this PE's, in every member's `dest`. Returns
    /// how many there are in all. If `dest` has some of these elements of `source`, the job ends.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (dest, source) = (world.allocate_slice(9, 0)?, world.allocate_slice(3, 5)?);
    /// assert_eq!(world.collect(&dest, &source, 2), 2 * world.n_pes());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_collect")]
    #[track_caller]
    pub fn collect<T: Plain>(&self, dest: &Symmetric<[T]>, source: &Symmetric<[T]>, count: usize) -> usize {
        const CALL: &str = "Team::collect";
        const GET: runtime::InWorld = runtime::InWorld(CALL);
        source.fits(CALL, count);
        disjoint(CALL, dest, first(source, count));
        let team = self.enter(CALL);
        let mut counts = Vec::with_capacity(self.n_pes());
        // The sizes are the members' word, so they are looked at before anything is copied by them.
        // SAFETY: one thread has the team.
        unsafe {
            binding::exchange(team, CALL, ExchangeKind::Sizes as u8, size_of::<u64>(), &[count as u64], |_, words| {
                counts.push(words[0])
            });
        }
        let needed = counts.iter().fold(0_usize, |sum, &count| sum.saturating_add(count as usize));
        let (mut at, mut under_way) = (0_usize, false);
        for (pe, count) in counts.into_iter().enumerate() {
            let count = count as usize;
            source.fits(CALL, count);
            let Some(part) = dest.part(at..at.saturating_add(count)) else { mismatch(CALL, dest.len(), needed) };
            let world = self.world_number(pe);
            // SAFETY: `part` is this PE's own, as long as what is read, and left alone until all is there.
            under_way |= unsafe { rma::begin_get(GET, part.as_ptr(), source.as_ptr(), count, world) };
            at += count;
        }
        complete(GET, under_way);
        self.sync();
        at
    }

    /// Sends block i of this PE's `source` to member i, where it becomes the block with this PE's number. Slices that have
    /// elements in common end the job.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (dest, source) = (world.allocate_slice(world.n_pes(), 0)?, world.allocate_slice(world.n_pes(), 5)?);
    /// world.alltoall(&dest, &source);
    /// assert_eq!(dest.to_vec(), source.to_vec());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_alltoall")]
    #[track_caller]
    pub fn alltoall<T: Plain>(&self, dest: &Symmetric<[T]>, source: &Symmetric<[T]>) {
        const CALL: &str = "Team::alltoall";
        let block = source.len() / self.n_pes().max(1);
        lengths(CALL, source.len(), Some(block * self.n_pes()));
        disjoint(CALL, dest, source);
        let team = self.meet(CALL, dest, Some(source.len()));
        // SAFETY: places are symmetric or the call ends the job; both have a block for each member and no element in common,
        // and one thread has the team.
        unsafe { calls::alltoall(team, dest.as_ptr(), source.as_ptr(), block) };
    }

    /// [`alltoall`](Self::alltoall) of blocks of `count` elements that are strided on both sides: element i of what comes
    /// from member m goes to place `(m * count + i) * dest_stride`; its place in the source is alike. What does not fit
    /// ends the job; a stride of 0 does not. Elements that are both read and written end it, too.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let n = world.n_pes();
    /// let (dest, source) = (world.allocate_slice(6 * n, 0)?, world.allocate_slice(2 * n, 0)?);
    /// source.store_all(1..);
    /// world.alltoall_strided(&dest, 3, &source, 1, 2);
    /// assert_eq!(dest.to_vec()[..6], [1, 0, 0, 2, 0, 0]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_alltoalls")]
    #[track_caller]
    pub fn alltoall_strided<T: Plain>(
        &self,
        dest: &Symmetric<[T]>,
        dest_stride: usize,
        source: &Symmetric<[T]>,
        source_stride: usize,
        count: usize,
    ) {
        const CALL: &str = "Team::alltoall_strided";
        for (slice, stride) in [(dest, dest_stride), (source, source_stride)] {
            let last = count.saturating_mul(self.n_pes()).saturating_sub(1);
            if count > 0 && (stride == 0 || last.saturating_mul(stride) >= slice.len()) {
                mismatch(CALL, slice.len(), last.saturating_mul(stride).saturating_add(1));
            }
        }
        disjoint_rows(CALL, (dest, dest_stride), (source, source_stride), count.saturating_mul(self.n_pes()));
        let team = self.enter(CALL);
        // SAFETY: one thread has the team; places are symmetric, and the last element is inside both slices.
        unsafe {
            binding::agree_on_destination(team, CALL, dest.as_ptr().cast(), size_of_val(dest));
            // The one element of a team of one may have any stride.
            let [to, from] = [dest_stride, source_stride].map(|stride| isize::try_from(stride).unwrap_or(isize::MAX));
            calls::alltoalls(team, dest.as_ptr(), source.as_ptr(), to, from, count);
        }
    }

    /// Sends `counts[i]` elements of this PE's `source` to member i, one block after the other. In `dest` they follow
    /// those of the members before this one. Returns how many have come from each.
    ///
    /// The counts are symmetric memory because their receivers read them. What does not fit ends the job, and so do elements
    /// that are sent and lie in `dest`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let n = world.n_pes();
    /// let (dest, source) = (world.allocate_slice(9 * n, 0)?, world.allocate_slice(9 * n, 5)?);
    /// let counts = world.allocate_slice(n, 3_usize)?;
    /// assert_eq!(world.alltoallv(&dest, &source, &counts), vec![3; n]);
    /// assert_eq!(dest.to_vec()[..3], [5, 5, 5]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmemx_alltoallv_packed")]
    #[track_caller]
    pub fn alltoallv<T: Plain>(
        &self,
        dest: &Symmetric<[T]>,
        source: &Symmetric<[T]>,
        counts: &Symmetric<[usize]>,
    ) -> Vec<usize> {
        const CALL: &str = "Team::alltoallv";
        const GET: runtime::InWorld = runtime::InWorld(CALL);
        lengths(CALL, counts.len(), Some(self.n_pes()));
        let sent = counts.to_vec().iter().fold(0_usize, |sum, &count| sum.saturating_add(count));
        disjoint(CALL, dest, first(source, sent));
        self.enter(CALL);
        self.sync();
        let (me, n) = (self.my_pe(), self.n_pes());
        let (mut at, mut come, mut under_way) = (0_usize, Vec::with_capacity(n), false);
        // A row has what a member sends to the members up to this one.
        let (width, several) = (me + 1, rows_at_once(me + 1, n));
        let mut rows = vec![0_usize; width * several];
        for begin in (0..n).step_by(several) {
            let members = begin..n.min(begin + several);
            for (member, row) in members.clone().zip(rows.chunks_exact_mut(width)) {
                let from = self.world_number(member);
                // SAFETY: the row has room for what is read, and is left alone until all is there.
                under_way |= unsafe { rma::begin_get(GET, row.as_mut_ptr(), counts.as_ptr(), width, from) };
            }
            complete(GET, under_way);
            under_way = false;
            for (member, row) in members.zip(rows.chunks_exact(width)) {
                let before = row[..me].iter().fold(0_usize, |sum, &count| sum.saturating_add(count));
                let count = row[me];
                let Some(block) = source.part(before..before.saturating_add(count)) else {
                    mismatch(CALL, source.len(), before.saturating_add(count))
                };
                let Some(part) = dest.part(at..at.saturating_add(count)) else {
                    let others = (member + 1..n).map(|other| counts[me].get(self.world_number(other) as usize));
                    mismatch(CALL, dest.len(), others.fold(at.saturating_add(count), usize::saturating_add))
                };
                let from = self.world_number(member);
                // SAFETY: `part` is this PE's own, as long as what is read, and left alone until all is there.
                under_way |= unsafe { rma::begin_get(GET, part.as_ptr(), block.as_ptr(), count, from) };
                at += count;
                come.push(count);
            }
        }
        complete(GET, under_way);
        self.sync();
        come
    }

    /// Begins a collective that fills `dest`, which must have `expected` elements.
    #[inline(always)]
    #[track_caller]
    fn meet<T: Plain>(
        &self,
        call: &'static str,
        dest: &Symmetric<[T]>,
        expected: Option<usize>,
    ) -> runtime::TeamHandle {
        lengths(call, dest.len(), expected);
        let team = self.enter(call);
        // SAFETY: one thread has the team.
        unsafe { binding::agree_on_destination(team, call, dest.as_ptr().cast(), size_of_val(dest)) };
        team
    }

    /// The world's number of member `pe`.
    fn world_number(&self, pe: usize) -> i32 {
        // SAFETY: the team lives as long as `self`, and the world longer than any team.
        unsafe { team::translate_pe(self.handle(), number(pe), runtime::TeamHandle::world()) }
    }
}

/// The description of a collective that combines elements.
macro_rules! combine {
    ($($what:literal $name:ident $call:ident $op:ident $of:ident $alias:literal, $expect:literal;)*) => {
        impl Team<'_> {$(
            #[doc = concat!($what, " of all members' elements, place by place; all members get it. `dest` may be `source`.")]
            ///
            /// ```
            /// let world = oxshmem::World::init()?;
            /// let (dest, source) = (world.allocate_slice(3, 0_u32)?, world.allocate_slice(3, 6)?);
            #[doc = concat!("world.", stringify!($name), "(&dest, &source);")]
            #[doc = concat!("assert_eq!(dest.to_vec(), [6; 3]); // as there is one PE")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = $alias)]
            #[inline]
            #[track_caller]
            pub fn $name<T: Plain + Operand<$op>>(&self, dest: &Symmetric<[T]>, source: &Symmetric<[T]>) {
                const CALL: &str = concat!("Team::", stringify!($name));
                apart(CALL, dest, source);
                let team = self.meet(CALL, dest, Some(source.len()));
                // SAFETY: places are symmetric or the call ends the job; both have the elements, `apart` has checked that
                // they are the same or do not overlap, and one thread has the team.
                unsafe { combine::$call(team, dest.as_ptr(), source.as_ptr(), source.len()) };
            }

            #[doc = concat!($what, " of all members' `value`; all members get it. Needs no symmetric memory.")]
            ///
            /// ```
            /// let world = oxshmem::World::init()?;
            #[doc = $expect]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[inline]
            #[must_use]
            #[track_caller]
            pub fn $of<T: Plain + Operand<$op>>(&self, value: T) -> T {
                self.combined::<$op, T>(concat!("Team::", stringify!($of)), value)
            }
        )*}
    };
}

combine! {
    "The greatest" max max_reduce Max max_of "shmem_max_reduce", "assert_eq!(world.max_of(2.5), 2.5);";
    "The least" min min_reduce Min min_of "shmem_min_reduce", "assert_eq!(world.min_of(-1), -1);";
    "The sum" sum sum_reduce Sum sum_of "shmem_sum_reduce", "assert_eq!(world.sum_of(1), world.n_pes() as i32);";
    "The product" prod prod_reduce Prod prod_of "shmem_prod_reduce", "assert_eq!(world.prod_of(1_u64), 1);";
    "The bitwise and" and and_reduce And and_of "shmem_and_reduce", "assert_eq!(world.and_of(6_u8), 6);";
    "The bitwise or" or or_reduce Or or_of "shmem_or_reduce", "assert_eq!(world.or_of(6_u8), 6);";
    "The bitwise exclusive or" xor xor_reduce Xor xor_of "shmem_xor_reduce",
        "assert_eq!(world.xor_of(6_u8), if world.n_pes() % 2 == 0 { 0 } else { 6 });";
}

macro_rules! scans {
    ($($what:literal $name:ident $alias:literal, $expect:literal;)*) => {
        impl Team<'_> {$(
            #[doc = concat!("The sums over all members before this one", $what, ", place by place.")]
            ///
            /// ```
            /// let world = oxshmem::World::init()?;
            /// let (dest, source) = (world.allocate_slice(3, 9)?, world.allocate_slice(3, 1)?);
            #[doc = concat!("world.", stringify!($name), "(&dest, &source);")]
            #[doc = $expect]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = $alias)]
            #[track_caller]
            pub fn $name<T: Plain + Operand<Sum>>(&self, dest: &Symmetric<[T]>, source: &Symmetric<[T]>) {
                const CALL: &str = concat!("Team::", stringify!($name));
                apart(CALL, dest, source);
                let team = self.meet(CALL, dest, Some(source.len()));
                // SAFETY: places are symmetric or the call ends the job; both have the elements, `apart` has checked that
                // they are the same or do not overlap, and one thread has the team.
                unsafe { combine::$name(team, dest.as_ptr(), source.as_ptr(), source.len()) };
            }
        )*}
    };
}

scans! {
    " and itself" sum_inscan "shmem_sum_inscan", "assert_eq!(dest.to_vec(), [world.my_pe() as i32 + 1; 3]);";
    "" sum_exscan "shmem_sum_exscan", "assert_eq!(dest.to_vec(), [world.my_pe() as i32; 3]);";
}

/// How many rows of counts are under way at once: those of all members, as far as half a MiB has room for them.
fn rows_at_once(width: usize, members: usize) -> usize {
    const COUNTS: usize = 1 << 16;
    (COUNTS / width).clamp(1, members.max(1))
}

/// Waits until all that `begin_get` has begun is there, if some of it may be under way. The race detector is told of gets
/// that wait, and of no quiet: the program has made none.
pub(crate) fn complete(get: runtime::InWorld, under_way: bool) {
    if under_way {
        // SAFETY: the default context is never destroyed.
        unsafe { runtime::calls::order::quiet(get) }
    }
}

/// Ends the job unless `len` is `expected`.
#[inline(always)]
#[track_caller]
pub(crate) fn lengths(call: &str, len: usize, expected: Option<usize>) {
    if Some(len) != expected {
        mismatch(call, len, expected.unwrap_or(usize::MAX));
    }
}

#[cold]
#[track_caller]
fn mismatch(call: &str, len: usize, expected: usize) -> ! {
    mistake(
        &Error::new(format!("{call}: the lengths of the slices do not fit together"))
            .because(format!("one has {len} elements, and {expected} are needed"))
            .fix("pass parts of the right length: slice[..n]"),
    )
}

#[cfg(test)]
mod tests {
    use super::rows_at_once;

    #[test]
    fn counts_of_all_members_are_under_way_at_once_while_there_is_room() {
        assert_eq!([(1, 5), (5, 5), (1 << 15, 5), (1 << 20, 5)].map(|(width, n)| rows_at_once(width, n)), [5, 5, 2, 1]);
    }
}
