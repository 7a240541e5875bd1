//! Vector clocks: for each PE of the node, how far its accesses are known to be over.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The operations that one fence or quiet covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Those on the default context, which barriers complete.
    Default,
    /// Those on all other contexts together.
    Other,
}

/// The kinds of time that a PE has.
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
}

impl Column {
    const ALL: [Column; 6] = [
        Column::Program,
        Column::Pulled(Stream::Default),
        Column::Pulled(Stream::Other),
        Column::Sent(Stream::Default),
        Column::Sent(Stream::Other),
        Column::Requested,
    ];

    /// Its number in a cell.
    pub(crate) fn code(self) -> u64 {
        Self::ALL.iter().position(|&column| column == self).expect("all are listed") as u64
    }

    /// The column with this number.
    pub(crate) fn of_code(code: u64) -> Column {
        Self::ALL[code as usize % Self::ALL.len()]
    }
}

/// The shape of all clocks of a node with so many PEs.
#[derive(Clone, Copy, Debug)]
pub struct ClockShape {
    /// How many PEs the node has.
    pub pes: usize,
}

impl ClockShape {
    /// The number of words of a clock.
    pub fn words(self) -> usize {
        self.pes * self.row()
    }

    fn row(self) -> usize {
        4 + 2 * self.pes
    }

    /// The word of `pe`'s time; `owner` is the PE whose memory is accessed.
    pub(crate) fn index(self, pe: usize, column: Column, owner: usize) -> usize {
        let stream = |stream| (stream == Stream::Other) as usize;
        pe * self.row()
            + match column {
                Column::Program => 0,
                Column::Pulled(of) => 1 + stream(of),
                Column::Requested => 3,
                Column::Sent(of) => 4 + stream(of) * self.pes + owner,
            }
    }
}

/// A clock in shared memory. Times only grow. A reader that meets a writer sees some old times and some new ones, each of
/// which was true; words are published by the locks of cells and buckets and by the program's own synchronisation.
#[derive(Clone, Copy, Debug)]
pub struct Clock<'m> {
    pub(crate) shape: ClockShape,
    pub(crate) words: &'m [AtomicU32],
}

impl Clock<'_> {
    /// The known time.
    pub(crate) fn time(&self, pe: usize, column: Column, owner: usize) -> u32 {
        self.words[self.shape.index(pe, column, owner)].load(Relaxed)
    }

    /// Learns that `pe` has reached this time.
    pub(crate) fn raise(&self, pe: usize, column: Column, owner: usize, time: u32) {
        raise(&self.words[self.shape.index(pe, column, owner)], time);
    }

    /// Learns all that another clock knows.
    pub(crate) fn join(&self, other: &Clock<'_>) {
        for (own, other) in self.words.iter().zip(other.words) {
            raise(own, other.load(Relaxed));
        }
    }
}

fn raise(word: &AtomicU32, time: u32) {
    if word.load(Relaxed) < time {
        word.fetch_max(time, Relaxed);
    }
}
