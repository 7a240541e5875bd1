//! Arrays of the caller that the network reads after a run is over.

use core::ops::AddAssign;
use oxshmem_base::planted;

use crate::collectives::call::Call;
use crate::collectives::limits::LOCAL_COMPLETION;
use crate::network::lane;

/// How many bytes of the caller's arrays the network may still be reading.
#[derive(Clone, Copy, Default)]
pub(super) struct InFlightBytes(pub(super) usize);

impl InFlightBytes {
    /// Returns when the arrays may be written again: the network has read them.
    pub(super) fn complete_locally(self, call: Call<'_>) {
        match planted!("local-completion-skipped", self.0, 0) {
            0 => {}
            1..=LOCAL_COMPLETION => lane::complete_locally(call.name),
            _ => lane::complete(call.name),
        }
    }
}

impl AddAssign for InFlightBytes {
    fn add_assign(&mut self, more: Self) {
        self.0 += more.0;
    }
}
