//! An operation under way: its parts, and what has happened to each of them.

use std::ops::Range;
use std::sync::Arc;

use oxshmem_transport::{Account, Amo, Remote, WORD_BY_WORD, Width};

use crate::chance::Chance;
use crate::strategy::FAIR;

/// An operation of a lane that is not complete.
pub(crate) struct Operation {
    pub(crate) number: u64,
    pub(crate) place: LanePlace,
    pub(crate) account: Arc<Account>,
    pub(crate) to: Remote,
    pub(crate) action: Movement,
    /// Its caller waits for it alone.
    pub(crate) is_awaited: bool,
    /// Parts that have not landed.
    pub(crate) parts: Vec<OperationPart>,
    /// Its lane has said that buffers may be reused: what has been read is not read again.
    pub(crate) kept: bool,
    /// Its target and the program's line, for the story.
    pub(crate) target: String,
}

/// The place of an operation in the order of its lane, and in that of the job.
pub(crate) struct LanePlace {
    /// The step at which it was issued.
    pub(crate) since: u64,
    pub(crate) lane: u64,
    /// The fences of its lane before it.
    pub(crate) era: u64,
    /// The fences and the fences of puts before it.
    pub(crate) put_era: u64,
    /// The fences and the fences of signals before it.
    pub(crate) signal_era: u64,
    /// The put whose data must land before this signal.
    pub(crate) after: Option<u64>,
}

/// The action of an operation.
pub(crate) enum Movement {
    /// Parts of the source land at the target.
    Put(PutSource),
    /// Parts of the target's memory come here.
    Get(*mut u8),
    /// An object is updated, and its old value comes here unless that is null.
    Amo(Width, Amo, *mut u8),
}

pub(crate) enum PutSource {
    /// A copy, made in the call.
    Copied(Box<[u8]>),
    /// The caller's memory, until completion.
    Borrowed(*const u8),
    /// The same, of a put with a signal. The lane is not told whether its call returns at once.
    Signalled(*const u8),
}

// SAFETY: the pointers are buffers of a lane's caller, who keeps them valid until completion on whatever thread.
unsafe impl Send for Movement {}

/// A run of bytes that moves at one time.
pub(crate) struct OperationPart {
    pub(crate) bytes: Range<usize>,
    /// Its bytes, if they have been read and have not landed.
    pub(crate) read: Option<Box<[u8]>>,
    /// Whether they have been lost once. A connection does not break for ever.
    pub(crate) lost: bool,
}

impl Operation {
    /// Whether everything has landed, so that only completion is left.
    pub(crate) fn has_landed(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether it has waited long enough at this step to come before all that are issued meanwhile.
    pub(crate) fn is_overdue(&self, step: u64) -> bool {
        step.saturating_sub(self.place.since) > FAIR
    }

    /// Whether it still needs a buffer of its caller.
    pub(crate) fn needs_caller(&self) -> bool {
        match &self.action {
            Movement::Put(PutSource::Copied(_)) => false,
            Movement::Put(PutSource::Borrowed(_) | PutSource::Signalled(_)) => {
                self.parts.iter().any(|part| part.read.is_none())
            }
            Movement::Get(_) => !self.has_landed(),
            Movement::Amo(_, _, old) => !old.is_null() && !self.has_landed(),
        }
    }

    /// Whether a fence keeps things behind it. A fence orders puts, atomics and signals, and no gets.
    pub(crate) fn is_ordered(&self) -> bool {
        !matches!(self.action, Movement::Get(_))
    }

    /// Its name in the story.
    pub(crate) fn name(&self) -> &'static str {
        match &self.action {
            Movement::Put(PutSource::Copied(_)) => "put",
            Movement::Put(PutSource::Borrowed(_)) => "put_nbi",
            Movement::Put(PutSource::Signalled(_)) => "put_signal",
            Movement::Get(_) if self.is_awaited => "get",
            Movement::Get(_) => "get_nbi",
            Movement::Amo(..) if self.place.after.is_some() => "signal",
            Movement::Amo(..) => "atomic",
        }
    }
}

/// Cuts `n` bytes that go to `offset` into parts. Words of a short run stay whole: up to 64 bytes each word is a part of its
/// own, and longer runs are cut at a few places.
pub(crate) fn parts(n: usize, offset: u64, whole: bool, chance: &Chance<'_>) -> Vec<OperationPart> {
    let ahead = (8 - offset as usize % 8) % 8;
    let mut cuts: Vec<usize> = match n {
        _ if whole || n <= 1 => Vec::new(),
        2..=64 => (ahead..n).step_by(8).filter(|&at| at > 0).collect(),
        _ => (0..chance.below(7))
            .map(|_| chance.below(n))
            .map(|at| if n <= WORD_BY_WORD { ahead + at / 8 * 8 } else { at })
            .collect(),
    };
    cuts.push(0);
    cuts.push(n);
    cuts.retain(|&at| at <= n);
    cuts.sort_unstable();
    cuts.dedup();
    if n == 0 {
        // A signal without data: there is nothing to land.
        return Vec::new();
    }
    cuts.windows(2).map(|ends| OperationPart { bytes: ends[0]..ends[1], read: None, lost: false }).collect()
}

#[cfg(test)]
mod tests {
    use std::ptr;
    use std::sync::atomic::AtomicU64;

    use oxshmem_transport::Region;

    use super::*;

    #[test]
    fn the_story_calls_nonblocking_what_the_lane_knows_to_be_so() {
        let name = |action, is_awaited, after| {
            let place = LanePlace { since: 0, lane: 0, era: 0, put_era: 0, signal_era: 0, after };
            let to = Remote { pe: 1, region: Region::Heap, offset: 0 };
            let (account, parts) = (Arc::default(), Vec::new());
            let target = String::new();
            Operation { number: 1, place, account, to, action, is_awaited, parts, kept: false, target }.name()
        };
        let put = |source| name(Movement::Put(source), false, None);
        assert_eq!(put(PutSource::Copied(Box::default())), "put");
        assert_eq!(put(PutSource::Borrowed(ptr::null())), "put_nbi");
        assert_eq!(put(PutSource::Signalled(ptr::null())), "put_signal");
        assert_eq!(name(Movement::Amo(Width::Eight, Amo::Add(1), ptr::null_mut()), false, Some(1)), "signal");
        assert_eq!(name(Movement::Get(ptr::null_mut()), true, None), "get");
        assert_eq!(name(Movement::Get(ptr::null_mut()), false, None), "get_nbi");
    }

    #[test]
    fn parts_cover_all_bytes_once_and_words_of_short_runs_are_whole() {
        let state = AtomicU64::new(9);
        let chance = Chance(&state);
        for n in [0, 1, 4, 7, 8, 9, 16, 63, 64, 65, 100, 4096, 4097, 100_000] {
            for offset in 0..16 {
                let parts = parts(n, offset, false, &chance);
                let mut next = 0;
                for part in &parts {
                    assert_eq!(part.bytes.start, next);
                    next = part.bytes.end;
                    let inner = part.bytes.end < n && n <= WORD_BY_WORD;
                    assert!(!inner || (offset as usize + part.bytes.end).is_multiple_of(8), "{n} at {offset}");
                }
                assert_eq!(next, n);
            }
        }
        assert_eq!(parts(64, 0, false, &chance).len(), 8);
        assert_eq!(parts(64, 0, true, &chance).len(), 1);
    }
}
