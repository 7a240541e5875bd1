//! How PE 0 reads the control windows of other nodes' PEs.

use std::time::{Duration, Instant};

use oxshmem_transport::{Issuer, Lane, LaneOptions, Region, Remote};

use crate::network;
use crate::start::job;

/// Reads of other nodes' control windows, on a lane that belongs to no context, so that they are outstanding operations of
/// no context.
pub(super) struct Questions {
    lane: Box<dyn Lane>,
    pub(super) answers: Box<[u64]>,
    pub(super) are_asked: bool,
}

impl Questions {
    pub(super) fn open(place: &mut Option<Self>) -> Option<&mut Self> {
        if place.is_none() {
            // Without a lane there is no report; nothing else depends on it.
            let lane = network::lane(LaneOptions::default())?.ok()?;
            *place = Some(Self { lane, answers: Box::default(), are_asked: false });
        }
        place.as_mut()
    }

    /// Reads `words` words at `offset` of the control windows of PEs; each PE comes with the number of its answer.
    /// There is no question without an answer.
    pub(super) fn ask(&mut self, of: impl Iterator<Item = (usize, u32)> + Clone, words: usize, offset: u64) {
        let room = of.clone().map(|(number, _)| number + 1).max().unwrap_or(0);
        self.answers = vec![0; room.max(job::my_node() as usize + 1) * words].into();
        let Some(capabilities) = network::capabilities() else { return };
        self.are_asked = true;
        let issuer = Issuer::new(&*self.lane, capabilities, &give_way);
        for (number, pe) in of {
            let from = Remote { pe, region: Region::Control, offset };
            let place = self.answers[number * words..][..words].as_mut_ptr().cast();
            // SAFETY: the answers have room for the words, and stay in place until all are there: `ask` is called only then,
            // and `end` leaks them otherwise. The words are in what other nodes reach of a control window.
            unsafe { issuer.get_nbi(place, from, words * 8) };
        }
    }

    /// Waits for all answers, at most so long. Returns whether they are there. An error means that there will be none.
    pub(super) fn await_answers(&mut self, most: Duration) -> bool {
        let begin = Instant::now();
        loop {
            let is_well = self.lane.progress().is_ok();
            if self.lane.outstanding() == 0 {
                return is_well;
            }
            if begin.elapsed() >= most {
                return false;
            }
            network::progress();
            std::thread::yield_now();
        }
    }
}

/// Serves peers until there is room for a question.
fn give_way(attempt: &mut dyn FnMut() -> bool) {
    while !attempt() {
        network::progress();
        std::thread::yield_now();
    }
}
