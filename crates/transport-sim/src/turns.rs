//! Whose turn it is. A thread of a program has the turn from the end of a step to the beginning of its next one.

use std::cell::RefCell;
use std::process;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::{bystanders, futex};

use crate::arena::{Actor, ActorState, ArenaLock, MOST_ACTORS, SimArena, TurnHolder};
use crate::network::Pe;
use crate::strategy::{FAIR, NextCandidate, Situation};
use crate::watch::{self, TurnWatch};

/// A step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StepKind {
    /// It issues an operation, or waits for something new.
    Act,
    /// It has looked at what it waits for before, in vain.
    LookAgain,
    /// It polls: the first looks in a row may each have been of use.
    Poll,
}

/// Polls in a row from which on they count as looks in vain.
const MANY_POLLS: u32 = 3;
/// A PE that waits for what is outside of the simulation looks this often.
const IDLE: Duration = Duration::from_micros(200);

/// This thread in one job.
struct OwnActor {
    life: u64,
    pe: Weak<Pe>,
    number: u32,
    polls: u32,
}

impl Drop for OwnActor {
    /// The thread ends: it takes no more turns. The first thread of a process ends its variables before the functions that the process
    /// calls at its end, and one of them may finalize the library. If the turn went on here, time would decide when the PE comes back.
    /// So that thread keeps its number and its turn; the end of the process ends both.
    fn drop(&mut self) {
        if bystanders::thread_number() == process::id() {
            return;
        }
        if let Some(pe) = self.pe.upgrade() {
            pe.end_actor(self.number);
        }
    }
}

thread_local! {
    static OWN: RefCell<Vec<OwnActor>> = const { RefCell::new(Vec::new()) };
}

impl Pe {
    /// A step of the calling thread: others may go on, and the network may do something. Returns when the thread has the
    /// turn again.
    pub(crate) fn step(self: &Arc<Self>, call: StepKind) {
        let (number, polls) = self.own_actor(call);
        let (arena, actor) = (self.arena(), &self.arena().actors[number as usize]);
        self.enter(number);
        let again = call == StepKind::LookAgain || call == StepKind::Poll && polls > MANY_POLLS;
        if again {
            actor.vain.store(arena.activity(self.me).load(Relaxed) + 1, Relaxed);
            actor.looked.store(arena.step.load(Relaxed), Relaxed);
        } else {
            arena.activity(self.me).fetch_add(1, Relaxed);
            actor.vain.store(0, Relaxed);
        }
        if self.plan.death.is_some_and(|step| step <= arena.step.load(Relaxed)) && self.plan.victim == self.me {
            self.die();
        }
        if !again {
            self.tell(|| "goes on".into());
        }
        if self.give_on(Some(number)) {
            self.wait_for_turn(number);
        }
        arena.inside.store(0, Relaxed);
    }

    /// The thread is about to block outside of the library: the others go on, and its next step waits for a turn.
    pub(crate) fn step_out(self: &Arc<Self>) {
        let (number, _) = self.own_actor(StepKind::Act);
        if self.claim(number) {
            self.arena().actors[number as usize].set_state(ActorState::Away);
            self.give_on(None);
        }
    }

    /// Between two steps: returns when the calling thread has the turn. No thread takes it away until
    /// [`SimArena::inside`] is 0 again.
    pub(crate) fn hold_turn(self: &Arc<Self>) {
        let (number, _) = self.own_actor(StepKind::Act);
        self.enter(number);
    }

    /// Returns when the thread has the turn, and is inside the provider.
    fn enter(&self, number: u32) {
        while !self.claim(number) {
            self.wait_for_turn(number);
        }
    }

    /// Whether the thread has the turn. Then it is inside the provider from here on: under the lock, because others may pass
    /// over a holder that computes or sleeps while it comes back.
    pub(crate) fn claim(&self, number: u32) -> bool {
        let arena = self.arena();
        let _lock = arena.lock();
        let has_turn = arena.turn() == TurnHolder::Actor(number);
        if has_turn {
            arena.inside.store(1, Relaxed);
        }
        has_turn
    }

    /// Kills this process, as an unlucky machine does.
    fn die(&self) -> ! {
        self.tell(|| "dies".into());
        oxshmem_os::process::kill_self()
    }

    /// The number of the calling thread, and its polls in a row.
    fn own_actor(self: &Arc<Self>, call: StepKind) -> (u32, u32) {
        let known = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            let known = own.iter_mut().find(|actor| actor.life == self.life && actor.pe.as_ptr() == Arc::as_ptr(self));
            if let Some(actor) = known {
                actor.polls = if call == StepKind::Act { 0 } else { actor.polls.saturating_add(1) };
                return (actor.number, actor.polls);
            }
            own.retain(|actor| actor.pe.strong_count() > 0);
            let number = self.join();
            own.push(OwnActor { life: self.life, pe: Arc::downgrade(self), number, polls: 0 });
            (number, 0)
        });
        // A process that ends may finalize the library when the variables of its threads are gone.
        known.unwrap_or_else(|_| (self.joined_before().unwrap_or_else(|| self.join()), 0))
    }

    /// The number under which the calling thread takes part already.
    fn joined_before(&self) -> Option<u32> {
        let arena = self.arena();
        let thread = bystanders::thread_number();
        let is_it = |actor: &Actor| {
            actor.state() != ActorState::Absent
                && actor.pe.load(Relaxed) == self.me
                && actor.thread.load(Relaxed) == thread
        };
        (0..).zip(arena.used()).find(|(_, actor)| is_it(actor)).map(|(number, _)| number)
    }

    /// The calling thread takes part from now on.
    fn join(&self) -> u32 {
        let arena = self.arena();
        let lock = arena.lock();
        let is_free = |number: &u32| arena.actors[*number as usize].state() == ActorState::Absent;
        let is_first = is_free(&self.me);
        let Some(number) = std::iter::once(self.me).chain(self.pes..MOST_ACTORS as u32).find(is_free) else {
            drop(lock);
            oxshmem_os::process::say(&format!("oxshmem: PE {} of {}: {}\n", self.me, self.pes, too_many_threads()));
            oxshmem_os::process::exit_now(1);
        };
        let actor = &arena.actors[number as usize];
        actor.pe.store(self.me, Relaxed);
        actor.process.store(process::id(), Relaxed);
        actor.thread.store(bystanders::thread_number(), Relaxed);
        actor.vain.store(0, Relaxed);
        actor.chosen.store(arena.step.load(Relaxed), Relaxed);
        arena.count_actor(number);
        actor.priority.store(self.chance_of(number), Relaxed);
        actor.set_state(ActorState::Present);
        if is_first && !self.joined.swap(true, Relaxed) {
            arena.joined.fetch_add(1, Relaxed);
        }
        number
    }

    /// A number that depends on the seed and on `of` only, so that the order in which threads come changes nothing.
    fn chance_of(&self, of: u32) -> u64 {
        crate::chance::seeded(self.plan.seed ^ (u64::from(of) << 32))
    }

    fn end_actor(&self, number: u32) {
        let Some(arena) = self.arena.get().filter(|_| !self.closed.load(Relaxed)) else { return };
        arena.actors[number as usize].set_state(ActorState::Absent);
        if self.claim(number) {
            self.give_on(None);
        }
    }

    /// Gives the turn to the thread or network that the strategy names; what the caller's own network does is done at
    /// once. `caller` is the thread that makes a step, if it may go on. Returns whether another thread or network has
    /// the turn now.
    pub(crate) fn give_on(&self, caller: Option<u32>) -> bool {
        let arena = self.arena();
        loop {
            let lock = arena.lock();
            let next = self.decide(arena, caller);
            if next == TurnHolder::Nobody {
                return self.give_to_next(arena, lock, caller);
            }
            self.count_step(next);
            match next {
                TurnHolder::Network(pe) if pe == self.me && caller.is_some() => {
                    drop(lock);
                    self.effect();
                }
                TurnHolder::Actor(actor) if caller == Some(actor) => return false,
                next => {
                    arena.give(next);
                    return true;
                }
            }
        }
    }

    /// No step is left, so only something outside can end a wait: all threads look again, one after the other. Returns what
    /// `give_on` returns.
    fn give_to_next(&self, arena: &SimArena, lock: ArenaLock<'_>, caller: Option<u32>) -> bool {
        let after = caller.map_or(0, |now| now + 1);
        let Some(next) = next_present(arena, after) else {
            arena.give(TurnHolder::Nobody);
            return true;
        };
        drop(lock);
        if caller == Some(next) {
            std::thread::sleep(IDLE);
            return false;
        }
        std::thread::sleep(IDLE / self.pes.max(1));
        let _lock = arena.lock();
        arena.give(TurnHolder::Actor(next));
        true
    }

    /// One more step. Where nothing can happen there is none, so that the number of looks outside does not count.
    fn count_step(&self, next: TurnHolder) {
        let arena = self.arena();
        let number = arena.step.fetch_add(1, Relaxed);
        let digest = arena.digest.load(Relaxed).rotate_left(5) ^ next_digest(next);
        arena.digest.store(digest.wrapping_mul(0x9E37_79B9_7F4A_7C15), Relaxed);
        if self.plan.changes_at(number) {
            lower_the_highest(arena, self.pes);
        }
    }

    fn decide(&self, arena: &SimArena, caller: Option<u32>) -> TurnHolder {
        let step = arena.step.load(Relaxed);
        let actors = ready_actors(arena, step);
        let current = caller.filter(|caller| actors.iter().any(|actor| actor.number == *caller));
        let mut situation = Situation { current, actors, networks: Vec::new(), held: Vec::new() };
        for (pe, slot) in (0..self.pes).zip(&arena.networks).filter(|(_, slot)| slot.over.load(Relaxed) == 0) {
            let priority = slot.priority.load(Relaxed);
            let candidate = NextCandidate { number: pe, pe, priority, waited: waited(step, &slot.chosen) };
            if slot.pending.load(Relaxed) > 0 {
                situation.networks.push(candidate);
            } else if slot.held.load(Relaxed) > 0 {
                situation.held.push(candidate);
            } else {
                slot.chosen.store(step, Relaxed);
            }
        }
        let next = self.plan.next(step, &self.chance(), &situation);
        match next {
            TurnHolder::Actor(number) => arena.actors[number as usize].chosen.store(step, Relaxed),
            TurnHolder::Network(pe) => arena.networks[pe as usize].chosen.store(step, Relaxed),
            TurnHolder::Nobody => {}
        }
        next
    }

    /// Sleeps until it is the thread's turn. Passes over holders that are away or dead.
    fn wait_for_turn(&self, number: u32) {
        let arena = self.arena();
        let actor = &arena.actors[number as usize];
        let mut watch = TurnWatch::default();
        loop {
            let bell = actor.bell.load(Acquire);
            if actor.state() == ActorState::Away {
                actor.set_state(ActorState::Present);
            }
            if arena.turn() == TurnHolder::Nobody {
                self.take_over();
            }
            if arena.turn() == TurnHolder::Actor(number) {
                break;
            }
            if !futex::wait(&actor.bell, bell, Some(watch::LOOK)) {
                watch.look(arena);
            }
        }
    }

    /// Decides who is first, or who follows a holder that was passed over, if no thread has the turn.
    pub(crate) fn take_over(&self) {
        let arena = self.arena();
        let _lock = arena.lock();
        if arena.turn() != TurnHolder::Nobody || arena.joined.load(Relaxed) < self.pes {
            return;
        }
        let next = match self.decide(arena, None) {
            TurnHolder::Nobody => next_present(arena, 0).map_or(TurnHolder::Nobody, TurnHolder::Actor),
            next => next,
        };
        if next != TurnHolder::Nobody {
            arena.give(next);
        }
    }

    /// Writes a step of the program, if there is a story.
    fn tell(&self, what: impl FnOnce() -> String) {
        if let Some(story) = &self.story {
            let what = what();
            if !what.is_empty() {
                story.write(self.arena().step.load(Relaxed), "program", &format!("{what} at {}", story.site()));
            }
        }
    }
}

#[cold]
fn too_many_threads() -> Error {
    Error::new("sim: a thread that calls the library cannot take turns")
        .because(format!("{MOST_ACTORS} threads of the job's PEs, the most that the simulated network serves, do already"))
        .fix("use fewer threads or PEs, or end threads that make no more calls: a thread counts from its first call to its end")
}

/// The threads that may go on with more than a look in vain. The others count as chosen just now.
fn ready_actors(arena: &SimArena, step: u64) -> Vec<NextCandidate> {
    let mut ready = Vec::new();
    let present = (0..).zip(arena.used()).filter(|(_, actor)| actor.state() == ActorState::Present);
    for (number, actor) in present {
        let (pe, priority) = (actor.pe.load(Relaxed), actor.priority.load(Relaxed));
        let looked_in_vain = actor.vain.load(Relaxed) == arena.activity(pe).load(Relaxed) + 1;
        // A thread of the PE may store without a call, which is not counted: a thread that looked in vain looks
        // again in the end.
        if looked_in_vain && waited(step, &actor.looked) <= FAIR {
            actor.chosen.store(step, Relaxed);
        } else {
            ready.push(NextCandidate { number, pe, priority, waited: waited(step, &actor.chosen) });
        }
    }
    ready
}

/// Steps since the one whose number `since` holds.
fn waited(step: u64, since: &AtomicU64) -> u64 {
    step.saturating_sub(since.load(Relaxed))
}

/// The first thread that takes part, from number `from` on and around.
fn next_present(arena: &SimArena, from: u32) -> Option<u32> {
    let is_present = |&number: &u32| arena.actors[number as usize].state() == ActorState::Present;
    let all = arena.used().len() as u32;
    (from..all).chain(0..from.min(all)).find(is_present)
}

fn lower_the_highest(arena: &SimArena, pes: u32) {
    let actors = arena.used().iter().filter(|actor| actor.state() == ActorState::Present).map(|actor| &actor.priority);
    let networks = arena.networks.iter().take(pes as usize).map(|slot| &slot.priority);
    if let Some(highest) = actors.chain(networks).max_by_key(|priority| priority.load(Relaxed)) {
        // Earlier changes leave lower numbers, so that the last one to be lowered is the lowest.
        highest.store(u64::from(u32::MAX).saturating_sub(arena.step.load(Relaxed)), Relaxed);
    }
}

fn next_digest(next: TurnHolder) -> u64 {
    match next {
        TurnHolder::Actor(number) => u64::from(number) << 2,
        TurnHolder::Network(pe) => u64::from(pe) << 2 | 1,
        TurnHolder::Nobody => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_too_many_is_told_how_many_there_may_be() {
        let text = too_many_threads().to_string();
        for part in ["cannot take turns", "because: 1024 threads", "to fix:  use fewer threads"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
