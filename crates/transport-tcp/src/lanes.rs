//! The lanes of a PE by their numbers, under which peers tell of refused operations.

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::Account;
use parking_lot::Mutex;

/// How many numbers there are. Lanes whose places lie so far apart have the same one.
const NUMBERS: usize = 1 << u16::BITS;

/// Accounts by place; `None` where a place is free.
#[derive(Default)]
pub(crate) struct LaneTable(Mutex<Vec<Option<Arc<Account>>>>);

/// The number in messages of the lane at a place.
pub(crate) const fn number_of(place: usize) -> u16 {
    (place % NUMBERS) as u16
}

impl LaneTable {
    /// A place that no other lane has.
    pub(crate) fn add(&self, account: Arc<Account>) -> usize {
        let mut lanes = self.0.lock();
        let place = lanes.iter().position(Option::is_none).unwrap_or(lanes.len());
        if place == lanes.len() {
            lanes.push(None);
        }
        lanes[place] = Some(account);
        place
    }

    pub(crate) fn remove(&self, place: usize) {
        self.0.lock()[place] = None;
    }

    /// A peer has refused an operation of a lane with this number, which may be gone. The job ends then, so all with the number may tell.
    pub(crate) fn refused(&self, number: u16, error: &Error) {
        for account in self.0.lock().iter().skip(number.into()).step_by(NUMBERS).flatten() {
            account.fail(error.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_more_lanes_than_numbers_and_a_refusal_reaches_its_lane() {
        let table = LaneTable::default();
        let accounts: [Arc<Account>; 2] = Default::default();
        // A lane for each number, without the time that so many searches for a free place take.
        *table.0.lock() = vec![Some(accounts[0].clone()); NUMBERS];
        let place = table.add(accounts[1].clone());
        assert_eq!((place, number_of(place), number_of(NUMBERS - 1)), (NUMBERS, 0, u16::MAX));
        table.remove(0);
        table.refused(0, &Error::new("outside"));
        assert!(accounts[1].has_failed() && !accounts[0].has_failed());
        assert_eq!(table.add(Arc::default()), 0);
        table.refused(u16::MAX, &Error::new("outside"));
        assert!(accounts[0].has_failed());
    }
}
