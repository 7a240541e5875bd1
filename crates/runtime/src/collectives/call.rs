//! One call of a collective.

mod addresses;
mod mismatch;

use core::cell::OnceCell;

use oxshmem_base::{Error, planted};
use oxshmem_flight::calls::CallSubject;

use crate::collectives::signature::{CallKind, Signature};
use crate::diagnosis::errors;
use crate::diagnosis::recorder::RecordedCall;
use crate::memory::control::{CallDeclaration, ControlBlock};
use crate::memory::direct::FAST;
use crate::teams::team::TeamState;
use crate::transfers::range;
use crate::wait::{self, Collectives, Needs, Reason, suspended};

pub(crate) use addresses::member_share;

/// One collective call of one team, as the caller makes it.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) team: &'a TeamState,
    /// Name of the C call, for messages.
    pub(crate) name: &'static str,
    /// The call that the other members must be in, too.
    pub(crate) signature: Signature,
    /// The record that is written later, if there is one.
    late: Option<&'a LateRecord<'a>>,
}

/// The record of a call whose members wait for nothing but each other. It is written when they have their messages: the caller waits
/// then anyhow, so the record delays no member. The call ends when this is dropped.
pub(crate) struct LateRecord<'a> {
    call: Call<'a>,
    bytes: usize,
    begun: OnceCell<RecordedCall>,
}

impl LateRecord<'_> {
    #[inline(always)]
    fn begin(&self, meeting: u64) {
        self.begun.get_or_init(|| self.call.begin_record(self.bytes, meeting));
    }
}

impl Drop for LateRecord<'_> {
    /// A call of nothing sends nothing.
    #[inline(always)]
    fn drop(&mut self) {
        self.begin(self.call.team.meetings() + 1);
    }
}

impl<'a> Call<'a> {
    /// A barrier or a sync, unless [`Self::declare`] says otherwise.
    #[inline(always)]
    pub(crate) fn new(team: &'a TeamState, name: &'static str) -> Self {
        Self::of(team, name, CallKind::Barrier)
    }

    /// A call of that kind, of which only the kind must agree.
    #[inline(always)]
    pub(crate) fn of(team: &'a TeamState, name: &'static str, kind: CallKind) -> Self {
        let kind = if suspended::any() { behind_suspended(team, name, kind) } else { kind };
        Self { team, name, signature: Signature::of(kind), late: None }
    }

    /// Why the caller waits for a word.
    #[inline(always)]
    pub(crate) fn reason<T>(self, word: &T) -> Reason<'a> {
        Reason { call: self.name, address: core::ptr::from_ref(word) as usize, needs: self.team.needed() }
    }

    /// Declares the kind of the call: `bytes` is the size that must agree, `root` what else must. The declaration stands in the
    /// control window for members that find that they are in different calls.
    #[inline(always)]
    pub(crate) fn declare(self, kind: CallKind, bytes: usize, root: u32) -> Self {
        let signature = Signature::of(kind).with(bytes, root);
        // A call without bytes sends nothing, so it does not advance the team's history.
        if bytes > 0 {
            let (slot, history) = (self.team.slot, self.team.history());
            let declaration = CallDeclaration::new(signature.bits(), bytes, root, slot, history);
            ControlBlock::own().call_words().statement.write(declaration.words());
        }
        Self { signature, ..self }
    }

    /// Declares how many splits of the team this PE has made, in the call with which the team ends. Most splits send nothing, so a
    /// PE that has missed one is noticed there.
    pub(crate) fn declare_splits(self, kind: CallKind) -> Self {
        // A declaration of 0 bytes is not written.
        self.declare(kind, self.team.leases_given() as usize + 1, 0)
    }

    /// Records the call, which moves so many bytes, until the result is dropped.
    #[inline(always)]
    pub(crate) fn record(self, bytes: usize) -> RecordedCall {
        self.begin_record(bytes, self.team.meetings() + 1)
    }

    /// The same at a better moment: see [`Self::with_late_record`].
    #[inline(always)]
    pub(crate) fn record_late(self, bytes: usize) -> LateRecord<'a> {
        LateRecord { call: self, bytes, begun: OnceCell::new() }
    }

    /// The call whose record is `late`, which [`Self::write_late_record`] writes.
    #[inline(always)]
    pub(crate) fn with_late_record<'b>(self, late: &'b LateRecord<'a>) -> Call<'b>
    where
        'a: 'b,
    {
        Call { late: Some(late), ..self }
    }

    /// Writes the record, if that has been left to later: the members have their messages, or get them by calls that take longer.
    /// `meeting` is the number of the team's meeting that this call is.
    #[inline(always)]
    pub(crate) fn write_late_record(self, meeting: u64) {
        if let Some(late) = self.late {
            late.begin(meeting);
        }
    }

    #[inline(always)]
    fn begin_record(self, bytes: usize, meeting: u64) -> RecordedCall {
        let team = self.team.slot.map(|slot| (slot, meeting));
        RecordedCall::begin(self.name, CallSubject { peer: None, team, bytes: bytes as u64 })
    }

    /// Ends the job with a message unless both arrays of the caller, each with its bytes, are symmetric. Every way of a
    /// collective relies on that: it multiplies lengths, and copies, without another look at the caller's own arrays.
    #[inline(always)]
    pub(crate) fn require_symmetric(self, dest: (*const u8, usize), source: (*const u8, usize)) {
        let believes = |array: (*const u8, usize)| FAST.believes_array(array.0 as usize, array.1);
        if !(believes(dest) && believes(source)) {
            self.require_symmetric_arrays([("dest", dest), ("source", source)]);
        }
    }

    /// The same of arrays with other names.
    #[cold]
    #[inline(never)]
    pub(crate) fn require_symmetric_arrays<const N: usize>(self, arrays: [(&str, (*const u8, usize)); N]) {
        for (name, (array, bytes)) in arrays {
            match bytes {
                0 => {}
                _ if array.is_null() => self.null(name),
                _ if bytes > isize::MAX as usize => errors::longer_than_memory(self.name, name, array as usize, bytes),
                _ => _ = range::symmetric_argument(self.name, name, array as usize, bytes),
            }
        }
    }

    fn null(self, argument: &str) -> ! {
        errors::fail(
            &Error::new(format!("{}: {argument} is NULL", self.name))
                .because("the call moves at least one element, and needs symmetric memory for it")
                .fix("pass a static variable or memory from shmem_malloc, and look whether the allocation succeeded"),
        )
    }
}

/// Returns when the team's collectives that have been suspended are over: its collectives take place in the order of their
/// calls. The kind of the call among these.
#[cold]
#[inline(never)]
fn behind_suspended(team: &TeamState, name: &'static str, kind: CallKind) -> CallKind {
    if suspended::is_suspended() {
        return if kind == CallKind::Barrier { CallKind::IssuedBarrier } else { kind };
    }
    let key = Call::key(team);
    if planted!("blocking-before-its-turn", suspended::pending(key) > 0, false) {
        let needs = Needs::Collectives(Collectives::Of(team, key));
        wait::until(Reason { call: name, address: 0, needs }, None, || {
            suspended::move_on();
            (suspended::pending(key) == 0).then_some(())
        });
    }
    kind
}

impl Call<'_> {
    /// The key under which the team's collectives are suspended.
    pub(crate) fn key(team: &TeamState) -> usize {
        core::ptr::from_ref(team) as usize
    }

    /// Whether the member is on the caller's node.
    pub(crate) fn is_here(self, member: u32) -> bool {
        self.team.span.as_ref().is_none_or(|span| span.node_of(member) == span.node())
    }
}
