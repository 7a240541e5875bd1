//! Unacknowledged puts, by messages, where UCX itself makes a put of messages between processors. Over TCP each put of UCX's is
//! acknowledged by a message of its own, which costs both processors as much as the put. Here one acknowledgement serves for many puts,
//! and a fence between messages costs nothing. On lanes of programs short puts go so, on the runtime's own lane all.

use std::slice;

use oxshmem_transport::{NotIssued, PutArguments, Remote, SignalUpdate, TargetTask};

use super::question::RequestData;
use super::{COPIED, Channel, Issued};
use crate::peers::Directory;

/// Longest piece: with its header it is one segment of TCP's, so it goes from UCX's buffer to its place with one copy.
pub(super) const PIECE: usize = 128 << 10;

/// From this many bytes on a put goes whole, and the target receives it to its place. A copy costs less than the
/// messages of a rendezvous below: between two nodes of one machine broadcasts of 256 KiB took 66 us in pieces and 80
/// whole; maxima of 1 MiB, in slices of 512 KiB, 714 us in pieces and 514 whole.
const LONG: usize = 512 << 10;

/// Longest put of a program that is a message where the program waits for its source. UCX has read a message when the call returns, or
/// when the socket has room for the rest; a put of UCX's own waits for the target. Two processors, busy, `ucx:tcp`: puts in a row of 16 KiB
/// and a byte, 32 and 64 KiB took 23, 26 and 33 us as UCX's own and 7.6, 8.3 and 14 as messages. Two nodes that put 32 and 96 KiB to each other
/// and meet took 47 and 60 us and take 30 and 45.
const LONGEST_AWAITED: usize = 96 << 10;

impl Channel {
    /// Whether a put of `n` bytes is a message if the program waits for its source.
    pub(crate) fn sends_awaited(&self, n: usize) -> bool {
        self.longest_message > 0 && (1..=LONGEST_AWAITED).contains(&n)
    }

    /// Puts `n` bytes, and then updates the signal if there is one.
    ///
    /// # Safety
    /// `source` is readable for `n` bytes until completion.
    pub(crate) unsafe fn put_unacknowledged(
        &mut self,
        peers: &Directory,
        put: &PutArguments,
        signal: Option<(Remote, SignalUpdate)>,
    ) -> Issued {
        let &PutArguments { to, source, n } = put;
        self.start_message(peers)?;
        let signal = signal.map(|(signal, update)| (signal.position(), update));
        let mut start = 0;
        loop {
            let len = if n < LONG { PIECE.min(n - start) } else { n };
            // SAFETY: the source is readable for this part until completion, by the caller's promise.
            let data = if len == 0 { &[] } else { unsafe { slice::from_raw_parts(source.add(start), len) } };
            let to_piece = Remote { offset: to.offset.wrapping_add(start as u64), ..to };
            start += len;
            let task = TargetTask::Put { to: to_piece.position(), signal: signal.filter(|_| start == n) };
            let data = if n < LONG { RequestData::Borrowed(data) } else { RequestData::Long(data) };
            self.send_unacknowledged(peers, to.pe, task, data);
            // Behind a piece that UCX has not taken the signal would tell of data that do not come.
            if start == n || self.has_failed() {
                return Ok(());
            }
        }
    }

    /// Puts a copy of what `source` has, at most [`COPIED`] bytes. Returns how much was issued.
    ///
    /// # Safety
    /// `source` is readable for `n` bytes.
    pub(crate) unsafe fn put_copy_unacknowledged(&mut self, peers: &Directory, put: &PutArguments) -> Issued<usize> {
        let &PutArguments { to, source, n } = put;
        let n = n.min(COPIED);
        if n > 0 {
            self.start_message(peers)?;
            // SAFETY: the source is readable for `n` bytes during the call, by the caller's promise.
            let data = unsafe { slice::from_raw_parts(source, n) };
            let task = TargetTask::Put { to: to.position(), signal: None };
            self.send_unacknowledged(peers, to.pe, task, RequestData::Copied(data));
        }
        Ok(n)
    }

    /// Before each message: a fence has promised order, which messages have among themselves, and there is room for one more.
    pub(super) fn start_message(&mut self, peers: &Directory) -> Issued {
        if self.fenced && self.transfers() > 0 {
            return Err(NotIssued::Busy);
        }
        // A transfer after the fence still waits for the messages before it.
        let outstanding = self.outstanding();
        self.fenced &= outstanding > 0;
        self.find_room(peers, outstanding)
    }
}
