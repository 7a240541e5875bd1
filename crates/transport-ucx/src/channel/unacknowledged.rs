//! Unacknowledged puts, by messages, where UCX itself makes a put of messages between processors. Over TCP each put of UCX's is
//! acknowledged by a message of its own, which costs both processors as much as the put. Here one acknowledgement serves for many puts,
//! and a fence between messages costs nothing. On lanes of programs short puts go so, on the runtime's own lane all.

use std::slice;

use oxshmem_transport::{NotIssued, PutArguments, Remote, SignalUpdate, TargetTask};

use super::question::RequestData;
use super::{COPIED, Channel, Issued};
use crate::peers::Directory;

/// Longest piece that goes through UCX's buffers: two segments of TCP's. The target takes one to its place while the next one travels.
/// Broadcasts between two nodes of one machine, over `ucx:tcp`, one after the other: of 1 MiB 156 us by one rendezvous, 181 in pieces of
/// 128 KiB, 151 in pieces of 256 KiB, 154 in pieces of 512 KiB; maxima of 1 MiB 276, 235, 234 and 244.
pub(super) const PIECE: usize = 256 << 10;

/// Longest put that goes in such pieces. Of a longer one more is under way than the caches hold, and a copy at the target costs more than
/// the messages of a rendezvous: maxima of 4 MiB, in slices of 2 MiB, took 1,600 us or more in pieces and 1,020 by rendezvous.
const LONGEST_IN_PIECES: usize = (2 << 20) - 1;

/// Piece of a longer put, which goes by rendezvous: the target receives it to its place. The same maxima took 1,280 us by one rendezvous for
/// the whole slice, 1,290 in pieces of 1 MiB, 1,020 in pieces of 512 KiB.
const RENDEZVOUS_PIECE: usize = 512 << 10;

/// The most pieces of one put. The target receives one after the other, and beside other processes each waits for a processor at both ends:
/// beside one, puts with signals of 16, 32 and 64 MiB took 13, 25 and 50 ms in pieces of 512 KiB, and 4 to 5, 8 and 23 in eight pieces; on a
/// quiet machine 3.0 to 3.8 and 2.5 to 3.2, 6.1 to 7.7 and 4.9 to 6.3, 12 to 15 and 10 to 14.
const MOST_PIECES: usize = 8;

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
        let by_rendezvous = n > LONGEST_IN_PIECES;
        let piece = if by_rendezvous { RENDEZVOUS_PIECE.max(n.div_ceil(MOST_PIECES)) } else { PIECE };
        let mut start = 0;
        loop {
            let len = piece.min(n - start);
            // SAFETY: the source is readable for this part until completion, by the caller's promise.
            let data = if len == 0 { &[] } else { unsafe { slice::from_raw_parts(source.add(start), len) } };
            let to_piece = Remote { offset: to.offset.saturating_add(start as u64), ..to };
            start += len;
            let task = TargetTask::Put { to: to_piece.position(), signal: signal.filter(|_| start == n) };
            let data = if by_rendezvous { RequestData::Long(data) } else { RequestData::Borrowed(data) };
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
