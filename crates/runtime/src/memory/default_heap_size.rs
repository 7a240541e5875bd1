//! Decides the bytes of the symmetric heap of a PE where the user has set no size (`SHMEM_SYMMETRIC_SIZE`).

use oxshmem_os::limits::{Limit, Limits};
use oxshmem_os::memory;

/// The share of one of so many PEs if all have the same: of the machine's memory, or of the tightest control group's limit
/// if that is less.
pub(super) fn share_of_memory(members: usize) -> u64 {
    let page = memory::page_size() as u64;
    let most = Limits::of_pages(page).without_nodes().look().iter().map(Limit::most).min().unwrap_or(0);
    (most / members as u64).next_multiple_of(page)
}
