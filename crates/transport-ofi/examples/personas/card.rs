//! The target's side: memory that is registered, and commands that are executed on it.

use std::collections::{HashMap, VecDeque};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use oxshmem_libfabric_sys as fi;
use parking_lot::Mutex;

use crate::nature::Nature;
use crate::socket::{EndName, EndSocket, Purpose, Sent};

/// Bytes that travel in a command or an answer; more are read and written by the kernel.
pub(crate) const INLINE: usize = 4096;

/// The kinds of commands.
pub(crate) const PUT: u64 = 0;
pub(crate) const GET: u64 = 1;
pub(crate) const ATOMIC: u64 = 2;

/// A command. Up to [`INLINE`] bytes of a put follow.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Command {
    pub(crate) from: EndName,
    /// The number of the operation at its endpoint.
    pub(crate) number: u64,
    pub(crate) kind: u64,
    pub(crate) key: u64,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// Where the bytes are, or go, in the process that asks.
    pub(crate) there: u64,
    pub(crate) op: u64,
    pub(crate) operand: u64,
    pub(crate) compare: u64,
}

/// An answer. Up to [`INLINE`] bytes of a get follow.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CardAnswer {
    pub(crate) number: u64,
    /// An error of libfabric's, or 0.
    pub(crate) code: u64,
    pub(crate) old: u64,
}

/// The bytes of a value, and a value of bytes: both only have words, of which every pattern is one.
pub(crate) fn bytes_of<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: commands and answers are words without gaps between them.
    unsafe { std::slice::from_raw_parts(ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// See [`bytes_of`].
pub(crate) fn split<T: Copy>(bytes: &[u8]) -> (T, &[u8]) {
    let (head, rest) = bytes.split_at(size_of::<T>());
    // SAFETY: there are as many bytes as a value has, and each pattern is one.
    (unsafe { head.as_ptr().cast::<T>().read_unaligned() }, rest)
}

/// Memory that peers may reach by its key, or callers name by its descriptor.
pub(crate) struct Registered {
    pub(crate) base: usize,
    pub(crate) len: usize,
    pub(crate) enabled: bool,
    pub(crate) bound: bool,
}

/// The card of an endpoint.
pub(crate) struct Card {
    nature: &'static Nature,
    commands: EndSocket,
    pub(crate) memory: Mutex<HashMap<u64, Registered>>,
    /// Answers for which there was no room.
    waiting: Mutex<VecDeque<(EndName, Vec<u8>)>>,
    /// Puts, gets and atomics of peers. Only compared with what it was, so it is relaxed.
    pub(crate) served: AtomicU64,
    closed: AtomicBool,
}

impl Card {
    /// The card of a new endpoint; with its thread, unless software is to do its work.
    pub(crate) fn open(nature: &'static Nature, name: EndName) -> Arc<Self> {
        let card = Arc::new(Self {
            nature,
            commands: EndSocket::open(name, Purpose::Commands),
            memory: Mutex::default(),
            waiting: Mutex::default(),
            served: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        });
        if !nature.by_software {
            let its = card.clone();
            std::thread::spawn(move || {
                while !its.closed.load(Ordering::Relaxed) {
                    // A closed endpoint is noticed now and then.
                    its.commands.sleep(if its.waiting.lock().is_empty() { 50 } else { 1 });
                    while its.serve() {}
                }
            });
        }
        card
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Executes a command. Whether there was one.
    pub(crate) fn serve(&self) -> bool {
        let mut waiting = self.waiting.lock();
        while let Some((to, answer)) = waiting.front() {
            match self.commands.send(*to, Purpose::Answers, answer) {
                Sent::Later => break,
                Sent::Yes | Sent::Gone => drop(waiting.pop_front()),
            }
        }
        let mut room = [0; size_of::<Command>() + INLINE];
        let Some(came) = self.commands.receive(&mut room) else { return false };
        let (command, data) = split::<Command>(came);
        let (code, old, found) = match self.execute(&command, data) {
            Ok((old, found)) => (0, old, found),
            Err(code) => (code as u64, 0, Vec::new()),
        };
        let answer = [bytes_of(&CardAnswer { number: command.number, code, old }), &found].concat();
        if !waiting.is_empty() || self.commands.send(command.from, Purpose::Answers, &answer) == Sent::Later {
            waiting.push_back((command.from, answer));
        }
        true
    }

    /// Does what a command says: the old value of an atomic, and the bytes of a short get.
    fn execute(&self, command: &Command, data: &[u8]) -> Result<(u64, Vec<u8>), i32> {
        let n = command.bytes as usize;
        let at = self.find(command.key, command.address as usize, n)?;
        self.served.fetch_add(1, Ordering::Relaxed);
        let is_word = n == 8 && at.is_multiple_of(8);
        let place: *mut u8 = ptr::with_exposed_provenance_mut(at);
        match command.kind {
            // SAFETY: the word is aligned and inside a registration.
            PUT if is_word => unsafe {
                let word = u64::from_ne_bytes(data.try_into().map_err(|_| fi::FI_EINVAL)?);
                AtomicU64::from_ptr(place.cast()).store(word, Ordering::Release);
            },
            // SAFETY: inside a registration, and the data are as long as the command says.
            PUT if n <= INLINE => unsafe { ptr::copy(data.as_ptr(), place, data.len().min(n)) },
            PUT => reach(libc::process_vm_readv, command, at)?,
            // SAFETY: the word is aligned and inside a registration.
            GET if is_word => unsafe {
                let word = AtomicU64::from_ptr(place.cast()).load(Ordering::Acquire);
                return Ok((0, word.to_ne_bytes().into()));
            },
            // SAFETY: inside a registration.
            GET if n <= INLINE => return Ok((0, unsafe { std::slice::from_raw_parts(place, n) }.to_vec())),
            GET => reach(libc::process_vm_writev, command, at)?,
            // SAFETY: the object is inside a registration.
            _ => return Ok((unsafe { atomic(command, at) }, Vec::new())),
        }
        Ok((0, Vec::new()))
    }

    fn find(&self, key: u64, address: usize, n: usize) -> Result<usize, i32> {
        let memory = self.memory.lock();
        let Some(registered) = memory.get(&key) else { crate::broken(&format!("no memory has the key {key}")) };
        let begins = if self.nature.mr_mode & fi::FI_MR_VIRT_ADDR != 0 { registered.base } else { 0 };
        let offset = address.wrapping_sub(begins);
        if !registered.enabled || offset.checked_add(n).is_none_or(|end| end > registered.len) {
            crate::broken(&format!("{n} bytes at {offset} of a registration of {}", registered.len));
        }
        Ok(registered.base + offset)
    }
}

type CopyCall = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> libc::ssize_t;

/// Copies between the memory here and that of the process that asks.
fn reach(copy: CopyCall, command: &Command, at: usize) -> Result<(), i32> {
    let n = command.bytes as usize;
    let mut done = 0;
    while done < n {
        let local = libc::iovec { iov_base: ptr::with_exposed_provenance_mut(at + done), iov_len: n - done };
        let there = ptr::with_exposed_provenance_mut(command.there as usize + done);
        let remote = libc::iovec { iov_base: there, iov_len: n - done };
        // SAFETY: the local bytes are inside a registration; the kernel checks the remote ones.
        let copied = unsafe { copy(command.from.process as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0) };
        if copied <= 0 {
            return Err(libc::EIO);
        }
        done += copied as usize;
    }
    Ok(())
}

/// # Safety
/// `at` is inside registered memory.
unsafe fn atomic(command: &Command, at: usize) -> u64 {
    static TURN: Mutex<()> = Mutex::new(());
    if !at.is_multiple_of(command.bytes as usize) {
        crate::broken("an atomic is not aligned");
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
    let operand = command.operand;
    let new = match command.op as fi::fi_op {
        fi::FI_ATOMIC_READ => return old,
        fi::FI_ATOMIC_WRITE => operand,
        fi::FI_SUM => old.wrapping_add(operand),
        fi::FI_BAND => old & operand,
        fi::FI_BOR => old | operand,
        fi::FI_BXOR => old ^ operand,
        _ if old == command.compare => operand,
        _ => old,
    };
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
