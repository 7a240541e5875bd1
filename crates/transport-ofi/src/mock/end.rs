//! An endpoint: operations that wait, when the dice choose them, and what is complete.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxshmem_base::chance::Dice;
use oxshmem_libfabric_sys as fi;

use super::broken;
use super::card::{ATOMIC, GET, INLINE, MockAnswer, MockCard, MockCommand, PUT, bytes_of, split};
use super::datagram::{DatagramKind, EndName, Sent};
use super::nature::{Nature, OrderPlace};
use super::operation::{MockEffect, MockOperation, Registered, mark};
use super::wire::EndSocket;

/// An operation at its endpoint.
pub(super) struct MockPending {
    number: u64,
    /// Its command has gone.
    asked: bool,
    pub(super) operation: MockOperation,
}

/// One endpoint. Its user lets one thread at a time be in it.
pub(super) struct MockEnd {
    pub(super) nature: &'static Nature,
    pub(super) name: EndName,
    pub(super) card: Arc<MockCard>,
    messages: EndSocket,
    answers: EndSocket,
    pub(super) peers: Vec<EndName>,
    /// Buffers that wait for messages: place, length, context.
    pub(super) receives: VecDeque<(usize, usize, usize)>,
    pub(super) pending: Vec<MockPending>,
    /// Puts that are complete for their issuer, and have not arrived.
    pub(super) late: Vec<MockPending>,
    pub(super) done: VecDeque<(usize, usize)>,
    pub(super) errors: VecDeque<(usize, c_int)>,
    pub(super) open: bool,
    pub(super) enabled: bool,
    /// A thread looks at its completions.
    pub(super) busy: AtomicBool,
    /// Which of the provider's domains it is of.
    pub(super) domain: usize,
    /// Bytes of puts and gets that were issued on it.
    pub(super) carried: usize,
    /// How many operations to each peer were answered with `FI_EAGAIN` because it was not connected.
    refusals: HashMap<usize, usize>,
    /// How many looks at its completions it takes until it has room for messages again.
    recovering: usize,
    numbers: u64,
    dice: Dice,
    pub(super) keys: u64,
}

impl MockEnd {
    pub(super) fn new(nature: &'static Nature, name: EndName) -> Self {
        Self {
            nature,
            name,
            card: MockCard::open(nature, name),
            messages: EndSocket::open(name, DatagramKind::Message),
            answers: EndSocket::open(name, DatagramKind::Answer),
            peers: Vec::new(),
            receives: VecDeque::new(),
            pending: Vec::new(),
            late: Vec::new(),
            done: VecDeque::new(),
            errors: VecDeque::new(),
            open: true,
            enabled: false,
            busy: AtomicBool::new(false),
            domain: 0,
            carried: 0,
            refusals: HashMap::new(),
            recovering: 0,
            numbers: 0,
            dice: Dice::stream(name.process, name.number),
            keys: 0,
        }
    }

    /// Whether local bytes are of the registration that is named, where that is demanded.
    fn is_registered(&self, at: usize, n: usize, desc: *mut c_void) -> bool {
        let memory = self.card.memory.lock();
        let inside = |it: &Registered| at >= it.base && at + n <= it.base + it.len;
        self.nature.mr_mode & fi::FI_MR_LOCAL == 0 || memory.get(&(desc.addr() as u64)).is_some_and(inside)
    }

    /// Ends the process unless these local bytes may be used with this descriptor.
    pub(super) fn demand_registered(&self, at: usize, n: usize, desc: *mut c_void) {
        if !self.is_registered(at, n, desc) {
            broken(&format!("{n} local bytes are not of the registration that is named"));
        }
    }

    /// Counts an attempt. Returns whether it is refused: there is no room, or the peer is still being connected.
    fn refuses(&mut self, to: usize) -> bool {
        let most = self.nature.connects_for;
        let refused = self.refusals.entry(to).or_default();
        *refused = (*refused + 1).min(most + 1);
        *refused <= most || self.pending.len() + self.done.len() >= self.nature.queue
    }

    /// Whether it takes room for a message now. A flood of messages, which begins by chance, stops it for a while.
    pub(super) fn takes_room(&mut self) -> bool {
        let takes = self.recovering == 0;
        if takes && self.nature.recovers_for > 0 && self.dice.one_in(64) {
            self.recovering = self.nature.recovers_for;
        }
        takes
    }

    /// Issues an operation on `n` bytes that has a completion; returns libfabric's code.
    pub(super) fn issue(&mut self, operation: MockOperation, n: usize) -> isize {
        if operation.context == 0 {
            broken("an operation has no context");
        }
        self.accept(operation, n)
    }

    /// The same, for an operation that may have no completion.
    pub(super) fn accept(&mut self, operation: MockOperation, n: usize) -> isize {
        if n > self.nature.longest {
            broken(&format!("an operation of {n} bytes where {} is the longest", self.nature.longest));
        }
        if self.refuses(operation.to) {
            return -(fi::FI_EAGAIN as isize);
        }
        if operation.context != 0 {
            mark(operation.context);
        }
        self.demand_window(&operation);
        if matches!(operation.what, MockEffect::Put { .. } | MockEffect::Get { .. }) {
            self.carried += n;
        }
        self.numbers += 1;
        self.pending.push(MockPending { number: self.numbers, asked: false, operation });
        0
    }

    /// Ends the process if this operation, with those under way to its peer, has more datagrams than the window.
    fn demand_window(&self, operation: &MockOperation) {
        let others = self.pending.iter().map(|pending| &pending.operation).filter(|it| it.to == operation.to);
        let datagrams = |n: usize| n.div_ceil(self.nature.inject.max(1)) + 1;
        let count = |it: &MockOperation| match &it.what {
            MockEffect::Get { n, .. } => 1 + datagrams(*n),
            MockEffect::Put { bytes, .. } => datagrams(bytes.as_ref().map_or_else(|(_, n)| *n, Vec::len)),
            MockEffect::Message(bytes) => datagrams(bytes.len()),
            MockEffect::Atomic { .. } => 2,
        };
        let all: usize = others.chain([operation]).map(count).sum();
        if self.nature.window > 0 && all > self.nature.window {
            broken(&format!("{all} datagrams where {} have room", self.nature.window));
        }
    }

    /// A thread looks at the completions: operations go on.
    pub(super) fn progress(&mut self) {
        self.recovering = self.recovering.saturating_sub(1);
        if self.nature.by_software {
            let _ = (0..4).all(|_| self.card.serve());
        }
        self.take_message();
        (0..4).for_each(|_| self.step());
        let mut room = [0; size_of::<MockAnswer>() + INLINE];
        while let Some(came) = self.answers.receive(&mut room) {
            let (answer, data) = split::<MockAnswer>(came);
            self.answered(&answer, data);
        }
    }

    fn take_message(&mut self) {
        let Some(&(at, room, context)) = self.receives.front() else { return };
        if self.card.flushes.load(Ordering::Relaxed) {
            self.receives.pop_front();
            return self.errors.push_back((context, libc::EIO));
        }
        // SAFETY: the buffer is kept until its completion and has so many bytes.
        let buffer = unsafe { std::slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(at), room) };
        if let Some(n) = self.messages.receive(buffer).map(<[u8]>::len) {
            self.receives.pop_front();
            if self.card.damages.swap(false, Ordering::Relaxed) {
                return self.errors.push_back((context, libc::EIO));
            }
            self.complete(context, n);
        }
    }

    /// Lets one operation of those that need follow no other one go on, and perhaps a put that is late. All domains but the first are
    /// slow.
    fn step(&mut self) {
        if self.domain > 0 && !self.dice.one_in(8) {
            return;
        }
        if !self.late.is_empty() {
            let (mut late, all) = (std::mem::take(&mut self.late), self.dice.one_in(3));
            for i in 0..late.len() {
                // Those before it that have arrived are gone from the list.
                let is_behind = late[..i].iter().any(|earlier| late[i].comes_behind(earlier, self.nature));
                if !late[i].asked && !is_behind && (all || self.is_waited_for(&late[i])) {
                    late[i].asked = self.ask(&late[i]);
                }
            }
            self.late = late;
        }
        let (count, nature) = (self.pending.len(), self.nature);
        let chosen = self.dice.below(count);
        let is_free = |i: usize| {
            let it = &self.pending[i];
            // A put that completes early is late itself then, behind those.
            let is_behind = !it.is_early(nature) && self.late.iter().any(|late| it.comes_behind(late, nature));
            let follows = |earlier: &MockPending| {
                earlier.operation.to == it.operation.to
                    && nature.follows(it.operation.what.place(), earlier.operation.what.place())
            };
            !it.asked && !is_behind && !self.pending[..i].iter().any(follows)
        };
        let Some(next) = (0..count).map(|i| (chosen + i) % count).find(|&i| is_free(i)) else { return };
        let mut it = self.pending.remove(next);
        match &it.operation.what {
            MockEffect::Message(bytes) => {
                match self.messages.send(self.peers[it.operation.to], DatagramKind::Message, bytes) {
                    Sent::Yes => return self.complete(it.operation.context, 0),
                    Sent::Gone => return self.errors.push_back((it.operation.context, fi::FI_ECANCELED)),
                    Sent::Later => {}
                }
            }
            MockEffect::Put { .. } if it.is_early(nature) => {
                it.operation.take_source();
                let context = std::mem::take(&mut it.operation.context);
                self.late.push(it);
                return self.complete(context, 0);
            }
            _ => it.asked = self.ask(&it),
        }
        self.pending.insert(next, it);
    }

    /// Whether something waits for a put that is late.
    fn is_waited_for(&self, late: &MockPending) -> bool {
        self.pending.iter().any(|it| it.comes_behind(late, self.nature))
    }

    /// Sends the command of an operation. Whether there was room.
    fn ask(&self, it: &MockPending) -> bool {
        let MockOperation { to, what, .. } = &it.operation;
        let mut command = MockCommand { from: self.name, number: it.number, kind: PUT, ..MockCommand::default() };
        let mut data: &[u8] = &[];
        match what {
            MockEffect::Put { bytes, address, key, .. } => {
                let (at, n) =
                    bytes.as_ref().map_or_else(|place| *place, |copy| (copy.as_ptr().expose_provenance(), copy.len()));
                (command.address, command.key, command.bytes, command.there) = (*address, *key, n as u64, at as u64);
                if n <= INLINE {
                    // SAFETY: a copy, or bytes that stay until completion.
                    data = unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(at), n) };
                }
            }
            &MockEffect::Get { at, n, address, key } => {
                command.kind = GET;
                (command.address, command.key, command.bytes, command.there) = (address, key, n as u64, at as u64);
            }
            &MockEffect::Atomic { op, bytes, operand, compare, address, key, .. } => {
                // SAFETY: local objects stay until completion.
                let local = |at: usize| if at == 0 { 0 } else { unsafe { word(at, bytes) } };
                command.kind = ATOMIC;
                (command.address, command.key, command.bytes, command.op) = (address, key, bytes as u64, op as u64);
                (command.operand, command.compare) = (local(operand), local(compare));
            }
            MockEffect::Message(_) => unreachable!("messages are no commands"),
        }
        match self.messages.send(self.peers[*to], DatagramKind::Command, &[bytes_of(&command), data].concat()) {
            Sent::Yes => true,
            Sent::Later => false,
            Sent::Gone => broken("an operation reaches for memory of an endpoint that is closed"),
        }
    }

    /// The target has executed an operation.
    fn answered(&mut self, answer: &MockAnswer, data: &[u8]) {
        let place = |list: &[MockPending]| list.iter().position(|it| it.number == answer.number);
        if let Some(late) = place(&self.late) {
            if answer.code != 0 {
                broken("a put that had completed has failed");
            }
            self.late.remove(late);
            return;
        }
        let Some(at) = place(&self.pending) else { broken("an answer belongs to nothing") };
        let MockOperation { context, what, .. } = self.pending.remove(at).operation;
        if answer.code != 0 {
            return self.errors.push_back((context, answer.code as c_int));
        }
        match what {
            // SAFETY: the destination is kept until completion, and is as long as was asked for.
            MockEffect::Get { at, n, .. } if n <= INLINE => unsafe {
                ptr::copy(data.as_ptr(), ptr::with_exposed_provenance_mut(at), data.len().min(n));
            },
            // SAFETY: the result is kept until completion and has as many bytes as the object.
            MockEffect::Atomic { bytes, result, .. } if result != 0 => unsafe {
                ptr::copy(answer.old.to_ne_bytes().as_ptr(), ptr::with_exposed_provenance_mut(result), bytes);
            },
            _ => {}
        }
        self.complete(context, 0);
    }

    fn complete(&mut self, context: usize, n: usize) {
        // An injected put has no completion, and one that is late has had its own.
        if context != 0 {
            check(context);
            self.done.push_back((context, n));
        }
    }
}

impl MockPending {
    /// Whether it takes effect behind a put that is late.
    fn comes_behind(&self, late: &Self, nature: &Nature) -> bool {
        let (this, before) = (&self.operation, &late.operation);
        late.number < self.number && before.to == this.to && nature.follows(this.what.place(), before.what.place())
    }

    /// Whether it completes before it takes effect.
    fn is_early(&self, nature: &Nature) -> bool {
        nature.early && matches!(self.operation.what, MockEffect::Put { delivered: false, .. })
    }
}

impl MockOperation {
    /// The source of a put may be used again from now on.
    fn take_source(&mut self) {
        if let MockEffect::Put { bytes, .. } = &mut self.what
            && let Err((at, n)) = *bytes
        {
            // SAFETY: the source stays until completion, which is not yet.
            *bytes = Ok(unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(at), n) }.to_vec());
        }
    }
}

impl MockEffect {
    fn place(&self) -> OrderPlace {
        match self {
            MockEffect::Put { bytes, .. } => OrderPlace::Put(bytes.as_ref().map_or_else(|(_, n)| *n, Vec::len)),
            MockEffect::Get { .. } => OrderPlace::Get,
            MockEffect::Message(_) => OrderPlace::Message,
            MockEffect::Atomic { result, .. } => OrderPlace::Atomic { reads: *result != 0 },
        }
    }
}

/// # Safety
/// `at` has `bytes` bytes, 4 or 8.
unsafe fn word(at: usize, bytes: usize) -> u64 {
    let at = ptr::with_exposed_provenance::<u8>(at);
    // SAFETY: the object has as many bytes, by the caller's promise, and an unaligned read asks for no more.
    unsafe { if bytes == 4 { at.cast::<u32>().read_unaligned().into() } else { at.cast::<u64>().read_unaligned() } }
}

fn check(context: usize) {
    let place: *const fi::fi_context2 = ptr::with_exposed_provenance(context);
    // SAFETY: `FI_CONTEXT2` promises a context of this size until the completion.
    if unsafe { (*place).internal }.iter().any(|word| word.addr() != context ^ 0x5A5A) {
        broken("the context of an operation that is under way was written");
    }
}
