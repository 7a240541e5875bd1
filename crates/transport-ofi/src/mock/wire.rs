//! The wire between endpoints of one process: boxes in which datagrams lie. A thread that sends a card a command does
//! the card's work as well, so a run needs no further threads, and one without threads is the same each time.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::datagram::{DatagramKind, EndName, Sent};

/// Messages and commands that a box has room for. An answer always has room, because a card that has no thread looks once.
const ROOM: usize = 16;

type CardWork = Arc<dyn Fn() -> bool + Send + Sync>;

/// All that is between the endpoints.
#[derive(Default)]
struct MockWire {
    names: u64,
    boxes: HashMap<(u64, DatagramKind), VecDeque<Vec<u8>>>,
    cards: HashMap<u64, CardWork>,
}

static WIRE: Mutex<Option<MockWire>> = Mutex::new(None);

fn with<R>(act: impl FnOnce(&mut MockWire) -> R) -> R {
    act(WIRE.lock().get_or_insert_default())
}

/// Begins anew: no endpoint is known any more.
pub(super) fn clear() {
    *WIRE.lock() = None;
}

/// The name of the next endpoint.
pub(super) fn next_name() -> EndName {
    with(|wire| {
        wire.names += 1;
        EndName { process: 0, number: wire.names - 1 }
    })
}

/// Has the card of an endpoint do its `work` whenever a command has come.
pub(super) fn employ(name: EndName, work: impl Fn() -> bool + Send + Sync + 'static) {
    with(|wire| drop(wire.cards.insert(name.number, Arc::new(work))));
}

/// Copies `n` bytes from the endpoint that asks.
///
/// # Safety
/// The bytes stay there until their operation is complete, and `to` is inside registered memory.
pub(super) unsafe fn fetch(_: EndName, from: usize, to: usize, n: usize) -> Result<(), c_int> {
    // SAFETY: both have the bytes, by the caller's promise: the endpoints are of one process.
    unsafe { ptr::copy(ptr::with_exposed_provenance::<u8>(from), ptr::with_exposed_provenance_mut(to), n) };
    Ok(())
}

/// Copies `n` bytes to the endpoint that asks.
///
/// # Safety
/// As for [`fetch`], with the places exchanged.
pub(super) unsafe fn deliver(asking: EndName, from: usize, to: usize, n: usize) -> Result<(), c_int> {
    // SAFETY: both have the bytes, by the caller's promise.
    unsafe { fetch(asking, from, to, n) }
}

/// The datagrams of one kind for an endpoint.
pub(super) struct EndSocket(EndName, DatagramKind);

impl EndSocket {
    pub(super) fn open(name: EndName, kind: DatagramKind) -> Self {
        with(|wire| wire.boxes.insert((name.number, kind), VecDeque::new()));
        Self(name, kind)
    }

    pub(super) fn send(&self, to: EndName, kind: DatagramKind, bytes: &[u8]) -> Sent {
        let sent = with(|wire| match wire.boxes.get_mut(&(to.number, kind)) {
            None => Sent::Gone,
            Some(room) if room.len() >= ROOM && kind != DatagramKind::Answer => Sent::Later,
            Some(room) => {
                room.push_back(bytes.to_vec());
                Sent::Yes
            }
        });
        let work = with(|wire| wire.cards.get(&to.number).filter(|_| kind == DatagramKind::Command).cloned());
        if let Some(work) = work {
            work();
        }
        sent
    }

    /// The next datagram, in front of `room`.
    pub(super) fn receive<'r>(&self, room: &'r mut [u8]) -> Option<&'r [u8]> {
        let came = with(|wire| wire.boxes.get_mut(&(self.0.number, self.1))?.pop_front())?;
        if came.len() > room.len() {
            super::broken(&format!("{} bytes were sent where {} are awaited", came.len(), room.len()));
        }
        room[..came.len()].copy_from_slice(&came);
        Some(&room[..came.len()])
    }

    /// Does not sleep: a command has come before its card does any work.
    pub(super) fn sleep(&self, _milliseconds: c_int) {}
}
