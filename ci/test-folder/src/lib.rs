//! Folders for the files of tests, processes of a test's own, and the words of a test that cannot run here.
#![forbid(unsafe_code)]

use std::io::ErrorKind;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test, empty at first and gone at its end, however that comes.
#[derive(Debug)]
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// Makes a folder of its own for the test that is called so.
    pub fn new(test: &str) -> TestFolder {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
            let folder = std::env::temp_dir().join(format!("oxshmem-{test}-{}-{number}", std::process::id()));
            match std::fs::create_dir(&folder) {
                // A test that was killed has left it, and its process number has come again.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map(|()| TestFolder(folder)).expect("a folder for the files of a test"),
            }
        }
    }

    /// Writes a file, with the folders on the way to it, and returns its path. `name` is a path from this folder, or a
    /// whole one within it.
    #[track_caller]
    pub fn write(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        let parent = path.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text)).expect("a file of a test");
        path
    }

    /// [`TestFolder::write`] of a file that can be executed.
    #[track_caller]
    pub fn write_executable(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, text);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a file of a test");
        path
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

/// Is set in a process that [`again`] starts.
const AGAIN: &str = "OXSHMEM_TEST_AGAIN";

/// Whether this process has one test to run, which has started it by [`again`].
pub fn is_again() -> bool {
    std::env::var_os(AGAIN).is_some()
}

/// The test of this thread once more, alone in a process of its own, where [`is_again`] is true. `before`: a program that executes the words
/// behind its own, with its words; none of them starts the process as it is.
pub fn again(before: &[&str]) -> Command {
    let this = std::env::current_exe().expect("a test is in a file");
    let mut words = before.iter().map(AsRef::as_ref).chain([this.as_os_str()]);
    let mut command = Command::new(words.next().expect("the test at least"));
    command.args(words).args([own_name().as_str(), "--exact", "--nocapture", "--test-threads=1"]).env(AGAIN, "1");
    command
}

/// The name of the test of this thread: the harness gives it to the thread.
fn own_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// Asserts that the test passes in the process that [`again`] has prepared.
#[track_caller]
pub fn passes(mut again: Command) {
    let ended = again.output().expect("it starts");
    let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    // A name that no test has would be a success, too.
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}

/// Says why the test of this thread, or a part of it, is not run, in the way that the counts of the checks understand.
pub fn not_run(why: impl std::fmt::Display) {
    println!("not run: {}: {why}", own_name());
}

#[cfg(test)]
mod tests {
    use super::TestFolder;

    #[test]
    fn a_folder_goes_with_its_files_and_leaves_another_one_of_its_name() {
        let (one, other) = (TestFolder::new("folder"), TestFolder::new("folder"));
        let path = one.to_path_buf();
        one.write("file", "");
        drop(one);
        assert!(!path.exists() && other.exists());
    }

    #[test]
    fn a_folder_that_a_killed_process_has_left_is_not_taken() {
        let before = TestFolder::new("left");
        let name = before.file_name().expect("it has a name").to_str().expect("text").to_owned();
        let (stem, number) = name.rsplit_once('-').expect("a number ends it");
        let number: u32 = number.parse().expect("a number");
        let left: Vec<_> = (1..50).map(|next| std::env::temp_dir().join(format!("{stem}-{}", number + next))).collect();
        left.iter().for_each(|folder| std::fs::create_dir(folder).expect("nobody has it"));
        let fresh = TestFolder::new("left");
        assert!(!left.contains(&fresh.to_path_buf()));
        left.iter().for_each(|folder| std::fs::remove_dir(folder).expect("it is empty"));
    }

    #[test]
    fn a_file_is_written_with_its_folders_and_again_by_its_path() {
        let folder = TestFolder::new("files");
        let path = folder.write("some/where/file", "first");
        assert_eq!(path, folder.join("some/where/file"));
        assert_eq!(folder.write(&path, "second"), path);
        assert_eq!(std::fs::read_to_string(path).expect("it was written"), "second");
    }
}
