//! The files of `--output-dir`: their names, and those that an earlier job has left.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The names of a PE's streams.
pub(crate) const STREAMS: [&str; 2] = ["out", "err"];

/// The file of a stream of PE `pe`.
pub(crate) fn path(folder: &Path, pe: u32, stream: &str) -> PathBuf {
    folder.join(format!("pe.{pe}.{stream}"))
}

/// Removes the files of PEs from number `first` on: what a larger job has left would be taken for output of this one.
pub(crate) fn clear(folder: &Path, first: u32) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| pe_of(&entry.file_name()).is_some_and(|pe| pe >= first)) {
        // A file of a PE of this job is replaced anyway, or the job says why it cannot be.
        let _ = fs::remove_file(entry.path());
    }
}

/// The PE of a file that `path` names, and of no other file.
fn pe_of(name: &OsStr) -> Option<u32> {
    let (number, stream) = name.to_str()?.strip_prefix("pe.")?.split_once('.')?;
    let pe: u32 = number.parse().ok()?;
    // Another spelling of the number is a name that we do not give.
    (STREAMS.contains(&stream) && pe.to_string() == number).then_some(pe)
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn only_files_of_pes_are_removed() {
        let folder = TestFolder::new("kept-output");
        let others = [
            "pe.3.html",
            "pe.03.out",
            "pe.+3.out",
            "pe.3.out.gz",
            "pe..out",
            "PE.3.out",
            "pe.4294967296.err",
            "pe.a.err",
        ];
        let files = [(0, "out"), (2, "out"), (2, "err"), (17, "err")].map(|(pe, stream)| path(&folder, pe, stream));
        others.iter().for_each(|name| drop(folder.write(name, "x")));
        files.iter().for_each(|path| fs::write(path, "x").expect("our folder"));
        let left = || files.each_ref().map(|path| path.exists());
        clear(&folder, 2);
        assert_eq!(left(), [true, false, false, false]);
        clear(&folder, 0);
        assert_eq!(left(), [false; 4]);
        assert!(others.iter().all(|name| folder.join(name).exists()));
        clear(&folder.join("no"), 0);
    }
}
