//! One lane's worker, the peers it reaches, and what it has under way.

mod atomic;
mod flush;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use std::{ptr, slice};

use oxshmem_base::Error;
use oxshmem_transport::{Amo, NotIssued, OutOfRange, Region, Remote, SignalUpdate, Width, deliver_old};
use oxshmem_ucx_sys::inline::{Started, started};
use oxshmem_ucx_sys::{
    UCP_AM_SEND_FLAG_EAGER, UCP_AM_SEND_FLAG_REPLY, UCP_OP_ATTR_FIELD_CALLBACK, UCP_OP_ATTR_FIELD_FLAGS,
    UCP_OP_ATTR_FIELD_USER_DATA, UCS_OK, Ucx, ucp_am_recv_param_t, ucp_ep_h, ucp_request_param_t,
    ucp_request_param_t__bindgen_ty_1 as Callback, ucp_rkey_h, ucs_status_t,
};

use self::flush::{Flush, Late};
use crate::handle::{Context, Worker, blank, meaning};
use crate::keys::{Key, Unpacked};
use crate::load;
use crate::message::{ANSWER, ASK, Answer, Ask, HEADER, Place, Question};
use crate::peers::Directory;

/// Longest put that travels in one message with its signal.
const TOGETHER: usize = 8 << 10;

/// Questions of one channel that are under way at once. Beyond that the channel is busy: without a bound a caller that never
/// waits is thousands ahead of the target's processor, and whatever others ask comes behind all of it.
const MOST_ASKED: u64 = 128;

/// Longest put whose source is copied.
pub(crate) const COPIED: usize = 8 << 10;

/// Puts, gets and UCX's atomics likewise: UCX keeps a request for each that its transport has no room for.
const MOST_UNDER_WAY: u64 = 8192;

/// The outcome of issuing something.
pub(crate) type Issued<T = ()> = Result<T, NotIssued>;

/// Fields are dropped in this order: keys before the worker, the worker before what its callbacks are given.
pub(crate) struct Channel {
    peers: Vec<Peer>,
    index: HashMap<u32, usize>,
    /// The peer of the last operation, mostly that of the next.
    last: usize,
    flush: Option<Flush>,
    /// Puts, and atomics that fetch nothing, that the next flush completes.
    unflushed: u64,
    /// Signals of these puts.
    late: Vec<Late>,
    /// Which of the inbox's counters has the puts that are issued now.
    counter: usize,
    /// What comes next waits for what came before.
    fenced: bool,
    asked: u64,
    /// The PE and the region whose keys are asked for, and since when.
    keys_asked: Option<(u32, Region, Instant)>,
    worker: Worker,
    /// What the failures of endpoints are told to.
    lines: Vec<Rc<Line>>,
    inbox: Rc<Inbox>,
}

// SAFETY: everything that is counted or shared without locks is inside the channel, which one thread at a time uses;
// destinations belong to callers who keep them valid on whatever thread.
unsafe impl Send for Channel {}

/// What callbacks of the worker change, while it is moved on.
#[derive(Default)]
struct Inbox {
    error: RefCell<Option<Error>>,
    /// Puts that UCX is at ([`flush`]).
    puts: [Cell<u64>; 2],
    /// Gets, and atomics that fetch, under way.
    gets: Cell<u64>,
    waiting: RefCell<HashMap<u64, Waiting>>,
    keys: RefCell<Option<Vec<u8>>>,
    lost: RefCell<Vec<u32>>,
}

/// Who waits for an answer of `pe`, and what for.
struct Waiting {
    pe: u32,
    what: What,
}

enum What {
    /// The old value of an atomic, written there unless that is null.
    Old(Width, *mut u8),
    Keys,
    Word,
}

struct Peer {
    pe: u32,
    endpoint: ucp_ep_h,
    keys: [Vec<Unpacked>; Region::ALL.len()],
}

/// Who an endpoint reaches.
struct Line {
    pe: u32,
    inbox: Rc<Inbox>,
}

/// A piece of remote memory.
#[derive(Clone, Copy)]
struct Target {
    endpoint: ucp_ep_h,
    address: u64,
    key: ucp_rkey_h,
}

impl Channel {
    pub(crate) fn new(context: Arc<Context>) -> Result<Self, Error> {
        let (worker, inbox) = (Worker::new(context)?, Rc::<Inbox>::default());
        // SAFETY: the inbox goes after the worker, and is changed through cells only.
        unsafe { worker.listen(ANSWER, Some(on_answer), Rc::as_ptr(&inbox).cast_mut().cast())? };
        Ok(Self {
            peers: Vec::new(),
            index: HashMap::new(),
            last: 0,
            flush: None,
            unflushed: 0,
            late: Vec::new(),
            counter: 0,
            fenced: false,
            asked: 0,
            keys_asked: None,
            worker,
            lines: Vec::new(),
            inbox,
        })
    }

    fn ucx(&self) -> &'static Ucx {
        self.worker.context.ucx
    }

    /// Puts what `source` has; it stays until completion. Returns how much was issued.
    ///
    /// # Safety
    /// As for `Lane::put_nbi`.
    pub(crate) unsafe fn put(&mut self, peers: &Directory, to: Remote, source: *const u8, n: usize) -> Issued<usize> {
        self.start(peers)?;
        self.transfer(peers, to, n, |channel, target, start, n| {
            let param = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                cb: Callback { send: Some(put_done) },
                user_data: ptr::from_ref(channel.gathering()).cast_mut().cast(),
                ..blank()
            };
            // SAFETY: a part of what the caller promises until completion.
            let put = unsafe { channel.put_piece(target, source.add(start), n, &param) };
            channel.note_put(to.pe, put);
        })
    }

    /// Puts a copy of what `source` has, at most [`COPIED`] bytes. Returns how much was issued.
    ///
    /// # Safety
    /// As for `Lane::put`.
    pub(crate) unsafe fn put_copy(
        &mut self,
        peers: &Directory,
        to: Remote,
        source: *const u8,
        n: usize,
    ) -> Issued<usize> {
        self.start(peers)?;
        self.transfer(peers, to, n.min(COPIED), |channel, target, start, n| {
            // SAFETY: a part of what the caller promises for the call.
            let bytes = unsafe { slice::from_raw_parts(source.add(start), n) }.to_vec();
            let puts = ptr::from_ref(channel.gathering());
            let copy = Box::into_raw(Box::new(Copied { bytes, puts }));
            let param = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                cb: Callback { send: Some(copy_done) },
                user_data: copy.cast(),
                ..blank()
            };
            // SAFETY: the copy lives until it is freed below or by `copy_done`, exactly one of which happens.
            let put = unsafe { channel.put_piece(target, (*copy).bytes.as_ptr(), n, &param) };
            if !matches!(put, Started::Request(_)) {
                // SAFETY: leaked above; there is no callback.
                drop(unsafe { Box::from_raw(copy) });
            }
            channel.note_put(to.pe, put);
        })
    }

    /// The outcome of a put to `pe`, whose callback counts it off.
    fn note_put(&self, pe: u32, put: Started) {
        match put {
            Started::Done => {}
            Started::Request(_) => self.gathering().set(self.gathering().get() + 1),
            Started::Failed(status) => self.fail(pe, "a put", status),
        }
    }

    /// # Safety
    /// The bytes stay until UCX is done with them.
    unsafe fn put_piece(&mut self, target: Target, from: *const u8, n: usize, param: &ucp_request_param_t) -> Started {
        let Target { endpoint, address, key } = target;
        self.unflushed += 1;
        // SAFETY: an open endpoint and its key; the caller's promise for the bytes.
        unsafe { started((self.ucx().put)(endpoint, from.cast(), n, address, key, param)) }
    }

    /// # Safety
    /// As for `Lane::get_nbi`.
    pub(crate) unsafe fn get(&mut self, peers: &Directory, dest: *mut u8, from: Remote, n: usize) -> Issued<usize> {
        self.start(peers)?;
        self.transfer(peers, from, n, |channel, target, start, n| {
            let Target { endpoint, address, key } = target;
            let param = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                cb: Callback { send: Some(got) },
                user_data: Rc::as_ptr(&channel.inbox).cast_mut().cast(),
                ..blank()
            };
            // SAFETY: an open endpoint and its key; the caller keeps the destination until completion.
            let get =
                unsafe { started((channel.ucx().get)(endpoint, dest.add(start).cast(), n, address, key, &param)) };
            match get {
                Started::Done => {}
                Started::Request(_) => channel.inbox.gets.set(channel.inbox.gets.get() + 1),
                Started::Failed(status) => channel.fail(from.pe, "a get", status),
            }
        })
    }

    /// An atomic of the target's processor, or of UCX where it does those of the job; the caller keeps `old` until
    /// completion.
    pub(crate) fn amo(&mut self, peers: &Directory, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Issued {
        self.start(peers)?;
        if peers.atomics {
            return self.atomic(peers, to, width, amo, old);
        }
        let at = Place { region: to.region, offset: to.offset };
        self.ask(peers, to.pe, Ask::Amo { at, width, amo }, &[], What::Old(width, old));
        Ok(())
    }

    /// # Safety
    /// As for `Lane::put_signal`.
    pub(crate) unsafe fn put_signal(
        &mut self,
        peers: &Directory,
        to: Remote,
        source: *const u8,
        n: usize,
        signal: Remote,
        update: SignalUpdate,
    ) -> Issued {
        self.start(peers)?;
        if n == 0 {
            return self.amo(peers, signal, Width::Eight, update.amo(), ptr::null_mut());
        }
        let place = |at: Remote| Place { region: at.region, offset: at.offset };
        if n > TOGETHER || peers.atomics {
            if peers.atomics {
                // Nothing is written if the signal is nowhere; and its keys are at hand when the put is over.
                self.reach(peers, signal, Width::Eight.bytes())?;
            }
            // SAFETY: the caller keeps the source until completion.
            unsafe { self.put(peers, to, source, n)? };
            self.late.push(Late { pe: signal.pe, at: place(signal), update });
            self.begin_flush(peers);
            return Ok(());
        }
        // SAFETY: the caller keeps the source until completion, which is when the answer has come.
        let data = unsafe { slice::from_raw_parts(source, n) };
        self.ask(peers, to.pe, Ask::PutSignal { to: place(to), signal: place(signal), update }, data, What::Word);
        Ok(())
    }

    /// What follows waits until what was issued has taken effect: UCX may use several paths to one peer, and messages
    /// travel apart from puts.
    pub(crate) fn fence(&mut self) {
        self.fenced = self.outstanding() > 0;
    }

    pub(crate) fn outstanding(&self) -> u64 {
        let flushing = self.flush.as_ref().map_or(0, |flush| flush.puts + flush.then.len() as u64);
        self.unflushed + self.late.len() as u64 + flushing + self.inbox.gets.get() + self.owed()
    }

    /// Answers that have not come.
    pub(crate) fn owed(&self) -> u64 {
        self.inbox.waiting.borrow().len() as u64
    }

    /// Moves everything on, and begins to complete what has only been issued.
    pub(crate) fn progress(&mut self, peers: &Directory) -> Result<usize, Error> {
        let before = self.outstanding();
        self.begin_flush(peers);
        self.step(peers);
        match &*self.inbox.error.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(before.saturating_sub(self.outstanding()) as usize),
        }
    }

    /// Moves on what is under way. Signals that wait for a put need nobody who completes it.
    pub(crate) fn step(&mut self, peers: &Directory) -> usize {
        let done = self.worker.progress();
        self.move_flush(peers);
        if !self.late.is_empty() {
            self.begin_flush(peers);
        }
        if self.is_broken() {
            let lost = self.inbox.lost.borrow();
            self.inbox.waiting.borrow_mut().retain(|_, waiting| !lost.contains(&waiting.pe));
        }
        done
    }

    /// What to watch until something happens to it.
    pub(crate) fn arm(&self) -> Option<RawFd> {
        self.worker.arm_to_sleep()
    }

    /// Whether another lane can use it.
    pub(crate) fn renew(&mut self) -> bool {
        *self.inbox.error.borrow_mut() = None;
        self.fenced = false;
        self.outstanding() == 0 && !self.is_broken()
    }

    /// Whether some peer cannot be reached any more: what was under way may never be over.
    pub(crate) fn is_broken(&self) -> bool {
        !self.inbox.lost.borrow().is_empty()
    }

    /// The peers that it has reached and not lost.
    pub(crate) fn peers(&self) -> Vec<u32> {
        let lost = self.inbox.lost.borrow();
        self.peers.iter().map(|peer| peer.pe).filter(|pe| !lost.contains(pe)).collect()
    }

    pub(crate) fn ask_bye(&mut self, peers: &Directory, pe: u32) {
        self.ask(peers, pe, Ask::Bye, &[], What::Word);
    }

    /// Before each operation: what a fence has promised, and room for one more.
    fn start(&mut self, peers: &Directory) -> Issued {
        let outstanding = self.outstanding();
        if self.fenced && outstanding > 0 {
            return Err(NotIssued::Busy);
        }
        self.fenced = false;
        if self.unflushed >= MOST_UNDER_WAY / 2 {
            self.begin_flush(peers);
        }
        if self.owed() >= MOST_ASKED || outstanding >= MOST_UNDER_WAY { Err(NotIssued::Busy) } else { Ok(()) }
    }

    /// Issues an operation for each piece of a remote range; returns how many bytes that is, which is all.
    fn transfer(
        &mut self,
        peers: &Directory,
        at: Remote,
        n: usize,
        issue: impl Fn(&mut Self, Target, usize, usize),
    ) -> Issued<usize> {
        if n == 0 {
            return Ok(0);
        }
        let peer = self.reach(peers, at, n)?;
        let mut start = 0;
        while start < n {
            let Peer { endpoint, keys, .. } = &self.peers[peer];
            let keys = &keys[at.region as usize];
            let offset = at.offset + start as u64;
            let found = keys.iter().rev().find_map(|key| Some((key.find(offset)?, key.handle)));
            let Some(((address, room), key)) = found else { unreachable!("pieces of a region are without gaps") };
            let (target, len) = (Target { endpoint: *endpoint, address, key }, room.min(n - start));
            issue(self, target, start, len);
            start += len;
        }
        Ok(n)
    }

    /// The peer of a range, with keys for all of it; busy until these have come.
    fn reach(&mut self, peers: &Directory, at: Remote, n: usize) -> Issued<usize> {
        let peer = self.peer(peers, at.pe)?;
        let known = |channel: &Self| channel.peers[peer].keys[at.region as usize].last().map_or(0, Unpacked::end);
        let end = at.offset.checked_add(n as u64);
        if end.is_none_or(|end| end > known(self)) {
            // It may have grown since we asked.
            self.fetch_keys(peers, peer, at.region)?;
        }
        if end.is_none_or(|end| end > known(self)) {
            let registered = known(self) as usize;
            let wrong = OutOfRange { region: at.region, offset: at.offset, bytes: n, registered };
            return Err(wrong.error(at.pe).into());
        }
        Ok(peer)
    }

    /// Asks for the keys of a region that are not known yet; busy until they have come. There is one such question at a time.
    fn fetch_keys(&mut self, peers: &Directory, peer: usize, region: Region) -> Issued {
        let Peer { pe, endpoint, ref keys, .. } = self.peers[peer];
        let from = keys[region as usize].len() as u64;
        if self.keys_asked.is_none() {
            *self.inbox.keys.borrow_mut() = None;
            self.keys_asked = Some((pe, region, Instant::now()));
            self.ask(peers, pe, Ask::Keys { region, from }, &[], What::Keys);
        }
        if let Some(error) = &*self.inbox.error.borrow() {
            self.keys_asked = None;
            return Err(error.clone().into());
        }
        let Some(letter) = self.inbox.keys.borrow_mut().take() else {
            return match self.keys_asked {
                Some((asked, _, since)) if since.elapsed() > peers.give_up => {
                    let seconds = peers.give_up.as_secs();
                    Err(lost(
                        asked,
                        &format!("it has not said where its memory is for {seconds} s (SHMEM_PEER_TIMEOUT)"),
                    )
                    .into())
                }
                _ => Err(NotIssued::Busy),
            };
        };
        if self.keys_asked.take().is_none_or(|(asked, of, _)| (asked, of) != (pe, region)) {
            // Somebody else's, who will ask again.
            return Err(NotIssued::Busy);
        }
        let keys = Key::all_of(&letter).ok_or_else(|| {
            Error::new(format!("the memory keys of PE {pe} cannot be read"))
                .because(format!("they are {} bytes that make no sense", letter.len()))
                .fix("start all PEs with the same version of oxshmem")
        })?;
        for key in keys {
            // SAFETY: the peer's endpoint, which lives as long as the channel.
            let unpacked = unsafe { Unpacked::new(self.ucx(), endpoint, &key)? };
            self.peers[peer].keys[region as usize].push(unpacked);
        }
        Ok(())
    }

    /// The place of a peer, connected if it is new.
    fn peer(&mut self, peers: &Directory, pe: u32) -> Result<usize, Error> {
        if self.peers.get(self.last).is_some_and(|peer| peer.pe == pe) {
            return Ok(self.last);
        }
        if let Some(&known) = self.index.get(&pe) {
            self.last = known;
            return Ok(known);
        }
        let line = Rc::new(Line { pe, inbox: self.inbox.clone() });
        let arg = Rc::as_ptr(&line).cast_mut().cast();
        self.lines.push(line);
        // SAFETY: lines go after the worker.
        let endpoint = unsafe { self.worker.connect(&peers.address(pe)?, Some(on_failure), arg) };
        let endpoint = endpoint.map_err(|error| {
            Error::new(format!("PE {pe} cannot be reached over UCX"))
                .because(error)
                .fix("let UCX_TLS or SHMEM_TRANSPORT=ucx:... name transports that both nodes have (ucx_info -d)")
        })?;
        self.last = self.peers.len();
        self.index.insert(pe, self.last);
        self.peers.push(Peer { pe, endpoint, keys: Default::default() });
        Ok(self.last)
    }

    /// Sends a question. UCX reads `data` until the answer has come.
    fn ask(&mut self, peers: &Directory, pe: u32, ask: Ask, data: &[u8], what: What) {
        let peer = match self.peer(peers, pe) {
            Ok(peer) => peer,
            Err(error) => return self.inbox.note(|| error),
        };
        let number = self.asked;
        self.asked += 1;
        let header = Question { pe: peers.me, number, ask }.encode();
        let letter = Box::into_raw(Box::new(Letter { header, number, inbox: self.inbox.clone() }));
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
            flags: UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER,
            cb: Callback { send: Some(sent) },
            user_data: letter.cast(),
            ..blank()
        };
        self.inbox.waiting.borrow_mut().insert(number, Waiting { pe, what });
        // SAFETY: an open endpoint; the letter lives until it is freed below or by `sent`, exactly one of which happens.
        let outcome = unsafe {
            let (endpoint, header) = (self.peers[peer].endpoint, (*letter).header.as_ptr().cast());
            started((self.ucx().am_send)(endpoint, ASK, header, HEADER, data.as_ptr().cast(), data.len(), &param))
        };
        if !matches!(outcome, Started::Request(_)) {
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(letter) });
        }
        if let Started::Failed(status) = outcome {
            self.inbox.waiting.borrow_mut().remove(&number);
            self.fail(pe, "a message", status);
        }
    }

    fn fail(&self, pe: u32, what: &str, status: ucs_status_t) {
        self.inbox.note(|| lost(pe, &format!("{what}: {}", meaning(self.ucx(), status))));
    }

    /// An error of the lane; the first one stays.
    pub(crate) fn note(&self, error: Error) {
        self.inbox.note(|| error);
    }

    /// An error that belongs to no PE; that of a PE that was lost comes first.
    fn note_failure(&self, what: impl FnOnce(&Ucx) -> String) {
        self.inbox.note(|| Error::new("operations over UCX have failed").because(what(self.ucx())));
    }
}

impl Inbox {
    fn note(&self, error: impl FnOnce() -> Error) {
        self.error.borrow_mut().get_or_insert_with(error);
    }
}

fn lost(pe: u32, why: &str) -> Error {
    Error::new(format!("PE {pe} cannot be reached over UCX any more"))
        .because(why)
        .fix("see whether that PE or its node has died; UCX_LOG_LEVEL=info lets UCX say more")
}

/// A question, kept until UCX has sent it.
struct Letter {
    header: [u8; HEADER],
    number: u64,
    inbox: Rc<Inbox>,
}

unsafe extern "C" fn sent(request: *mut c_void, status: ucs_status_t, letter: *mut c_void) {
    // SAFETY: the letter of `ask`, which has left it to us.
    let letter = unsafe { Box::from_raw(letter.cast::<Letter>()) };
    finish(request, status, |why| {
        if let Some(waiting) = letter.inbox.waiting.borrow_mut().remove(&letter.number) {
            letter.inbox.note(|| lost(waiting.pe, why));
        }
    });
}

/// A copy of a put's source, kept until UCX is done with it, and where the put counts.
struct Copied {
    bytes: Vec<u8>,
    puts: *const Cell<u64>,
}

unsafe extern "C" fn copy_done(request: *mut c_void, status: ucs_status_t, copy: *mut c_void) {
    // SAFETY: the copy of `put_copy`, which has left it to us.
    let copy = unsafe { Box::from_raw(copy.cast::<Copied>()) };
    // SAFETY: the request of this callback; the counter is the channel's, whose worker calls.
    unsafe { put_done(request, status, copy.puts.cast_mut().cast()) }
}

unsafe extern "C" fn put_done(request: *mut c_void, status: ucs_status_t, puts: *mut c_void) {
    // SAFETY: a counter in the inbox of the channel whose worker calls.
    let puts = unsafe { &*puts.cast::<Cell<u64>>() };
    puts.set(puts.get() - 1);
    // An error comes back from the flush.
    finish(request, status, |why| tracing::debug!("UCX: a put was lost: {why}"));
}

unsafe extern "C" fn got(request: *mut c_void, status: ucs_status_t, inbox: *mut c_void) {
    // SAFETY: the inbox of the channel whose worker calls.
    let inbox = unsafe { &*inbox.cast::<Inbox>() };
    inbox.gets.set(inbox.gets.get() - 1);
    finish(request, status, |why| inbox.note(|| Error::new("a get over UCX has failed").because(why)));
}

/// Frees a request; `failed` learns what went wrong with it.
fn finish(request: *mut c_void, status: ucs_status_t, failed: impl FnOnce(&str)) {
    let Ok(ucx) = load::library() else { return };
    if status != UCS_OK {
        failed(&meaning(ucx, status));
    }
    // SAFETY: the request of a callback, freed once.
    unsafe { (ucx.request_free)(request) }
}

unsafe extern "C" fn on_failure(line: *mut c_void, _endpoint: ucp_ep_h, status: ucs_status_t) {
    // SAFETY: the line of the peer whose endpoint has failed.
    let line = unsafe { &*line.cast::<Line>() };
    let why = load::library().map_or_else(|_| String::new(), |ucx| meaning(ucx, status));
    line.inbox.note(|| lost(line.pe, &why));
    line.inbox.lost.borrow_mut().push(line.pe);
}

unsafe extern "C" fn on_answer(
    inbox: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    _param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: the inbox of the channel whose worker calls; UCX's description of the header is valid in the call.
    let (inbox, header) =
        unsafe { (&*inbox.cast::<Inbox>(), slice::from_raw_parts(header.cast::<u8>(), header_length)) };
    let Some(answer) = Answer::decode(header) else {
        tracing::warn!(bytes = header_length, "UCX: a message that is no answer was dropped");
        return UCS_OK;
    };
    let Some(Waiting { pe, what }) = inbox.waiting.borrow_mut().remove(&answer.number) else { return UCS_OK };
    match (answer.outcome, what) {
        (Err(wrong), _) => inbox.note(|| wrong.error(pe)),
        // SAFETY: the caller of `amo` keeps `old` until completion, which is now.
        (Ok(value), What::Old(width, old)) => unsafe { deliver_old(old, width, value) },
        (Ok(_), What::Keys) => {
            // SAFETY: as for the header; an empty slice needs no address.
            let keys = if length == 0 { &[] } else { unsafe { slice::from_raw_parts(data.cast::<u8>(), length) } };
            *inbox.keys.borrow_mut() = Some(keys.to_vec());
        }
        (Ok(_), What::Word) => {}
    }
    UCS_OK
}
