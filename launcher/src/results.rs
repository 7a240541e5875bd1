//! Files with results for the user who runs this process: [`oxshmem_base::output`] with this user's number.

use std::io;
use std::path::Path;

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
