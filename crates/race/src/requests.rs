//! Collectives that return at once, and the requests that end them.
//!
//! Such a call has the buffers from its beginning until a wait for its request. What it does with them is remembered twice: when
//! it begins, at a time that no clock reaches, so that every access of another PE meanwhile is without order; and when it is
//! over, as an access of the program then.

use crate::access::Site;
use crate::clock::Column;
use crate::detector::{Race, Strand};
use crate::order::CollectiveMeeting;
use crate::pending::{Buffer, CallBuffer, Completion, RequestedCall};

impl Strand<'_, '_> {
    /// A collective with these buffers has returned at once; `meeting` is where its members meet.
    pub fn begin_request(
        &self,
        request: u64,
        meeting: Option<CollectiveMeeting>,
        buffers: impl IntoIterator<Item = CallBuffer>,
        site: Site,
    ) -> Option<Race> {
        let buffers: Vec<CallBuffer> = buffers.into_iter().filter(|buffer| buffer.len > 0).collect();
        // Source and target of a reduction may be the same array: all are looked at before the first is in use.
        let mut race = buffers.iter().find_map(|one| self.buffer(one.address, one.len, one.kind, site));
        let mut begun = Vec::new();
        for buffer in buffers {
            let CallBuffer { address, place, len, kind } = buffer;
            let time = self.issue();
            let found = place.and_then(|place| self.touch(place, len, kind, Column::Requested, time, site));
            race = race.or(found);
            let (bytes, until) = (address..address.saturating_add(len), Completion::Request(request));
            self.pe.pending.add(Buffer { bytes, kind, until, site, by: self.name, first: time, number: time });
            begun.push((buffer, time));
        }
        let meeting = meeting.map(CollectiveMeeting::number);
        let call = RequestedCall { meeting, site, by: self.name, buffers: begun };
        self.pe.requests.lock().insert(request, call);
        race
    }

    /// A request has ended. Returns the race of its call with an access meanwhile, and whether other buffers are in use.
    pub fn end_request(&self, request: u64) -> (Option<Race>, bool) {
        let call = self.pe.requests.lock().remove(&request);
        let still = self.pe.pending.end(|buffer| buffer.until == Completion::Request(request));
        let Some(RequestedCall { meeting, site, by, buffers }) = call else { return (None, still) };
        let mut race = None;
        for (CallBuffer { place, len, kind, .. }, time) in buffers {
            let Some(place) = place else { continue };
            for (_, cell, _) in self.pe.state.cells(place, len) {
                cell.forget(|old| old.by == by && old.column == Column::Requested && old.time == time);
            }
            let found = self.touch(place, len, kind, Column::Program, self.now(), site);
            race = race.or(found);
        }
        if let Some(meeting) = meeting {
            self.leave(CollectiveMeeting::of_number(meeting));
        }
        (race, still)
    }
}
