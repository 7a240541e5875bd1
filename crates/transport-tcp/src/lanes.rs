//! The lanes of a PE by their numbers, under which peers tell of refused operations.

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::Account;
use parking_lot::Mutex;

/// Accounts by lane; `None` where a number is free.
#[derive(Default)]
pub(crate) struct LaneTable(Mutex<Vec<Option<Arc<Account>>>>);

impl LaneTable {
    /// A number that no other lane has.
    pub(crate) fn add(&self, account: Arc<Account>) -> Result<u16, Error> {
        let mut lanes = self.0.lock();
        let place = lanes.iter().position(Option::is_none).unwrap_or(lanes.len());
        let number = u16::try_from(place).map_err(|_| Error::new("TCP: 65536 contexts are open"))?;
        if place == lanes.len() {
            lanes.push(None);
        }
        lanes[place] = Some(account);
        Ok(number)
    }

    pub(crate) fn remove(&self, number: u16) {
        self.0.lock()[usize::from(number)] = None;
    }

    /// A peer has refused an operation of a lane. That lane may be gone.
    pub(crate) fn refused(&self, number: u16, error: Error) {
        if let Some(Some(account)) = self.0.lock().get(usize::from(number)) {
            account.fail(error);
        }
    }
}
