//! Members of a team that are in different calls: how that is noticed, and the message that ends the job.

mod words;

use core::cmp::Ordering;

use oxshmem_base::{Error, size};
use oxshmem_transport::{Region, Remote};

use super::Call;
use crate::collectives::signature::{CallKind, Signature};
use crate::diagnosis::errors;
use crate::memory::control::{self, CallDeclaration, CallStatement, ControlBlock};
use crate::network::lane;
use crate::start::job;
use words::{verb, words};

impl Call<'_> {
    /// Ends the job: a member is in another call. `None`: some member on another node is.
    #[cold]
    #[inline(never)]
    pub(crate) fn differs(self, member: Option<u32>, theirs: Signature) -> ! {
        let mismatch = Mismatch::new(self, member, theirs);
        let error = if mismatch.is_of_broadcasts() {
            if mismatch.is_in_broadcast() { mismatch.other_broadcast() } else { mismatch.other_broadcasts() }
        } else if mismatch.is_of_splits() {
            mismatch.other_splits()
        } else if let Some(bytes) = mismatch.other_length() {
            mismatch.other_lengths(bytes)
        } else {
            mismatch.other_calls()
        };
        errors::fail(&error)
    }

    /// The same if it is only known that the member is in another call: the message has the member's own declaration.
    #[cold]
    #[inline(never)]
    pub(crate) fn differs_from(self, member: u32) -> ! {
        self.differs(Some(member), Signature::from_bits(self.statement_of(member).signature()))
    }

    /// The same if it is only known that a leader of another node is.
    #[cold]
    #[inline(never)]
    pub(crate) fn differs_elsewhere(self) -> ! {
        let mine = self.signature.bits();
        match self.leaders_elsewhere().find(|&leader| self.statement_of(leader).signature() != mine) {
            Some(leader) => self.differs_from(leader),
            None => self.differs(None, self.signature),
        }
    }

    /// The leaders of other nodes. A handful of questions is answered at once; a thousand would be no help any more.
    fn leaders_elsewhere(&self) -> impl Iterator<Item = u32> {
        let span = self.team.span.as_deref();
        let leaders =
            span.map(|span| (0..span.nodes()).filter(|&node| node != span.node()).map(|node| span.leader(node)));
        leaders.into_iter().flatten().take(64)
    }

    /// Whether all PEs of the job are members, whose numbers are those of the job then.
    fn is_of_all(self) -> bool {
        job::identity().is_some_and(|(_, pes)| pes == self.team.size)
    }

    /// The leader of another node that is in the call with this signature, as it has said.
    fn elsewhere(self, theirs: Signature) -> Option<u32> {
        let span = self.team.span.as_ref()?;
        let mut leaders = self.leaders_elsewhere();
        if span.nodes() == 2 {
            return leaders.next();
        }
        leaders.find(|&leader| self.statement_of(leader).signature() == theirs.bits())
    }

    /// The last statement of a member.
    fn statement_of(self, member: u32) -> CallDeclaration {
        let pe = self.team.world(member);
        if let Some(window) = job::window_of(pe) {
            return CallDeclaration::of(&ControlBlock::of(window).call_words().statement);
        }
        let copy = CallStatement::new();
        let offset = control::offset(&raw const ControlBlock::own().call_words().statement);
        let from = Remote { pe, region: Region::Control, offset };
        let to = (&raw const copy).cast_mut().cast();
        // SAFETY: a statement lies in the part of every control window that other nodes reach. `copy` has room for one, has atomics alone,
        // and stays until `complete` has returned.
        lane::issue(self.name, |lane| unsafe { lane.get_nbi(to, from, size_of_val(&copy)) });
        lane::complete(self.name);
        CallDeclaration::of(&copy)
    }

    /// The signature of the call that a member of the node declares, if that is another one at the same point of the team's history.
    /// The caller's declaration must be that of this call: if the two PEs declare calls of different teams with the same slot, these
    /// calls are unrelated.
    pub(crate) fn contradiction(self, member: u32) -> Option<Signature> {
        let [own, theirs] = [ControlBlock::own(), ControlBlock::of(self.team.window(member))]
            .map(|block| CallDeclaration::of(&block.call_words().statement));
        let differs = own.is_of(self.signature.bits(), self.team.slot) && theirs.signature() != own.signature();
        (differs && theirs.is_of_the_same_turn(own)).then(|| Signature::from_bits(theirs.signature()))
    }
}

/// The caller and a member that is in another call.
struct Mismatch<'a> {
    call: Call<'a>,
    mine: CallDeclaration,
    /// The signature that the member has sent.
    theirs: Signature,
    /// The member's declaration, if it is known which member it is.
    said: Option<CallDeclaration>,
    /// The member in words.
    who: String,
    /// The caller's number: in the job if all PEs are members, otherwise in the team.
    me: u32,
    /// The words of the message for the members, and for all of them.
    members: &'static str,
    all: &'static str,
}

impl<'a> Mismatch<'a> {
    fn new(call: Call<'a>, member: Option<u32>, theirs: Signature) -> Self {
        let mine = CallDeclaration::of(&ControlBlock::own().call_words().statement);
        let member = member.or_else(|| call.elsewhere(theirs));
        let said = member.map(|member| call.statement_of(member));
        let (members, all, me) = if call.is_of_all() {
            ("the PEs", "all PEs", call.team.world(call.team.my))
        } else {
            ("the members of the team", "all members", call.team.my)
        };
        let who = match member {
            Some(member) if call.is_of_all() => format!("PE {}", call.team.world(member)),
            Some(member) => format!("PE {member} of the team"),
            None => "a PE on another node".into(),
        };
        Self { call, mine, theirs, said, who, me, members, all }
    }

    /// Whether both are in calls of one kind.
    fn is_like(&self) -> bool {
        self.theirs.is_like(self.call.signature)
    }

    /// Whether both end the team, after different splits of it.
    fn is_of_splits(&self) -> bool {
        self.is_like() && self.call.signature.ends_team()
    }

    /// Whether the caller is in a broadcast, whose words on a node, and in a ring, have no digest of those before.
    fn is_in_broadcast(&self) -> bool {
        self.call.signature.is_like(Signature::of(CallKind::Broadcast))
    }

    /// Whether both are in the same call, after different broadcasts whose roots have gone on; or the member has made another broadcast
    /// than the caller, and has gone on. Between nodes that is known where it is known which member it is.
    fn is_of_broadcasts(&self) -> bool {
        let Self { call, theirs, said, .. } = self;
        let is_declared = said.is_some_and(|said| said.signature() == theirs.bits());
        let may_be_ahead = call.team.posts || said.is_some() && call.team.ring.lease.number().is_some();
        self.is_like() && !is_declared && may_be_ahead
    }

    /// How many bytes the member passes, if that alone differs.
    fn other_length(&self) -> Option<u64> {
        let Self { call, mine, theirs, said, .. } = self;
        let said = said.filter(|said| said.signature() == theirs.bits() && said.root() == mine.root())?;
        let is_declared = mine.signature() == call.signature.bits();
        (self.is_like() && is_declared && said.bytes != mine.bytes).then_some(said.bytes)
    }

    /// The error of members that end a team and have not made the same splits of it.
    fn other_splits(self) -> Error {
        let Self { call, mine, theirs, said, who, me, members, all } = self;
        let said = said.filter(|said| said.signature() == theirs.bits());
        let team = if call.is_of_all() { "the team of all PEs" } else { "the team" };
        let own = format!("this PE ({me})");
        let why = match said.map(|said| said.bytes.cmp(&mine.bytes)) {
            Some(Ordering::Greater) => format!("{who} has made a split of {team} that {own} has not made"),
            Some(Ordering::Less) => format!("{own} has made a split of {team} that {who} has not made"),
            Some(Ordering::Equal) | None => format!("{who} has made other splits of {team} than {own}"),
        };
        Error::new(format!("{}: {members} have not made the same splits of {team}", call.name))
            .because(why)
            .fix(format!("let {all} make every split of the team, also where they are in no part of it"))
    }

    /// The error of a member that has made another broadcast in the place of the caller's, and has gone on.
    fn other_broadcast(self) -> Error {
        let Self { call, mine, who, me, members, all, .. } = self;
        let own = words(call.signature, mine, false);
        let why = if call.team.span.is_some() {
            format!("{who} has made other broadcasts than this PE ({me}), which is in {own}")
        } else {
            format!(
                "{who} has made a broadcast of another length or from another root, and has gone on, where this PE ({me}) is in {own}"
            )
        };
        Error::new(format!("{}: {members} make different calls", call.name))
            .because(why)
            .fix(format!("let {all} make the same collective calls with the same arguments in the same order"))
    }

    /// The error of members that meet after different broadcasts.
    fn other_broadcasts(self) -> Error {
        let Self { call, mine, said, who, me, members, all, .. } = self;
        // A call that declares itself has taken the place of what came before. A barrier does not, and its signature is that of no
        // declaration.
        let before = if mine.signature() == call.signature.bits() && mine.signature() != 0 {
            String::new()
        } else {
            let last = |said: CallDeclaration| match said.signature() {
                // A PE that has declared nothing; barriers have no data.
                0 => "none".to_owned(),
                bits => words(Signature::from_bits(bits), said, false),
            };
            let (theirs, own) = (last(said.unwrap_or_default()), last(mine));
            format!(": the last collective with data of {who} was {theirs}, that of this PE {own}")
        };
        Error::new(format!("{}: {members} make different calls", call.name))
            .because(format!("{who} and this PE ({me}) have not made the same broadcasts before this call{before}"))
            .fix(format!("let {all} make the same collective calls with the same arguments in the same order"))
    }

    /// The error of members that are in the same call with different lengths; the other member's is `bytes`.
    fn other_lengths(self, bytes: u64) -> Error {
        let Self { call, mine, who, me, members, all, .. } = self;
        let (theirs, own) = (size::counted(bytes), size::counted(mine.bytes));
        let (what, fix) = if call.signature.is_like(Signature::of(CallKind::Values)) {
            ("values of different sizes", format!("pass values of one type on {all}"))
        } else {
            ("different lengths", errors::equal_lengths(call.name, all))
        };
        Error::new(format!("{}: {members} pass {what}", call.name))
            .because(format!("{who} {} {theirs}, this PE ({me}) {own}", verb(call.signature)))
            .fix(fix)
    }

    /// The error of members that are in different calls.
    fn other_calls(self) -> Error {
        let have_types = self.is_like() && self.said.is_some_and(|said| said.root() != self.mine.root());
        // Nobody between nodes says which of the two it is.
        let apart =
            if self.is_like() && self.said.is_none() { " with other arguments or after other broadcasts" } else { "" };
        let Self { call, mine, theirs, said, who, me, members, all } = self;
        let own = words(call.signature, mine, have_types);
        let other = words(theirs, said.unwrap_or_default(), have_types);
        let has = |kind| [theirs, call.signature].iter().any(|call| call.is_like(Signature::of(kind)));
        let (last, inner) = (has(CallKind::Finalize), has(CallKind::InnerFinalize));
        let fix = if last && inner {
            format!(
                "call shmem_init or shmem_init_thread equally often on {all}; a library that the program uses may call it, too"
            )
        } else if last || inner {
            format!(
                "let {all} make these calls. Look for one inside an `if` on the PE number, or for a PE that left its program early, by \
                 a return, an exit, or an exception that was caught"
            )
        } else {
            format!("let {all} make the same collective calls with the same arguments in the same order")
        };
        Error::new(format!("{}: {members} make different calls", call.name))
            .because(format!("{who} is in {other}{apart}, this PE ({me}) in {own}"))
            .fix(fix)
    }
}
