//! PEs that keep their turn for too long, and PEs that have died.
//!
//! A PE that computes for long, polls its memory without the library, or blocks in the kernel keeps its turn. Threads
//! that wait for the turn look now and then. If the holder has slept in the kernel between two looks, or has used much
//! of a processor, the others go on without it, and the run is no function of the seed from then on. A holder that the
//! machine has not let run, or whose memory comes from a disk, is waited for: load of the machine changes nothing.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use oxshmem_os::kernel_text;

use crate::arena::{Actor, ActorState, DIED, SimArena, TurnHolder};

/// The time between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// Processor time, in ticks of 10 ms, that a turn may take.
const MOST_TICKS: u64 = 12;
/// Looks at an idle holder before it counts as away.
const IDLE_LOOKS: u32 = 2;

/// One waiter's looks at the holder of the turn.
#[derive(Default)]
pub(crate) struct TurnWatch {
    switches: u64,
    begun: Option<u64>,
    last: u64,
    idle: u32,
}

impl TurnWatch {
    /// Looks once. A holder that is away or dead is passed over: it is marked, and no thread has the turn.
    pub(crate) fn look(&mut self, arena: &SimArena) {
        let switches = arena.switches.load(Relaxed);
        let holder = match arena.turn() {
            TurnHolder::Nobody => return,
            TurnHolder::Network(pe) => {
                let slot = &arena.networks[pe as usize];
                if is_dead(slot.process.load(Relaxed)) {
                    pass_over(arena, switches, || {
                        slot.over.store(DIED, Relaxed);
                        true
                    });
                }
                return;
            }
            TurnHolder::Actor(holder) => &arena.actors[holder as usize],
        };
        let process = holder.process.load(Relaxed);
        if is_dead(process) {
            let slot = &arena.networks[holder.pe.load(Relaxed) as usize];
            pass_over(arena, switches, || {
                holder.set_state(ActorState::Absent);
                slot.over.store(DIED, Relaxed);
                true
            });
            return;
        }
        let Some(now) = ThreadTimes::of(process, holder.thread.load(Relaxed)) else {
            pass_over(arena, switches, || {
                holder.set_state(ActorState::Absent);
                true
            });
            return;
        };
        if switches != self.switches || self.begun.is_none() {
            *self = Self { switches, begun: Some(now.ticks), last: now.ticks, idle: 0 };
            return;
        }
        self.idle = if now.sleeps && now.ticks == self.last { self.idle + 1 } else { 0 };
        self.last = now.ticks;
        let busy = now.ticks.saturating_sub(self.begun.unwrap_or(0)) >= MOST_TICKS;
        if busy || self.idle >= IDLE_LOOKS {
            pass_over_away(arena, switches, holder);
        }
    }
}

/// Lets the others go on without a holder that computes or sleeps, unless it has come back meanwhile.
fn pass_over_away(arena: &SimArena, switches: u64, holder: &Actor) {
    pass_over(arena, switches, || {
        // A thread inside the provider waits for the memory of a peer, and goes on soon.
        let is_away = arena.inside.load(Relaxed) == 0;
        if is_away {
            holder.set_state(ActorState::Away);
            let step = arena.step.load(Relaxed).max(1);
            // The first one counts.
            let _ = arena.overrun.compare_exchange(0, step, Relaxed, Relaxed);
        }
        is_away
    });
}

/// Passes over the holder, if it is still the one that was looked at, and `mark` has marked it.
fn pass_over(arena: &SimArena, switches: u64, mark: impl FnOnce() -> bool) {
    let _lock = arena.lock();
    if arena.switches.load(Relaxed) == switches && mark() {
        arena.give(TurnHolder::Nobody);
    }
}

/// Whether a process has ended, waited for or not.
pub(crate) fn is_dead(process: u32) -> bool {
    process != 0 && stat(&format!("/proc/{process}/stat")).is_none_or(|fields| matches!(fields[0].as_str(), "Z" | "X"))
}

struct ThreadTimes {
    ticks: u64,
    /// It sleeps in the kernel.
    sleeps: bool,
}

impl ThreadTimes {
    /// `None`: it has ended.
    fn of(process: u32, thread: u32) -> Option<Self> {
        let fields = stat(&format!("/proc/{process}/task/{thread}/stat"))?;
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        let state = fields[0].as_str();
        // Fields 14 and 15 of the file; the first two are not in the list.
        // One that waits for a disk goes on by itself, as one that waits for a processor does.
        (!matches!(state, "Z" | "X"))
            .then(|| Self { ticks: number(11) + number(12), sleeps: !matches!(state, "R" | "D") })
    }
}

/// The fields of such a file from the state on; a name in parentheses comes before them.
fn stat(path: &str) -> Option<Vec<String>> {
    let text = kernel_text::read(path).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split_whitespace().map(String::from).collect()).filter(|fields: &Vec<String>| !fields.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::ArenaMap;

    #[test]
    fn a_holder_that_comes_back_while_it_is_passed_over_keeps_the_turn() {
        let arena = ArenaMap::create().expect("memory");
        arena.give(TurnHolder::Actor(3));
        let (switches, holder) = (arena.switches.load(Relaxed), &arena.actors[3]);
        holder.set_state(ActorState::Present);
        arena.inside.store(1, Relaxed);
        pass_over_away(&arena, switches, holder);
        assert_eq!((arena.turn(), holder.state()), (TurnHolder::Actor(3), ActorState::Present));
        arena.inside.store(0, Relaxed);
        pass_over_away(&arena, switches, holder);
        assert_eq!((arena.turn(), holder.state()), (TurnHolder::Nobody, ActorState::Away));
    }

    #[test]
    fn this_thread_runs_and_a_process_that_is_none_is_dead() {
        let times = ThreadTimes::of(std::process::id(), oxshmem_os::bystanders::thread_number()).expect("it runs");
        assert!(!times.sleeps);
        assert!(!is_dead(std::process::id()));
        assert!(is_dead(u32::MAX / 2));
        assert!(!is_dead(0), "a process that has not joined is not dead");
        // A name that the kernel has cut in the middle of a character is no text.
        let name = std::fs::read("/proc/self/comm").expect("a process has a name");
        std::fs::write("/proc/self/comm", b"gr\xc3").expect("a process names itself");
        assert!(!is_dead(std::process::id()));
        std::fs::write("/proc/self/comm", name.trim_ascii_end()).expect("a process names itself");
    }
}
