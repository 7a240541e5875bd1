//! Values of any type that `serde` knows, as `postcard` encodes them: broadcasts, and messages between two PEs.

use core::fmt;
use core::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Comparison::AtLeast;
use crate::pieces::Pieces;
use crate::transfer::no_such_pe;
use crate::{Error, ErrorKind, Team, Until, World, mistake, symmetric};

/// The words of a part. A PE stores and loads its own elements one by one, so bytes would take eight times as long.
const PART_WORDS: usize = 1 << 11;

symmetric! {
    /// A part of a value that a team broadcasts. A PE is in one collective at a time, so one place serves all its teams.
    static PART: [u64; PART_WORDS] = [0; PART_WORDS];
}

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
        let (encoded, length) = self.announce(CALL, value, root)?;
        if length == 0 {
            return decode(CALL, &[]);
        }
        let place = self.allocate_slice(length, 0_u8)?;
        if let Some(encoded) = &encoded {
            place.put_slice(encoded, root);
            self.quiet();
        }
        self.broadcast(&place, &place, root);
        let bytes = match encoded {
            Some(encoded) => encoded,
            // The broadcast has ordered this bulk copy after everything that is written there.
            None => place.get_vec(self.my_pe()),
        };
        decode(CALL, &bytes)
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

impl Team<'_> {
    /// The value of member `root`, on every member. All members call it; the root passes the value, and what others pass is not
    /// looked at. (Feature `serde`.)
    ///
    /// The encoding travels in parts through a static variable of this crate, because an allocation would be a call of all PEs. If
    /// the root has no value, or its value has no encoding, the call fails on all members.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let rows = world.split_2d(2)?.x;
    /// let name = rows.broadcast_value(Some(format!("row of PE {}", world.my_pe())), 0)?;
    /// assert_eq!(name, format!("row of PE {}", world.my_pe() / 2 * 2));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast_value<T: Serialize + DeserializeOwned>(&self, value: Option<T>, root: usize) -> Result<T, Error> {
        const CALL: &str = "Team::broadcast_value";
        let (encoded, length) = self.announce(CALL, value, root)?;
        let mut bytes = encoded.unwrap_or_default();
        bytes.resize(length.next_multiple_of(8), 0);
        for (i, part) in bytes.as_chunks_mut::<8>().0.chunks_mut(PART_WORDS).enumerate() {
            let place = &PART[..part.len()];
            if i > 0 {
                // All PEs have the part before.
                self.sync();
            }
            let is_root = self.my_pe() == root;
            if is_root {
                place.store_all(part.iter().map(|word| u64::from_ne_bytes(*word)));
            }
            self.broadcast(place, place, root);
            if !is_root {
                part.iter_mut().zip(place.to_vec()).for_each(|(bytes, word)| *bytes = word.to_ne_bytes());
            }
        }
        decode(CALL, &bytes[..length])
    }

    /// The root's encoding, on the root, and its length. None returns before all have called, so their parts are free.
    fn announce<T: Serialize>(
        &self,
        call: &'static str,
        value: Option<T>,
        root: usize,
    ) -> Result<(Option<Vec<u8>>, usize), Error> {
        let encoded = match value {
            Some(value) if self.my_pe() == root => encode(call, &value),
            _ => Err(absent(call, root)),
        };
        let length = encoded.as_ref().map_or(NOTHING, |bytes| bytes.len() as u64);
        match self.value_of(length, root) {
            Some(length) if length != NOTHING => Ok((encoded.ok(), length as usize)),
            _ => Err(encoded.err().unwrap_or_else(|| absent(call, root))),
        }
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
    /// Sends a message to PE `to`; it can be used again at once. One to the calling PE itself is an error where it would have to wait.
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
        if self.pieces.waits_for_itself(encoded.len(), to) {
            return Err(to_itself(CALL, encoded.len(), self.pieces.room()));
        }
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
            mistake(&no_such_pe(call, pe, self.pieces.n_pes()));
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
fn to_itself(call: &str, bytes: usize, room: usize) -> Error {
    let why = if bytes > room {
        format!(
            "the message has {bytes} bytes, and this PE would have to take the first {room} of them before it sends the rest"
        )
    } else {
        "this PE has not received its message before".to_owned()
    };
    Error::new(format!("{call}: this PE would wait for itself"))
        .because(why)
        .fix("receive the message before, and make a channel with room for the longest message to oneself")
        .of_kind(ErrorKind::InvalidArgument)
}

#[cold]
fn absent(call: &str, root: usize) -> Error {
    Error::new(format!("{call}: PE {root} has no value to send"))
        .because("it does not exist, it passed None, or its value has no encoding, which its own error says")
        .fix("pass Some(value) on the root, and the same root on all PEs")
        .of_kind(ErrorKind::InvalidArgument)
}
