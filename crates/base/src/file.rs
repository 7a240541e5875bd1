//! Files that a user or a scheduler names. They are read as far as any sensible one goes: `/dev/zero` never ends.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No table, host file or description of a machine is longer.
const LONGEST: u64 = 16 << 20;

/// The text of a file.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {}", crate::size::display(LONGEST))));
    }
    bytes.as_slice().read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(non_snake_case, reason = "tests carry the number of the fault")]
    fn fault_M7_a_file_without_end_is_refused() {
        assert_eq!(read("/dev/null").unwrap(), "");
        assert!(read("/proc/self/status").unwrap().contains("Pid:"));
        assert_eq!(read("/dev/zero").unwrap_err().to_string(), "it is longer than 16 MiB");
        assert_eq!(read("/no/such/file").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
