//! The result of a set of checks.

/// How many checks went well, how many did not, how many could not run here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CheckCounts {
    /// Went well.
    pub(crate) passed: usize,
    /// Did not.
    pub(crate) failed: usize,
    /// Could not run here; the output says why.
    pub(crate) skipped: usize,
}

impl std::ops::AddAssign for CheckCounts {
    fn add_assign(&mut self, more: CheckCounts) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}
