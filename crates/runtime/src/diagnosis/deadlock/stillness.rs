//! When a group of participants is known to stand still for ever.
//!
//! A participant shows two numbers. Its *state* is the same only as long as it stands still, and its *progress* grows while
//! it finds again and again that nothing lets it go on. A PE's waiting thread is one: its state is `changes` of the PE's
//! records, its progress counts the looks in vain. A node is one for the whole job: its state and progress are those that
//! [`Stillness`] computes for the node's PEs.
//!
//! **What a reader must know of a participant** is one number, its *stride*: if the progress has grown by the stride between
//! two readings and the state is the same, then at least one complete look in vain began after the first of the two. For a
//! thread the stride is 2: the look that was under way at the first reading is one, the next began later, because a full fence
//! stands between the count of a look and the next look. For a node it is 3: the reading of the PEs that was under way may
//! have come to its end, the next one began after the first of the two, and the PEs' looks that the third counts began
//! after that.
//!
//! **Why three readings prove it.** Each reading ends before the next begins. Let T be the end of the first one.
//!
//! 1. All states are the same in the first reading, before T, and in the third, after T. So at T every participant stood
//!    still: all threads of all PEs waited in the library. Each look is counted only after its PE has found that no other
//!    thread, process, debugger or device could act for it, and that no operation it had issued was incomplete. None could be
//!    issued since. So at T nothing was under way, and memory could change only by a thread whose wait ends. A collective that
//!    is suspended is a participant of its own, which the looks of threads move on. The state grows when its wait ends, before it acts,
//!    and when it has acted; and a thread that moves one on counts no look meanwhile. So none acted at T.
//! 2. The second reading began after T, and between it and the third each participant has grown by its stride. So each waiter
//!    has looked in vain after T.
//! 3. Suppose that waits end after T, and take the first. Memory has not changed between T and that end, because no other thread has
//!    left a wait. The waiter's look in vain after T and its last look saw the same memory, and looks of these waits are loads and gets
//!    only. So the last look was in vain as well, which contradicts the end of the wait.
//!
//! No wait of the job ends any more. The argument needs no clock, and no bound on how long a thread may be interrupted: a thread
//! that does not run does not look.

/// One participant in a reading: its state and its progress.
pub(crate) type Shown = (u64, u64);

/// The progress by which a thread's counter has to grow.
pub(crate) const OF_THREADS: u64 = 2;
/// The progress by which a node's has to.
pub(crate) const OF_NODES: u64 = 3;
/// Readings after the first one that prove it.
pub(crate) const PROOF: u64 = 2;

/// The readings of one group.
pub(crate) struct Stillness {
    stride: u64,
    last: Option<Vec<Shown>>,
    /// Grows with each reading that shows that something has happened.
    epoch: u64,
    /// Readings since, beyond the first one, in which every participant had grown by the stride.
    confirmed: u64,
}

impl Stillness {
    pub(crate) const fn new(stride: u64) -> Self {
        Self { stride, last: None, epoch: 0, confirmed: 0 }
    }

    /// One more reading, which began after the one before had ended; `None` if a participant did not stand still.
    pub(crate) fn add(&mut self, reading: Option<Vec<Shown>>) {
        match (&self.last, reading) {
            (Some(last), Some(now)) if same_states(last, &now) => {
                let grown = |(last, now): (&Shown, &Shown)| now.1 >= last.1 + self.stride;
                if last.iter().zip(&now).all(grown) {
                    self.confirmed += 1;
                    self.last = Some(now);
                }
            }
            (_, reading) => {
                self.epoch += 1;
                self.confirmed = 0;
                self.last = reading;
            }
        }
    }

    /// Its own state and progress, as one participant of a larger group.
    pub(crate) fn shown(&self) -> Shown {
        (self.epoch, self.confirmed)
    }

    /// Whether the participants stand still for ever.
    pub(crate) fn is_proven(&self) -> bool {
        self.confirmed >= PROOF
    }
}

fn same_states(last: &[Shown], now: &[Shown]) -> bool {
    last.len() == now.len() && last.iter().zip(now).all(|(last, now)| last.0 == now.0)
}

#[cfg(test)]
mod model;
