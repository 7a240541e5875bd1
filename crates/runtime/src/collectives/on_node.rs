//! Collectives by bytes, on one node (of several nodes, see `between_nodes::bytes`): exchanges of [`crate::collectives::node_exchange`] around loads from
//! the members' memory.
//!
//! A member writes into another member's memory only after that one has entered (the slices of a large reduction); otherwise
//! each member fetches what it needs into its own destination. So a collective never disturbs a member that has not called it
//! yet, however programs order their calls, and a source may be reused on return because the closing exchange comes after the
//! last load of every member.
//!
//! Data that fits the payload of an exchange travels with it, and the collective costs what a barrier costs.

use core::ptr;

use oxshmem_base::Error;

use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::levels;
use crate::collectives::node_eager;
use crate::collectives::node_exchange;
use crate::collectives::signature::{CallKind, Signature};
use crate::diagnosis::errors;
use crate::memory::control::PAYLOAD_WORDS;
use oxshmem_schedule::way::size_limits::PAYLOAD;

impl Call<'_> {
    /// Copies `bytes` bytes of member `member`'s symmetric `from`, which is ready, to `to`, where they are after
    /// [`Self::fetched`].
    ///
    /// # Safety
    /// `to` is writable for `bytes` bytes.
    #[inline(always)]
    pub(crate) unsafe fn fetch(self, member: u32, from: *const u8, to: *mut u8, bytes: usize) {
        if self.team.span.is_some() {
            // SAFETY: the caller promises `bytes` writable bytes at `to`.
            return unsafe { between_nodes::bytes::fetch(self, member, from, to, bytes) };
        }
        // SAFETY: `at` found all of it; the caller vouches for the rest.
        unsafe { ptr::copy(self.at(member, from, bytes), to, bytes) }
    }

    /// Returns when all that was fetched is there.
    #[inline(always)]
    pub(crate) fn fetched(self) {
        if self.team.span.is_some() {
            between_nodes::bytes::fetched(self);
        }
    }

    /// The members in the order in which the caller visits them: itself first, so that not all begin with one.
    pub(crate) fn members_from_me(self) -> impl Iterator<Item = u32> {
        let (my, size) = (self.team.my, self.team.size);
        (my..size).chain(0..my)
    }

    /// All members enter a collective in which they read each other's arrays by the caller's names, arguments that are symmetric: all must
    /// name the same ones, at most three.
    pub(crate) fn enter_to_read<const N: usize>(self, arrays: [(&'static str, *const u8); N]) {
        let words = arrays.map(|(_, array)| self.compared_name(array));
        if let Some((member, theirs)) = self.first_other(words) {
            let other = (0..N).find(|&at| words[at] != theirs[at]).unwrap_or(0);
            self.other_array(member, arrays[other].0);
        }
    }

    /// Whether all members have the same words, at most three. They meet by this for the price of a barrier: no member looks at what each of
    /// the others has. `false`, on all members alike, also where the team has no such way; then they may not have met.
    pub(crate) fn have_same(self, words: &[u64]) -> bool {
        match &self.team.span {
            Some(span) => between_nodes::agree(self, span, words),
            None => self.team.leveled && levels::agree(self, words),
        }
    }

    /// The same of a collective that writes into the other members' memory: all members must name the same `bytes` bytes of `dest`, and
    /// have the same word about their `source`.
    pub(crate) fn enter_to_write(self, dest: *const u8, bytes: usize, source: u64) {
        let words = [self.compared_name(dest), bytes as u64, source];
        if let Some((member, theirs)) = self.first_other(words) {
            if theirs[..2] != words[..2] {
                self.other_destination(member, dest, bytes);
            }
            self.other_array(member, "source");
        }
    }

    /// The members meet. Returns the first one that has other words than the caller, at most three, and these.
    pub(crate) fn first_other<const N: usize>(self, words: [u64; N]) -> Option<(u32, [u64; N])> {
        if self.have_same(&words) {
            return None;
        }
        let mut other = None;
        // Between nodes and in large teams this only finds out which member differs.
        node_exchange::exchange(self, &words, |member, theirs| {
            let theirs = core::array::from_fn(|at| theirs[at]);
            other = other.or((theirs != words).then_some((member, theirs)));
        });
        other
    }

    /// Ends the job: `member` names another array than the caller for an argument that members read from each other.
    #[cold]
    pub(crate) fn other_array(self, member: u32, argument: &str) -> ! {
        errors::fail(
            &Error::new(format!("{}: the members of the team name different arrays as {argument}", self.name))
                .because(format!("PE {member} of the team names another one than this PE ({})", self.team.my))
                .fix(format!("pass the same symmetric object as {argument} on all members, also where it is not read")),
        )
    }

    /// Ends the job: `member` names another destination than the caller's `dest`, or another length. What is not symmetric has
    /// a name of its own on each member, so that is looked for first.
    #[cold]
    pub(crate) fn other_destination(self, member: u32, dest: *const u8, bytes: usize) -> ! {
        self.name_of(dest, bytes);
        let error = Error::new(format!("{}: the members of the team name different destinations", self.name));
        // The members of a collect may pass different numbers of elements.
        if self.signature.is_like(Signature::of(CallKind::Collect)) {
            errors::fail(
                &error
                    .because(format!("PE {member} of the team names another place than this PE ({})", self.team.my))
                    .fix("pass the same symmetric object as dest on all members, also on those that pass no elements"),
            );
        }
        errors::fail(
            &error
                .because(format!(
                    "PE {member} of the team names another place or length than this PE ({}), which names {bytes} bytes of \
                     symmetric memory",
                    self.team.my
                ))
                .fix("pass the same symmetric object and the same number of elements on all members"),
        )
    }

    pub(crate) fn leave(self) {
        node_exchange::synchronise(self);
    }

    pub(crate) fn check_root(self, root: i64) -> u32 {
        if !(0..i64::from(self.team.size)).contains(&root) {
            errors::bad_argument(self.name, "PE_root", root, &format!("0 to {}", self.team.size - 1));
        }
        root as u32
    }
}

/// The caller's `bytes` bytes, which `write` writes, go to all members, and `take` finds those of each, the caller's own included: as the
/// payload of an exchange, or through the eager buffers of a node, for which they must be short enough.
#[inline(always)]
pub(crate) fn exchange_bytes(
    call: Call<'_>,
    bytes: usize,
    write: impl FnOnce(*mut u8),
    mut take: impl FnMut(u32, *const u8),
) {
    if bytes > PAYLOAD {
        return node_eager::exchange(call, bytes, write, take);
    }
    let mut words = [0_u64; PAYLOAD_WORDS];
    write(words.as_mut_ptr().cast());
    node_exchange::exchange(call, &words[..words_of(bytes)], |member, theirs| take(member, theirs.as_ptr().cast()));
}

/// The bytes of `source` as payload words.
///
/// # Safety
/// `source` is readable for `bytes` bytes, at most [`PAYLOAD`].
#[inline(always)]
pub(crate) unsafe fn payload(source: *const u8, bytes: usize) -> [u64; PAYLOAD_WORDS] {
    let mut words = [0; PAYLOAD_WORDS];
    // SAFETY: the caller promises `bytes` readable bytes at `source`, at most as many as the words have.
    unsafe { ptr::copy_nonoverlapping(source, words.as_mut_ptr().cast(), bytes) };
    words
}

/// How many words hold `bytes` bytes.
#[inline(always)]
pub(crate) fn words_of(bytes: usize) -> usize {
    bytes.div_ceil(8)
}
