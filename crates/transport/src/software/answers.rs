//! The answers to requests until their lanes take them, in a map for each lane.

use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::{NumberMap, OutOfRange};

/// How many maps there are. Where a PE has more lanes, some share one. Chosen: more than threads that wait at once.
const MAPS: usize = 64;

/// Outcomes by the numbers of their requests.
pub(super) type AnswerMap = NumberMap<u64, AnswerOutcome>;

/// The old value of an atomic or zero, and the bytes of a get; or why nothing was done.
pub(super) type AnswerOutcome = Result<(u64, Vec<u8>), OutOfRange>;

/// All answers that have come to a PE.
pub(super) struct Answers {
    maps: [Arc<LaneAnswers>; MAPS],
    /// How many lanes there have been. Relaxed: any map will do.
    lanes: AtomicUsize,
}

/// The answers to one lane, or to some. No two share a line, because threads with a lane each look at theirs at once.
#[repr(align(128))]
pub(super) struct LaneAnswers {
    /// The number of the next request. Divided by [`MAPS`] it leaves the place of the map: the answer has the same number, and gets
    /// there. Relaxed: each number is given out once.
    next: AtomicU64,
    map: Mutex<AnswerMap>,
}

impl Default for Answers {
    fn default() -> Self {
        let map = |place: usize| LaneAnswers { next: AtomicU64::new(place as u64), map: Mutex::default() };
        Self { maps: array::from_fn(|place| Arc::new(map(place))), lanes: AtomicUsize::new(0) }
    }
}

impl Answers {
    /// Those to a lane that begins.
    pub(super) fn of_new_lane(&self) -> Arc<LaneAnswers> {
        self.maps[self.lanes.fetch_add(1, Ordering::Relaxed) % MAPS].clone()
    }

    /// An answer has come. Its number is the peer's word, so there may be no such request.
    pub(super) fn add(&self, number: u64, outcome: AnswerOutcome) {
        self.maps[(number % MAPS as u64) as usize].lock().insert(number, outcome);
    }
}

impl LaneAnswers {
    /// A number for a request, which no other request of the PE has.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(MAPS as u64, Ordering::Relaxed)
    }

    /// Those that have come and are not taken.
    pub(super) fn lock(&self) -> MutexGuard<'_, AnswerMap> {
        self.map.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn an_answer_comes_to_the_lane_that_has_asked_and_to_few_others() {
        const LANES: usize = 3 * MAPS / 2;
        let answers = Answers::default();
        let lanes: Vec<_> = (0..LANES).map(|_| answers.of_new_lane()).collect();
        let mut numbers = HashSet::new();
        for round in 0..3 {
            for lane in &lanes {
                let number = lane.number();
                assert!(numbers.insert(number), "number {number} is given out twice");
                answers.add(number, Ok((round, Vec::new())));
                let here = lanes.iter().filter(|other| other.lock().contains_key(&number)).count();
                assert!(lane.lock().contains_key(&number) && here <= LANES.div_ceil(MAPS), "{here} lanes look at it");
            }
        }
        answers.add(u64::MAX, Ok((0, Vec::new())));
    }
}
