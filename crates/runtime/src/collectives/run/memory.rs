//! The wire between members of one node: their memory.

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};

use oxshmem_schedule::step::{Place, PutSignal, Traffic};

use super::Wire;
use crate::collectives::call::Call;
use crate::memory::control::signals::CallSignals;
use crate::memory::control::{ControlBlock, SCHEDULE_AREAS};
use crate::wait;

/// Puts are copies into the peer's window, signals are stores and additions there.
pub(super) struct Memory<'a> {
    pub(super) call: Call<'a>,
    pub(super) slot: u32,
    pub(super) traffic: Traffic,
    pub(super) parity: usize,
    /// The caller's own.
    pub(super) signals: CallSignals<'a>,
    pub(super) dest: *mut u8,
}

impl Wire for Memory<'_> {
    unsafe fn put(&self, to: u32, from: *const u8, place: Place, offset: usize, bytes: usize, signal: PutSignal) {
        let window = self.call.team.window(to);
        let area = SCHEDULE_AREAS.get(window, self.slot);
        if bytes > 0 {
            let into = match place {
                Place::Scratch => area.scratch(self.parity).wrapping_add(offset),
                Place::Dest => self.call.at(to, self.dest.wrapping_add(offset), bytes),
                Place::Source => unreachable!("no schedule writes a source"),
            };
            // SAFETY: the caller promises `bytes` readable bytes at `from` and room at the place; the ranges are in
            // different windows.
            unsafe { ptr::copy_nonoverlapping(from, into, bytes) };
        }
        let theirs = area.signals.of(self.traffic, self.parity);
        match signal {
            PutSignal::Set { word, value } => theirs.words[word as usize].store(value, Release),
            PutSignal::Count => {
                theirs.counter.fetch_add(1, Release);
            }
        }
        ControlBlock::of(window).bell().nudge();
    }

    fn wait(&self, word: u32, value: u64) {
        self.until(&self.signals.words[word as usize], value);
    }

    fn wait_count(&self, total: u64) {
        self.until(self.signals.counter, total);
    }
}

impl Memory<'_> {
    fn until(&self, word: &AtomicU64, value: u64) {
        wait::until(self.call.reason(word), None, || (word.load(Acquire) >= value).then_some(()));
    }
}
