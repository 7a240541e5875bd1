//! The worlds in which a test of several files runs.

use oxshmem::World;
use oxshmem::test::{processes, processes_on, threads};

/// Runs `body` as processes of one node and of two, and as threads.
pub(crate) fn everywhere(pes: usize, body: impl Fn(&World) + Sync) {
    processes(pes, &body);
    processes_on(2, pes, &body);
    if std::env::var_os("OXSHMEM_TEST_CALL").is_none() {
        threads(pes).delayed().seeds(0..3, &body);
    }
}
