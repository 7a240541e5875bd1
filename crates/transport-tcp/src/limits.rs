//! The sizes and numbers that decide which way bytes take, and what each was measured on.
//!
//! `docs/src/internals/thresholds.md` describes the machines and how to measure again. A number that is a bound, and was chosen
//! rather than measured, says so.

/// Longest body of a batch. Chosen.
pub const BATCH: usize = 16 << 10;
/// Longest data of a message in a batch; longer ones travel in a bulk frame. Chosen.
pub const SMALL: usize = 4 << 10;
/// Longest data of a bulk frame. Chosen.
pub const BULK: usize = 256 << 10;

/// Longest put whose source is copied; a longer one waits until the peer has it. Two processors, loopback, busy: puts in a row of 40, 64 and
/// 96 KiB took 18, 27 and 36 us with a copy and 36, 42 and 56 with a wait; those of 192 KiB took 81 and 60, in memory that was new each time.
pub(crate) const INJECT: usize = 96 << 10;
/// Longest put with a signal whose source is copied, also where it stays as it is: that takes 1 us. Chosen.
pub(crate) const COPIED_WITH_SIGNAL: usize = 16 << 10;
/// Longest put of which one after the other takes the first rail. Chosen.
pub(crate) const ONE_RAIL: usize = 32 << 10;
/// Bytes of one operation over one rail that are issued at once. A bound of memory.
pub(crate) const TOGETHER: usize = 16 * BULK;

/// Bytes of copied messages that may wait for the peer before the caller has to. A bound of memory.
pub(crate) const WINDOW: usize = 1 << 20;
/// Frames that may wait for the peer. A bound of memory.
pub(crate) const FRAMES: usize = 1024;
/// Gets and fetching atomics that may wait for their answer. Bounds what the peer keeps for us: [`SMALL`] bytes each.
pub(crate) const FETCHES: usize = 1024;
/// Buffers of old batches that are kept for new ones. A bound of memory.
pub(crate) const SPARE: usize = 40;

/// Frames without an urgent acknowledgement that are sent as they come. More are a stream, in which fewer frames cost less.
/// Two processors, loopback, busy: streams of broadcasts of 8 B took 0.8 us each instead of 18 between 2 nodes.
pub(crate) const AT_ONCE: usize = 4;
/// Bytes of a stream that are worth a call of the kernel. Two processors, loopback: broadcasts of 8 KiB from one root to another
/// node took 8.7 us with a call each and 3.1 in calls of 96 KiB.
pub(crate) const ENOUGH: usize = 96 << 10;
/// Longest frame of those that the peer acknowledges soon which is joined so. Two bound PEs, loopback: puts of 24
/// and 40 KiB in a row took 3.8 and 5.8 us instead of 7.1 and 7.8.
pub(crate) const SHARED: usize = 48 << 10;
/// Executed frames that may go without acknowledgement while a caller polls: it may have something to send with it.
/// Chosen.
pub(crate) const UNACKNOWLEDGED: u64 = 8;
/// The same for frames whose acknowledgement no caller waits for. The peer keeps them as long. Chosen.
pub(crate) const UNAWAITED: u64 = 32;

/// Received at once when nothing is known of what comes. A connection begins with the second size and gets the first one when a
/// read has filled it: most connections of a large job carry a few messages in their life. A bound of memory.
pub(crate) const BUFFER: usize = 64 << 10;
pub(crate) const FIRST_BUFFER: usize = 2 << 10;
/// Received where a bulk frame is likely to follow: the signal behind the last one, short messages, and the headers of the next one.
pub(crate) const BETWEEN_BULKS: usize = 256;
/// Longest body of a bulk frame that is rather copied than received by a call of the kernel of its own. Chosen.
pub(crate) const COPIED_BODY: usize = 20 << 10;
/// Frames after a long bulk frame within which the next one is likely: a collective sends a signal after it and short messages before it.
pub(crate) const LIKELY: u32 = 4;
/// Bytes read from one connection before others have their turn. Chosen.
pub(crate) const TURN: usize = 1 << 20;
/// Pieces sent with one call. The kernel takes 1024.
pub(crate) const PIECES: usize = 64;

/// With at most this many links a caller asks each socket itself, which is one call to the kernel less.
pub(crate) const FEW_LINKS: usize = 2;
/// A caller that asks few sockets itself looks once in this many turns for PEs that want to connect. Chosen.
pub(crate) const LOOK_AROUND: u64 = 64;
