//! Output of PEs, on its way to the launcher's own output. There is one queue for all PEs and both streams, so everything
//! leaves in the order in which it came. For everything that is out, the host gets room for more; if the launcher's
//! output is not read, the PEs wait.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use std::time::Duration;

use oxshmem_base::Error;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::fold::Folding;
use crate::line_ends::LineEnds;
use crate::link::frame::{AgentOrder, NO_HOST, OutputStream};
use crate::runtime::at;
use crate::terminal_stops;

/// A piece of output, and where it comes from.
struct Piece {
    host: u32,
    /// `None`: it is the launcher's own.
    pe: Option<u32>,
    stream: OutputStream,
    bytes: Vec<u8>,
}

pub(crate) struct Screen {
    pieces: mpsc::UnboundedSender<Piece>,
    progress: Rc<WriteProgress>,
}

/// How far the writer has come.
#[derive(Default)]
struct WriteProgress {
    /// Pieces that are not out.
    left: Cell<usize>,
    /// Whether errors are held back, about which a line is still to come.
    owes: Cell<bool>,
    /// Whether a line has no end where the launcher's own sentences go.
    in_line: Cell<bool>,
    lost: Cell<Option<Lost>>,
}

/// Output that could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) stream: OutputStream,
    why: Option<i32>,
}

impl Screen {
    /// The writer sends its notices to the hosts through `orders`: one for every piece.
    pub(crate) fn new(orders: mpsc::UnboundedSender<AgentOrder>) -> Screen {
        let (pieces, to_write) = mpsc::unbounded_channel();
        let progress = Rc::<WriteProgress>::default();
        tokio::task::spawn_local(write(to_write, orders, Rc::clone(&progress)));
        Screen { pieces, progress }
    }

    pub(crate) fn show(&self, host: u32, pe: Option<u32>, stream: OutputStream, bytes: Vec<u8>) {
        self.progress.left.set(self.progress.left.get() + 1);
        // The writer ends after us.
        let _ = self.pieces.send(Piece { host, pe, stream, bytes });
    }

    /// Whether everything is out or lost.
    pub(crate) fn is_empty(&self) -> bool {
        self.progress.left.get() == 0 && !self.progress.owes.get()
    }

    /// Whether a sentence of the launcher would continue a line of a PE.
    pub(crate) fn is_in_line(&self) -> bool {
        self.progress.in_line.get()
    }

    /// The first output that could not be written.
    pub(crate) fn lost(&self) -> Option<Lost> {
        self.progress.lost.get()
    }
}

/// The exit status where the output has no reader any more.
pub(crate) const UNREAD: i32 = 128 + libc::SIGPIPE;

impl Lost {
    /// Whether the stream has no reader any more.
    pub(crate) fn is_unread(self) -> bool {
        self.why == Some(libc::EPIPE)
    }

    /// The exit status of a job that ended well but for this: that of a writer without a launcher.
    pub(crate) fn status(self) -> i32 {
        if self.is_unread() { UNREAD } else { 1 }
    }

    pub(crate) fn error(self) -> Error {
        let why = self.why.map_or_else(|| io::ErrorKind::Other.into(), io::Error::from_raw_os_error);
        let fix = "make room, or send the output elsewhere; the PEs that write to it get SIGPIPE";
        Error::new(format!("the {} cannot be written, and output of PEs is lost", self.stream)).because(why).fix(fix)
    }
}

async fn write(
    mut pieces: mpsc::UnboundedReceiver<Piece>,
    orders: mpsc::UnboundedSender<AgentOrder>,
    progress: Rc<WriteProgress>,
) {
    let mut folding = Folding::default();
    // Both streams are one output where a terminal shows them, or one file has them.
    let together = is_one_file() || io::stdout().is_terminal() && io::stderr().is_terminal();
    let mut ends = [LineEnds::default(), LineEnds::default()];
    let of = |stream| usize::from(stream == OutputStream::Stderr && !together);
    loop {
        let piece = tokio::select! {
            piece = pieces.recv() => piece,
            () = at(folding.due()) => {
                // If it cannot be written, the next piece cannot either, and that is told.
                let text = folding.close(Instant::now());
                let text = ends[of(OutputStream::Stderr)].separate((None, OutputStream::Stderr), &text).into_owned();
                let _ = put(OutputStream::Stderr, text).await;
                progress.owes.set(folding.due().is_some());
                progress.in_line.set(ends[of(OutputStream::Stderr)].is_open());
                // The job looks whether everything is out.
                let _ = orders.send(AgentOrder::Written { host: NO_HOST, stream: OutputStream::Stderr, bytes: 0 });
                continue;
            }
        };
        let Some(Piece { host, pe, stream, bytes }) = piece else { return };
        let folded = match (stream, pe) {
            (OutputStream::Stdout, _) => {
                folding.interrupt();
                None
            }
            (OutputStream::Stderr, pe) => pe.map(|pe| folding.take(pe, &bytes, Instant::now())),
        };
        let text = ends[of(stream)].separate((pe, stream), folded.as_deref().unwrap_or(&bytes));
        let written = put(stream, text.into_owned()).await;
        progress.owes.set(folding.due().is_some());
        progress.in_line.set(ends[of(OutputStream::Stderr)].is_open());
        progress.left.set(progress.left.get() - 1);
        let order = match written {
            Ok(()) => AgentOrder::Written { host, stream, bytes: bytes.len() as u32 },
            Err(error) => {
                let first = progress.lost.get().unwrap_or(Lost { stream, why: error.raw_os_error() });
                progress.lost.set(Some(first));
                AgentOrder::Closed { stream }
            }
        };
        // After the job's end the notice has no reader.
        let _ = orders.send(order);
    }
}

/// Whether both streams go to the same file or pipe.
fn is_one_file() -> bool {
    let file = |stream: u32| {
        let about = std::fs::metadata(format!("/proc/self/fd/{stream}")).ok()?;
        Some((about.dev(), about.ino()))
    };
    file(1).is_some_and(|one| file(2) == Some(one))
}

/// Writes to a stream of the launcher. A thread waits for the reader, so that everything else goes on.
async fn put(stream: OutputStream, bytes: Vec<u8>) -> io::Result<()> {
    let written = tokio::task::spawn_blocking(move || match stream {
        OutputStream::Stdout => {
            terminal_stops::stop_in_background(&io::stdout());
            write_all(io::stdout().lock(), &bytes)
        }
        OutputStream::Stderr => {
            terminal_stops::stop_in_background(&io::stderr());
            write_all(io::stderr().lock(), &bytes)
        }
    });
    written.await.map_err(io::Error::other)?
}

/// The pause between two tries at a full stream that does not block.
const MOMENT: Duration = Duration::from_millis(1);

/// Writes everything. Another process that shares the stream may have made it nonblocking, as programs do whose input
/// and output are one socket or terminal. A slow reader is no error there either. A caller that passes a locked stream
/// keeps other texts out of its own.
pub(crate) fn write_all(mut sink: impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) => wait_out(error)?,
        }
    }
    while let Err(error) = sink.flush() {
        wait_out(error)?;
    }
    Ok(())
}

/// Whether writes to a stream fail while it has no room, as another process that shares it may have wished. Most programs lose what
/// they write then; [`write_all`] does not.
pub(crate) fn is_nonblocking(stream: &impl AsFd) -> bool {
    let number = stream.as_fd().as_raw_fd();
    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    // The kernel writes them in octal digits.
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_NONBLOCK != 0)
}

/// Waits a moment if the error will pass.
fn wait_out(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock => {
            std::thread::sleep(MOMENT);
            Ok(())
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes three bytes at a time, after an error that passes.
    #[derive(Default)]
    struct SlowReader {
        read: Vec<u8>,
        tries: usize,
    }

    impl Write for SlowReader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.tries += 1;
            match self.tries % 3 {
                0 => self.read.write(&bytes[..bytes.len().min(3)]),
                1 => Err(io::ErrorKind::WouldBlock.into()),
                _ => Err(io::ErrorKind::Interrupted.into()),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            self.tries += 1;
            if self.tries.is_multiple_of(2) { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
        }
    }

    #[test]
    fn a_stream_that_does_not_wait_is_known() {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().expect("two sockets");
        for wish in [true, false] {
            ours.set_nonblocking(wish).expect("our socket");
            assert_eq!(is_nonblocking(&ours), wish);
        }
    }

    #[test]
    fn errors_that_pass_lose_nothing() {
        let mut slow = SlowReader::default();
        write_all(&mut slow, b"all of this text").expect("each error passes");
        assert_eq!(slow.read, b"all of this text");
        assert!(write_all(std::fs::File::open("/dev/null").expect("it is there"), b"text").is_err());
    }
}
