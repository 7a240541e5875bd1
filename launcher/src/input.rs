//! The launcher's standard input and who gets it.
//!
//! One PE inherits the very descriptor, so that nothing is read that it does not read: `while read f; do oshrun …` keeps
//! its list. Only where that cannot be, with a terminal (the PE is not in its foreground) or several readers, the
//! launcher reads and copies. A PE on another host gets its input through the agents' pipes.

use std::fs;
use std::io::IsTerminal;
use std::process::Stdio;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{Semaphore, mpsc};

use crate::link::frame::AgentOrder;
use crate::plan::Stdin;

/// The standard input of PE `pe`.
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

/// Copies the input to every PE that reads it. A PE that has closed its end is left out.
pub(crate) async fn copy(mut readers: Vec<ChildStdin>) {
    let mut input = tokio::io::stdin();
    let mut bytes = vec![0; 1 << 16];
    while !readers.is_empty() {
        let length = input.read(&mut bytes).await.unwrap_or(0);
        if length == 0 {
            return;
        }
        let mut still = Vec::with_capacity(readers.len());
        for mut reader in readers {
            if reader.write_all(&bytes[..length]).await.is_ok() {
                still.push(reader);
            }
        }
        readers = still;
    }
}

/// A PE elsewhere that reads the input. It takes as much at a time as there is room; closed, it wants no more.
#[derive(Clone)]
pub(crate) struct InputReader {
    pub(crate) pe: u32,
    room: Rc<Semaphore>,
}

/// How much may be on its way to one reader.
const WINDOW: usize = 256 << 10;
/// How much is read at once.
const PIECE: usize = 32 << 10;

impl InputReader {
    pub(crate) fn new(pe: u32) -> InputReader {
        InputReader { pe, room: Rc::new(Semaphore::new(WINDOW)) }
    }

    /// It has taken so many bytes, or wants no more.
    pub(crate) fn took(&self, bytes: u32) {
        match bytes {
            0 => self.room.close(),
            _ => self.room.add_permits(bytes as usize),
        }
    }
}

/// Sends the input to every PE elsewhere that reads it, and at last its end.
pub(crate) async fn send(readers: Vec<InputReader>, orders: mpsc::UnboundedSender<AgentOrder>) {
    // The receiver of the orders lives as long as the PEs.
    let order = |pe, bytes| drop(orders.send(AgentOrder::Input { pe, bytes }));
    let mut input = tokio::io::stdin();
    let mut bytes = vec![0; PIECE];
    while readers.iter().any(|reader| !reader.room.is_closed()) && (!std::io::stdin().is_terminal() || in_foreground())
    {
        let length = input.read(&mut bytes).await.unwrap_or(0);
        if length == 0 {
            break;
        }
        for reader in &readers {
            if let Ok(room) = reader.room.acquire_many(length as u32).await {
                room.forget();
                order(reader.pe, bytes[..length].to_vec());
            }
        }
    }
    readers.iter().for_each(|reader| order(reader.pe, Vec::new()));
}

/// Whether the terminal's input is ours. In the background a read would stop the whole launcher.
fn in_foreground() -> bool {
    // The fields after the command's closing bracket: state, parent, group, session, terminal, its foreground group.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    fields.len() > 5 && fields[2] == fields[5]
}
