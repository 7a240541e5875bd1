//! The wire between the leaders of a team's nodes.
//!
//! **Inline messages.** A short message carries its data and its proof of arrival: 64-bit words, each of 32 bits of content and 32
//! bits that say in which run it was sent. The words may arrive in any order; the message is there when all of them name the run. It
//! lands in the mailbox of the signalled word, and the receiver's wait copies its content to its place. So nothing but mailboxes is
//! written before its owner asks for it, nothing depends on the order of the network, and a signal with data is one put. Only
//! schedules that signal a word at most once in a call use mailboxes; the prover checks that.
//!
//! **Wrong messages.** Beside its length each message has the signature of its call (see `signature`). So a leader in another call
//! is noticed before anything of its message is used. Lengths and places in a message of the same kind of call are bounded by what
//! the receiver has prepared: its mailbox, its scratch, its dest. A leader whose schedule uses no mailboxes looks at the first
//! one while it waits. A root that broadcasts by a ring waits for no other node, so a node that has missed the broadcast is noticed here:
//! the signatures of messages carry a digest of the team's broadcasts by rings.
//!
//! **Longer messages** are put to their place, which must be ready: scratch or a gather buffer that the team has leased, or a dest
//! whose owner has entered. The signal behind such a put is the head of a message, with the stamp of the run and the signature, so
//! longer messages prove as much as short ones. Schedules that signal a word more than once set words instead, to numbers that only
//! grow (`run`).
//!
//! **Operands that change.** A put reads its source late. So a run puts a copy, which stays as long as the memory of the run
//! (`channel`). No leader waits for the network to report that it has read one.

mod message;

use core::cell::Cell;
use core::ops::AddAssign;
use core::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed};
use core::{ptr, slice};
use oxshmem_base::planted;

use oxshmem_schedule::step::{Algorithm, Place, PutSignal, Traffic, Turn};
use oxshmem_schedule::way::LeaderSchedule;
use oxshmem_schedule::way::size_limits::PRIVATE_SCRATCH;
use oxshmem_transport::{Issuer, Region, Remote, SignalUpdate, Width};

use crate::collectives::call::Call;
use crate::collectives::run::Wire;
use crate::collectives::signature::Signature;
use crate::memory::control;
use crate::memory::control::leaders::{MAILBOX_WORDS, SCRATCH};
use crate::network::lane;
use crate::teams::span::Span;
use crate::wait;

use super::channel::RunMemory;

use message::{CONTENT, HEAD, IN_PLACE, arrived, destination_of, fits, head, length, write};

/// Words of a short message.
const SHORT: usize = 16;

/// Where other leaders have the caller's dest.
#[derive(Clone, Copy)]
pub(super) enum There {
    /// They cannot reach it.
    Nowhere,
    /// In symmetric memory; its owner has entered.
    Dest((Region, u64)),
    /// It is a buffer of the leaders, and source is there, too.
    Buffer,
}

/// Memory of the caller to which the messages of a run go: where it begins, its bytes, and where others have theirs, if they can reach it.
#[derive(Clone, Copy)]
struct RunTarget {
    start: *mut u8,
    len: usize,
    there: Option<(Region, u64)>,
}

impl RunTarget {
    /// Memory that lies at the same place in every control window.
    fn in_control(start: *mut u8, len: usize) -> Self {
        Self { start, len, there: Some((Region::Control, control::offset(start))) }
    }
}

/// How many bytes of the caller's arrays the network may still be reading.
#[derive(Clone, Copy, Default)]
pub(super) struct InFlightBytes(usize);

impl InFlightBytes {
    /// Returns when the arrays may be written again: the network has read them.
    pub(super) fn complete_locally(self, call: Call<'_>) {
        if planted!("local-completion-skipped", self.0, 0) > 0 {
            lane::complete_locally(call.name);
        }
    }
}

impl AddAssign for InFlightBytes {
    fn add_assign(&mut self, more: Self) {
        self.0 += more.0;
    }
}

/// One run of the caller, a leader.
pub(super) struct Leaders<'a> {
    call: Call<'a>,
    span: &'a Span,
    way: LeaderSchedule,
    memory: RunMemory,
    /// The upper half of the words of this run's inline messages.
    stamp: u32,
    /// The signature that the messages carry: that of the call after the team's broadcasts.
    signature: Signature,
    scratch: RunTarget,
    dest: RunTarget,
    /// The arrays lie in leased buffers, and stay as they are until all other leaders have left the run.
    in_buffers: bool,
    /// Bytes that the network may still be reading.
    in_flight: Cell<usize>,
}

impl<'a> Leaders<'a> {
    /// The run with number `turn`.
    ///
    /// # Safety
    /// During the run `dest` is writable for its length. So is `private` for [`PRIVATE_SCRATCH`] bytes if the way is private.
    pub(super) unsafe fn new(
        call: Call<'a>,
        span: &'a Span,
        way: LeaderSchedule,
        turn: Turn,
        private: *mut u8,
        (dest, len): (*mut u8, usize),
        there: There,
    ) -> Self {
        let memory = RunMemory::begin(call.team, turn, way.schedule.traffic());
        let dest = match there {
            There::Nowhere => RunTarget { start: dest, len, there: None },
            There::Dest(there) => RunTarget { start: dest, len, there: Some(there) },
            There::Buffer => RunTarget::in_control(dest, len),
        };
        let scratch = match memory.scratch() {
            _ if way.private => RunTarget { start: private, len: PRIVATE_SCRATCH, there: None },
            _ if way.lands => dest,
            Some(scratch) => RunTarget::in_control(scratch, SCRATCH),
            None => RunTarget { start: ptr::null_mut(), len: 0, there: None },
        };
        let (stamp, in_buffers) = (turn.generation << 1 | 1, matches!(there, There::Buffer));
        let signature = call.signature.after(call.team.posted());
        Self { call, span, way, memory, stamp, signature, scratch, dest, in_buffers, in_flight: Cell::new(0) }
    }

    /// Where the run's operands land.
    pub(super) fn scratch(&self) -> *mut u8 {
        self.scratch.start
    }

    pub(super) fn memory(&self) -> &RunMemory {
        &self.memory
    }

    /// The arrays that were put from, which stay as they are until they are complete locally.
    pub(super) fn in_flight(&self) -> InFlightBytes {
        InFlightBytes(self.in_flight.get())
    }

    fn mailbox(&self, word: u32) -> &'static [AtomicU64] {
        self.memory.mailbox(word, self.way.mailbox)
    }

    fn remote(&self, node: u32, offset: u64) -> Remote {
        Remote { pe: self.call.team.world(self.span.leader(node)), region: Region::Control, offset }
    }

    /// # Safety
    /// `from` is readable for `bytes` bytes, which fit a mailbox.
    unsafe fn send(&self, to: u32, word: u32, from: *const u8, place: Place, offset: usize, bytes: usize) {
        // Clearing room for the longest message costs more than writing a short one.
        let (mut short, mut long);
        let message: &mut [u64] = if length(bytes) <= SHORT {
            short = [0; SHORT];
            &mut short
        } else {
            long = [0; MAILBOX_WORDS];
            &mut long
        };
        // SAFETY: the caller promises `bytes` readable bytes at `from`.
        let content = if bytes == 0 { &[] } else { unsafe { slice::from_raw_parts(from, bytes) } };
        let length = write(message, self.stamp, self.signature, (place, offset), content);
        let to = self.remote(to, control::offset(self.mailbox(word).as_ptr()));
        // SAFETY: a mailbox of the leader holds the message, which `put` has copied when it returns.
        lane::issue(self.call.name, |lane| unsafe { lane.put(to, message.as_ptr().cast(), 8 * length) });
    }

    /// Takes the message out to where it belongs.
    fn take(&self, mailbox: &[AtomicU64], bytes: usize) {
        if bytes == 0 {
            return;
        }
        let (place, offset) = destination_of(mailbox[1].load(Relaxed));
        let RunTarget { start, len, .. } = if place == Place::Dest { self.dest } else { self.scratch };
        if len < bytes || len - bytes < offset {
            self.call.differs(None, self.call.signature);
        }
        let start = start.wrapping_add(offset);
        for (i, word) in mailbox[HEAD..HEAD + bytes.div_ceil(CONTENT)].iter().enumerate() {
            let (at, content) = (i * CONTENT, (word.load(Relaxed) as u32).to_le_bytes());
            // SAFETY: `bytes` bytes from `start` on are inside of the caller's dest or scratch, as was just compared with their
            // lengths. The scratch is leased or private, and `new` demands that dest and private scratch are writable.
            unsafe { ptr::copy_nonoverlapping(content.as_ptr(), start.add(at), CONTENT.min(bytes - at)) };
        }
    }

    /// Where the operand of a put stays as it is now until the network has read it: until the run is over everywhere, so that no leader
    /// waits for that, or until its caller has waited for local completion. `None`: nowhere.
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes.
    unsafe fn stays(&self, from: *const u8, bytes: usize) -> Option<*const u8> {
        let zero_copy = self.way.schedule.allows_zero_copy();
        if zero_copy && self.in_buffers || planted!("operand-not-kept", false, true) {
            return Some(from);
        }
        // SAFETY: `from` is readable for `bytes` bytes, as this function demands.
        let kept = if self.way.mailbox > 0 { unsafe { self.memory.keep(from, bytes) } } else { None };
        if kept.is_some() || !zero_copy || bytes <= COPIED {
            return kept;
        }
        self.in_flight.set(self.in_flight.get() + bytes);
        Some(from)
    }

    /// Orders a signal after the last one of the same word, and after the bytes that came with that. A word that is signalled more
    /// than once says by a growing number how much has come. Without the order the number could fall again, and a greater number
    /// could vouch for bytes of a put that is still under way. A count only grows, and who waits for it waits for all its signals, each of
    /// which comes behind its own bytes.
    fn order_signals(&self, lane: &Issuer<'_>, signal: PutSignal) {
        let is_count = matches!(signal, PutSignal::Count);
        let more_than_once = self.way.mailbox == 0 || matches!(self.memory.traffic, Traffic::OneWay { .. });
        if more_than_once && !is_count && planted!("signals-of-a-word-unordered", true, false) {
            lane.fence_signals();
        }
    }

    /// Waits for a word that is no part of a mailbox.
    fn wait_without_mailboxes(&self, word: &AtomicU64, value: u64) {
        // A leader in a call of another kind sends inline messages of this run, and always fills the first mailbox. A one-way call has
        // the number of the synchronising run before it, whose messages are still there.
        let mailbox = self.memory.mailbox(0, MAILBOX_WORDS);
        let foreign = || match self.memory.traffic {
            Traffic::Synchronising => arrived(mailbox, self.stamp, self.signature).err().map(Err),
            Traffic::OneWay { .. } => None,
        };
        let come = wait::until(self.call.reason(word), None, || {
            let reached = (word.load(Acquire) >= value).then_some(Ok(()));
            reached.or_else(foreign)
        });
        come.unwrap_or_else(|theirs| self.differs(theirs));
    }

    /// Ends the job: a message has another signature.
    #[cold]
    fn differs(&self, theirs: Signature) -> ! {
        self.call.differs(None, theirs.after(self.call.team.posted()))
    }
}

/// Longer puts read the caller's array, where the schedule lets their operand be; others read a copy.
const COPIED: usize = 32 << 10;

impl Wire for Leaders<'_> {
    unsafe fn put(&self, to: u32, from: *const u8, place: Place, offset: usize, bytes: usize, signal: PutSignal) {
        if let PutSignal::Set { word, .. } = signal
            && fits(self.way.mailbox, offset, bytes)
        {
            // SAFETY: the caller promises `bytes` readable bytes at `from`, and the comparison has shown that they fit the
            // mailbox.
            return unsafe { self.send(to, word, from, place, offset, bytes) };
        }
        let target = match place {
            Place::Scratch => self.scratch,
            Place::Dest => self.dest,
            Place::Source => unreachable!("no schedule writes a source"),
        };
        let Some((region, start)) = target.there else { unreachable!("messages to private scratch are inline") };
        let start = Remote { region, ..self.remote(to, start + offset as u64) };
        let (at, update) = match signal {
            PutSignal::Set { word, .. } if self.way.mailbox > 0 => {
                let head = head(self.stamp, self.signature, IN_PLACE);
                (control::offset(self.mailbox(word).as_ptr()), SignalUpdate::Set(head))
            }
            PutSignal::Set { word, value } => {
                (control::offset(&raw const self.memory.signals.words[word as usize]), SignalUpdate::Set(value))
            }
            PutSignal::Count => (control::offset(self.memory.signals.counter), SignalUpdate::Add(1)),
        };
        let word = self.remote(to, at);
        // SAFETY: `from` is readable for `bytes` bytes, as this function demands.
        let stays = if bytes > 0 { unsafe { self.stays(from, bytes) } } else { None };
        lane::issue(self.call.name, |lane| {
            if bytes == 0 || stays.is_some() {
                self.order_signals(lane, signal);
            }
            if let Some(from) = stays {
                // SAFETY: `stays` says how long the operand does; the place is one that the schedule may write to now, as `Wire` demands.
                return unsafe { lane.put_signal(start, from, bytes, word, update) };
            }
            if bytes > 0 {
                // SAFETY: `from` has `bytes` bytes during the call, as `Wire` demands, and `put` has copied them when it returns.
                unsafe { lane.put(start, from, bytes) };
                if planted!("operand-unfenced", true, false) {
                    lane.fence_signals();
                }
            }
            // SAFETY: a word of the leader's mailboxes; no old value is asked for.
            unsafe { lane.amo(word, Width::Eight, update.amo(), ptr::null_mut()) };
        });
    }

    fn wait(&self, word: u32, value: u64) {
        if self.way.mailbox == 0 {
            return self.wait_without_mailboxes(&self.memory.signals.words[word as usize], value);
        }
        let mailbox = self.mailbox(word);
        let message = wait::until(self.call.reason(&mailbox[0]), None, || {
            arrived(mailbox, self.stamp, self.signature).transpose()
        });
        match message {
            Ok(IN_PLACE) if !self.way.private => {}
            Ok(IN_PLACE) => self.call.differs(None, self.call.signature),
            Ok(bytes) => self.take(mailbox, bytes),
            Err(theirs) => self.differs(theirs),
        }
    }

    fn wait_count(&self, total: u64) {
        self.wait_without_mailboxes(self.memory.signals.counter, total);
    }
}

#[cfg(test)]
mod tests;
