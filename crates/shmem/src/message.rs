//! Values of any type that `serde` knows, as `postcard` encodes them: broadcasts, and messages between two PEs.

use core::fmt;
use core::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Comparison::AtLeast;
use crate::pieces::Pieces;
use crate::{Error, ErrorKind, Until, World, mistake};

/// The length that says that the root has no value to send.
const NOTHING: u64 = u64::MAX;

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
        Ok(MessageChannel { pieces: Pieces::new(self, room)?, message: PhantomData })
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
    pieces: Pieces<'w>,
    message: PhantomData<fn(T) -> T>,
}

impl<T> fmt::Debug for MessageChannel<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageChannel").field("room", &self.pieces.room()).finish_non_exhaustive()
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
        self.exists(CALL, to);
        let encoded = encode(CALL, message)?;
        let mut left = &encoded[..];
        loop {
            self.pieces.wait_until_free(to);
            left = self.pieces.put(left, to);
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
        self.exists(CALL, from);
        let mut message = Vec::new();
        loop {
            self.pieces.wait_until_come(from);
            if self.pieces.take(from, &mut message) {
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
        self.exists("MessageChannel::try_receive", from);
        if self.pieces.has_come(from) { self.receive(from).map(Some) } else { Ok(None) }
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
        self.exists("MessageChannel::until_come", from);
        self.pieces.come[from].until(AtLeast(self.pieces.received(from) + 1))
    }

    /// Ends the job if there is no such PE.
    #[track_caller]
    fn exists(&self, call: &str, pe: usize) {
        if pe >= self.pieces.n_pes() {
            no_such_pe(call, pe, self.pieces.n_pes());
        }
    }
}

pub(crate) fn encode<T: Serialize>(call: &str, value: &T) -> Result<Vec<u8>, Error> {
    postcard::to_stdvec(value).map_err(|error| {
        Error::new(format!("{call}: the {} has no encoding", core::any::type_name::<T>()))
            .because(format!("postcard says: {error}"))
            .fix("look at the type's Serialize: postcard needs the lengths of sequences and maps beforehand")
            .of_kind(ErrorKind::InvalidArgument)
    })
}

pub(crate) fn decode<T: DeserializeOwned>(call: &str, bytes: &[u8]) -> Result<T, Error> {
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
pub(crate) fn no_such_pe(call: &str, pe: usize, pes: usize) -> ! {
    mistake(
        &Error::new(format!("{call}: PE {pe} does not exist"))
            .because(format!("the world has the PEs 0 to {}", pes.saturating_sub(1)))
            .fix("pass a PE number of the world"),
    )
}
