//! The scheduler of a world of threads. One PE has the turn at a time; at every call it may pass to another, at random
//! by the seed or, without one, in the order of the PEs. A PE that waits gets no turn before something has changed. If
//! all wait and nothing is under way, the world reports a deadlock.

use oxshmem_base::chance::Dice;
use oxshmem_transport::Fabric;
use oxshmem_transport::loopback::Loopback;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// The payload with which the threads of a failed world panic, so that each ends without a message of its own.
struct Stopped;

/// Polls of tasks without result, while all PEs wait, that are a deadlock.
const FRUITLESS: u32 = 1000;

pub(super) struct Turns {
    state: Mutex<TurnState>,
    turns: Vec<Condvar>,
    fabrics: Vec<Loopback>,
}

struct TurnState {
    /// Whose turn it is.
    turn: usize,
    pes: Vec<PeActivity>,
    /// Grows with everything that a PE may wait for.
    changes: u64,
    fruitless: u32,
    dice: Option<Dice>,
    failure: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum PeActivity {
    Runs,
    /// In this call; it has looked after so many changes.
    Waits(&'static str, u64),
    Gone,
}

impl Turns {
    pub(super) fn new(fabrics: Vec<Loopback>, seed: Option<u64>) -> Self {
        let pes = fabrics.len();
        let mut state = TurnState {
            turn: 0,
            pes: vec![PeActivity::Runs; pes],
            changes: 0,
            fruitless: 0,
            dice: seed.map(Dice::new),
            failure: None,
        };
        state.turn = state.dice.as_mut().map_or(0, |dice| dice.below(pes));
        Self { state: Mutex::new(state), turns: (0..pes).map(|_| Condvar::new()).collect(), fabrics }
    }

    pub(super) fn pes(&self) -> usize {
        self.fabrics.len()
    }

    pub(super) fn fabric(&self, pe: usize) -> &Loopback {
        &self.fabrics[pe]
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.state().failure.clone()
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock()
    }

    /// The first turn of a thread.
    pub(super) fn enter(&self, me: usize) {
        self.until_my_turn(me, self.state());
    }

    /// The last one; `failure` is why it did not end well.
    pub(super) fn leave(&self, me: usize, failure: Option<String>) {
        let mut state = self.state();
        state.pes[me] = PeActivity::Gone;
        state.changes += 1;
        if let (None, Some(words)) = (&state.failure, failure) {
            state.failure = Some(format!("PE {me} of {}: {words}", self.pes()));
        }
        if let Some(next) = self.next(&mut state) {
            state.turn = next;
            self.turns[next].notify_one();
        }
    }

    /// Whether the world has failed: every PE that has not ended is about to, and no transfer moves any more.
    pub(super) fn failed(&self) -> bool {
        self.state().failure.is_some()
    }

    /// A call: messages may arrive, and another PE may go on.
    pub(super) fn step(&self, me: usize) {
        if std::thread::panicking() {
            // The last words of a PE are not interrupted.
            return;
        }
        let mut state = self.state();
        if state.failure.is_some() {
            // The program has caught what it was ended with.
            drop(state);
            std::panic::resume_unwind(Box::new(Stopped));
        }
        state.fruitless = 0;
        let pes = self.pes();
        if let Some((arrives, passes)) = state.dice.as_mut().map(|dice| (dice.one_in(4), dice.one_in(2))) {
            if arrives {
                let from = state.dice.as_mut().map_or(0, |dice| dice.below(pes));
                state.changes += self.fabrics[from].progress() as u64;
            }
            if !passes {
                return;
            }
        }
        self.pass(me, state);
    }

    /// Something that a PE may wait for has happened.
    pub(super) fn changed(&self) {
        self.state().changes += 1;
    }

    /// A number below `n`: by the dice, or 0.
    pub(super) fn any_below(&self, n: usize) -> usize {
        self.state().dice.as_mut().map_or(0, |dice| dice.below(n))
    }

    /// Waits in `call` until `look` finds something.
    pub(super) fn wait<R>(&self, me: usize, call: &'static str, mut look: impl FnMut() -> Option<R>) -> R {
        loop {
            if let Some(found) = look() {
                return found;
            }
            let mut state = self.state();
            state.pes[me] = PeActivity::Waits(call, state.changes);
            self.pass(me, state);
        }
    }

    /// A task has found nothing; its thread may have others, so it counts as running.
    pub(super) fn idle(&self, me: usize) {
        let mut state = self.state();
        let arrived: usize = self.fabrics.iter().map(|fabric| fabric.progress()).sum();
        state.changes += arrived as u64;
        state.fruitless = if arrived > 0 { 0 } else { state.fruitless + 1 };
        if state.fruitless > FRUITLESS {
            state.pes[me] = PeActivity::Waits("a task", state.changes);
        }
        self.pass(me, state);
    }

    fn pass(&self, me: usize, mut state: MutexGuard<'_, TurnState>) {
        if let Some(next) = self.next(&mut state).filter(|&next| next != me) {
            state.turn = next;
            self.turns[next].notify_one();
        }
        self.until_my_turn(me, state);
    }

    fn until_my_turn(&self, me: usize, mut state: MutexGuard<'_, TurnState>) {
        self.turns[me].wait_while(&mut state, |state| state.turn != me);
        state.pes[me] = PeActivity::Runs;
        if state.failure.is_some() && !std::thread::panicking() {
            drop(state);
            std::panic::resume_unwind(Box::new(Stopped));
        }
    }

    /// Chooses the PE that goes on. If none can, the world has failed, and all end one after the other.
    fn next(&self, state: &mut TurnState) -> Option<usize> {
        loop {
            let failed = state.failure.is_some();
            let may_go = |pe: &usize| match state.pes[*pe] {
                PeActivity::Runs => true,
                PeActivity::Waits(_, since) => failed || since < state.changes,
                PeActivity::Gone => false,
            };
            // From the next one on, so that without dice all have their turns.
            let ready: Vec<usize> = (1..=self.pes()).map(|i| (state.turn + i) % self.pes()).filter(may_go).collect();
            if !ready.is_empty() {
                let pick = state.dice.as_mut().map_or(0, |dice| dice.below(ready.len()));
                return Some(ready[pick]);
            }
            let waiting: Vec<String> = (0..self.pes()).filter_map(|pe| state.pes[pe].waits(pe)).collect();
            if waiting.is_empty() {
                return None;
            }
            let arrived: usize = self.fabrics.iter().map(|fabric| fabric.progress()).sum();
            state.changes += arrived as u64;
            if arrived == 0 {
                state.failure = Some(format!("deadlock: {}", waiting.join(", ")));
            }
        }
    }
}

impl PeActivity {
    fn waits(self, pe: usize) -> Option<String> {
        match self {
            Self::Waits(call, _) => Some(format!("PE {pe} waits in {call}")),
            Self::Runs | Self::Gone => None,
        }
    }
}
