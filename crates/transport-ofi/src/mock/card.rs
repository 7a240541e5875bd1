//! The target's side: memory that is registered, and commands that are executed on it.

use std::collections::{HashMap, VecDeque};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use oxshmem_libfabric_sys as fi;
use parking_lot::Mutex;

use super::datagram::{DatagramKind, EndName, Sent};
use super::nature::Nature;
use super::operation::{Registered, behind};
use super::wire::{self, EndSocket};

/// Bytes that travel in a command or an answer; the wire copies more.
pub(super) const INLINE: usize = 4096;

/// The kinds of commands.
pub(super) const PUT: u64 = 0;
pub(super) const GET: u64 = 1;
pub(super) const ATOMIC: u64 = 2;

/// A command. Up to [`INLINE`] bytes of a put follow.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct MockCommand {
    pub(super) from: EndName,
    /// The number of the operation at its endpoint.
    pub(super) number: u64,
    pub(super) kind: u64,
    pub(super) key: u64,
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// Where the bytes are, or go, in the process that asks.
    pub(super) there: u64,
    pub(super) op: u64,
    pub(super) operand: u64,
    pub(super) compare: u64,
}

/// An answer. Up to [`INLINE`] bytes of a get follow.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct MockAnswer {
    pub(super) number: u64,
    /// An error of libfabric's, or 0.
    pub(super) code: u64,
    pub(super) old: u64,
}

/// The bytes of a value, and a value of bytes: both only have words, of which every pattern is one.
pub(super) fn bytes_of<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: commands and answers are words without gaps between them.
    unsafe { std::slice::from_raw_parts(ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// See [`bytes_of`].
pub(super) fn split<T: Copy>(bytes: &[u8]) -> (T, &[u8]) {
    let (head, rest) = bytes.split_at(size_of::<T>());
    // SAFETY: there are as many bytes as a value has, and each pattern is one.
    (unsafe { head.as_ptr().cast::<T>().read_unaligned() }, rest)
}

/// The card of an endpoint.
pub(super) struct MockCard {
    nature: &'static Nature,
    commands: EndSocket,
    pub(super) memory: Mutex<HashMap<u64, Registered>>,
    /// Answers for which there was no room.
    waiting: Mutex<VecDeque<(EndName, Vec<u8>)>>,
    /// Puts, gets and atomics of peers. Only compared with what it was, so it is relaxed.
    pub(super) served: AtomicU64,
    /// The memory is lost, as on a card that is broken: puts, gets and atomics of peers end with an error. A test says so before it
    /// issues them, and they come through locks, so it is relaxed.
    pub(super) lost: AtomicBool,
    /// The next message that comes to the endpoint is damaged on the way. Likewise.
    pub(super) damages: AtomicBool,
    /// The endpoint gives back each room for a message at once, with an error. Likewise.
    pub(super) flushes: AtomicBool,
    closed: AtomicBool,
}

impl MockCard {
    /// The card of a new endpoint, which does its work by itself unless software is to do it.
    pub(super) fn open(nature: &'static Nature, name: EndName) -> Arc<Self> {
        let card = Arc::new(Self {
            nature,
            commands: EndSocket::open(name, DatagramKind::Command),
            memory: Mutex::default(),
            waiting: Mutex::default(),
            served: AtomicU64::new(0),
            lost: AtomicBool::new(false),
            damages: AtomicBool::new(false),
            flushes: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        if !nature.by_software {
            let its = card.clone();
            wire::employ(name, move || its.work());
        }
        card
    }

    /// Executes the commands that come soon. Whether the endpoint is still open, which is asked now and then.
    fn work(&self) -> bool {
        self.commands.sleep(if self.waiting.lock().is_empty() { 50 } else { 1 });
        while self.serve() {}
        !self.closed.load(Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Executes a command. Whether there was one.
    pub(super) fn serve(&self) -> bool {
        let mut waiting = self.waiting.lock();
        while let Some((to, answer)) = waiting.front() {
            match self.commands.send(*to, DatagramKind::Answer, answer) {
                Sent::Later => break,
                Sent::Yes | Sent::Gone => drop(waiting.pop_front()),
            }
        }
        let mut room = [0; size_of::<MockCommand>() + INLINE];
        let Some(came) = self.commands.receive(&mut room) else { return false };
        let (command, data) = split::<MockCommand>(came);
        let (code, old, found) = match self.execute(&command, data) {
            Ok((old, found)) => (0, old, found),
            Err(code) => (code as u64, 0, Vec::new()),
        };
        let answer = [bytes_of(&MockAnswer { number: command.number, code, old }), &found].concat();
        if !waiting.is_empty() || self.commands.send(command.from, DatagramKind::Answer, &answer) == Sent::Later {
            waiting.push_back((command.from, answer));
        }
        true
    }

    /// Does what a command says: the old value of an atomic, and the bytes of a short get.
    fn execute(&self, command: &MockCommand, data: &[u8]) -> Result<(u64, Vec<u8>), i32> {
        if self.lost.load(Ordering::Relaxed) {
            return Err(libc::EIO);
        }
        let n = command.bytes as usize;
        let at = self.find(command.key, command.address as usize, n)?;
        self.served.fetch_add(1, Ordering::Relaxed);
        let is_word = n == 8 && at.is_multiple_of(8);
        let place: *mut u8 = ptr::with_exposed_provenance_mut(at);
        let (from, there) = (command.from, command.there as usize);
        match command.kind {
            // SAFETY: the word is aligned and inside a registration.
            PUT if is_word => unsafe {
                let word = u64::from_ne_bytes(data.try_into().map_err(|_| fi::FI_EINVAL)?);
                AtomicU64::from_ptr(place.cast()).store(word, Ordering::Release);
            },
            // SAFETY: inside a registration, and the data are as long as the command says.
            PUT if n <= INLINE => unsafe { ptr::copy(data.as_ptr(), place, data.len().min(n)) },
            // SAFETY: inside a registration; the source stays until completion.
            PUT => unsafe { wire::fetch(from, there, at, n)? },
            // SAFETY: the word is aligned and inside a registration.
            GET if is_word => unsafe {
                let word = AtomicU64::from_ptr(place.cast()).load(Ordering::Acquire);
                return Ok((0, word.to_ne_bytes().into()));
            },
            // SAFETY: inside a registration.
            GET if n <= INLINE => return Ok((0, unsafe { std::slice::from_raw_parts(place, n) }.to_vec())),
            // SAFETY: inside a registration; the destination stays until completion.
            GET => unsafe { wire::deliver(from, at, there, n)? },
            // SAFETY: the object is inside a registration.
            _ => return Ok((unsafe { atomic(command, at) }, Vec::new())),
        }
        Ok((0, Vec::new()))
    }

    fn find(&self, key: u64, address: usize, n: usize) -> Result<usize, i32> {
        let memory = self.memory.lock();
        let Some(registered) = memory.get(&key) else { super::broken(&format!("no memory has the key {key}")) };
        let begins = if self.nature.mr_mode & fi::FI_MR_VIRT_ADDR != 0 { registered.base } else { 0 };
        let offset = address.wrapping_sub(begins);
        if !registered.enabled || offset.checked_add(n).is_none_or(|end| end > registered.len) {
            super::broken(&format!("{n} bytes at {offset} of a registration of {}", registered.len));
        }
        Ok(registered.base + offset)
    }
}

/// # Safety
/// `at` is inside registered memory.
unsafe fn atomic(command: &MockCommand, at: usize) -> u64 {
    static TURN: Mutex<()> = Mutex::new(());
    if !at.is_multiple_of(command.bytes as usize) {
        super::broken("an atomic is not aligned");
    }
    let _turn = TURN.lock();
    let place: *mut u64 = ptr::with_exposed_provenance_mut(at);
    let four = command.bytes == 4;
    // SAFETY: the object is aligned and inside registered memory, by the caller's promise.
    let old = unsafe {
        if four {
            AtomicU32::from_ptr(place.cast()).load(Ordering::Acquire).into()
        } else {
            AtomicU64::from_ptr(place).load(Ordering::Acquire)
        }
    };
    let op = command.op as fi::fi_op;
    if op == fi::FI_ATOMIC_READ {
        return old;
    }
    let new = behind(op, old, command.operand, command.compare);
    // SAFETY: the object is aligned and inside registered memory, by the caller's promise.
    unsafe {
        if four {
            AtomicU32::from_ptr(place.cast()).store(new as u32, Ordering::Release);
        } else {
            AtomicU64::from_ptr(place).store(new, Ordering::Release);
        }
    }
    old
}
