//! The operations of one PE that are under way, and which of them may go on: everything that the contract of a lane leaves
//! open, and nothing else.
//!
//! - Parts land in any order, each once, and an operation completes some time after its last part has landed.
//! - The operations of one lane to one PE keep the order of a fence between them: nothing behind it lands before all in front
//!   of it have landed. Gets are not ordered by fences.
//! - A signal lands after the data of its put. Behind data that were refused it does not land.
//! - Operations of different lanes, and to different PEs, have no order.

use crate::operation::{Movement, Operation, OperationPart, PutSource};

/// Operations of a lane from which on it is busy.
pub(crate) const MANY: usize = 64;

/// The operations of all lanes of a PE.
#[derive(Default)]
pub(crate) struct OperationQueue {
    pub(crate) operations: Vec<Operation>,
    issued: u64,
    lanes: u64,
}

/// The next thing for an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueueStep {
    /// A part of its source can be read.
    Read { operation: usize, part: usize },
    /// A part can land, or be fetched; an object can be updated.
    Land { operation: usize, part: usize },
    /// A part that has been read can be lost with a connection, and is read again.
    Lose { operation: usize, part: usize },
    /// It can complete.
    Complete { operation: usize },
}

impl QueueStep {
    /// The index of its operation.
    pub(crate) fn operation(self) -> usize {
        match self {
            Self::Read { operation, .. }
            | Self::Land { operation, .. }
            | Self::Lose { operation, .. }
            | Self::Complete { operation } => operation,
        }
    }
}

impl OperationQueue {
    /// The number of a new lane.
    pub(crate) fn new_lane(&mut self) -> u64 {
        self.lanes += 1;
        self.lanes
    }

    /// Whether a lane has no room.
    pub(crate) fn is_full(&self, lane: u64) -> bool {
        self.operations.iter().filter(|operation| operation.place.lane == lane).count() >= MANY
    }

    /// The number of a new operation.
    pub(crate) fn new_operation(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }

    /// Adds an operation, which counts on its account from now on.
    pub(crate) fn push(&mut self, operation: Operation) {
        operation.account.issue(1);
        self.operations.push(operation);
    }

    fn may_land(&self, this: &Operation) -> bool {
        let is_atomic = matches!(this.action, Movement::Amo(..));
        !self.operations.iter().any(|other| {
            let (its, ours) = (&other.place, &this.place);
            let before = its.lane == ours.lane && other.to.pe == this.to.pe && !other.has_landed();
            let fenced = other.is_ordered() && this.is_ordered() && its.era < ours.era;
            let put_fenced = is_atomic && matches!(other.action, Movement::Put(_)) && its.put_era < ours.put_era;
            let signal_fenced = is_atomic && other.is_ordered() && its.signal_era < ours.signal_era;
            before && (fenced || put_fenced || signal_fenced || ours.after == Some(other.number))
        })
    }

    /// Everything that may happen next to the operations that `chosen` names, in the order of their issue.
    pub(crate) fn steps(&self, chosen: impl Fn(&Operation) -> bool) -> Vec<QueueStep> {
        let mut steps = Vec::new();
        for (operation, this) in self.operations.iter().enumerate().filter(|(_, this)| chosen(this)) {
            if this.has_landed() {
                steps.push(QueueStep::Complete { operation });
                continue;
            }
            let may_land = self.may_land(this);
            for (part, OperationPart { read, lost, .. }) in this.parts.iter().enumerate() {
                if read.is_none() && matches!(this.action, Movement::Put(_)) {
                    steps.push(QueueStep::Read { operation, part });
                }
                if read.is_some()
                    && !lost
                    && !this.kept
                    && matches!(this.action, Movement::Put(PutSource::Borrowed(_) | PutSource::Signalled(_)))
                {
                    steps.push(QueueStep::Lose { operation, part });
                }
                if may_land {
                    steps.push(QueueStep::Land { operation, part });
                }
            }
        }
        steps
    }

    /// An operation was refused: nothing more of it lands, and no atomic that is its signal, or that a fence of its lane has put behind it.
    pub(crate) fn refuse(&mut self, operation: usize) {
        let Operation { number, ref place, to, ref action, .. } = self.operations[operation];
        let (lane, put_era, is_put) = (place.lane, place.put_era, matches!(action, Movement::Put(_)));
        for other in &mut self.operations {
            let its = &other.place;
            let is_beside = is_put && its.lane == lane && other.to.pe == to.pe;
            let is_behind = is_beside && (its.after == Some(number) || its.put_era > put_era);
            if other.number == number || is_behind && matches!(other.action, Movement::Amo(..)) {
                other.parts.clear();
            }
        }
    }

    /// How many operations are under way, of those that `chosen` names.
    pub(crate) fn count(&self, chosen: impl Fn(&Operation) -> bool) -> u32 {
        self.operations.iter().filter(|operation| chosen(operation)).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;
    use std::sync::Arc;

    use oxshmem_transport::{Amo, Region, Remote, Width};

    use super::*;
    use crate::operation::LanePlace;

    #[test]
    fn no_signal_lands_behind_data_that_were_refused() {
        let mut queue = OperationQueue::default();
        let mut push = |lane, pe, put_era, after, is_put: bool| {
            let put = || Movement::Put(PutSource::Copied([0; 8].into()));
            let action = if is_put { put() } else { Movement::Amo(Width::Eight, Amo::Add(1), ptr::null_mut()) };
            let number = queue.new_operation();
            queue.push(Operation {
                number,
                place: LanePlace { since: 0, lane, era: 0, put_era, signal_era: 0, after },
                account: Arc::default(),
                to: Remote { pe, region: Region::Heap, offset: 0 },
                action,
                is_awaited: false,
                parts: vec![OperationPart { bytes: 0..8, read: None, lost: false }],
                kept: false,
                target: String::new(),
            });
            number
        };
        let data = push(1, 1, 0, None, true);
        push(1, 1, 0, Some(data), false);
        push(1, 1, 1, None, false);
        // Not behind the put, of another lane, to another PE, and no atomic.
        push(1, 1, 0, None, false);
        push(2, 1, 1, None, false);
        push(1, 2, 1, None, false);
        push(1, 1, 1, None, true);
        queue.refuse(0);
        let landed: Vec<bool> = queue.operations.iter().map(Operation::has_landed).collect();
        assert_eq!(landed, [true, true, true, false, false, false, false]);
        // An atomic that was refused takes nothing with it.
        queue.refuse(3);
        assert_eq!(queue.operations.iter().filter(|operation| operation.has_landed()).count(), 4);
    }
}
