//! The turn for memory: what the holder has taken is in the kernel's numbers when the next one looks.
//!
//! The turn is an abstract name of a Unix socket with the number of the user in it: nothing needs to be made or removed, and the
//! kernel frees the name when its holder ends. Any user can take any name, so a caller asks the kernel to which user
//! the holder belongs, and passes over a name that another user has. So no other user can keep a job waiting. Jobs of
//! other users and in containers with a network of their own do not see each other's turns.

use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use crate::descriptors;

/// Names that are tried: others may have taken the first ones.
const NAMES: u32 = 8;
/// A caller passes over a name whose holder has not listened for this time. A job that has just taken it listens
/// sooner.
const MUTE: Duration = Duration::from_millis(5);
/// The descriptor of the turn that this process has; -1: none.
static HELD: AtomicI32 = AtomicI32::new(-1);

/// The right to take memory, of one job of a user at a time. Without it two jobs could be promised the same memory.
#[derive(Debug)]
pub struct MemoryTurn(#[expect(dead_code, reason = "it holds the name until it is dropped")] UnixListener);

/// A caller that waits for the turn.
#[derive(Debug, Default)]
pub struct MemoryQueue {
    number: u32,
    /// A connection to the holder, a process of the same user. It breaks when the holder passes the turn on.
    holder: Option<UnixStream>,
    mute_since: Option<Instant>,
}

/// The answer to a caller that waits for the turn.
#[derive(Debug)]
pub enum TurnAnswer {
    /// The caller has it now.
    Taken(MemoryTurn),
    /// Another process of this user has it.
    Waits,
    /// It cannot be had: other users have all its names, or this process has no descriptor left.
    Barred,
}

impl MemoryQueue {
    /// Takes the turn if it is free.
    pub fn look(&mut self) -> TurnAnswer {
        while self.number < NAMES {
            let name = name(self.number);
            match descriptors::listen(&name) {
                Ok(listener) => {
                    HELD.store(listener.as_raw_fd(), Ordering::SeqCst);
                    return TurnAnswer::Taken(MemoryTurn(listener));
                }
                Err(e) if e.kind() == ErrorKind::AddrInUse => {}
                Err(_) => return TurnAnswer::Barred,
            }
            if self.holder.as_ref().is_some_and(is_open) {
                return TurnAnswer::Waits;
            }
            self.holder = None;
            match descriptors::connect_at_once(&name).and_then(own) {
                Ok(Some(stream)) => {
                    (self.holder, self.mute_since) = (Some(stream), None);
                    return TurnAnswer::Waits;
                }
                Err(e)
                    if e.kind() == ErrorKind::ConnectionRefused
                        && self.mute_since.get_or_insert_with(Instant::now).elapsed() < MUTE =>
                {
                    return TurnAnswer::Waits;
                }
                // Another user's name, or one whose queue is full.
                Ok(None) | Err(_) => (self.number, self.mute_since) = (self.number + 1, None),
            }
        }
        TurnAnswer::Barred
    }
}

impl Drop for MemoryTurn {
    fn drop(&mut self) {
        HELD.store(-1, Ordering::SeqCst);
    }
}

/// Lets go of the turn that the parent of this process has. Only makes a system call, so that it may run in the child of a fork.
pub fn leave_to_parent() {
    let held = HELD.swap(-1, Ordering::SeqCst);
    if held >= 0 {
        // SAFETY: the descriptor is a copy of the parent's. The thread that would close it does not exist in this process.
        let closed = unsafe { syscall!(close(held)) };
        debug_assert!(closed.is_ok(), "{closed:?}");
    }
}

fn name(number: u32) -> Vec<u8> {
    format!("oxshmem/memory/{}/{number}", descriptors::own_uid()).into_bytes()
}

/// The connection, if it leads to a process of this user.
fn own(stream: UnixStream) -> io::Result<Option<UnixStream>> {
    stream.set_nonblocking(true)?;
    Ok((descriptors::peer_uid(&stream)? == descriptors::own_uid()).then_some(stream))
}

/// Whether the holder has not let go of the other end.
fn is_open(stream: &UnixStream) -> bool {
    (&mut &*stream).read(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The turn, once jobs of this user that run beside the test have passed it on.
    fn taken(queue: &mut MemoryQueue) -> MemoryTurn {
        loop {
            match queue.look() {
                TurnAnswer::Taken(turn) => return turn,
                TurnAnswer::Waits => std::thread::sleep(Duration::from_millis(1)),
                TurnAnswer::Barred => panic!("another user has all names, or there are no descriptors"),
            }
        }
    }

    #[test]
    fn fault_M1_one_job_of_a_user_at_a_time_takes_memory() {
        let first = taken(&mut MemoryQueue::default());
        let mut second = MemoryQueue::default();
        for _ in 0..500 {
            assert!(matches!(second.look(), TurnAnswer::Waits), "the queue of the holder never fills");
        }
        drop(first);
        drop(taken(&mut second));
    }

    #[test]
    fn fault_T6_a_name_behind_which_nobody_listens_is_passed_over() {
        let mut queue = MemoryQueue::default();
        let turn = taken(&mut queue);
        let number = queue.number;
        drop(turn);
        let address = rustix::net::SocketAddrUnix::new_abstract_name(&name(number)).expect("a short name");
        let socket = rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None)
            .expect("a socket");
        if rustix::net::bind(&socket, &address).is_err() {
            return oxshmem_test_folder::not_run("a job of this user took the name");
        }
        let mut queue = MemoryQueue::default();
        drop(taken(&mut queue));
        assert!(queue.number > number);
    }
}
