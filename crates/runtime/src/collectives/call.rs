//! One call of a collective.

mod words;

use core::cell::OnceCell;
use core::cmp::Ordering;

use oxshmem_base::{Error, planted, size};
use oxshmem_flight::calls::CallSubject;
use oxshmem_transport::{Region, Remote};

use crate::collectives::signature::{CallKind, Signature};
use crate::diagnosis::errors;
use crate::diagnosis::recorder::RecordedCall;
use crate::memory::control;
use crate::memory::control::{CallDeclaration, ControlBlock};
use crate::network::lane;
use crate::start::job;
use crate::teams::team::TeamState;
use crate::transfers::direct::{FAST, near};
use crate::transfers::range;
use crate::wait::{self, Collectives, Needs, Reason, suspended};
use words::{verb, words};

/// Slices begin at cache lines.
const LINE: usize = 64;

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
    /// A barrier or a sync, unless [`Self::is`] says otherwise.
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

    /// Declares the kind of the call: `bytes` is the size that must agree, `root` what else must. The declaration stands in the
    /// control window for members that find that they are in different calls.
    #[inline(always)]
    pub(crate) fn declare(self, kind: CallKind, bytes: usize, root: u32) -> Self {
        let signature = Signature::of(kind).with(bytes, root);
        // A call without bytes sends nothing, so it does not advance the team's history.
        if bytes > 0 {
            ControlBlock::own().call_words().statement.write(
                signature.bits(),
                bytes,
                root,
                self.team.slot,
                self.team.history(),
            );
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

    /// The same at a better moment: see [`Self::with`].
    #[inline(always)]
    pub(crate) fn record_late(self, bytes: usize) -> LateRecord<'a> {
        LateRecord { call: self, bytes, begun: OnceCell::new() }
    }

    /// The call whose record is `late`, which [`Self::recorded`] writes.
    #[inline(always)]
    pub(crate) fn with<'b>(self, late: &'b LateRecord<'a>) -> Call<'b>
    where
        'a: 'b,
    {
        Call { late: Some(late), ..self }
    }

    /// Writes the record, if that has been left to later: the members have their messages, or get them by calls that take longer.
    /// `meeting` is the number of the team's meeting that this call is.
    #[inline(always)]
    pub(crate) fn recorded(self, meeting: u64) {
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
    pub(crate) fn needs(self, dest: (*const u8, usize), source: (*const u8, usize)) {
        let believes = |array: (*const u8, usize)| FAST.believes_array(array.0 as usize, array.1);
        if !(believes(dest) && believes(source)) {
            self.look_at([("dest", dest), ("source", source)]);
        }
    }

    /// The same of two arrays with other names.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_at(self, arrays: [(&str, (*const u8, usize)); 2]) {
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

    /// Ends the job: a member is in another call. `None`: some member on another node is.
    #[cold]
    #[inline(never)]
    pub(crate) fn differs(self, member: Option<u32>, theirs: Signature) -> ! {
        let mine = ControlBlock::own().call_words().statement.read();
        let member = member.or_else(|| self.elsewhere(theirs));
        let said = member.map(|member| self.statement_of(member));
        let (members, all, me) = if self.is_of_all() {
            ("the PEs", "all PEs", self.team.world(self.team.my))
        } else {
            ("the members of the team", "all members", self.team.my)
        };
        let who = match member {
            Some(member) if self.is_of_all() => format!("PE {}", self.team.world(member)),
            Some(member) => format!("PE {member} of the team"),
            None => "a PE on another node".into(),
        };
        let is_like = theirs.is_like(self.signature);
        if is_like && self.signature.ends_team() {
            let said = said.filter(|said| said.signature() == theirs.bits());
            let team = if self.is_of_all() { "the team of all PEs" } else { "the team" };
            let own = format!("this PE ({me})");
            let why = match said.map(|said| said.bytes.cmp(&mine.bytes)) {
                Some(Ordering::Greater) => format!("{who} has made a split of {team} that {own} has not made"),
                Some(Ordering::Less) => format!("{own} has made a split of {team} that {who} has not made"),
                Some(Ordering::Equal) | None => format!("{who} has made other splits of {team} than {own}"),
            };
            errors::fail(
                &Error::new(format!("{}: {members} have not made the same splits of {team}", self.name))
                    .because(why)
                    .fix(format!("let {all} make every split of the team, also where they are in no part of it")),
            );
        }
        let are_declared = mine.signature() == self.signature.bits()
            && said.is_some_and(|said| said.signature() == theirs.bits() && said.root() == mine.root());
        if let Some(said) = said.filter(|said| is_like && are_declared && said.bytes != mine.bytes) {
            let (theirs, own) = (size::counted(said.bytes), size::counted(mine.bytes));
            errors::fail(
                &Error::new(format!("{}: {members} pass different lengths", self.name))
                    .because(format!("{who} {} {theirs}, this PE ({me}) {own}", verb(self.signature)))
                    .fix(errors::equal_lengths(self.name, all)),
            );
        }
        let have_types = is_like && said.is_some_and(|said| said.root() != mine.root());
        let own = words(self.signature, mine, have_types);
        let ends = [theirs, self.signature].iter().any(|call| call.is_like(Signature::of(CallKind::Finalize)));
        let fix = if ends {
            format!(
                "let {all} make these calls. Look for one inside an `if` on the PE number, or for a PE that left its program early, by \
                 a return, an exit, or an exception that was caught"
            )
        } else {
            format!("let {all} make the same collective calls with the same arguments in the same order")
        };
        let other = words(theirs, said.unwrap_or_default(), have_types);
        errors::fail(
            &Error::new(format!("{}: {members} make different calls", self.name))
                .because(format!("{who} is in {other}, this PE ({me}) in {own}"))
                .fix(fix),
        )
    }

    /// Whether all PEs of the job are members, whose numbers are those of the job then.
    fn is_of_all(self) -> bool {
        job::identity().is_some_and(|(_, pes)| pes == self.team.size)
    }

    /// The same if it is only known that the member is in another call: the message has the member's own declaration.
    #[cold]
    #[inline(never)]
    pub(crate) fn differs_from(self, member: u32) -> ! {
        self.differs(Some(member), Signature::from_bits(self.statement_of(member).signature()))
    }

    /// The leader of another node that has said so.
    fn elsewhere(self, theirs: Signature) -> Option<u32> {
        let span = self.team.span.as_ref()?;
        let mut leaders = (0..span.nodes()).filter(|&node| node != span.node()).map(|node| span.leader(node));
        if span.nodes() == 2 {
            return leaders.next();
        }
        // A handful of questions is answered at once; a thousand would be no help any more.
        leaders.take(64).find(|&leader| self.statement_of(leader).signature() == theirs.bits())
    }

    /// The last statement of a member.
    fn statement_of(self, member: u32) -> CallDeclaration {
        let pe = self.team.world(member);
        if let Some(window) = job::window_of(pe) {
            return ControlBlock::of(window).call_words().statement.read();
        }
        let mut words = [0_u64; CallDeclaration::BYTES / 8];
        let offset = control::offset(&raw const ControlBlock::own().call_words().statement);
        let from = Remote { pe, region: Region::Control, offset };
        // SAFETY: a statement lies in the part of every control window that other nodes reach; `words` has room for one
        // and stays until `complete` has returned.
        lane::issue(self.name, |lane| unsafe { lane.get_nbi(words.as_mut_ptr().cast(), from, size_of_val(&words)) });
        lane::complete(self.name);
        CallDeclaration::from_words(words)
    }

    /// The signature of the call that a member of the node declares, if that is another one at the same point of the team's history.
    /// The caller's declaration must be that of this call: if the two PEs declare calls of different teams with the same slot, these
    /// calls are unrelated.
    pub(crate) fn contradiction(self, member: u32) -> Option<Signature> {
        let own = ControlBlock::own().call_words().statement.read();
        let theirs = ControlBlock::of(self.team.window(member)).call_words().statement.read();
        let differs = own.is_of(self.signature.bits(), self.team.slot) && theirs.signature() != own.signature();
        (differs && theirs.is_of_the_same_turn(own)).then(|| Signature::from_bits(theirs.signature()))
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

    /// Where member `member` has the caller's symmetric `address`.
    #[inline(always)]
    pub(crate) fn at(self, member: u32, address: *const u8, bytes: usize) -> *mut u8 {
        match near(address, bytes, self.team.world(member)) {
            Some(there) => there,
            None => self.at_checked(member, address, bytes),
        }
    }

    /// The name of the caller's symmetric `address` on all members.
    pub(crate) fn name_of(self, address: *const u8, bytes: usize) -> u64 {
        let at = address as usize;
        FAST.name(at, bytes).unwrap_or_else(|| errors::not_symmetric(self.name, "", at, bytes))
    }

    /// Where the caller has the `bytes` bytes at `offset` of its symmetric array `dest`, which reaches at least to their end.
    #[inline(always)]
    pub(crate) fn part_of_dest(self, dest: *mut u8, offset: usize, bytes: usize) -> *mut u8 {
        match near(dest.wrapping_add(offset), bytes, self.team.world(self.team.my)) {
            Some(there) => there,
            None => self.part_checked(dest, offset, bytes),
        }
    }

    /// The end of one object may be the beginning of the next one, so `SHMEM_CHECK=2` looks at the array from its beginning on.
    #[cold]
    #[inline(never)]
    fn part_checked(self, dest: *mut u8, offset: usize, bytes: usize) -> *mut u8 {
        let (extent, _) = range::symmetric_argument(self.name, "dest", dest as usize, offset.saturating_add(bytes));
        extent.in_window(dest.wrapping_add(offset) as usize, self.team.window(self.team.my)) as *mut u8
    }

    #[cold]
    #[inline(never)]
    fn at_checked(self, member: u32, address: *const u8, bytes: usize) -> *mut u8 {
        let at = address as usize;
        let (extent, _) = range::symmetric(self.name, at, bytes);
        extent.in_window(at, self.team.window(member)) as *mut u8
    }
}

/// Which byte of the symmetric memory `address` is, in terms that are the same on all PEs.
pub(crate) fn place_of(address: *const u8) -> u64 {
    let at = address as usize;
    let (extent, arena) = if FAST.heap.holds(at, 1) { (&FAST.heap, 0) } else { (&FAST.statics, 1) };
    (at.wrapping_sub(extent.own().0) as u64) << 1 | arena
}

/// The elements that member `my` of `members` works on: begin and end.
pub(crate) fn slice(n: usize, size: usize, my: usize, members: usize) -> (usize, usize) {
    let step = (LINE / size).max(1);
    let share = n.div_ceil(members).next_multiple_of(step);
    ((my * share).min(n), ((my + 1) * share).min(n))
}
