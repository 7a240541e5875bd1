//! Files in which the kernel tells of processes and mounts. Names of programs and paths stand in them, and may have any bytes.

use std::fs;
use std::io;
use std::path::Path;

/// The text of such a file. Bytes that are no text are replaced, so that one name does not hide everything else. The kernel cuts
/// the name of a program after 15 bytes, perhaps in the middle of a character.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_that_are_no_text_hide_nothing_else() {
        let folder = oxshmem_test_folder::TestFolder::new("kernel-text");
        let path = folder.write("stat", b"17 (gr\xc3) S 1");
        assert_eq!(super::read(path).ok().as_deref(), Some("17 (gr\u{fffd}) S 1"));
        assert!(super::read(folder.join("none")).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound));
    }
}
