//! Folders for the files of tests.
#![forbid(unsafe_code)]

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test, empty at first and gone at its end, however that comes.
#[derive(Debug)]
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// Makes a folder of its own for the test that is called so.
    pub fn new(test: &str) -> TestFolder {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("oxshmem-{test}-{}-{number}", std::process::id()));
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

#[cfg(test)]
mod tests {
    use super::TestFolder;

    #[test]
    fn a_folder_goes_with_its_files_and_leaves_another_one_of_its_name() {
        let (one, other) = (TestFolder::new("folder"), TestFolder::new("folder"));
        let path = one.to_path_buf();
        std::fs::write(one.join("file"), "").expect("our folder");
        drop(one);
        assert!(!path.exists() && other.exists());
    }
}
