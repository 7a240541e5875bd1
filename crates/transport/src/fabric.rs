//! The interface of a provider.

use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;

use crate::progress_thread::Drive;
use crate::{Amo, AtomicArguments, Capabilities, GetArguments, PutArguments, Region, Remote, SignalUpdate, Width};

/// Memory of this process that peers may reach. It stays mapped while the fabric is open.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Address of its first byte.
    pub base: *mut u8,
    /// Its length.
    pub len: usize,
}

// SAFETY: an address and a length; the users of the memory keep the promises of `Lane`.
unsafe impl Send for Segment {}
// SAFETY: a shared reference only reads the address and the length.
unsafe impl Sync for Segment {}

/// Where the addresses of peers come from; an address is fetched when its PE is first needed.
pub trait AddressBook: Send + Sync {
    /// The address that PE `pe` returned from [`Fabric::address`].
    fn address(&self, pe: u32) -> Result<Vec<u8>, Error>;
}

/// How a lane will be used.
#[derive(Clone, Copy, Default, Debug)]
pub struct LaneOptions {
    /// Callers wait only now and then for the completion of its copied puts, signals and atomics, so peers need not
    /// acknowledge them soon.
    pub rarely_completed: bool,
    /// No other lane waits for its operations, nor it for theirs, also where the network has not enough for each lane to have its own.
    pub unshared: bool,
}

/// One job's view of a network.
pub trait Fabric: Send + Sync {
    /// Its properties.
    fn capabilities(&self) -> &Capabilities;

    /// Lets peers reach `segment` as `region`. Called once per region before [`Fabric::address`], and again with a longer
    /// segment at the same base when the region has grown.
    fn register(&self, region: Region, segment: Segment) -> Result<(), Error>;

    /// The address of this PE: everything that a peer needs to reach it.
    fn address(&self) -> Vec<u8>;

    /// Begins to serve and allows lanes to reach peers. Connections are made when they are first needed.
    fn connect(&self, book: Box<dyn AddressBook>) -> Result<(), Error>;

    /// A new lane. It is dropped when nothing is outstanding on it, or its buffers are no longer in use.
    fn lane(&self, options: LaneOptions) -> Result<Box<dyn Lane>, Error>;

    /// Serves what peers have asked of this PE, and moves its own operations on. Returns how much was done. Called from
    /// every wait.
    fn progress(&self) -> usize;

    /// The work of a thread that serves peers while this PE computes, if the provider needs the target's help. The software
    /// around the provider has the thread, from [`Fabric::connect`] to [`Fabric::close`].
    fn drive(&self) -> Option<Arc<dyn Drive>> {
        None
    }

    /// Sleeps until something comes that [`Fabric::progress`] would serve, for `most` at most, and serves it. `None`: this
    /// provider cannot sleep on its network, and did not.
    fn rest(&self, most: Duration) -> Option<usize> {
        let _ = most;
        None
    }

    /// The turns of its PEs, if only one of them runs at a time.
    fn turns(&self) -> Option<&dyn TakesTurns> {
        None
    }

    /// Why a PE of the job can no longer be reached, if that is known. A wait that may be for it asks.
    fn lost(&self) -> Option<Error> {
        None
    }

    /// Disconnects from all peers that know this PE. All operations are complete, and no new ones begin.
    fn leave(&self) {}

    /// Whether all peers have disconnected, so that none of them will send to this PE again.
    fn has_left(&self) -> bool {
        true
    }

    /// Ends service and connections.
    fn close(&self);

    /// One line for `SHMEM_INFO`: device, address, what was rejected and why.
    fn describe(&self) -> String;
}

/// PEs that take turns, so that a run can be repeated and told ([`Fabric::turns`]). A thread has its turn until its next call.
pub trait TakesTurns: Send + Sync {
    /// A wait has looked at its condition: for the first time, or `again` in vain. Returns when it is the caller's turn again.
    fn look(&self, again: bool);

    /// The caller is about to wait for something outside of the network, which other PEs bring about.
    fn step_out(&self);

    /// The call that the thread is in has made a block of the symmetric heap, or has given it another size.
    fn allocated(&self, offset: u64, bytes: u64);

    /// The block at this offset is none any more.
    fn freed(&self, offset: u64);
}

/// The lane has no room for an operation now. A caller that gets this calls [`Lane::progress`], serves peers, and tries
/// again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// An operation of the lane has failed. [`Lane::progress`] says why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// Why a provider has issued nothing, inside it.
#[derive(Debug)]
pub enum NotIssued {
    /// There is no room now, or a peer has to answer first.
    Busy,
    /// It can never be issued. The error is boxed, so that the result of each operation is two words.
    Failed(Box<Error>),
}

impl From<Error> for NotIssued {
    fn from(error: Error) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// The lanes beneath a lane that take some of its operations as it would itself, as long as it is open. `None`: there is none.
#[derive(Clone, Copy, Default)]
pub struct LanesBeneath<'l> {
    /// Takes puts to other PEs.
    pub puts: Option<&'l (dyn Lane + 'static)>,
    /// Takes gets from other PEs.
    pub gets: Option<&'l (dyn Lane + 'static)>,
    /// Takes atomics.
    pub atomics: Option<&'l (dyn Lane + 'static)>,
}

/// The state of the operations with which a waiting caller has fetched something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AwaitedState {
    /// They are under way.
    UnderWay,
    /// They are complete. Others of the lane may be under way.
    Complete,
    /// They are complete, and so is all else that the caller has issued on the lane.
    Idle,
}

/// The operations of one context. Threads may use a lane at once.
///
/// An operation is only issued; it is complete, its local buffer reusable and its effect visible when [`Lane::outstanding`]
/// has been zero since. A provider never waits inside a call: where its queues are full, where a peer must answer first, or
/// where a fence must let operations complete, the call returns [`Busy`] or leaves all bytes, and the caller decides how to
/// wait. A lock is held inside a call for bounded work only.
///
/// The arguments of puts, gets and atomics are the caller's, in memory, and are read during the call only.
///
/// An error is kept and returned by every later [`Lane::progress`]; the call that caused it returns as if all had been
/// issued.
///
/// # Safety
/// A provider accesses local buffers only between the call and the operation's completion, and remote memory only
/// inside registered regions.
pub unsafe trait Lane: Send + Sync {
    /// Copies `n` bytes to `to`; the source of what was issued may be reused on return. Returns how many bytes at the end
    /// are left: mostly none, and all of them only if it is busy. Another call issues the rest. Each aligned 8-byte word of
    /// a short put (up to [`WORD_BY_WORD`](crate::WORD_BY_WORD)) is seen whole or not at all; the words become visible in
    /// any order.
    ///
    /// # Safety
    /// `source` is readable for `n` bytes; `to` is inside a region of a PE of the job.
    unsafe fn put(&self, put: &PutArguments) -> usize;

    /// Begins to copy `n` bytes to `to`, with the words of a short put as in [`Lane::put`]; the source may be reused after
    /// completion. Returns how many bytes at the end are left, as [`Lane::put`] does.
    ///
    /// # Safety
    /// As for `put`, until completion.
    unsafe fn put_nbi(&self, put: &PutArguments) -> usize;

    /// [`Lane::put_nbi`] by a caller that waits with [`Lane::poll_local_completion`] next: the way on which the source is free soonest.
    ///
    /// # Safety
    /// As for `put_nbi`.
    unsafe fn put_awaited(&self, put: &PutArguments) -> usize {
        // SAFETY: our caller has made the same promise.
        unsafe { self.put_nbi(put) }
    }

    /// Begins to copy `n` bytes from `from`. Returns how many bytes at the end are left, as [`Lane::put`] does.
    ///
    /// # Safety
    /// `dest` is writable for `n` bytes until completion; `from` is inside a region of a PE of the job.
    unsafe fn get_nbi(&self, get: &GetArguments) -> usize;

    /// Updates an object atomically; the old value goes to `old` (as many bytes as `width`) unless that is null. In the
    /// network domain objects of 2 bytes are refused.
    ///
    /// # Safety
    /// `old` is null or writable until completion; `to` is an aligned object inside a region of a PE of the job.
    unsafe fn amo(&self, atomic: &AtomicArguments) -> Result<(), Busy>;

    /// [`Lane::get_nbi`] by a caller that waits with [`Lane::poll_awaited`].
    ///
    /// # Safety
    /// As for `get_nbi`.
    unsafe fn get_awaited(&self, get: &GetArguments) -> usize {
        // SAFETY: our caller has made the same promise.
        unsafe { self.get_nbi(get) }
    }

    /// [`Lane::amo`] with a place for the old value, by a caller that waits with [`Lane::poll_awaited`].
    ///
    /// # Safety
    /// As for `amo`.
    unsafe fn amo_awaited(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        // SAFETY: our caller has made the same promise.
        unsafe { self.amo(atomic) }
    }

    /// The lanes that take operations in its place.
    fn beneath(&self) -> LanesBeneath<'_> {
        LanesBeneath::default()
    }

    /// Copies the put's bytes, at most [`Capabilities::signal`], then updates the signal of the same PE: a reader that sees
    /// the update sees the data. The source may be reused after completion.
    ///
    /// # Safety
    /// As for `put_nbi`; `signal` is an aligned 8-byte object inside a region of the same PE.
    unsafe fn put_signal(&self, put: &PutArguments, signal: Remote, update: SignalUpdate) -> Result<(), Busy>;

    /// The longest put with a signal that [`Lane::put_signal`] copies, so that its source may be reused on return.
    fn copied_with_signal(&self) -> usize {
        0
    }

    /// Puts, atomics and signals issued before take effect, at each PE, before those issued after. Gets have no order. [`Busy`]: not
    /// yet.
    ///
    /// A put of the PE to itself is a store, which waits for no atomic of the network. The runtime completes such atomics at a fence, as
    /// those on all memory that stores reach.
    fn fence(&self) -> Result<(), Busy>;

    /// A fence that only atomics issued after it must keep behind the puts issued before it. Later puts may overtake these
    /// atomics. This is what a signal needs.
    fn fence_puts(&self) -> Result<(), Busy> {
        self.fence()
    }

    /// A fence that only signals and atomics issued after it must keep, behind all that was issued before it. Later puts may overtake these.
    /// This is what signals of one word need: each overwrites the one before.
    fn fence_signals(&self) -> Result<(), Busy> {
        self.fence()
    }

    /// [`Lane::fence_puts`], and then [`Lane::amo`] on 8 bytes without an old value: a signal behind its data. [`Busy`]: no update was
    /// issued. Behind a failure none is made either: the signal would tell of data that has not arrived.
    ///
    /// # Safety
    /// `to` is an aligned object of 8 bytes inside a region of a PE of the job.
    unsafe fn amo_behind_puts(&self, to: Remote, amo: Amo) -> Result<(), Busy> {
        self.fence_puts()?;
        if self.has_failed() {
            return Ok(());
        }
        // SAFETY: null asks for no old value; our caller has made the promise about the object.
        unsafe { self.amo(&AtomicArguments { to, width: Width::Eight, amo, old: std::ptr::null_mut() }) }
    }

    /// Sends a message to a PE by `send`. It follows the puts that were issued to the PE before, and its answer, for which whoever waits for
    /// completion waits too, shows that they have taken effect. So the lane needs to find that out of none of them by itself.
    fn send_behind_puts(&self, _pe: u32, send: &mut dyn FnMut() -> Result<(), Busy>) -> Result<(), Busy> {
        send()
    }

    /// How many operations are not complete: zero exactly when all are, otherwise never less than there are. Takes no lock.
    /// A thread sees its own operations in it, and what they have fetched once it is zero (acquire).
    fn outstanding(&self) -> u64;

    /// Where other lanes complete their operations together with this one, so that it is quiet only when all of them are: a number that
    /// they have in common. `None`: it completes its own alone.
    fn account(&self) -> Option<usize> {
        None
    }

    /// Whether it keeps PEs apart: a thread that finds no room for an operation needs what operations to the same PE take, and those to other
    /// PEs do not. [`Lane::poll_completion_for`], [`Lane::poll_awaited_from`] and [`Lane::poll_local_completion_to`] look at no others either.
    fn keeps_peers_apart(&self) -> bool {
        false
    }

    /// Whether an operation has failed; [`Lane::progress`] says why. Takes no lock. A thread that has seen zero in [`Lane::outstanding`]
    /// sees the failures of what was outstanding before.
    fn has_failed(&self) -> bool;

    /// Moves operations on. Returns how many completed. The first error of an operation of this lane is final and comes
    /// back from every later call; the failed operation no longer counts as outstanding, and other lanes go on.
    fn progress(&self) -> Result<usize, Error>;

    /// As [`Lane::progress`], for a caller that waits for completion. Returns whether nothing is outstanding any more, and nothing that
    /// was has failed. An error comes back from [`Lane::progress`].
    fn poll_completion(&self) -> Result<bool, Failed> {
        if self.progress().is_err() {
            return Err(Failed);
        }
        self.completion()
    }

    /// [`Lane::poll_completion`] of what was issued to these PEs. A provider that cannot tell it from the rest waits for all.
    fn poll_completion_for(&self, _pes: &[u32]) -> Result<bool, Failed> {
        self.poll_completion()
    }

    /// The answer of [`Lane::poll_completion`], without progress.
    fn completion(&self) -> Result<bool, Failed> {
        // Before the look at failures: another thread may complete the last operation now.
        let is_complete = self.outstanding() == 0;
        if self.has_failed() { Err(Failed) } else { Ok(is_complete) }
    }

    /// As [`Lane::poll_completion`], for a caller that waits for what it has issued by [`Lane::get_awaited`] and [`Lane::amo_awaited`].
    /// A provider that cannot tell these operations from the others waits for all.
    fn poll_awaited(&self) -> Result<AwaitedState, Failed> {
        Ok(if self.poll_completion()? { AwaitedState::Idle } else { AwaitedState::UnderWay })
    }

    /// [`Lane::poll_awaited`] of what was issued to a PE, as [`Lane::poll_completion_for`].
    fn poll_awaited_from(&self, _pe: u32) -> Result<AwaitedState, Failed> {
        self.poll_awaited()
    }

    /// The answer of [`Lane::poll_awaited`], without progress, of a lane that has just counted `awaited` of these operations.
    fn awaited_state(&self, awaited: u64) -> Result<AwaitedState, Failed> {
        // Before the look at failures, as in `completion`.
        let state = match awaited {
            0 if self.outstanding() == 0 => AwaitedState::Idle,
            0 => AwaitedState::Complete,
            _ => AwaitedState::UnderWay,
        };
        if self.has_failed() { Err(Failed) } else { Ok(state) }
    }

    /// Moves operations on, and asks no peer for an acknowledgement. Returns whether all that was issued is complete locally: its
    /// local buffers may be reused. Complete operations are complete locally.
    fn poll_local_completion(&self) -> Result<bool, Error> {
        self.progress()?;
        Ok(self.outstanding() == 0)
    }

    /// [`Lane::poll_local_completion`] of what was issued to a PE, as [`Lane::poll_completion_for`].
    fn poll_local_completion_to(&self, _pe: u32) -> Result<bool, Error> {
        self.poll_local_completion()
    }
}
