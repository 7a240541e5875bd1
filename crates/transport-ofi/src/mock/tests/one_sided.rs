//! Plays of two PEs of which one only serves.

use std::sync::atomic::{AtomicBool, Ordering};

use oxshmem_transport::{Fabric, Issuer, Lane, LaneOptions, Region, Remote, Segment, suite};

use super::super::end::MockPending;
use super::super::operation::MockEffect;
use super::{ENDS, MOCK, alone, end, selection};
use crate::list::Selection;
use crate::provider::Ofi;

/// Plays a job of two PEs of which the second only serves: what the first issues on its lane moves on when that lane waits
/// and never otherwise. `play` also gets the endpoints of the first PE's rails. Returns how much the second PE has served.
pub(super) fn one_sided(provider: &str, rails: usize, play: impl FnOnce(&Plain<'_>, &[usize])) -> usize {
    one_sided_by(&selection(provider, 2, rails), play)
}

/// The same with this selection.
pub(super) fn one_sided_by(selection: &Selection, play: impl FnOnce(&Plain<'_>, &[usize])) -> usize {
    let _alone = alone();
    let pes = [0, 1].map(|me| Ofi::open(&MOCK, me, suite::PATIENCE, selection).expect("the mock opens"));
    let ends: Vec<usize> = (0..ENDS.lock().len() / 2).collect();
    let mut memory = [0, 1].map(|_| vec![0u8; LONG + 64]);
    for (pe, memory) in pes.iter().zip(&mut memory) {
        let segment = Segment { base: memory.as_mut_ptr(), len: memory.len() };
        pe.register(Region::Heap, segment).expect("memory is registered");
    }
    let addresses: Vec<_> = pes.iter().map(Fabric::address).collect();
    for pe in &pes {
        pe.connect(Box::new(suite::AllAddresses(addresses.clone()))).expect("it connects");
    }
    let over = AtomicBool::new(false);
    let served = std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut served = 0;
            until(|| {
                served += pes[1].progress();
                over.load(Ordering::Acquire)
            });
            served + pes[1].progress()
        });
        // The other thread ends in any case.
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let lane = pes[0].lane(LaneOptions::default()).expect("a lane");
            play(&Plain { fabric: &pes[0], lane: &*lane }, &ends);
        }));
        over.store(true, Ordering::Release);
        if let Err(panic) = played {
            std::panic::resume_unwind(panic);
        }
        server.join().expect("it only serves")
    });
    drop(pes);
    served
}

pub(super) const LONG: usize = 1 << 20;
pub(super) static SOURCE: [u8; LONG] = [7; LONG];
pub(super) const FLAG: Remote = Remote { pe: 1, region: Region::Heap, offset: LONG as u64 };
pub(super) const DATA: Remote = Remote { pe: 1, region: Region::Heap, offset: 0 };

/// Looks until something is `done`, and lets others run between two looks: both PEs of a test look, and beside other tests a thread that
/// does not yield keeps the one that it waits for from a processor for a whole slice.
pub(super) fn until(mut done: impl FnMut() -> bool) {
    while !done() {
        std::thread::yield_now();
    }
}

/// Puts that have not taken effect, by these endpoints.
pub(super) fn puts_under_way(ends: &[usize]) -> usize {
    let is_put = |pending: &&MockPending| matches!(pending.operation.what, MockEffect::Put { .. });
    ends.iter().map(|&at| end(at).pending.iter().filter(is_put).count() + end(at).late.len()).sum()
}

/// A lane without the software around it; where it is busy, only the lane is moved on.
pub(super) struct Plain<'f> {
    pub(super) fabric: &'f Ofi,
    pub(super) lane: &'f dyn Lane,
}

impl Plain<'_> {
    pub(super) fn issue(&self, act: impl FnOnce(&Issuer<'_>)) {
        let wait = |attempt: &mut dyn FnMut() -> bool| until(attempt);
        act(&Issuer::new(self.lane, self.fabric.capabilities(), &wait));
    }

    pub(super) fn put(&self, to: Remote, source: &'static [u8]) {
        // SAFETY: the source is static.
        self.issue(|lane| unsafe { lane.put_nbi(to, source.as_ptr(), source.len()) });
    }

    pub(super) fn quiet(&self) {
        until(|| {
            let is_over = self.lane.outstanding() == 0;
            if !is_over {
                self.lane.progress().expect("nothing is wrong");
            }
            is_over
        });
    }
}
