//! The launcher's standard input and who gets it.
//!
//! One PE inherits the very descriptor, so that nothing is read that it does not read: `while read f; do oshrun …` keeps
//! its list. Only where that cannot be, with a terminal (the PE is not in its foreground) or several readers, the
//! launcher reads and copies. A PE on another host gets its input through the agents' pipes.

use std::cell::Cell;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use oxshmem_os::sockets;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{Notify, Semaphore, mpsc};

use crate::link::frame::AgentOrder;
use crate::plan::Stdin;
use crate::say;

pub(crate) fn stream_of(pe: u32, wish: Stdin) -> Stdio {
    match wish {
        Stdin::All => Stdio::piped(),
        Stdin::Pe(reader) if reader == pe => match std::io::stdin().is_terminal() {
            true if in_foreground() => Stdio::piped(),
            true => Stdio::null(),
            false => Stdio::inherit(),
        },
        _ => Stdio::null(),
    }
}

/// How far the slowest reader may fall behind before the others wait for it. The launcher keeps as much of the input.
const FARTHEST_BEHIND: usize = 64 << 20;
/// How much is read at once.
const PIECE: usize = 32 << 10;

/// The way to one reader. Each has a queue of its own, so that a reader that does not read yet stops no other.
struct InputLane {
    pe: u32,
    /// Closed, the reader wants no more.
    pieces: mpsc::UnboundedSender<Rc<[u8]>>,
    /// How many bytes of the queue the reader has not taken.
    behind: Rc<Cell<usize>>,
}

impl InputLane {
    /// `put` passes a piece on as soon as the reader takes it, and an empty one at the end; false: the reader wants no more.
    fn new(pe: u32, moved: Rc<Notify>, mut put: impl AsyncFnMut(&[u8]) -> bool + 'static) -> InputLane {
        let (pieces, mut queue) = mpsc::unbounded_channel::<Rc<[u8]>>();
        let behind = Rc::<Cell<usize>>::default();
        let left = Rc::clone(&behind);
        tokio::task::spawn_local(async move {
            while let Some(piece) = queue.recv().await {
                if !put(&piece).await {
                    break;
                }
                left.set(left.get() - piece.len());
                moved.notify_one();
            }
            put(&[]).await;
            drop(queue);
            moved.notify_one();
        });
        InputLane { pe, pieces, behind }
    }
}

/// Reads the input as fast as the fastest reader takes it, until it ends or no reader is left.
async fn deal(mut lanes: Vec<InputLane>, moved: &Notify) {
    let mut is_told = false;
    loop {
        lanes.retain(|lane| !lane.pieces.is_closed());
        if lanes.is_empty() {
            return;
        }
        let slowest = lanes.iter().max_by_key(|lane| lane.behind.get());
        let slowest = slowest.filter(|lane| lane.behind.get() + PIECE > FARTHEST_BEHIND);
        if slowest.is_some() || lanes.iter().all(|lane| lane.behind.get() > 0) {
            if let (Some(InputLane { pe, .. }), false) = (slowest, is_told) {
                is_told = true;
                let most = FARTHEST_BEHIND >> 20;
                say(&format!(
                    "note: PE {pe} has not read {most} MiB of the input, and the others wait for it (--stdin all)"
                ));
            }
            moved.notified().await;
            continue;
        }
        // A thread waits for it, so that everything else goes on.
        let piece: Rc<[u8]> = tokio::task::spawn_blocking(read_piece).await.unwrap_or_default().into();
        if piece.is_empty() {
            return;
        }
        for lane in &lanes {
            lane.behind.set(lane.behind.get() + piece.len());
            // One that wants no more is left out next time.
            let _ = lane.pieces.send(Rc::clone(&piece));
        }
    }
}

/// How long a terminal is waited for at a time.
const GLANCE: Duration = Duration::from_millis(200);

/// Waits for the next piece of the input; no bytes: its end.
fn read_piece() -> Vec<u8> {
    let input = io::stdin();
    // A read that waits at the terminal would stop the launcher once the user has stopped the job and continued it in the background.
    while input.is_terminal() && !has_bytes_for_us(&input) {}
    piece_of(input).unwrap_or_else(|error| {
        say(&format!("note: the input cannot be read ({error}), so it ends here for the PEs that read it (--stdin)"));
        Vec::new()
    })
}

/// Reads the next piece; no bytes: the end. Another process that has the same descriptor may have made its reads not wait.
fn piece_of(mut input: impl Read + AsFd) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; PIECE];
    let length = loop {
        match input.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The next read tells whether there is something now.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => drop(sockets::wait_readable(&input, GLANCE)),
            read => break read?,
        }
    };
    bytes.truncate(length);
    Ok(bytes)
}

/// Waits a moment for bytes of the terminal that are for the launcher, and not for the shell.
fn has_bytes_for_us(terminal: &io::Stdin) -> bool {
    // The read that follows reports an error.
    let has_bytes = sockets::wait_readable(terminal, GLANCE).unwrap_or(true);
    let are_ours = has_bytes && in_foreground();
    if has_bytes && !are_ours {
        std::thread::sleep(GLANCE);
    }
    are_ours
}

/// Copies the input to every PE here that reads it. A PE that has closed its end is left out.
pub(crate) async fn copy(readers: Vec<(u32, ChildStdin)>) {
    let moved = Rc::<Notify>::default();
    let lane = |(pe, mut reader): (u32, ChildStdin)| {
        InputLane::new(pe, Rc::clone(&moved), async move |piece| reader.write_all(piece).await.is_ok())
    };
    deal(readers.into_iter().map(lane).collect(), &moved).await;
}

/// A PE on another host that reads the input. It takes as much at a time as there is room. If the semaphore is closed,
/// the PE wants no more.
#[derive(Clone)]
pub(crate) struct InputReader {
    pub(crate) pe: u32,
    room: Rc<Semaphore>,
}

/// How much may be on its way to one reader.
const WINDOW: usize = 256 << 10;

impl InputReader {
    pub(crate) fn new(pe: u32) -> InputReader {
        InputReader { pe, room: Rc::new(Semaphore::new(WINDOW)) }
    }

    /// The PE has taken this many bytes; 0: it wants no more.
    pub(crate) fn took(&self, bytes: u32) {
        match bytes {
            0 => self.room.close(),
            _ => self.room.add_permits(bytes as usize),
        }
    }
}

/// Sends the input to every PE elsewhere that reads it, and at last its end.
pub(crate) async fn send(readers: Vec<InputReader>, orders: mpsc::UnboundedSender<AgentOrder>) {
    let moved = Rc::<Notify>::default();
    let lane = |InputReader { pe, room }: InputReader| {
        let orders = orders.clone();
        InputLane::new(pe, Rc::clone(&moved), async move |piece| {
            let Ok(room) = room.acquire_many(piece.len() as u32).await else { return false };
            room.forget();
            // The receiver of the orders lives as long as the PEs.
            let _ = orders.send(AgentOrder::Input { pe, bytes: piece.to_vec() });
            true
        })
    };
    let lanes: Vec<InputLane> = readers.into_iter().map(lane).collect();
    // A job that begins in the background has no input. One that is there later waits for the terminal.
    if !std::io::stdin().is_terminal() || in_foreground() {
        deal(lanes, &moved).await;
    }
}

/// Whether the terminal's input is ours. In the background a read would stop the whole launcher.
fn in_foreground() -> bool {
    // The fields after the command's closing bracket: state, parent, group, session, terminal, its foreground group.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    fields.len() > 5 && fields[2] == fields[5]
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    #[test]
    fn an_input_whose_reads_do_not_wait_ends_where_its_writer_ends_it() {
        let (input, mut writer) = UnixStream::pair().expect("a pair of sockets");
        input.set_nonblocking(true).expect("a socket can be told so");
        let writes = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            writer.write_all(b"late").expect("the reader waits for it");
        });
        assert_eq!(piece_of(&input).expect("bytes"), b"late");
        writes.join().expect("it has written");
        assert_eq!(piece_of(&input).expect("the end"), b"");
    }
}
