//! The leader's socket, where the other PEs of the node come in and strangers do not.

use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_os::sockets::{self, PollEntry};
use oxshmem_os::{WatchedTime, descriptors};

use super::failures::{failed, late};
use super::parcel::{Parcel, receive};
use super::{GLANCE, Invitation, PATIENCE};
use crate::Membership;

/// How long the leader may lack a descriptor: other threads of its program may close files.
const STALL: Duration = Duration::from_secs(5);

/// The leader's socket.
pub(super) struct Gate {
    listener: UnixListener,
    pub(super) invitation: Invitation,
}

impl Gate {
    /// Opens a socket with a random name, for processes that know a random word.
    pub(super) fn open() -> io::Result<Gate> {
        let mut random = [0; 32];
        oxshmem_os::random::fill(&mut random)?;
        let invitation = Invitation::read(&random).map_err(io::Error::other)?;
        let listener = descriptors::listen(&invitation.address())?;
        Ok(Gate { listener, invitation })
    }

    /// Waits for every other member and drops all other processes. The result is in the members' order. Connections
    /// that have not sent the word wait side by side, so that a silent one delays no member. None is dropped for its silence
    /// while there are descriptors: it may be a member's that a debugger or a crowded machine has stopped.
    pub(super) fn admit(&self, job: &Membership, patience: Duration) -> Result<(Vec<UnixStream>, Vec<Parcel>), Error> {
        let others = &job.node().members[1..];
        let mut arrived: Vec<Option<(UnixStream, Parcel)>> = others.iter().map(|_| None).collect();
        let mut guests: Vec<Stranger> = Vec::new();
        let mut waited = WatchedTime::begin();
        let mut refused = None;
        self.listener.set_nonblocking(true).map_err(|error| failed(job, &error))?;
        while arrived.iter().any(Option::is_none) {
            let guests_sockets = guests.iter().map(|guest| guest.stream.as_raw_fd());
            let awaited: Vec<PollEntry> =
                guests_sockets.chain([self.listener.as_raw_fd()]).map(PollEntry::to_read).collect();
            if !sockets::wait_any(&awaited, GLANCE).map_err(|error| failed(job, &error))?.contains(&true) {
                job.end_if_orphaned();
            }
            if waited.look() > patience {
                let absent = others.iter().zip(&arrived).filter(|(_, guest)| guest.is_none());
                return Err(late(patience, &absent.map(|(pe, _)| *pe).collect::<Vec<_>>()));
            }
            match self.receive_guests(&mut guests) {
                Ok(()) => refused = None,
                Err(error) if refused.get_or_insert_with(Instant::now).elapsed() > STALL => {
                    return Err(failed(job, &error));
                }
                // The connection that waits would end the next wait at once.
                Err(_) => thread::sleep(GLANCE),
            }
            for mut guest in std::mem::take(&mut guests) {
                let left = patience.saturating_sub(waited.look()).max(GLANCE);
                match guest.hear(&self.invitation, left) {
                    Ok(None) => guests.push(guest),
                    Err(_) => {}
                    // A second process that says it is this member is dropped.
                    Ok(Some((pe, parcel))) => {
                        if let Ok(place) = others.binary_search(&pe) {
                            arrived[place].get_or_insert((guest.stream, parcel));
                        }
                    }
                }
            }
        }
        Ok(arrived.into_iter().map(|guest| guest.expect("nobody is missing")).unzip())
    }

    /// Accepts all connections that wait, and keeps those of the same user. An error: one of them cannot be accepted.
    fn receive_guests(&self, guests: &mut Vec<Stranger>) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => guests.extend(Stranger::new(stream)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The kernel takes a descriptor before it looks whether a connection waits.
                Err(_) if !sockets::wait_readable(&self.listener, Duration::ZERO)? => return Ok(()),
                // There are no more descriptors: the connection that has been silent for the longest time is closed.
                Err(_) if !guests.is_empty() => drop(guests.remove(0)),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A process that has connected and has not yet sent the job's word.
struct Stranger {
    stream: UnixStream,
    /// The bytes received so far.
    hello: [u8; HELLO],
    heard: usize,
}

/// The job's word and the number of the PE.
const HELLO: usize = 16 + 4;

impl Stranger {
    /// Only the same user gets in.
    fn new(stream: UnixStream) -> Option<Self> {
        let is_ours = descriptors::peer_uid(&stream).is_ok_and(|uid| uid == descriptors::own_uid());
        stream.set_nonblocking(true).ok().filter(|()| is_ours)?;
        Some(Self { stream, hello: [0; HELLO], heard: 0 })
    }

    /// Hears what is there. A member of the job has its number and a parcel, each part of which may take this `patience`; an error is a
    /// stranger.
    fn hear(&mut self, invitation: &Invitation, patience: Duration) -> io::Result<Option<(u32, Parcel)>> {
        while self.heard < HELLO {
            match (&self.stream).read(&mut self.hello[self.heard..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.heard += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let (token, pe) = self.hello.split_at(16);
        if token != invitation.token {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // A member sends its parcel at once, so that the leader may wait for it.
        self.stream.set_nonblocking(false)?;
        self.stream.set_read_timeout(Some(patience))?;
        self.stream.set_write_timeout(Some(PATIENCE))?;
        let pe = u32::from_le_bytes(pe.try_into().expect("four bytes are left"));
        receive(&self.stream).map(|parcel| Some((pe, parcel)))
    }
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use oxshmem_os::signals::Process;
    use oxshmem_test_folder::{again, is_again, not_run, passes};

    use super::super::{answer, pack, send, visit};
    use super::*;

    #[test]
    fn fault_L6_silent_strangers_of_the_same_user_delay_nobody() {
        const STRANGERS: u32 = 20;
        let gate = Gate::open().unwrap();
        let name = gate.invitation.address();
        let nodes = [0, 0];
        let silent: Vec<UnixStream> = (0..STRANGERS).map(|_| descriptors::connect(&name).unwrap()).collect();
        // One begins to speak.
        (&silent[3]).write_all(&gate.invitation.token[..7]).unwrap();
        let invitation = gate.invitation;
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let visitor = scope.spawn(move || visit(&Membership::placed(1, &nodes), &invitation, &Parcel::default()));
            let (guests, parcels) = gate.admit(&Membership::placed(0, &nodes), 10 * PATIENCE).unwrap();
            let (common, own) = (Parcel::default(), Parcel::default());
            let (bytes, fds) = pack([&common, &own].into_iter().chain(&parcels));
            guests.iter().for_each(|guest| answer(guest, &bytes, &fds).unwrap());
            assert_eq!(visitor.join().unwrap().unwrap().of.len(), 2);
        });
        // One after the other they would take the whole of it.
        assert!(begun.elapsed() < STRANGERS * STALL / 2, "the meeting took {:?}", begun.elapsed());
        drop(silent);
    }

    #[test]
    fn a_member_that_is_stopped_before_it_speaks_is_awaited() {
        let gate = Gate::open().unwrap();
        let member = descriptors::connect(&gate.invitation.address()).unwrap();
        let hello = [&gate.invitation.token[..], &1_u32.to_le_bytes()].concat();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(STALL + GLANCE);
                (&member).write_all(&hello).unwrap();
                thread::sleep(STALL + GLANCE);
                send(&member, &Parcel { bytes: b"late".into(), fds: Vec::new() }).unwrap();
            });
            let (_, parcels) = gate.admit(&Membership::placed(0, &[0, 0]), PATIENCE).unwrap();
            assert_eq!(parcels[0].bytes, b"late");
        });
    }

    #[test]
    fn a_leader_that_is_stopped_with_its_job_goes_on_waiting() {
        const STOP: i32 = 19;
        const CONTINUE: i32 = 18;
        let patience = Duration::from_secs(3);
        if is_again() {
            let gate = Gate::open().unwrap();
            let [name, token] = [gate.invitation.name, gate.invitation.token].map(u128::from_be_bytes);
            eprintln!("{name:x} {token:x}");
            gate.admit(&Membership::placed(0, &[0, 0]), patience).unwrap();
            return;
        }
        let mut child = again(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut said, mut line) = (BufReader::new(child.stderr.take().unwrap()), String::new());
        said.read_line(&mut line).unwrap();
        let mut numbers = line.split_whitespace().map(|number| u128::from_str_radix(number, 16).unwrap().to_be_bytes());
        let invitation = Invitation { name: numbers.next().unwrap(), token: numbers.next().unwrap() };
        let leader = Process::hold(child.id()).unwrap();
        leader.signal(STOP).unwrap();
        thread::sleep(patience + GLANCE);
        leader.signal(CONTINUE).unwrap();
        let member = descriptors::connect(&invitation.address()).unwrap();
        (&member).write_all(&[&invitation.token[..], &1_u32.to_le_bytes()].concat()).unwrap();
        send(&member, &Parcel::default()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && told.contains("1 passed"), "{told}");
    }

    #[test]
    fn a_member_of_another_user_learns_which_users_do_not_meet() {
        const NAME: &str = "OXSHMEM_TEST_GATE";
        if is_again() {
            let [name, token] = std::array::from_fn(|at| {
                let numbers = std::env::var(NAME).unwrap();
                u128::from_str_radix(numbers.split(' ').nth(at).unwrap(), 16).unwrap().to_be_bytes()
            });
            let job = Membership::placed(1, &[0, 0]);
            let error = visit(&job, &Invitation { name, token }, &Parcel::default()).unwrap_err();
            let text = failed(&job, &error).to_string();
            assert!(
                text.contains("it runs as user 65534, and PE 0, which brings them together, as user 0\n"),
                "{text}"
            );
            return;
        }
        if descriptors::own_uid() != 0 {
            return not_run("only root can start a process of another user");
        }
        let gate = Gate::open().unwrap();
        let [name, token] = [gate.invitation.name, gate.invitation.token].map(u128::from_be_bytes);
        let mut member = again(&["setpriv", "--reuid=65534", "--clear-groups"]);
        member.env(NAME, format!("{name:x} {token:x}"));
        let is_over = AtomicBool::new(false);
        gate.listener.set_nonblocking(true).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut guests = Vec::new();
                while !is_over.load(Relaxed) {
                    gate.receive_guests(&mut guests).unwrap();
                    thread::sleep(Duration::from_millis(10));
                }
                assert!(guests.is_empty(), "another user got in");
            });
            let ended = member.output();
            is_over.store(true, Relaxed);
            let ended = ended.expect("setpriv of util-linux");
            let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
            match ended.status.code() {
                Some(126) => not_run("another user may not execute this test"),
                _ => assert!(ended.status.success() && said.contains("1 passed"), "{said}"),
            }
        });
    }

    #[test]
    fn fault_V2_a_leader_without_descriptors_says_so_before_its_patience_ends() {
        if is_again() {
            let gate = Gate::open().unwrap();
            let _guest = descriptors::connect(&gate.invitation.address()).unwrap();
            let files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
            let begun = Instant::now();
            let error = gate.admit(&Membership::placed(0, &[0, 0]), PATIENCE).unwrap_err().to_string();
            drop(files);
            assert!(error.contains("(ulimit -n)"), "{error}");
            assert!(begun.elapsed() < PATIENCE / 2, "the leader took {:?}", begun.elapsed());
            return;
        }
        // With few files for it alone.
        passes(again(&["/bin/sh", "-c", "ulimit -n 64 && exec \"$0\" \"$@\""]));
    }
}
