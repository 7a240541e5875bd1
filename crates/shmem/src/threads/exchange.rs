//! Collective operations: each is an exchange of bytes, from which every PE computes the result of the call.

pub(crate) mod collective;
mod teams;

use core::cell::Cell;
use core::ffi::c_int;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use oxshmem_runtime as runtime;
use parking_lot::{Mutex, MutexGuard};

use super::{ThreadPe, team_handle, team_number};
use crate::Error;

pub(crate) use teams::{context, team, team_extension};

/// Some PEs, as one of them sees them.
pub(super) struct ThreadTeam {
    /// How it came from the world: the same for all members, and no other team's.
    path: Vec<u64>,
    /// World numbers.
    pub(super) list: Vec<usize>,
    pub(super) my: usize,
    /// How many exchanges it has made.
    calls: Cell<u64>,
}

impl ThreadTeam {
    pub(super) fn world(pes: usize, me: usize) -> Self {
        Self::predefined(0, pes, me)
    }

    /// Number `which` of the teams that have all PEs from the beginning.
    pub(super) fn predefined(which: u64, pes: usize, me: usize) -> Self {
        Self { path: vec![which], list: (0..pes).collect(), my: me, calls: Cell::new(0) }
    }
}

/// Exchanges that some members have come to and not all have left.
#[derive(Default)]
pub(super) struct Meetings(Mutex<BTreeMap<(Vec<u64>, u64), Meeting>>);

struct Meeting {
    call: &'static str,
    brought: Vec<Option<Vec<u8>>>,
    all: Option<All>,
    left: usize,
}

/// The contributions of all PEs to an exchange.
#[derive(Clone)]
pub(super) struct All {
    bytes: Arc<Vec<Vec<u8>>>,
    /// A number that the first member to ask decides.
    decided: Arc<OnceLock<u64>>,
}

impl ThreadPe {
    fn meetings(&self) -> MutexGuard<'_, BTreeMap<(Vec<u64>, u64), Meeting>> {
        self.job.meetings.0.lock()
    }

    fn group(&self, call: &str, team: runtime::TeamHandle) -> Rc<ThreadTeam> {
        let group = self.teams.borrow().get(team_number(team)).cloned();
        group.unwrap_or_else(|| self.fail(&Error::new(format!("{call}: the team is not valid"))))
    }

    /// Waits for all members and gets what each has brought.
    pub(super) fn exchange(&self, team: runtime::TeamHandle, call: &'static str, mine: Vec<u8>) -> All {
        self.turns().step(self.me);
        let group = self.group(call, team);
        let size = group.list.len();
        let name = (group.path.clone(), group.calls.replace(group.calls.get() + 1));
        let other = {
            let mut meetings = self.meetings();
            let meeting = meetings.entry(name.clone()).or_insert_with(|| Meeting::of(call, size));
            meeting.brought[group.my] = Some(mine);
            (meeting.call != call).then_some(meeting.call)
        };
        if let Some(other) = other {
            self.fail(
                &Error::new(format!("{call}: the members of the team make different calls"))
                    .because(format!("this PE is in {call}, and another one in {other}"))
                    .fix("let all members make the same collective calls in the same order"),
            );
        }
        self.turns().changed();
        self.turns().wait(self.me, call, || {
            let mut meetings = self.meetings();
            let meeting = meetings.get_mut(&name)?;
            let all = meeting.complete()?;
            meeting.left += 1;
            if meeting.left == size {
                meetings.remove(&name);
            }
            Some(all)
        })
    }

    /// Ends the world unless all have brought the same.
    pub(super) fn same_everywhere(&self, call: &str, all: &All) {
        if all.bytes.iter().any(|bytes| *bytes != all.bytes[0]) {
            self.fail(
                &Error::new(format!("{call}: the PEs pass different arguments"))
                    .because("an allocation is one call of all PEs, and so is the drop of a SymmetricBox")
                    .fix("let all PEs make the same collective calls, with the same arguments and types"),
            );
        }
    }

    /// A number that one member decides for all members of this exchange.
    pub(super) fn first_of(&self, all: &All, decide: impl FnOnce() -> u64) -> u64 {
        *all.decided.get_or_init(decide)
    }

    fn enlist(&self, group: ThreadTeam) -> runtime::TeamHandle {
        let mut teams = self.teams.borrow_mut();
        teams.push(Rc::new(group));
        team_handle(teams.len() - 1)
    }
}

impl Meeting {
    fn of(call: &'static str, size: usize) -> Self {
        Self { call, brought: vec![None; size], all: None, left: 0 }
    }

    fn complete(&mut self) -> Option<All> {
        if self.all.is_none() && self.brought.iter().all(Option::is_some) {
            let bytes = self.brought.iter_mut().filter_map(Option::take).collect();
            self.all = Some(All { bytes: Arc::new(bytes), decided: Arc::default() });
        }
        self.all.clone()
    }
}

pub(crate) mod binding {
    use super::*;

    pub(crate) fn init(here: &ThreadPe, requested: c_int) -> Result<c_int, Error> {
        here.turns().step(here.me);
        Ok(requested)
    }

    pub(crate) unsafe fn finalize(here: &ThreadPe) {
        here.exchange(runtime::TeamHandle::world(), "shmem_finalize", Vec::new());
        here.complete_all();
    }

    pub(crate) unsafe fn exchange(
        here: &ThreadPe,
        team: runtime::TeamHandle,
        call: &'static str,
        _kind: u8,
        bytes: usize,
        words: &[u64],
        mut visit: impl FnMut(u32, &[u64]),
    ) {
        let mine = [bytes as u64].iter().chain(words).flat_map(|word| word.to_le_bytes()).collect();
        let all = here.exchange(team, call, mine);
        for (member, brought) in all.bytes.iter().enumerate() {
            let theirs = brought.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
            let theirs: Vec<_> = theirs.collect();
            if theirs[0] != bytes as u64 {
                here.fail(
                    &Error::new(format!("{call}: the members of the team pass values of different sizes"))
                        .because(format!("PE {member} of the team passes {} bytes, this PE {bytes}", theirs[0]))
                        .fix("pass values of one type on all members"),
                );
            }
            visit(member as u32, &theirs[1..]);
        }
    }
}
