//! Every course that a few PEs can take whose handlers call handlers, with the decision that ships; and that a method which is less
//! careful would be wrong.

use std::collections::HashSet;

use super::{CallCounts, Waves};

const PES: usize = 3;

/// How careful the PEs and the collector are.
#[derive(Clone, Copy)]
struct WaveCare {
    /// The decision compares two waves.
    two_waves: bool,
    /// It compares calls answered with calls made, not calls made with calls made.
    compares_answers: bool,
    /// Calls of handlers are counted.
    counts_handlers: bool,
    /// A call counts as answered when its answer has come, not when its handler begins.
    answered_at_end: bool,
    /// PEs report only when their programs are in `finish`.
    in_finish: bool,
}

const SOUND: WaveCare =
    WaveCare { two_waves: true, compares_answers: true, counts_handlers: true, answered_at_end: true, in_finish: true };

/// A message on its way, or a handler that runs and has still to make its call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum MessageStage {
    /// Run a handler that starts a chain of so many more calls.
    Request {
        from: usize,
        to: usize,
        depth: usize,
    },
    Handler {
        from: usize,
        at: usize,
        depth: usize,
    },
    Answer {
        to: usize,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct ModelPe {
    /// Calls that the program still makes.
    calls: usize,
    finishes: bool,
    made: u64,
    answered: u64,
    /// Waves in which it has reported.
    reported: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct ModelJob {
    pes: [ModelPe; PES],
    /// In order, so that courses which differ in nothing else are one.
    under_way: Vec<MessageStage>,
    wave: usize,
    sums: (u64, u64),
    last: Option<(u64, u64)>,
    /// Nothing was under way when the wave began, and in how many waves before it.
    began_quiet: bool,
    quiet_waves: usize,
    is_over: bool,
}

/// Waves that are followed.
const MOST: usize = 3;

impl ModelJob {
    fn next(&self, care: WaveCare) -> Vec<Self> {
        let mut jobs = Vec::new();
        let mut push = |change: &dyn Fn(&mut Self)| {
            let mut job = self.clone();
            change(&mut job);
            job.under_way.sort_unstable();
            jobs.push(job);
        };
        for me in 0..PES {
            let pe = self.pes[me];
            if !pe.finishes {
                if pe.calls > 0 {
                    push(&|job| {
                        job.pes[me].calls -= 1;
                        job.call(me, 2, true);
                    });
                }
                push(&|job| (job.pes[me].calls, job.pes[me].finishes) = (0, true));
            }
            if pe.reported == self.wave && (pe.finishes || !care.in_finish) && self.wave < MOST {
                push(&|job| job.report(me, care));
            }
        }
        for (i, &message) in self.under_way.iter().enumerate() {
            push(&|job| {
                job.under_way.remove(i);
                job.take(message, care);
            });
        }
        jobs
    }

    fn call(&mut self, me: usize, depth: usize, counted: bool) {
        self.pes[me].made += u64::from(counted);
        self.under_way.push(MessageStage::Request { from: me, to: (me + 1) % PES, depth });
    }

    fn take(&mut self, message: MessageStage, care: WaveCare) {
        match message {
            MessageStage::Request { from, to, depth } => {
                if !care.answered_at_end {
                    self.pes[from].answered += 1;
                }
                self.under_way.push(MessageStage::Handler { from, at: to, depth });
            }
            MessageStage::Handler { from, at, depth } => {
                if depth > 0 {
                    self.call(at, depth - 1, care.counts_handlers);
                }
                self.under_way.push(MessageStage::Answer { to: from });
            }
            MessageStage::Answer { to } => {
                let counted = care.answered_at_end && self.pes[to].answered < self.pes[to].made;
                self.pes[to].answered += u64::from(counted);
            }
        }
    }

    fn report(&mut self, me: usize, care: WaveCare) {
        if self.pes.iter().all(|pe| pe.reported == self.wave) {
            self.began_quiet = self.is_quiet();
        }
        let ModelPe { made, answered, reported, .. } = &mut self.pes[me];
        *reported += 1;
        self.sums = (self.sums.0 + *made, self.sums.1 + *answered);
        if self.pes.iter().all(|pe| pe.reported > self.wave) {
            let (made, answered) = core::mem::take(&mut self.sums);
            let counts = |(made, answered)| CallCounts { made, answered };
            self.is_over = match care {
                WaveCare { two_waves: false, .. } => made == answered,
                WaveCare { compares_answers: false, .. } => self.last.is_some_and(|last| last.0 == made),
                _ => Waves { last: self.last.map(counts) }.note_wave(counts((made, answered))),
            };
            self.last = Some((made, answered));
            self.wave += 1;
            self.quiet_waves = if self.began_quiet { self.quiet_waves + 1 } else { 0 };
        }
    }

    fn is_quiet(&self) -> bool {
        self.under_way.is_empty() && self.pes.iter().all(|pe| pe.finishes)
    }
}

/// Whether a course of a job, of which these PEs call, comes to a state that is wanted.
fn finds(care: WaveCare, callers: [usize; PES], is_wanted: impl Fn(&ModelJob) -> bool) -> bool {
    let begin = ModelJob { pes: callers.map(|calls| ModelPe { calls, ..ModelPe::default() }), ..ModelJob::default() };
    let (mut seen, mut open) = (HashSet::from([begin.clone()]), vec![begin]);
    while let Some(job) = open.pop() {
        if is_wanted(&job) {
            return true;
        }
        if !job.is_over {
            open.extend(job.next(care).into_iter().filter(|next| seen.insert(next.clone())));
        }
    }
    false
}

fn is_early(job: &ModelJob) -> bool {
    job.is_over && !job.is_quiet()
}

fn is_late(job: &ModelJob) -> bool {
    job.quiet_waves >= 2 && !job.is_over
}

#[test]
fn fault_A1_a_verdict_is_never_early() {
    for callers in [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]] {
        assert!(finds(SOUND, callers, |job| job.is_over), "{callers:?}: there is no verdict");
        assert!(!finds(SOUND, callers, is_early), "{callers:?}: a verdict is early");
        assert!(!finds(SOUND, callers, is_late), "{callers:?}: a verdict is late");
    }
}

#[test]
fn fault_A1_a_method_that_is_less_careful_is_wrong() {
    for (what, care) in [
        ("one wave", WaveCare { two_waves: false, ..SOUND }),
        ("no answers", WaveCare { compares_answers: false, ..SOUND }),
        ("no count of what handlers call", WaveCare { counts_handlers: false, ..SOUND }),
        ("a count when a handler begins", WaveCare { answered_at_end: false, ..SOUND }),
        ("reports before finish", WaveCare { in_finish: false, ..SOUND }),
    ] {
        assert!(finds(care, [1, 0, 1], is_early), "{what} would do");
    }
}
