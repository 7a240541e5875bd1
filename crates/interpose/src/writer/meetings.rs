//! The tables of teams and of their meetings.

use std::sync::atomic::Ordering::Release;

use oxshmem_profile::layout::{MEETINGS, TEAMS, head, team};

use super::{OpenLedger, Timing};
use crate::routine::Begun;
use crate::teams::TeamEntry;

impl OpenLedger {
    /// The team of that name, found by `find` if it is another one than the last time.
    #[inline]
    pub(crate) fn team(
        &mut self,
        name: usize,
        find: impl FnOnce() -> Option<&'static TeamEntry>,
    ) -> Option<&'static TeamEntry> {
        let age = crate::teams::age();
        match self.last {
            Some((known, then, entry)) if (known, then) == (name, age) => Some(entry),
            _ => {
                let entry = find()?;
                self.last = Some((name, age, entry));
                Some(entry)
            }
        }
    }

    /// Counts a call of a team.
    pub(crate) fn of_team(&self, entry: &TeamEntry, bytes: u64, timing: Option<Timing>) {
        let at = TEAMS.at(entry.slot);
        if self.get(at + team::SIZE) == 0 {
            for (place, word) in entry.identity.iter().enumerate() {
                self.set(at + place, *word);
            }
        }
        self.add(at + team::CALLS, 1);
        self.add(at + team::BYTES, bytes);
        if let Some(timing) = timing {
            self.add(at + team::TICKS, timing.total());
        }
    }

    /// Keeps a meeting, if it is one of those that are kept. `number` is the same on all members.
    pub(crate) fn meeting(&self, entry: &TeamEntry, call: Begun, number: u64, timing: Option<Timing>) {
        let (Some(timing), Some(site)) = (timing, call.site.checked_sub(1)) else { return };
        // Once may not be enough: this thread may have had every second meeting only, and those are kept when the stride doubles.
        while self.get(head::MEETINGS) as usize >= MEETINGS.records {
            self.thin_meetings();
        }
        if !number.is_multiple_of(self.get(head::STRIDE)) {
            return;
        }
        let kept = self.get(head::MEETINGS);
        let at = MEETINGS.at(kept as usize);
        self.set(at, entry.slot as u64 | u64::from(site) << 32);
        self.set(at + 1, number);
        self.set(at + 2, call.start);
        self.set(at + 3, timing.end);
        self.words[head::MEETINGS].store(kept + 1, Release);
    }

    /// Doubles the stride. All PEs keep multiples of powers of two, so they keep the same ones without a message.
    fn thin_meetings(&self) {
        let stride = self.get(head::STRIDE) * 2;
        let mut kept = 0;
        for number in 0..MEETINGS.records {
            let from = MEETINGS.at(number);
            if self.get(from + 1).is_multiple_of(stride) {
                let to = MEETINGS.at(kept);
                for word in 0..MEETINGS.width {
                    self.set(to + word, self.get(from + word));
                }
                kept += 1;
            }
        }
        self.set(head::MEETINGS, kept as u64);
        self.set(head::STRIDE, stride);
    }
}
