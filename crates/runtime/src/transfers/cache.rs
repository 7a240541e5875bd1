//! Facts of the processor that algorithms choose by.

use std::sync::OnceLock;

/// Bytes of the last level of cache, which the node's PEs share.
pub(crate) fn last_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        #[cfg(target_env = "gnu")]
        // SAFETY: takes a number and returns one.
        let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
        #[cfg(not(target_env = "gnu"))]
        let bytes = 0;
        usize::try_from(bytes).ok().filter(|&bytes| bytes > 0).unwrap_or(32 << 20)
    })
}
