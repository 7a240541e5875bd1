//! Fairness between threads of a lane.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::ContextLane;

/// How long a thread waits for a lane before it makes others hold back, until the wait is over.
pub(super) struct Patience<'l> {
    lane: &'l ContextLane,
    looks: u32,
    since: Option<Instant>,
    pub(super) over: bool,
}

impl<'l> Patience<'l> {
    /// A wait that has looked so often begins to count the time.
    const LOOKS: u32 = 8;
    /// It makes others hold back after this time: more than a round trip on a network that answers at once.
    const TIME: Duration = Duration::from_micros(100);

    pub(super) fn new(lane: &'l ContextLane) -> Self {
        Self { lane, looks: 0, since: None, over: false }
    }

    /// It has looked once more.
    pub(super) fn look(&mut self) {
        self.looks = self.looks.saturating_add(1);
        if self.looks > Self::LOOKS && !self.over && self.since.get_or_insert_with(Instant::now).elapsed() > Self::TIME
        {
            self.over = true;
            self.lane.change_impatient(|number| {
                number.fetch_add(1, Relaxed);
            });
        }
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if self.over {
            self.lane.change_impatient(|number| {
                number.fetch_sub(1, Relaxed);
            });
        }
    }
}
