//! How many bytes a heap backs with pages when it grows.

use super::SymmetricHeap;
use crate::network;

/// Grows in steps of this many bytes, so that small allocations do not each ask the kernel.
const STEP: u64 = 1 << 20;

/// The most that a PE takes ahead of its needs, and the part of what each PE of the node could have, one in so many: so little that no
/// request is refused for it.
pub(super) const AHEAD: (u64, u64) = (64 << 20, 64);

impl SymmetricHeap {
    /// How many bytes must be backed before everything up to the allocator's high-water mark is. `share` says, for a size of
    /// pages, how many bytes each PE of the node could have.
    pub(crate) fn missing(&self, share: impl Fn(u64) -> u64) -> u64 {
        self.missing_where(network::registers_growth(), network::takes_turns(), share)
    }

    /// [`Self::missing`] where the network `registers` each growth, or PEs `take_turns`.
    pub(super) fn missing_where(&self, registers: bool, take_turns: bool, share: impl Fn(u64) -> u64) -> u64 {
        let need = self.blocks.high_water();
        if need <= self.committed {
            return 0;
        }
        let step = STEP.max(self.page);
        let rounded = |need: u64| need.next_multiple_of(step).min(self.capacity().next_multiple_of(self.page));
        if registers {
            // There are few registrations if each adds a fraction of what is backed already. All PEs of the node take as much.
            let roomy = rounded(need + need / 8) - self.committed;
            if roomy <= share(self.page) / 2 {
                return roomy;
            }
        }
        // A growth asks all PEs and looks at all limits, so there are few if each adds a fraction at least. PEs that take turns do
        // the same in each run, whatever memory there is.
        let eighth = self.committed / 8;
        let more = if eighth > step && !take_turns { eighth.min(AHEAD.0).min(share(self.page) / AHEAD.1) } else { 0 };
        rounded(need.max(self.committed + more)) - self.committed
    }
}
