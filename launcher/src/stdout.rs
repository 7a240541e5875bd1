//! The standard output of the tools: what becomes of a result that cannot be written.
//!
//! A reader that closes early (head, less) ends a tool as it ends any writer of a pipe, with the status of SIGPIPE and without a
//! word. Any other failure loses the result, so the tool says so and fails.

use std::io::{self, Write};

use oxshmem_base::Error;

use crate::screen;

/// The exit status of a tool whose reader has closed the output early.
const UNREAD: u8 = 128 + libc::SIGPIPE as u8;
/// The exit status of a tool whose result is lost.
const LOST: u8 = 1;

/// Prints a tool's result. If it is lost, that has been said, and the exit status for it comes back.
pub fn print(tool: &str, text: &str) -> Result<(), u8> {
    print_with(tool, |output| output.write_all(text.as_bytes()))
}

/// Prints a result that is made piece by piece, as [`print`] does.
pub(crate) fn print_with(tool: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), u8> {
    let mut output = io::BufWriter::new(PatientOutput(io::stdout().lock()));
    let written = write(&mut output).and_then(|()| output.flush());
    // A text that could not be written is not tried again.
    drop(output.into_parts());
    let Err(error) = written else { return Ok(()) };
    let (status, told) = lost(&error);
    if let Some(told) = told {
        // Without a reader there is still the exit status.
        let _ = writeln!(io::stderr(), "{tool}: {told}");
    }
    Err(status)
}

/// An output whose reader is waited for, also where another process that shares the stream has made it nonblocking.
struct PatientOutput<W>(W);

impl<W: Write> Write for PatientOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        screen::write_all(&mut self.0, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing is held back.
        Ok(())
    }
}

/// The exit status after this error, and the sentence about it.
fn lost(error: &io::Error) -> (u8, Option<Error>) {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return (UNREAD, None);
    }
    let told = Error::new("the standard output cannot be written, and its rest is lost").because(error);
    (LOST, Some(told.fix("make room, or send the output elsewhere")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_leaves_needs_no_words_and_a_full_disk_does() {
        let after = |number| lost(&io::Error::from_raw_os_error(number));
        assert_eq!(after(libc::EPIPE), (141, None));
        let (status, told) = after(libc::ENOSPC);
        let told = told.expect("a sentence").to_string();
        assert_eq!((status, told.lines().count()), (1, 3), "{told}");
        assert!(told.contains("No space left on device"), "{told}");
    }
}
