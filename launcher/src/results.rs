//! Files with results for the user who runs this process: [`oxshmem_base::output`] with this user's number.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::{fs, io};

use oxshmem_base::Error;
use oxshmem_base::output::{self, ResultFile};
use oxshmem_os::descriptors::own_uid;

pub(crate) use output::fresh;

/// Makes a folder for results, or accepts an existing one.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    output::folder(path, own_uid())
}

/// A file that gets its name when it is complete.
pub(crate) fn create(path: &Path) -> io::Result<ResultFile> {
    ResultFile::create(path, own_uid())
}

/// Tries whether a file can be made at a path, before the work whose result it gets; an earlier file stays. A pipe is not opened: that
/// would wait for its reader, and closing it would tell the reader that all is there.
pub fn try_path(path: &Path) -> io::Result<()> {
    let is_pipe = fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    if is_pipe { Ok(()) } else { create(path).map(drop) }
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    output::write(path, bytes, own_uid())
}

/// A cell of comma-separated values; one with a comma or a quotation mark is quoted.
pub(crate) fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// The error for a result that cannot be written to `path`, with what to do.
pub fn unwritten(path: &Path, fix: &str) -> impl Fn(io::Error) -> Error + Copy {
    move |error| Error::new(format!("{} cannot be written", path.display())).because(error).fix(fix)
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn a_path_is_tried_without_a_trace() {
        let folder = TestFolder::new("tried-paths");
        let (earlier, new, pipe) = (folder.write("earlier", "text"), folder.join("new"), folder.join("pipe"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("a program").success());
        for path in [&earlier, &new, &pipe] {
            try_path(path).expect("the folder is ours");
        }
        assert_eq!(fs::read_to_string(&earlier).expect("the file stays"), "text");
        assert!(!new.exists());
        assert_eq!(try_path(&folder).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert!(try_path(&folder.join("no/file")).is_err());
    }
}
