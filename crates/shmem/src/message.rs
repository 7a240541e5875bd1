//! Values of any type that `serde` knows, as `postcard` encodes them: broadcasts, and messages between two PEs.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Comparison::AtLeast;
use crate::{Atomic, Error, ErrorKind, Signal, SymmetricBox, Until, Update, World, mistake};

/// The length that says that the root has no value to send.
const NOTHING: u64 = u64::MAX;
/// The bytes of a piece before those of the message: how many of these are still to come.
const HEADER: usize = 8;

impl World {
    /// The value of PE `root`, on every PE. All PEs call it; the root passes the value, and what others pass is not looked at.
    /// (Feature `serde`.)
    ///
    /// The encoding travels through symmetric memory, which it takes for the time of the call. If the root has no value, its
    /// value has no encoding, or there is no room for it, the call fails on all PEs.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let mine = (world.my_pe() == 0).then(|| vec!["steps=100".to_string(), "plate".to_string()]);
    /// let settings: Vec<String> = world.broadcast_value(mine, 0)?;
    /// assert_eq!(settings[1], "plate");
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast_value<T: Serialize + DeserializeOwned>(&self, value: Option<T>, root: usize) -> Result<T, Error> {
        const CALL: &str = "World::broadcast_value";
        let encoded = match value {
            Some(value) if self.my_pe() == root => encode(CALL, &value),
            _ => Err(absent(CALL, root)),
        };
        let length = encoded.as_ref().map_or(NOTHING, |bytes| bytes.len() as u64);
        let Some(length) = self.value_of(length, root).filter(|&length| length != NOTHING) else {
            return Err(encoded.err().unwrap_or_else(|| absent(CALL, root)));
        };
        if length == 0 {
            return decode(CALL, &[]);
        }
        let bytes = self.allocate_slice(length as usize, 0_u8)?;
        if let Ok(encoded) = encoded {
            bytes.put_slice(&encoded, root);
            self.quiet();
        }
        self.broadcast(&bytes, &bytes, root);
        decode(CALL, &bytes.to_vec())
    }

    /// A channel for messages between all pairs of PEs. All PEs call it with the same `room`: the bytes that each keeps for a
    /// message from each other PE. (Feature `serde`.)
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let names = world.channel::<String>(256)?;
    /// names.send(&"hello".to_string(), 0)?;
    /// assert_eq!(names.receive(0)?, "hello");
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn channel<T: Serialize + DeserializeOwned>(&self, room: usize) -> Result<MessageChannel<'_, T>, Error> {
        let slot = room.max(1).saturating_add(HEADER);
        let n = self.n_pes();
        Ok(MessageChannel {
            slots: self.allocate_slice(n.saturating_mul(slot), 0_u8)?,
            come: self.allocate_slice(n, Signal::new(0))?,
            taken: self.allocate_slice(n, Atomic::new(0_u64))?,
            sent: vec![Cell::new(0); n],
            received: vec![Cell::new(0); n],
            slot,
            world: self,
            message: PhantomData,
        })
    }
}

/// Messages between pairs of PEs, from [`World::channel`]. Those of one pair arrive in order. (Feature `serde`.)
///
/// A message lies in the receiver's memory until it is received. One that is longer than the channel's room, or sent while the one
/// before has not been received, waits for the receiver: so two PEs that send each other long messages before they receive wait
/// for ever, as in other libraries that pass messages.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let channel: oxshmem::MessageChannel<'_, (u32, Vec<f64>)> = world.channel(1 << 10)?;
/// let (me, n) = (world.my_pe(), world.n_pes());
/// channel.send(&(7, vec![0.5; me]), (me + 1) % n)?;
/// let (number, values) = channel.receive((me + n - 1) % n)?;
/// assert_eq!((number, values.len()), (7, (me + n - 1) % n));
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct MessageChannel<'w, T> {
    /// By sender: the number of bytes of the message that are still to come, and the first of them.
    slots: SymmetricBox<'w, [u8]>,
    /// By sender: how many pieces it has sent.
    come: SymmetricBox<'w, [Signal]>,
    /// By receiver: how many pieces of this PE it has taken.
    taken: SymmetricBox<'w, [Atomic<u64>]>,
    /// By receiver: how many pieces this PE has sent.
    sent: Vec<Cell<u64>>,
    /// By sender: how many of its pieces this PE has taken.
    received: Vec<Cell<u64>>,
    /// The bytes of a slot.
    slot: usize,
    world: &'w World,
    message: PhantomData<fn(T) -> T>,
}

impl<T> fmt::Debug for MessageChannel<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageChannel").field("room", &(self.slot - HEADER)).finish_non_exhaustive()
    }
}

impl<T: Serialize + DeserializeOwned> MessageChannel<'_, T> {
    /// Sends a message to PE `to`; it can be used again at once.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let channel = world.channel::<Option<u32>>(16)?;
    /// channel.send(&None, 0)?;
    /// assert_eq!(channel.receive(0)?, None);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn send(&self, message: &T, to: usize) -> Result<(), Error> {
        const CALL: &str = "MessageChannel::send";
        let Some(sent) = self.sent.get(to) else { no_such_pe(CALL, to, self.sent.len()) };
        let encoded = encode(CALL, message)?;
        let (room, mine) = (self.slot - HEADER, self.world.my_pe() * self.slot);
        let (mut left, mut piece) = (&encoded[..], Vec::with_capacity(self.slot));
        loop {
            let (first, rest) = left.split_at(left.len().min(room));
            piece.clear();
            piece.extend_from_slice(&(left.len() as u64).to_le_bytes());
            piece.extend_from_slice(first);
            // The slot is free once the piece before has been taken.
            self.taken[to].wait_until(AtLeast(sent.get()));
            sent.set(sent.get() + 1);
            let come = &self.come[self.world.my_pe()];
            self.slots[mine..mine + self.slot].put_signal(&piece, come, Update::Set(sent.get()), to);
            left = rest;
            if left.is_empty() {
                return Ok(());
            }
        }
    }

    /// Waits for the next message of PE `from`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let channel = world.channel::<Vec<u64>>(16)?;
    /// channel.send(&vec![1, 2, 3], 0)?;
    /// assert_eq!(channel.receive(0)?, [1, 2, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn receive(&self, from: usize) -> Result<T, Error> {
        const CALL: &str = "MessageChannel::receive";
        let Some(received) = self.received.get(from) else { no_such_pe(CALL, from, self.received.len()) };
        let (mut message, mut piece) = (Vec::new(), vec![0_u8; self.slot]);
        loop {
            let number = received.get() + 1;
            self.come[from].wait_until(AtLeast(number));
            self.slots[from * self.slot..].get_slice(&mut piece, self.world.my_pe());
            received.set(number);
            self.taken[self.world.my_pe()].set(number, from);
            let (header, bytes) = piece.split_at(HEADER);
            let left = header.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte));
            message.extend_from_slice(&bytes[..left.min(bytes.len())]);
            if left <= bytes.len() {
                return decode(CALL, &message);
            }
        }
    }

    /// The next message of PE `from`, if it has come.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let channel = world.channel::<char>(16)?;
    /// assert!(channel.try_receive(0)?.is_none());
    /// channel.send(&'x', 0)?;
    /// assert_eq!(channel.try_receive(0)?, Some('x'));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn try_receive(&self, from: usize) -> Result<Option<T>, Error> {
        let Some(received) = self.received.get(from) else {
            no_such_pe("MessageChannel::try_receive", from, self.received.len())
        };
        if self.come[from].fetch() > received.get() { self.receive(from).map(Some) } else { Ok(None) }
    }

    /// Ready when the next message of PE `from` has come, or the first piece of a longer one: for `async` code, which then calls
    /// [`receive`](Self::receive).
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let channel = world.channel::<char>(16)?;
    /// channel.send(&'x', 0)?;
    /// let next = async {
    ///     channel.until_come(0).await;
    ///     channel.receive(0)
    /// };
    /// # let _ = next;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn until_come(&self, from: usize) -> Until<'_, u64> {
        let Some(received) = self.received.get(from) else {
            no_such_pe("MessageChannel::until_come", from, self.received.len())
        };
        self.come[from].until(AtLeast(received.get() + 1))
    }
}

fn encode<T: Serialize>(call: &str, value: &T) -> Result<Vec<u8>, Error> {
    postcard::to_stdvec(value).map_err(|error| {
        Error::new(format!("{call}: the {} has no encoding", core::any::type_name::<T>()))
            .because(format!("postcard says: {error}"))
            .fix("look at the type's Serialize: postcard needs the lengths of sequences and maps beforehand")
            .of_kind(ErrorKind::InvalidArgument)
    })
}

fn decode<T: DeserializeOwned>(call: &str, bytes: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|error| {
        Error::new(format!("{call}: {} bytes are no {}", bytes.len(), core::any::type_name::<T>()))
            .because(format!("postcard says: {error}"))
            .fix("let Serialize and Deserialize of the type agree; postcard cannot decode what does not name its form")
            .of_kind(ErrorKind::InvalidValue)
    })
}

#[cold]
fn absent(call: &str, root: usize) -> Error {
    Error::new(format!("{call}: PE {root} has no value to send"))
        .because("it does not exist, it passed None, or its value has no encoding, which its own error says")
        .fix("pass Some(value) on the root, and the same root on all PEs")
        .of_kind(ErrorKind::InvalidArgument)
}

#[cold]
#[track_caller]
fn no_such_pe(call: &str, pe: usize, pes: usize) -> ! {
    mistake(
        &Error::new(format!("{call}: PE {pe} does not exist"))
            .because(format!("the world has the PEs 0 to {}", pes.saturating_sub(1)))
            .fix("pass a PE number of the world"),
    )
}
