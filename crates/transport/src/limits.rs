//! The sizes, numbers and times of what all providers share, and what each was measured on.
//!
//! `docs/src/internals/thresholds.md` describes the machines and how to measure again. A number that is a bound, and was chosen
//! rather than measured, says so.

use std::time::Duration;

/// The shortest backoff of the thread while callers poll, and the longest one that needs no reason. Chosen.
pub(crate) const BACKOFF: (Duration, Duration) = (Duration::from_micros(50), Duration::from_micros(400));
/// The longest backoff while callers are not away. The end of a backoff takes a processor from a caller. Two processors, two
/// nodes: with backoffs of 1 ms a barrier took 4 percent longer than without any.
pub(crate) const LONGEST_BACKOFF: Duration = Duration::from_millis(4);
/// The part of the time for which callers have not been away that a backoff may take: one divided by this. A call that begins a series of
/// barriers meets short backoffs, so they grow fast. Two processors, UCX over TCP: with an eighth instead of a 32nd the
/// first 4 ms of barriers took 6.3 us each instead of 6.6.
pub(crate) const BACKOFF_SHARE: u32 = 8;
/// [`time::cycles`](oxshmem_os::time::cycles) between two polls that are a gap: the callers computed, and peers may have waited for
/// the thread. That is 250 to 1,000 microseconds: as long as a backoff without a reason, because a shorter one would not serve them sooner, and
/// longer than a call needs to copy or send 1 MiB. Two processors: the clock would cost a tenth of a short put and its quiet. Gaps count if they are
/// the greater part of the time: with a backoff that a single gap made short again, threads woke ten times as often on a virtual machine whose
/// processors other machines use, too, and over UCX barriers took 15.4 us instead of 12.5 (medians of six jobs each in turns).
pub(crate) const GAP: u64 = 1_000_000;
/// The same where PEs share processors: 1 to 4 milliseconds, about a slice. There a caller that waits has no processor for longer than
/// [`GAP`], and has computed nothing. Peers wait no longer than this for callers that compute. Two processors, eight nodes over TCP: maxima of
/// 1 MiB took 2,000 us instead of 2,350, because threads woke for nothing 12 times in each instead of 48, and barriers 85 instead of 105.
pub(crate) const GAP_OF_SHARED: u64 = 4 * GAP;
/// Polls for each reading of the clock. Chosen: in so many polls a caller that waits makes no gap.
pub(crate) const POLLS_PER_CLOCK: u64 = 4;

/// Longest message that waits in a batch. Chosen.
pub(crate) const COALESCED: usize = 2 << 10;
/// How long a batch becomes before it goes. Chosen.
pub(crate) const FULL_BATCH: usize = 8 << 10;
/// Messages of a step that go at once. More than one, because what a caller waits for may come without a step: the network's
/// software may take it in while it sends. Two processors, libfabric over TCP: with batches behind them broadcasts of 8 B took 0.8 us
/// instead of 6.1 between 2 nodes, and 3.4 instead of 32 among 4.
pub(crate) const AT_ONCE: u32 = 4;

/// Questions of one lane that are under way at once. Beyond that the lane is busy: without a bound a caller that never
/// waits is thousands ahead of the target's processor, and the questions of other lanes wait behind all of them. A
/// bound.
pub const MOST_ASKED: u64 = 128;
/// The same where questions go in batches, and so do their answers. A bound.
pub const MOST_ASKED_IN_BATCHES: u64 = 1024;
/// Longest get that is a question, where questions go in batches. Chosen.
pub const LONGEST_GET: usize = 4 << 10;
/// After this many messages to a PE that expect no answer a lane asks for one, so that the operations under way stay
/// bounded. Two processors, UCX over TCP: a barrier took 5 percent less than with one in 33.
pub const MOST_UNACKNOWLEDGED: u64 = 256;
/// After messages with this many bytes of data it asks for one, too: what the target has not executed is in the memory of a PE. A bound.
pub(crate) const MOST_UNACKNOWLEDGED_BYTES: usize = 256 << 10;

/// Longest put whose aligned words of eight bytes land whole, each by a store of its own. Chosen.
pub const WORD_BY_WORD: usize = 4096;
