//! How large the windows of a node may be if its PEs have a limit of addresses (`ulimit -v`, `h_vmem` of a scheduler).
//!
//! Every PE maps the windows of all PEs of its node. The control windows have one size; the heaps take what the limit leaves. All
//! PEs must agree on the windows, so the leader decides by the tightest limit.

use oxshmem_base::size;

use crate::memory::facts::MemberFacts;

/// The addresses that are left to the program itself: stacks, its own memory, libraries of networks.
const PROGRAM: u64 = 512 << 20;
/// A smaller heap window is of no use.
const LEAST: u64 = 16 << 20;

/// The needs of a node's PEs besides their heaps.
pub(crate) struct AddressNeed {
    pub(crate) members: u64,
    /// Bytes of a control window.
    pub(crate) control: u64,
    /// Bytes of the static variables of a PE; 0 where they are not shared.
    pub(crate) statics: u64,
}

impl AddressNeed {
    /// Of these PEs.
    pub(crate) fn of(facts: &[MemberFacts], control: u64) -> Self {
        let statics = facts.iter().map(|member| member.statics).min().unwrap_or(0);
        Self { members: facts.len() as u64, control, statics }
    }

    /// Addresses that a PE needs for heap windows of `heap` bytes.
    fn with_heap(&self, heap: u64) -> u64 {
        let statics = if self.statics == 0 { 0 } else { self.statics.next_power_of_two() };
        let each = self.control.saturating_add(statics).saturating_add(heap);
        self.members.saturating_mul(each).saturating_add(PROGRAM)
    }

    /// The largest heap window, a power of two, for PEs to which the tightest limit leaves `left` addresses. The error says why
    /// there is none.
    pub(crate) fn largest_heap(&self, left: u64) -> Result<u64, String> {
        let fits = |shift: &u32| self.with_heap(1 << shift) <= left;
        let shift = (LEAST.trailing_zeros()..46).rev().find(fits);
        shift.map(|shift| 1 << shift).ok_or_else(|| self.too_little(LEAST, left))
    }

    /// Why there is no room for heap windows of `heap` bytes.
    pub(crate) fn too_little(&self, heap: u64, left: u64) -> String {
        let needed = self.with_heap(heap);
        let (needed, missing) = (size::display(needed), size::display(needed.saturating_sub(left)));
        let (who, fewer) = match self.members {
            1 => (format!("the only PE of the node needs {needed}"), ""),
            several => {
                (format!("{several} PEs of one node need {needed} in each of them"), ", or run fewer PEs on a node")
            }
        };
        format!(
            "the limit of addresses (ulimit -v; h_vmem or vmem of a scheduler) leaves {}, and {who}; raise it by {missing} at least \
             (addresses cost no memory){fewer}",
            size::display(left),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn need(members: u64) -> AddressNeed {
        AddressNeed { members, control: 8 * GIB, statics: 3 << 20 }
    }

    #[test]
    fn fault_V1_the_heaps_take_what_the_limit_leaves() {
        for (members, left) in [(1, 10 * GIB), (2, 18 * GIB), (2, 24 * GIB), (2, 70 * GIB), (64, 600 * GIB)] {
            let heap = need(members).largest_heap(left).expect("there is room");
            assert!(heap.is_power_of_two() && need(members).with_heap(heap) <= left, "{members} {left}");
            assert!(need(members).with_heap(2 * heap) > left, "a larger one has no room");
        }
        assert_eq!(need(2).largest_heap(u64::MAX), Ok(1 << 45));
    }

    #[test]
    fn fault_V1_what_is_missing_is_named() {
        let why = need(2).largest_heap(4 * GIB).expect_err("the control windows alone are 16 GiB");
        assert!(why.contains("leaves 4 GiB") && why.contains("2 PEs of one node need 16.5"), "{why}");
        assert!(why.contains("raise it by 12.5") && why.contains("fewer PEs"), "{why}");
        let why = need(1).largest_heap(4 * GIB).expect_err("the control window alone is 8 GiB");
        assert!(why.contains("the only PE of the node needs 8.5") && !why.contains("fewer PEs"), "{why}");
    }
}
