//! The activity of a PE, for readers outside of it.
//!
//! A PE writes into its control window: its [`waits`] that are not short, and its last [`calls`]. An [`index`] at the head of the
//! window says where these are. PEs of the node read them as memory, PE 0 reads them over the network, and the launcher reads
//! them through `/proc` without the PE's help, so that a PE which is stopped or computes is seen as well. All of them make the
//! same [`report`] of it.
#![forbid(unsafe_code)]

pub mod calls;
pub mod index;
pub mod report;
pub mod sockets;
pub mod waits;

use serde::{Deserialize, Serialize};

use crate::calls::CallEntry;
use crate::waits::WaitEntry;

/// The state of a PE, as it publishes it.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum State {
    /// Not yet through init.
    Starting = 0,
    /// Between init and the last finalize.
    Running = 1,
    /// Through the last finalize.
    Finalized = 2,
    /// Ended without finalize, or became another program.
    Gone = 3,
}

impl State {
    /// The state that a number stands for. A number that no PE writes counts as gone.
    pub fn of(number: u32) -> Self {
        match number {
            0 => Self::Starting,
            1 => Self::Running,
            2 => Self::Finalized,
            _ => Self::Gone,
        }
    }
}

/// The state of a PE's process, as the system tells it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Activity {
    /// It has not been looked at.
    #[default]
    Unknown,
    /// It uses a processor.
    Computes,
    /// It waits in a system call.
    Sleeps,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has ended.
    Ended,
    /// It cannot be looked at, for this reason.
    Hidden(String),
}

/// One PE as a report knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Its world number.
    pub pe: u32,
    /// The state that it has published.
    pub state: State,
    /// The state of its process.
    pub activity: Activity,
    /// The number of its process, if it is known.
    pub process: Option<u32>,
    /// Its threads' waits, the oldest first, and behind them those of collectives that have returned at once.
    pub waits: Vec<WaitEntry>,
    /// Its last calls, the latest first.
    pub calls: Vec<CallEntry>,
    /// How many calls it has recorded.
    pub made: u64,
    /// How many bytes these have moved.
    pub bytes: u64,
}

impl Witness {
    /// Whether a thread of it waits in the library.
    pub fn is_waiting(&self) -> bool {
        self.waits.iter().any(WaitEntry::has_thread)
    }

    /// A PE of which no more is known than its state and its waits.
    pub fn new(pe: u32, state: State, waits: Vec<WaitEntry>) -> Self {
        Self { pe, state, activity: Activity::Unknown, process: None, waits, calls: Vec::new(), made: 0, bytes: 0 }
    }
}
