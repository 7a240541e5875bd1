//! A schedule written down for a small team, PE by PE.

use crate::step::{Algorithm, Caller, Loc, Place, Plan, PutSignal, Step};
use alloc::format;
use alloc::string::String;
use core::fmt::Write;

/// All steps of all PEs. Nothing is run, so a schedule that needs a [`CallerShare`](crate::step::Share) is not printed here.
pub fn print<A: Algorithm>(algorithm: &A, plan: &Plan) -> String {
    let mut text = String::new();
    for rank in 0..plan.size {
        let _ = writeln!(text, "PE {rank}");
        let steps = (0..).map(|pc| algorithm.step(plan, &Caller::new(rank), pc));
        for step in steps.take_while(|step| *step != Step::Done).filter(|step| *step != Step::Skip) {
            let _ = writeln!(text, "  {}", line(&step));
        }
    }
    text
}

fn line(step: &Step) -> String {
    match *step {
        Step::Put { to, from, into, len, signal } => {
            let data = match len {
                0 => String::new(),
                _ => format!("{} -> {}, ", range(from, len), range(into, len)),
            };
            match signal {
                PutSignal::Set { word, value } => {
                    format!("put    to PE {to}: {data}word {word} = {}", mark(value))
                }
                PutSignal::Count => format!("put    to PE {to}: {data}count"),
            }
        }
        Step::Wait { word, value } => format!("wait   word {word} >= {}", mark(value)),
        Step::WaitCount { total } => format!("wait   count >= {total}"),
        Step::Reduce { into, left, right, stride, terms, len } => {
            let mut text = format!("reduce {} = {}", range(into, len), range(left, len));
            for term in 0..u64::from(terms) {
                let _ = write!(text, " o {}", range(Loc { at: right.at + term * stride, ..right }, len));
            }
            text
        }
        Step::Copy { into, from, len } => {
            format!("copy   {} -> {}", range(from, len), range(into, len))
        }
        Step::Zero { into, len } => format!("zero   {}", range(into, len)),
        Step::Skip | Step::Done => String::new(),
    }
}

fn mark(value: u64) -> String {
    format!("{}.{}", value >> 16, value as u16)
}

fn range(Loc { place, at }: Loc, len: u64) -> String {
    let place = match place {
        Place::Source => "source",
        Place::Dest => "dest",
        Place::Scratch => "scratch",
    };
    format!("{place}[{at}..{}]", at + len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::broadcast::Tree;
    use crate::algorithm::dissemination::Dissemination;

    #[test]
    fn a_broadcast_on_three_pes_reads_like_this() {
        let text = print(&Tree { radix: 2 }, &Plan { root: 1, ..Plan::new(3, 4) });
        let wanted = "\
PE 0
  wait   word 1 >= 1.0
PE 1
  put    to PE 0: source[0..4] -> dest[0..4], word 1 = 1.0
  put    to PE 2: source[0..4] -> dest[0..4], word 0 = 1.0
  copy   source[0..4] -> dest[0..4]
PE 2
  wait   word 0 >= 1.0
";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_maximum_of_two_pes_reads_like_this() {
        let text = print(&Dissemination { radix: 2, payload: true }, &Plan::new(2, 1));
        let wanted = "\
PE 0
  copy   source[0..1] -> dest[0..1]
  put    to PE 1: dest[0..1] -> scratch[0..1], word 0 = 1.0
  wait   word 0 >= 1.0
  reduce dest[0..1] = dest[0..1] o scratch[0..1]
";
        assert!(text.starts_with(wanted), "{text}");
    }
}
