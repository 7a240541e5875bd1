//! The reduction along a chain: sums go up it in the order of the team, and results come down, in pieces.

use crate::step::{Algorithm, Caller, Plan, PutSignal, Step, dest, scratch, source};

/// Each member adds its operand to the sum of those before it, and the last one has the result. Every member sends the array up once
/// and down once, to its two neighbours alone. The operands are folded from the left in the order of the team, so that a member which
/// stands for several folds theirs one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceChain {
    /// Elements of a piece, at least 1.
    pub segment: u64,
}

/// A piece on its way.
enum PieceStep {
    Up(u64),
    Down(u64),
}

impl PieceStep {
    /// The move with this number of a member. Results come as many pieces later than sums go as there are members above, there and
    /// back; so many pieces go up before the first result is awaited.
    fn of(number: u64, pieces: u64, above: u64) -> Option<Self> {
        let lead = pieces.min(2 * above);
        let Some(both) = number.checked_sub(lead) else { return Some(Self::Up(number)) };
        match both / 2 {
            piece if lead + piece < pieces && both % 2 == 0 => Some(Self::Up(lead + piece)),
            piece if lead + piece < pieces => Some(Self::Down(piece)),
            _ => Some(Self::Down(number - pieces)).filter(|_| number < 2 * pieces),
        }
    }
}

/// The words that are signalled for sums and for results.
const UP: u32 = 0;
const DOWN: u32 = 1;

impl Algorithm for ReduceChain {
    fn words(&self, _plan: &Plan) -> u32 {
        2
    }

    fn scratch(&self, plan: &Plan) -> u64 {
        plan.count
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        // At most as many pieces as a word has marks. An empty reduction is one empty piece: every member sees a signal.
        let segment = self.segment.max(plan.count.div_ceil(1 << 16));
        let pieces = plan.count.div_ceil(segment).max(1);
        let (first, above) = (me.rank == 0, plan.size - 1 - me.rank);
        let Some(step) = PieceStep::of(pc / 3, pieces, above.into()) else { return Step::Done };
        let (PieceStep::Up(piece) | PieceStep::Down(piece)) = step;
        let (at, value) = (piece * segment, plan.mark(piece as u16));
        let len = segment.min(plan.count - at);
        match (step, pc % 3) {
            (PieceStep::Up(_), 0) if !first => Step::Wait { word: UP, value },
            (PieceStep::Up(_), 1) if !first => {
                Step::Reduce { into: dest(at), left: scratch(at), right: source(at), stride: 0, terms: 1, len }
            }
            // Alone.
            (PieceStep::Up(_), 1) if above == 0 => Step::Copy { into: dest(at), from: source(at), len },
            (PieceStep::Up(_), 2) if above > 0 => {
                let from = if first { source(at) } else { dest(at) };
                Step::Put { to: me.rank + 1, from, into: scratch(at), len, signal: PutSignal::Set { word: UP, value } }
            }
            (PieceStep::Down(_), 0) if above > 0 => Step::Wait { word: DOWN, value },
            (PieceStep::Down(_), 1) if !first => {
                let signal = PutSignal::Set { word: DOWN, value };
                Step::Put { to: me.rank - 1, from: dest(at), into: dest(at), len, signal }
            }
            _ => Step::Skip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_piece_goes_up_and_comes_down_once_and_in_order() {
        for (pieces, above) in (1..9).flat_map(|pieces| (0..6).map(move |above| (pieces, above))) {
            let moves = || (0..).map_while(|number| PieceStep::of(number, pieces, above));
            let up: Vec<u64> =
                moves().filter_map(|step| if let PieceStep::Up(piece) = step { Some(piece) } else { None }).collect();
            let down: Vec<u64> =
                moves().filter_map(|step| if let PieceStep::Down(piece) = step { Some(piece) } else { None }).collect();
            let all: Vec<u64> = (0..pieces).collect();
            assert_eq!((up, down), (all.clone(), all), "{pieces} pieces, {above} members above");
        }
    }

    /// Bits of floating-point sums depend on it.
    #[test]
    fn operands_are_folded_from_the_left_in_the_order_of_the_team() {
        let (chain, plan) = (ReduceChain { segment: 2 }, Plan::new(5, 7));
        for rank in 0..plan.size {
            let me = Caller::new(rank);
            let steps = (0..).map(|pc| chain.step(&plan, &me, pc)).take_while(|step| *step != Step::Done);
            for step in steps {
                match step {
                    Step::Reduce { into, left, right, terms, len, .. } => {
                        assert_eq!((into, left, right, terms), (dest(into.at), scratch(into.at), source(into.at), 1));
                        assert!(rank > 0 && len > 0);
                    }
                    Step::Put { to, signal: PutSignal::Set { word: UP, .. }, .. } => assert_eq!(to, rank + 1),
                    _ => {}
                }
            }
        }
    }
}
