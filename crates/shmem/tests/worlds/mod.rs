//! The worlds in which a test of several files runs.
#![allow(dead_code, reason = "every test program uses a part of it")]

use oxshmem::{World, test};

/// Runs `body` as processes of one node, and of two if there are enough.
pub(crate) fn processes(pes: usize, body: impl Fn(&World)) {
    test::processes(pes, &body);
    if pes > 1 {
        test::processes_on(2, pes, &body);
    }
}

/// [`processes`], and as threads whose operations come late.
pub(crate) fn everywhere(pes: usize, body: impl Fn(&World) + Sync) {
    processes(pes, &body);
    if std::env::var_os("OXSHMEM_TEST_CALL").is_none() {
        test::threads(pes).delayed().seeds(0..3, &body);
    }
}
