//! The prover: it runs a sequence of calls in an abstract machine and rejects what could go wrong in any timing.
//!
//! The checks of every call, on every PE:
//!
//! | | |
//! |---|---|
//! | result | every element of dest holds exactly the operands it should, each once unless the operator forgives; with [`OperatorLaw::FixedTree`](crate::algorithm::OperatorLaw) in the same association on all PEs |
//! | race | a PE that writes an element remotely knows (by a chain of signals) that its owner is done with it; no PE touches an element while a write to it is under way |
//! | deadlock | all PEs arrive |
//! | words | in bounds; a word is set again only by its last writer, or by a PE that knows that the value was seen; an awaited value is really sent; a counter never mixes the arrivals of two calls |
//! | quiescence | a PE leaves a call with every signal of that call seen |
//! | synchronising | no PE leaves before it knows that all have entered, if the algorithm says so |
//! | purity | same answer when asked twice |
//!
//! One run proves its verdict for all timings: a wait is satisfied by exactly one write (or by one set of arrivals), so
//! the order of events does not change what a PE does next, and the race check asks for knowledge, not for luck. A few
//! interleavings are run all the same, because a claim that something does not matter is best tried.

mod cone;
pub(crate) mod expect;
mod machine;
pub(crate) mod memory;
mod signal_words;

mod levels;
mod mutants;
mod suite;
mod zero_copy;

pub(crate) use cone::prove_invariant;

use crate::algorithm::Collective;
use crate::step::{Algorithm, Traffic, Turn};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// How the caller treats dest between calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DestMode {
    /// The same dest again without synchronisation: allowed for reductions, forbidden by the standard elsewhere.
    Same,
    /// The same dest again, after the user has synchronised.
    Synchronised,
    /// Another dest each time, no synchronisation.
    Fresh,
}

/// One call of a sequence.
#[derive(Clone, Copy)]
pub(crate) struct ProofCall<'a> {
    /// The algorithm under proof.
    pub(crate) algorithm: &'a dyn Algorithm,
    /// The result that it has to achieve.
    pub(crate) wanted: Collective,
    /// Elements, as in [`Plan::count`](crate::step::Plan).
    pub(crate) count: u64,
    /// The root of a broadcast.
    pub(crate) root: u32,
}

/// A sequence of calls on one team.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    /// Members, 1 to 64.
    pub(crate) size: u32,
    /// The calls, back to back.
    pub(crate) calls: &'a [ProofCall<'a>],
    /// How dest is used.
    pub(crate) mode: DestMode,
    /// Whether dest is source; for reductions and scans.
    pub(crate) in_place: bool,
    /// Data of a put that sets a word waits beside the word until the wait for it takes the data to its place. So
    /// nothing but mailboxes is written remotely.
    pub(crate) inline: bool,
    /// A put may read its operand until the target sees the signal; calls end when all their puts have been read.
    pub(crate) zero_copy: bool,
    /// Operands land in dest, from the start of it on, and there is no scratch.
    pub(crate) lands: bool,
    /// Which interleaving: 0 in turns, 1 each PE as far as it gets, others at random.
    pub(crate) interleaving: u64,
}

impl<'a> Case<'a> {
    /// The calls with two arrays and scratch, put as they are and sent at once.
    pub(crate) fn new(size: u32, calls: &'a [ProofCall<'a>], mode: DestMode, interleaving: u64) -> Self {
        Self { size, calls, mode, in_place: false, inline: false, zero_copy: false, lands: false, interleaving }
    }
}

/// The error that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// An element of dest is not what it should be.
    Result,
    /// PEs hold different associations of one result.
    Association,
    /// Two accesses to an element with nothing between them.
    Race,
    /// Nobody can go on.
    Deadlock,
    /// A word or an element out of bounds, or a PE that is not in the team.
    Bounds,
    /// A wait that several signals could satisfy, or values that do not grow.
    Ambiguous,
    /// A signal that its call left behind.
    Unseen,
    /// A PE left early.
    Early,
    /// A member waits for a line, and its writer does not wake it.
    Unheard,
    /// The algorithm answers differently when asked twice, or never ends.
    Impure,
}

/// A rejected case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The rule that is broken.
    pub(crate) kind: FaultKind,
    /// Where and how.
    pub(crate) text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

/// The cost of an accepted case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Steps of all PEs.
    pub(crate) steps: u64,
    /// Puts of all PEs.
    pub(crate) puts: u64,
}

/// Runs the case; an error names the first rule that was broken.
pub(crate) fn prove(case: &Case) -> Result<Evidence, Fault> {
    machine::ProofMachine::new(case).run()
}

/// The outcome when a member is let go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A step.
    Moved,
    /// Nothing: it waits.
    Blocked,
    /// Nothing: it has made all its calls.
    Finished,
}

/// Lets members go on until all have finished; returns one of those that are left where none can go on. In interleaving 0 they take
/// turns, in 1 each goes as far as it gets, in others both are left to chance.
pub(crate) fn interleave(
    members: usize,
    interleaving: u64,
    mut advance: impl FnMut(usize) -> Result<Progress, Fault>,
) -> Result<Option<usize>, Fault> {
    let mut state = interleaving;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut left: Vec<usize> = (0..members).collect();
    loop {
        if interleaving > 1 {
            (1..left.len()).for_each(|last| left.swap(last, random(last + 1)));
        }
        let (mut moved, mut still) = (false, Vec::new());
        for &member in &left {
            let mut steps = match interleaving {
                0 => 1,
                1 => usize::MAX,
                _ => 1 + random(16),
            };
            let mut progress = Progress::Moved;
            while progress == Progress::Moved && steps > 0 {
                progress = advance(member)?;
                moved |= progress == Progress::Moved;
                steps -= 1;
            }
            if progress != Progress::Finished {
                still.push(member);
            }
        }
        if !moved {
            return Ok(still.first().copied());
        }
        left = still;
    }
}

/// The number of the area that a call of this traffic uses: even, odd, then the signal sets.
pub(crate) fn area(traffic: Traffic, turn: Turn) -> usize {
    match traffic {
        Traffic::Synchronising => turn.parity(),
        Traffic::OneWay { signal_set } => 2 + usize::from(signal_set),
    }
}

macro_rules! fault {
    ($kind:ident, $($text:tt)*) => {
        $crate::prove::Fault { kind: $crate::prove::FaultKind::$kind, text: alloc::format!($($text)*) }
    };
}
pub(crate) use fault;
