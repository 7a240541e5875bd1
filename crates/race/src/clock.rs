//! Vector clocks: for each strand of the node's PEs, how far its accesses are known to be over.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The operations that one fence or quiet covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Those on the default context, which barriers complete.
    Default,
    /// Those on all other contexts together.
    Other,
}

/// The kinds of time that a strand has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Accesses that are over when the next statement begins.
    Program,
    /// Accesses that only a quiet ends: those of nonblocking gets, and the local buffers of nonblocking operations.
    Pulled(Stream),
    /// Puts and atomics without a result, to the memory of one PE.
    Sent(Stream),
    /// The accesses of a collective that has returned at once. No clock ever reaches their time: they are remembered anew,
    /// as the program's, when a wait for the request has ended them.
    Requested,
    /// The data of a put with a signal, since a strand has heard the signal: at the program's time of that strand.
    Heard,
}

impl Column {
    const ALL: [Column; 7] = [
        Column::Program,
        Column::Pulled(Stream::Default),
        Column::Pulled(Stream::Other),
        Column::Sent(Stream::Default),
        Column::Sent(Stream::Other),
        Column::Requested,
        Column::Heard,
    ];

    /// Its number in a cell.
    #[inline]
    pub(crate) fn code(self) -> u64 {
        if self == Column::Program {
            return 0;
        }
        Self::ALL.iter().position(|&column| column == self).expect("all are listed") as u64
    }

    /// The column with this number.
    pub(crate) fn of_code(code: u64) -> Column {
        Self::ALL[code as usize % Self::ALL.len()]
    }
}

/// Points in a strand's operations, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The last operation that it has issued.
    Issued,
    /// The last put with a signal whose signal another PE has seen.
    Heard,
    /// The last operation before a fence on the stream.
    Fenced(Stream),
}

/// The shape of all clocks of a node with so many PEs.
#[derive(Clone, Copy, Debug)]
pub struct ClockShape {
    /// How many PEs the node has.
    pub pes: usize,
    /// How many strands of a PE are told apart.
    pub strands: usize,
}

impl ClockShape {
    /// The number of words of a clock.
    #[inline]
    pub fn words(self) -> usize {
        self.used(self.strands)
    }

    /// The words in use while no PE has had more than so many strands: the first ones.
    #[inline]
    pub(crate) fn used(self, strands: usize) -> usize {
        strands.clamp(1, self.strands) * self.pes * self.row()
    }

    #[inline]
    fn row(self) -> usize {
        7 + 2 * self.pes
    }

    #[inline]
    fn start(self, of: StrandName) -> usize {
        (of.strand * self.pes + of.pe) * self.row()
    }

    /// The word of a strand's time; `owner` is the PE whose memory is accessed.
    #[inline]
    pub(crate) fn index(self, of: StrandName, column: Column, owner: usize) -> usize {
        self.start(of)
            + match column {
                Column::Program | Column::Heard => 0,
                Column::Pulled(stream) => 1 + stream as usize,
                Column::Requested => 3,
                Column::Sent(stream) => 7 + stream as usize * self.pes + owner,
            }
    }

    /// The word of a strand's milestone. No clock has a time for the accesses of requests, so its word is free.
    pub(crate) fn milestone(self, of: StrandName, milestone: Milestone) -> usize {
        self.start(of)
            + match milestone {
                Milestone::Issued => 3,
                Milestone::Heard => 4,
                Milestone::Fenced(stream) => 5 + stream as usize,
            }
    }
}

/// A strand of a PE: a thread, or a piece of its work that other threads might have done, such as a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StrandName {
    /// The PE, by its number on the node.
    pub pe: usize,
    /// Its number among the strands of the PE; the thread that has initialised the library is 0.
    pub strand: usize,
}

/// The work of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandKind {
    /// A thread.
    Thread = 0,
    /// A task of OpenMP.
    Task = 1,
    /// A section of OpenMP.
    Section = 2,
}

/// A clock in shared memory. Times of a strand only grow. A reader that meets a writer sees some old times and some new ones,
/// each of which was true; words are published by keys and the locks of cells and published clocks, and by the program's own synchronisation.
#[derive(Clone, Copy, Debug)]
pub struct Clock<'m> {
    pub(crate) shape: ClockShape,
    /// The words for the first strand of each PE, and behind them those for other strands.
    pub(crate) first: &'m [AtomicU32],
    pub(crate) rest: &'m [AtomicU32],
    /// How many strands a PE of the node has had at most. The maker of a strand stores it before the strand does anything.
    pub(crate) used: &'m AtomicU32,
}

impl<'m> Clock<'m> {
    /// The clock with these words.
    pub(crate) fn of(shape: ClockShape, words: &'m [AtomicU32], used: &'m AtomicU32) -> Clock<'m> {
        let (first, rest) = words.split_at(shape.used(1));
        Clock { shape, first, rest, used }
    }

    /// One of its words. `None`: a copy knows nothing of strands that began after it was made.
    #[inline]
    fn get(&self, index: usize) -> Option<&'m AtomicU32> {
        self.first.get(index).or_else(|| self.rest.get(index - self.first.len()))
    }

    #[inline]
    pub(crate) fn word(&self, index: usize) -> &'m AtomicU32 {
        self.get(index).expect("a clock has words for all strands")
    }

    /// The known time.
    #[inline]
    pub(crate) fn time(&self, of: StrandName, column: Column, owner: usize) -> u32 {
        debug_assert!(column != Column::Requested, "no clock knows the time of requests");
        self.get(self.shape.index(of, column, owner)).map_or(0, |word| word.load(Relaxed))
    }

    /// Learns that a strand has reached this time.
    pub(crate) fn raise(&self, of: StrandName, column: Column, owner: usize, time: u32) {
        raise(self.word(self.shape.index(of, column, owner)), time);
    }

    /// The known milestone.
    pub(crate) fn passed(&self, of: StrandName, milestone: Milestone) -> u32 {
        self.word(self.shape.milestone(of, milestone)).load(Relaxed)
    }

    /// Learns that a strand has passed a milestone.
    pub(crate) fn pass(&self, of: StrandName, milestone: Milestone, number: u32) {
        raise(self.word(self.shape.milestone(of, milestone)), number);
    }

    /// The words in use, beside those of another clock.
    fn beside<'o>(&self, other: &Clock<'o>) -> impl Iterator<Item = (&'m AtomicU32, &'o AtomicU32)> {
        self.first.iter().zip(other.first).chain(self.rest_in_use().iter().zip(other.rest))
    }

    fn rest_in_use(&self) -> &'m [AtomicU32] {
        let used = self.shape.used(self.used.load(Relaxed) as usize) - self.first.len();
        &self.rest[..used.min(self.rest.len())]
    }

    /// One more at a strand's own time or milestone. The last number stays what it is: accesses that have it are ordered as soon as the
    /// first of them is, and no number comes again.
    pub(crate) fn advance(&self, word: usize) -> u32 {
        let next = |number: u32| number.checked_add(1);
        self.word(word).fetch_update(Relaxed, Relaxed, next).map_or(u32::MAX, |before| before + 1)
    }

    /// Learns all that another clock knows.
    pub(crate) fn join(&self, other: &Clock<'_>) {
        for (own, other) in self.beside(other) {
            raise(own, other.load(Relaxed));
        }
    }

    /// Learns what a strand's clock knows, but of the strand's own program only what was until this time. The strand goes on at a
    /// later one, because this time is known now.
    pub(crate) fn join_until(&self, other: &Clock<'_>, of: StrandName, time: u32) {
        let program = self.shape.index(of, Column::Program, of.pe);
        for (at, (own, other)) in self.beside(other).enumerate() {
            let known = other.load(Relaxed);
            raise(own, if at == program { known.min(time) } else { known });
        }
        // The strand may have raised its time itself.
        let _ = other.word(program).compare_exchange(time, time.saturating_add(1), Relaxed, Relaxed);
    }

    /// Knows what another clock knows, and no more.
    pub(crate) fn become_like(&self, other: &Clock<'_>) {
        for (own, other) in self.beside(other) {
            own.store(other.load(Relaxed), Relaxed);
        }
    }

    /// Knows nothing any more.
    pub(crate) fn clear(&self) {
        self.first.iter().chain(self.rest_in_use()).for_each(|word| word.store(0, Relaxed));
    }
}

fn raise(word: &AtomicU32, time: u32) {
    if word.load(Relaxed) < time {
        word.fetch_max(time, Relaxed);
    }
}
