//! Arrays that a run has lent to the network.

use core::ops::AddAssign;
use oxshmem_base::planted;

use crate::collectives::call::Call;
use crate::collectives::limits::LET_GO;
use crate::network::lane;

/// How many bytes of the caller's arrays the network may still be reading.
#[derive(Clone, Copy, Default)]
pub(super) struct LentBytes(pub(super) usize);

impl LentBytes {
    /// Returns when the arrays are the caller's again.
    pub(super) fn take_back(self, call: Call<'_>) {
        match planted!("lent-bytes-kept", self.0, 0) {
            0 => {}
            1..=LET_GO => lane::let_go(call.name),
            _ => lane::complete(call.name),
        }
    }
}

impl AddAssign for LentBytes {
    fn add_assign(&mut self, more: Self) {
        self.0 += more.0;
    }
}
