//! Puts with a signal whose signal no strand has awaited yet.
//!
//! A wait on a signal orders the data of that call and of no other one. So each PE keeps a short list of the puts with a signal
//! into its memory; a wait finds those that belong to its signal.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::clock::StrandName;

/// How many puts with a signal are remembered for each PE.
const LENGTH: usize = 256;
/// In place of the signal of a put: a strand has heard it.
const HEARD: u64 = u64::MAX;

/// One put with a signal into the memory of the list's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalledPut {
    /// The name of the signal's place.
    pub(crate) signal: u64,
    /// The name of the data's place.
    pub(crate) data: u64,
    /// The length of the data.
    pub(crate) len: u64,
    /// The strand, and the time of the data.
    pub(crate) by: StrandName,
    pub(crate) time: u32,
}

/// The list of one PE, in shared memory. The holder of the lock reads and writes the rest.
#[repr(C)]
#[derive(Debug)]
pub struct SignalList {
    lock: AtomicU32,
    next: AtomicU32,
    /// Signal + 1, data, length, strand and time; the first is 0 where there is none.
    puts: [[AtomicU64; 4]; LENGTH],
}

impl Default for SignalList {
    fn default() -> SignalList {
        SignalList {
            lock: AtomicU32::new(0),
            next: AtomicU32::new(0),
            puts: std::array::from_fn(|_| Default::default()),
        }
    }
}

impl SignalList {
    fn locked<T>(&self, work: impl FnOnce() -> T) -> T {
        while self.lock.swap(1, Acquire) != 0 {
            std::thread::yield_now();
        }
        let result = work();
        self.lock.store(0, Release);
        result
    }

    /// Adds a put and returns the one that had to be dropped for it, if no strand has heard its signal.
    pub(crate) fn add(&self, put: SignalledPut) -> Option<SignalledPut> {
        self.locked(|| {
            // The oldest one that was heard, or the oldest of all.
            let next = self.next.load(Relaxed) as usize;
            let is_free = |at: &usize| matches!(self.puts[at % LENGTH][0].load(Relaxed), 0 | HEARD);
            let chosen = (next..next + LENGTH).find(is_free).unwrap_or(next);
            self.next.store((chosen + 1) as u32 % LENGTH as u32, Relaxed);
            let at = &self.puts[chosen % LENGTH];
            let dropped = read(at).filter(|_| at[0].load(Relaxed) != HEARD);
            let source = ((put.by.strand << 16 | put.by.pe) as u64) << 32 | u64::from(put.time);
            for (word, value) in at.iter().zip([put.signal + 1, put.data, put.len, source]) {
                word.store(value, Relaxed);
            }
            dropped
        })
    }

    /// The puts with this signal that no strand has heard, and where each stands. Several strands may get the same one.
    pub(crate) fn unheard(&self, signal: u64) -> Vec<(usize, SignalledPut)> {
        self.locked(|| {
            let of_signal = self.puts.iter().enumerate().filter(|(_, at)| at[0].load(Relaxed) == signal + 1);
            of_signal.filter_map(|(index, at)| Some((index, read(at)?))).collect()
        })
    }

    /// A strand has heard this put, and has done what follows from that. No strand gets it again.
    pub(crate) fn mark_heard(&self, index: usize, put: &SignalledPut) {
        self.locked(|| {
            let at = &self.puts[index];
            // Another put may stand there by now.
            if read(at) == Some(*put) {
                at[0].store(HEARD, Relaxed);
            }
        });
    }

    /// Of the strand's puts with these times, whether the signal of the last one has been heard, and whether that of any has not.
    pub(crate) fn heard_of(&self, by: StrandName, times: RangeInclusive<u32>) -> (bool, bool) {
        self.locked(|| {
            let found = self.puts.iter().filter_map(|at| Some((read(at)?, at[0].load(Relaxed) == HEARD)));
            let own = found.filter(|(put, _)| put.by == by && times.contains(&put.time));
            own.fold((false, false), |(last, other), (put, heard)| {
                (last || heard && put.time == *times.end(), other || !heard)
            })
        })
    }

    /// The puts of this kind whose signal has been heard.
    pub(crate) fn heard(&self, is_meant: impl Fn(&SignalledPut) -> bool) -> Vec<SignalledPut> {
        self.locked(|| {
            let heard = self.puts.iter().filter(|at| at[0].load(Relaxed) == HEARD).filter_map(read);
            heard.filter(is_meant).collect()
        })
    }
}

fn read(at: &[AtomicU64; 4]) -> Option<SignalledPut> {
    let [signal, data, len, source] = [0, 1, 2, 3].map(|word: usize| at[word].load(Relaxed));
    (signal != 0).then(|| SignalledPut {
        signal: signal.wrapping_sub(1),
        data,
        len,
        by: StrandName { pe: (source >> 32 & 0xffff) as usize, strand: (source >> 48) as usize },
        time: source as u32,
    })
}
