//! Folders for the files of tests.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder of one test, gone at its end.
#[derive(Debug)]
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// Makes the folder of the test that is called so.
    pub fn new(test: &str) -> TestFolder {
        let folder = std::env::temp_dir().join(format!("oxshmem-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the files of a test");
        TestFolder(folder)
    }
}

impl Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
