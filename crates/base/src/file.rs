//! Files that a user or a scheduler names, or that any user may have placed. Every read has a limit: `/dev/zero` never ends.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No table, host file or description of a machine is longer.
const LONGEST: u64 = 16 << 20;

/// The text of a file.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    bytes(path, LONGEST)?.as_slice().read_to_string(&mut text)?;
    Ok(text)
}

/// The bytes of a file or pipe that a user has named, `most` at most.
pub fn bytes(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, most)
}

/// The bytes of a regular file that was found in a folder. Others may have put links or pipes there: a link could lead to any
/// file, and a pipe without a writer would stop the reader.
pub fn found(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let is_regular =
        |kind: std::fs::FileType| if kind.is_file() { Ok(()) } else { Err(io::Error::other("it is no regular file")) };
    is_regular(std::fs::symlink_metadata(&path)?.file_type())?;
    let file = File::open(path)?;
    // Another file may have taken the name meanwhile.
    is_regular(file.metadata()?.file_type())?;
    bounded(file, most)
}

/// Everything that a stream brings, `most` bytes at most.
pub fn bounded(stream: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        Err(io::Error::other(format!("it is longer than {}", crate::size::display(most))))
    } else {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_M7_a_file_without_end_is_refused() {
        assert_eq!(read("/dev/null").unwrap(), "");
        assert!(read("/proc/self/status").unwrap().contains("Pid:"));
        assert_eq!(read("/dev/zero").unwrap_err().to_string(), "it is longer than 16 MiB");
        assert_eq!(read("/no/such/file").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn fault_T5_only_regular_files_are_found_and_a_limit_is_exact() {
        assert_eq!(bounded(&b"abcd"[..], 4).unwrap(), b"abcd");
        assert_eq!(bounded(&b"abcde"[..], 4).unwrap_err().to_string(), "it is longer than 4 B");
        assert_eq!(found("/dev/zero", 4).unwrap_err().to_string(), "it is no regular file");
        // A link to a regular file.
        assert_eq!(found("/proc/self/exe", u64::MAX).unwrap_err().to_string(), "it is no regular file");
    }
}
