//! The traffic with one PE over one rail. The session outlives its connections: the carrier makes one when it is first needed
//! and replaces it when it is cut; the PE is given up when it stays silent.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::net::TcpStream;
use oxshmem_base::Error;
use oxshmem_os::sockets::PollEntry;
use oxshmem_transport::due::DueMark;
use oxshmem_transport::{Account, Busy, OperationLock};
use parking_lot::MutexGuard;

use crate::carrier::{Agreement, AttemptState, Carrier};
use crate::limits::{UNACKNOWLEDGED, UNAWAITED};
use crate::local::{IssueTime, LocalPe};
use crate::permits::Permit;
use crate::proto::Session;
use crate::proto::codec::FrameKind;
use crate::proto::handshake::{Acceptor, Route, Standing};
use crate::proto::liveness::{Advice, Liveness, Look};
use crate::proto::ticket::Ticket;
use crate::served::{Served, append};
use crate::under_way::OperationsUnderWay;

/// One rail to one PE.
pub(crate) struct Link {
    pe: u32,
    /// Something is left of which no event tells: what waits to be joined by more, an acknowledgement, frames behind a handshake.
    due: DueMark,
    /// Something was issued after the peer was asked how far it is. Stored with the state locked; [`LocalPe`] counts these links.
    unasked: AtomicBool,
    state: OperationLock<LinkState>,
}

/// The part of a link that changes.
struct LinkState {
    session: Session,
    under_way: OperationsUnderWay,
    carrier: Carrier,
    liveness: Liveness,
    heard: bool,
    error: Option<Error>,
    /// When an operation was issued last.
    issued: IssueTime,
}

/// Whether the thread that serves may soon have something to send to the peer.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ServingThread {
    /// A caller: acknowledgements can wait for what it will send.
    Caller,
    /// Nothing else will be sent.
    ProgressThread,
}

impl Link {
    /// The link of this route. Its sockets have this token; a silent peer is given up after `limit`.
    pub(crate) fn new(route: Route, token: usize, limit: Duration, seed: u64) -> Self {
        let state = OperationLock::new(LinkState {
            session: Session::default(),
            under_way: OperationsUnderWay::default(),
            carrier: Carrier::new(route, token),
            liveness: Liveness::new(limit, seed),
            heard: false,
            error: None,
            issued: IssueTime { turns: u64::MAX, fences: u64::MAX },
        });
        Self { pe: route.to, due: DueMark::default(), unasked: AtomicBool::new(false), state }
    }

    /// Issues `count` operations of a lane, which `push` puts into the session; the last one's ticket is returned.
    ///
    /// # Safety
    /// Until the account says that they are done, the ranges of `push` are readable where bytes come from and writable where they go to;
    /// those to be copied, until this returns.
    pub(crate) unsafe fn issue(
        &self,
        local: &LocalPe,
        account: &Arc<Account>,
        count: u64,
        time: IssueTime,
        push: impl FnOnce(&mut Session) -> Ticket,
    ) -> Result<(), Busy> {
        let mut state = self.state.lock();
        if let Some(error) = &state.error {
            account.fail(error.clone());
            return Ok(());
        }
        if state.session.is_full() {
            state.ask(Session::ask);
            return Err(Busy);
        }
        let last = std::mem::replace(&mut state.issued, time);
        // A caller that has looked at the network since its last message may wait for an answer to this one.
        let is_stream = last.turns == time.turns;
        // A message behind a fence may be a flag: the peer may wait for it while the caller computes.
        let is_busy = state.session.is_busy(last.fences != time.fences);
        let goes_behind = state.session.has_output() || is_stream && is_busy;
        account.issue(count);
        let ticket = push(&mut state.session);
        state.under_way.note(ticket, account, count);
        self.set_unasked(local, true);
        if state.carrier.is_idle() {
            state.raise(local);
        }
        // The first message goes at once, and so does what follows data that goes now; those that come while it is under way
        // share the next frame, or the next call of the kernel.
        let joins = is_stream && state.session.is_coalescing(is_busy);
        if !goes_behind || (state.session.has_output() && !state.carrier.blocked && !joins) {
            state.session.close_batch();
            if !state.carrier.blocked {
                state.flush();
            }
        }
        // SAFETY: a range to be copied is readable until this call returns, by the caller's promise.
        state.session.copy_uncopied(|bytes, place| unsafe { append(bytes, place) });
        let left = state.session.is_collecting() || state.session.has_output();
        drop(state);
        if left {
            local.due.mark(&self.due);
        }
        Ok(())
    }

    /// Whether nothing of these accounts is under way, for a caller that asks again: another thread may have the lock.
    pub(crate) fn is_idle_for(&self, accounts: &[Arc<Account>]) -> bool {
        self.state.look().is_some_and(|state| state.under_way.is_idle_for(accounts))
    }

    /// Asks the peer how far it is, unless it has been asked for all that was issued.
    pub(crate) fn ask(&self, local: &LocalPe) {
        if self.unasked.load(Ordering::Relaxed) {
            let mut state = self.state.lock();
            self.set_unasked(local, !state.ask(Session::ask));
        }
    }

    /// Stores it. The state is locked.
    fn set_unasked(&self, local: &LocalPe, unasked: bool) {
        if self.unasked.load(Ordering::Relaxed) != unasked {
            self.unasked.store(unasked, Ordering::Relaxed);
            local.unasked.count(unasked);
        }
    }

    /// Whether something is left of which no event tells.
    pub(crate) fn is_due(&self) -> bool {
        self.due.is_set()
    }

    /// Moves the connection on if no other thread holds its lock.
    pub(crate) fn try_serve(&self, local: &LocalPe, server: ServingThread) -> usize {
        let serve = |mut state: MutexGuard<'_, LinkState>| self.serve_locked(local, &mut state, server).0;
        self.due.try_serve(&local.due, || self.state.try_lock(), serve).unwrap_or(0)
    }

    /// Moves the connection on; `ends`: the peer has closed it. Returns how much was executed and whether there is more to read at once.
    pub(crate) fn serve(&self, local: &LocalPe, server: ServingThread, ends: bool) -> (usize, bool) {
        let mut state = self.state.lock();
        self.due.clear();
        state.carrier.note_end(ends);
        self.serve_locked(local, &mut state, server)
    }

    fn serve_locked(&self, local: &LocalPe, state: &mut LinkState, server: ServingThread) -> (usize, bool) {
        if state.carrier.is_connecting() {
            self.advance(local, state);
        }
        if !state.carrier.is_up() {
            return (0, false);
        }
        // Messages that wait go out before this side looks at what has come, because the peer may be waiting for them.
        state.carrier.blocked = false;
        state.flush_all();
        let (executed, more) = state.receive(local, self.pe);
        if executed > 0 && !state.carrier.blocked {
            state.flush_all();
        }
        // In the middle of a long frame its end is sure to come, and can be acknowledged with what is before it.
        let in_the_middle = state.carrier.is_in_the_middle();
        let session = &mut state.session;
        let is_last = (executed == 0 || server == ServingThread::ProgressThread) && !in_the_middle;
        let most = if session.wants_ack() { UNACKNOWLEDGED } else { UNAWAITED };
        if is_last && session.wants_ack() || session.is_asked() || session.untold() >= most {
            session.acknowledge();
            state.flush();
        }
        // Behind output that the socket does not take, the next writable event sees to it.
        if state.session.wants_ack() && !state.session.has_output() && !in_the_middle {
            local.due.mark(&self.due);
        }
        (executed, more)
    }

    /// Moves an attempt at a connection on.
    fn advance(&self, local: &LocalPe, state: &mut LinkState) {
        match state.carrier.advance(local, state.session.executed()) {
            Ok(AttemptState::None) => {}
            Ok(AttemptState::Heard) => state.heard = true,
            Ok(AttemptState::PutOff) => {
                state.heard = true;
                state.liveness.put_off(local.start.elapsed());
            }
            Ok(AttemptState::Agreed(agreement)) => self.establish(local, state, agreement),
            Err(error) => state.fail(local, error),
        }
    }

    /// The turn of an attempt that waited for it. The attempt may not be needed any more: the peer may have connected.
    pub(crate) fn connect(&self, local: &LocalPe, permit: Permit) {
        let mut state = self.state.lock();
        if !state.carrier.is_queued() {
            return permit.withdraw();
        }
        if let Err(error) = state.carrier.connect(local, permit) {
            state.fail(local, error);
        }
    }

    /// Both sides have agreed on a connection: frames flow.
    fn establish(&self, local: &LocalPe, state: &mut LinkState, (connection, executed): Agreement) {
        if let Err(garbage) = state.session.resume(executed) {
            let error = state.carrier.lost(local, &garbage.to_string());
            return state.fail(local, error);
        }
        state.under_way.retire(state.session.reached());
        // A question may have been lost with the connection before.
        self.set_unasked(local, true);
        state.carrier.carry(connection);
        state.heard = true;
        state.flush_all();
        // Frames that came right behind the welcome make no further event.
        local.due.mark(&self.due);
    }

    /// An initiator has proven itself: its connection is taken or refused.
    pub(crate) fn adopt(&self, local: &LocalPe, stream: TcpStream, acceptor: Acceptor, peer: Standing) {
        let mut state = self.state.lock();
        let state = &mut *state;
        if state.error.is_some() || state.carrier.has_left() {
            return;
        }
        if let Some(agreement) = state.carrier.adopt(local, stream, acceptor, peer, state.session.executed()) {
            self.establish(local, state, agreement);
        }
    }

    /// The peer belongs to the job, but its variables differ from this PE's: no connection can ever come about.
    pub(crate) fn refuse(&self, local: &LocalPe, error: Error) {
        let mut state = self.state.lock();
        if state.error.is_none() {
            state.fail(local, error);
        }
    }

    /// Has callers told of the socket, if there is one.
    pub(crate) fn watch(&self, local: &LocalPe) -> io::Result<()> {
        self.state.lock().carrier.watch(local)
    }

    /// The socket, and what to wait for there. `None` while another thread holds the lock.
    pub(crate) fn socket(&self) -> Option<PollEntry> {
        self.state.try_lock()?.carrier.socket()
    }

    /// Looks at the clock, `interval` after the last time or later. Returns whether the peer owes us something or is sending it.
    pub(crate) fn look(&self, local: &LocalPe, interval: Duration) -> bool {
        let mut state = self.state.lock();
        let state = &mut *state;
        if state.error.is_none()
            && let Some(error) = state.carrier.hopeless(state.session.executed())
        {
            state.fail(local, error);
        }
        if state.error.is_some() {
            return false;
        }
        let (mut heard, now) = (std::mem::take(&mut state.heard), local.start.elapsed());
        if state.carrier.is_connecting() {
            self.advance(local, state);
            heard |= std::mem::take(&mut state.heard);
        }
        // The peer owes nothing that it has not been asked for.
        state.ask(Session::ask_for_all);
        // A peer whose frame comes slowly hears that this PE is here. It would hear nothing else before all of it has come.
        let is_coming = heard && state.carrier.holds_a_part();
        if is_coming && !state.session.has_output() {
            state.session.say(FrameKind::Ack);
            state.flush();
        }
        let look = Look {
            waiting: state.session.is_waiting() || state.carrier.lapsed,
            queued: state.carrier.is_queued(),
            asked: state.carrier.has_asked(),
            interval,
            heard,
            connected: !state.carrier.is_down(),
            refused: state.carrier.refused,
        };
        match state.liveness.look(now, look) {
            Advice::Wait => {}
            Advice::Connect => state.raise(local),
            Advice::Reconnect => {
                state.carrier.cut_silent();
                state.raise(local);
            }
            Advice::GiveUp => {
                let silence = state.liveness.silence(now).as_secs_f64();
                let error = state.carrier.lost(local, &format!("nothing has been heard of it for {silence:.1} s"));
                state.fail(local, error);
            }
        }
        look.waiting || is_coming
    }

    /// Says good-bye behind everything else.
    pub(crate) fn leave(&self) {
        self.state.lock().say_that_it_leaves();
    }

    /// Whether nothing is left to be sent and the peer has no more to say.
    pub(crate) fn is_over(&self) -> bool {
        !self.state.lock().carrier.is_up()
    }

    /// Drops the connection.
    pub(crate) fn hang_up(&self) {
        self.state.lock().carrier.hang_up();
    }
}

impl LinkState {
    /// Makes a connection, now that it is needed.
    fn raise(&mut self, local: &LocalPe) {
        if let Err(error) = self.carrier.raise(local) {
            self.fail(local, error);
        }
    }

    /// Returns whether the peer has been asked, or need not be: a question waits until everything before it has been sent.
    fn ask(&mut self, question: fn(&mut Session)) -> bool {
        self.flush_all();
        let may_ask = !self.session.has_output();
        question(&mut self.session);
        self.flush();
        may_ask
    }

    /// Sends what the socket takes, also of what is held back.
    fn flush_all(&mut self) {
        self.session.close_batch();
        self.flush();
    }

    /// Sends what the socket takes.
    fn flush(&mut self) {
        self.carrier.flush(&mut self.session);
    }

    fn say_that_it_leaves(&mut self) {
        self.session.acknowledge();
        self.session.leave();
        self.flush();
    }

    /// Reads and executes what has come. Returns how much was executed and whether there is more to read at once.
    fn receive(&mut self, local: &LocalPe, pe: u32) -> (usize, bool) {
        // SAFETY: the session has its ranges from `issue` alone, whose callers keep them writable until their answers have come.
        let mut served = unsafe { Served::new(&local.memory, &local.lanes, pe) };
        let received = self.carrier.receive(&mut self.session, &mut served);
        self.heard |= received.read > 0;
        self.under_way.retire(self.session.reached());
        if received.left {
            self.say_that_it_leaves();
            self.carrier.hang_up();
            if self.session.is_waiting() {
                let error = self.carrier.lost(local, "it has ended while something was under way");
                self.fail(local, error);
            }
        } else if let Some(why) = &received.ended {
            self.carrier.broke(why);
        }
        (received.executed, received.is_cut_short())
    }

    /// The peer is lost: what is under way will never complete, and no buffer of it is touched again.
    fn fail(&mut self, local: &LocalPe, error: Error) {
        tracing::error!(%error);
        self.session = Session::default();
        self.carrier.give_up();
        // Callers that wait for something else hear of the first lost peer only.
        let _ = local.lost.set(error.clone());
        self.under_way.fail(&error);
        self.error = Some(error);
    }
}
