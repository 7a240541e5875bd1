//! The conditions of waits: which PEs must act, and on what a wait looks.

use core::cell::Cell;

use oxshmem_flight::waits::{Comparand, TeamMeeting};

/// The conditions of a wait: it ends with a message when that PE is gone, and is reported when it can never end.
///
/// A look of the kinds from [`Needs::FirstMember`] on consists of loads and gets that change nothing, of memory that only stores of PEs
/// change. So a look in vain proves that the wait was not over then, which is what [`crate::diagnosis::deadlock`] builds on. What is
/// suspended may be moved on by a look of any kind, and counts its own changes.
#[derive(Clone, Copy)]
pub(crate) enum Needs<'a> {
    /// Any PE may end the wait. A look may do more than look.
    Anyone,
    /// World number of the PE that must act. A look may do more than look.
    One(u32),
    /// World number of a PE to which there is no room to send. A look may do more than look.
    Room(u32),
    /// World number of the first of the PEs that meet, which must give the meeting a place. The mark demands that the next look is not left
    /// out.
    FirstMember(u32, &'a Cell<bool>),
    /// World number of the PE that must release a lock.
    Lock(u32),
    /// All these must act.
    All(&'a dyn Gathering),
    /// How many of the caller's variables must change.
    Variables(u64, Comparand),
    /// Collectives of this PE that have returned at once must be over.
    Collectives(Collectives<'a>),
}

/// Some collectives that are suspended.
#[derive(Clone, Copy)]
pub(crate) enum Collectives<'a> {
    /// All of them, with the team of one that is not over. There is none for a moment while another thread issues one.
    All(Option<&'a dyn Gathering>),
    /// Those of a team, which have this key.
    Of(&'a dyn Gathering, usize),
    /// The one of a team with this key, name and number, and so those before it.
    One(&'a dyn Gathering, usize, &'static str, u64),
}

/// The members that meet, as a long wait needs to know them.
pub(crate) trait Gathering {
    /// How many they are.
    fn size(&self) -> u32;
    /// World number of member `member`.
    fn world(&self, member: u32) -> u32;
    /// The meeting that they are in.
    fn meeting(&self) -> TeamMeeting;
}

/// One wait: the call, its object, and whom or what it waits for.
#[derive(Clone, Copy)]
pub(crate) struct Reason<'a> {
    pub(crate) call: &'static str,
    /// The address that it looks at.
    pub(crate) address: usize,
    pub(crate) needs: Needs<'a>,
}
