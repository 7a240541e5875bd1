//! The PEs that share a node, and how they hand each other descriptors.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::{WatchedTime, descriptors, sockets};

use crate::manager::Manager;
use crate::{Membership, published};

mod failures;
mod gate;
mod invitation;
mod parcel;

use failures::{SAME_VERSION, enough_files, failed, lost, of_another_user};
use gate::Gate;
use invitation::Invitation;
pub use parcel::Parcel;
use parcel::{pack, send, unpack};

/// How long the leader of a node waits for each of the others. The launcher notices a dead PE much earlier.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a PE waits for a word: longer than the leader waits for a PE that does not come, because the leader then says which one.
const PATIENCE_FOR_WORDS: Duration = PATIENCE.saturating_mul(2);
/// How often a waiting PE looks whether the launcher is still there.
const GLANCE: Duration = Duration::from_millis(200);

/// A node as one of its PEs sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnNode {
    /// Number of this node among the job's nodes.
    pub index: u32,
    /// How many nodes the job has.
    pub count: u32,
    /// The PEs on this node, ascending. The first is the node's leader.
    pub members: Vec<u32>,
    /// Where this PE stands in `members`.
    pub my_index: usize,
}

impl OwnNode {
    /// The node of PE `rank`, given the node number of every PE. The numbers may have gaps.
    pub(crate) fn of(nodes: &[u32], rank: u32) -> OwnNode {
        let mine = nodes[rank as usize];
        let mut distinct = nodes.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let on_mine = |&pe: &u32| nodes[pe as usize] == mine;
        let members: Vec<u32> = (0..nodes.len() as u32).filter(on_mine).collect();
        OwnNode {
            index: distinct.binary_search(&mine).expect("the list holds every node") as u32,
            count: distinct.len() as u32,
            my_index: members.binary_search(&rank).expect("a PE is on its own node"),
            members,
        }
    }
}

/// The node of every PE where the launcher does not know it: PEs with one kernel and one network namespace can meet on
/// an abstract socket, and that is what a node is for. PE 0 compares all and publishes the result, so that others ask
/// once.
pub(crate) fn by_identity(manager: &dyn Manager) -> Result<Vec<u32>, Error> {
    let mut identity = Vec::new();
    for source in ["/proc/sys/kernel/random/boot_id", "/etc/hostname"] {
        identity.extend(std::fs::read(source).unwrap_or_default());
    }
    for namespace in ["/proc/self/ns/uts", "/proc/self/ns/net"] {
        identity.extend(std::fs::read_link(namespace).unwrap_or_default().into_os_string().into_encoded_bytes());
    }
    let (rank, size) = (manager.rank(), manager.size());
    published::put(manager, &format!("host.{rank}"), &identity)?;
    manager.fence()?;
    if rank == 0 {
        let mut seen = BTreeMap::new();
        let mut nodes = Vec::with_capacity(size as usize * 4);
        for pe in 0..size {
            let next = seen.len() as u32;
            let node = *seen.entry(published::get(manager, pe, &format!("host.{pe}"))?).or_insert(next);
            nodes.extend(node.to_le_bytes());
        }
        published::put(manager, "nodes", &nodes)?;
    }
    manager.fence()?;
    let nodes = published::get(manager, 0, "nodes")?;
    numbers_of(&nodes, size)
}

/// The node of each of `size` PEs, as PE 0 publishes them.
fn numbers_of(bytes: &[u8], size: u32) -> Result<Vec<u32>, Error> {
    let (nodes, rest) = bytes.as_chunks::<4>();
    if nodes.len() != size as usize || !rest.is_empty() {
        return Err(Error::new("PE 0 published something that is no list of nodes")
            .because(format!(
                "it has {} bytes, and four for each of {size} PEs are {}",
                bytes.len(),
                4 * u64::from(size)
            ))
            .fix(SAME_VERSION));
    }
    Ok(nodes.iter().map(|node| u32::from_le_bytes(*node)).collect())
}

/// The contributions of all PEs of the node, which every one of them holds after [`share`].
#[derive(Debug)]
pub struct Gathered {
    /// The leader's parcel for all.
    pub common: Parcel,
    /// The parcel of every member, in the order of [`OwnNode::members`].
    pub of: Vec<Parcel>,
    /// The way by which they came.
    pub circle: Circle,
}

/// The PEs of a node after they have met, for what they tell each other until they share memory.
#[derive(Debug, Default)]
pub struct Circle {
    /// On the leader the ways to the others, in their order; on another the one to the leader.
    streams: Vec<UnixStream>,
}

impl Circle {
    /// Hands bytes to the leader, which gets those of all, as [`OwnNode::members`] has them; the others get nothing.
    pub fn gather(&self, job: &Membership, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        let node = job.node();
        if node.my_index > 0 {
            self.streams.iter().try_for_each(|leader| tell(leader, &mine)).map_err(|error| failed(job, &error))?;
            return Ok(Vec::new());
        }
        let others = self.streams.iter().zip(&node.members[1..]);
        let heard = others.map(|(guest, pe)| hear(job, guest).map_err(|error| lost(job, *pe, &error)));
        std::iter::once(Ok(mine)).chain(heard).collect()
    }

    /// Hands to all what the leader finds.
    pub fn spread(&self, job: &Membership, find: impl FnOnce() -> Result<Vec<u8>, Error>) -> Result<Vec<u8>, Error> {
        let node = job.node();
        if node.my_index > 0 {
            let leader = self.streams.first().expect("a member came by this way");
            return hear(job, leader).map_err(|error| lost(job, node.members[0], &error));
        }
        let words = find()?;
        for (guest, pe) in self.streams.iter().zip(&node.members[1..]) {
            tell(guest, &words).map_err(|error| lost(job, *pe, &error))?;
        }
        Ok(words)
    }
}

fn tell(stream: &UnixStream, bytes: &[u8]) -> io::Result<()> {
    descriptors::send(stream, bytes, &[])
}

fn hear(job: &Membership, stream: &UnixStream) -> io::Result<Vec<u8>> {
    await_words(job, stream, "it said nothing")?;
    descriptors::receive(stream).map(|(bytes, _)| bytes)
}

/// Waits until the other side says something, but not for ever. The error then says `silence`.
fn await_words(job: &Membership, stream: &UnixStream, silence: &str) -> io::Result<()> {
    let mut waited = WatchedTime::begin();
    while !sockets::wait_readable(stream, GLANCE)? {
        job.end_if_orphaned();
        if waited.look() > PATIENCE_FOR_WORDS {
            return Err(io::Error::new(io::ErrorKind::TimedOut, silence));
        }
    }
    Ok(())
}

/// Exchanges parcels among the PEs of the node; every PE of the *job* calls it, with the same `epoch`, which no earlier
/// call had. `common` runs on the leader only, when it has every member's parcel.
pub fn share(
    job: &Membership,
    epoch: u32,
    mine: Parcel,
    common: impl FnOnce(&[Parcel]) -> io::Result<Parcel>,
) -> Result<Gathered, Error> {
    let node = job.node();
    make_room(node.members.len(), mine.fds.len());
    if node.my_index > 0 {
        job.fence()?;
        let invitation = Invitation::published(job, epoch)?;
        return visit(job, &invitation, &mine).map_err(|error| failed(job, &error));
    }
    // A node of one PE has no other PE to wait for, but the other nodes count on its fence.
    let gate = match node.members.len() {
        1 => None,
        _ => Some(Gate::open().map_err(|error| failed(job, &error))?),
    };
    if let Some(gate) = &gate {
        gate.invitation.publish(job, epoch)?;
    }
    job.fence()?;
    let (guests, others) = match gate {
        Some(gate) => gate.admit(job, PATIENCE)?,
        None => Default::default(),
    };
    let of: Vec<Parcel> = std::iter::once(mine).chain(others).collect();
    let common = common(&of).map_err(|error| {
        refuse(&guests, &error);
        failed(job, &error)
    })?;
    let (bytes, fds) = pack(std::iter::once(&common).chain(&of));
    for (guest, pe) in guests.iter().zip(&node.members[1..]) {
        answer(guest, &bytes, &fds).map_err(|error| lost(job, *pe, &error))?;
    }
    Ok(Gathered { common, of, circle: Circle { streams: guests } })
}

/// Makes room for the files that members bring, and for as many of the program. A filter of system calls may forbid it: the limit may do
/// then, and a PE for which it does not says so.
fn make_room(members: usize, files_each: usize) {
    let enough = enough_files(members).max(2 * members * (files_each + 1));
    let _ = descriptors::make_room(enough as u64);
}

/// The leader's publication and a member's question, for simulated starts.
pub(crate) fn invite(job: &Membership, epoch: u32) -> Result<(), Error> {
    match job.node().members.len() {
        1 => Ok(()),
        _ => Invitation { name: [1; 16], token: [2; 16] }.publish(job, epoch),
    }
}

/// See [`invite`].
pub(crate) fn invited(job: &Membership, epoch: u32) -> Result<(), Error> {
    Invitation::published(job, epoch).map(drop)
}

/// A member's side: sends its parcel and receives what the leader has for all.
fn visit(job: &Membership, invitation: &Invitation, mine: &Parcel) -> io::Result<Gathered> {
    let stream = descriptors::connect(&invitation.address())?;
    // The leader closes the connection of another user without a word.
    let (leader, own) = (descriptors::peer_uid(&stream)?, descriptors::own_uid());
    if leader != own {
        return Err(of_another_user(job, leader, own));
    }
    let hello = [&invitation.token[..], &job.rank().to_le_bytes()].concat();
    sockets::send_all(&stream, &hello)?;
    send(&stream, mine)?;
    await_words(job, &stream, "the node's leader did not answer")?;
    let (bytes, fds) = descriptors::receive(&stream)?;
    sockets::send_all(&stream, &RECEIVED)?;
    let mut parcels = unpack(&bytes, fds);
    if let Some([refusal]) = parcels.as_deref() {
        let text = String::from_utf8_lossy(&refusal.bytes);
        let error = Error::of_text(&text);
        // Errors of the system have no reason.
        return Err(if error.reason().is_some() { io::Error::other(error) } else { io::Error::other(text) });
    }
    parcels = parcels.filter(|parcels| parcels.len() == job.node().members.len() + 1);
    let of = parcels.as_mut().map(|parcels| parcels.split_off(1)).unwrap_or_default();
    match parcels.and_then(|mut parcels| parcels.pop()) {
        Some(common) => Ok(Gathered { common, of, circle: Circle { streams: vec![stream] } }),
        None => Err(io::Error::other("the node's leader sent something that is no set of parcels")),
    }
}

/// The answer of a member that has received everything.
const RECEIVED: [u8; 1] = *b"R";

/// Gives one member everything and waits until it has it: the system limits how many descriptors of one user may be
/// under way at a time, and many PEs times many descriptors are more than that.
fn answer(mut guest: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    guest.set_read_timeout(Some(PATIENCE))?;
    descriptors::send(guest, bytes, fds)?;
    let mut received = [0];
    guest.read_exact(&mut received)
}

/// Tells the members why nothing comes of it, in place of the parcels. The job ends with the message of the PE that ends first, so
/// each must know the reason.
fn refuse(guests: &[UnixStream], error: &io::Error) {
    let refusal = Parcel { bytes: error.to_string().into_bytes(), fds: Vec::new() };
    let (bytes, fds) = pack(std::iter::once(&refusal));
    for guest in guests {
        // One that does not hear it sees that the leader has ended.
        let _ = answer(guest, &bytes, &fds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_test_folder::{again, is_again, passes};
    use std::io::Write;

    #[test]
    fn a_node_is_seen_from_each_of_its_pes() {
        let nodes = [7, 2, 7, 2, 9];
        let node = OwnNode::of(&nodes, 3);
        assert_eq!(node, OwnNode { index: 0, count: 3, members: vec![1, 3], my_index: 1 });
        assert_eq!(OwnNode::of(&nodes, 4), OwnNode { index: 2, count: 3, members: vec![4], my_index: 0 });
    }

    #[test]
    fn bytes_that_are_no_list_of_nodes_are_counted() {
        assert_eq!(numbers_of(&[1, 0, 0, 0, 2, 0, 0, 0], 2).unwrap(), [1, 2]);
        let error = numbers_of(&[0; 17], 4).unwrap_err().to_string();
        assert!(error.contains("17 bytes, and four for each of 4 PEs are 16\n  to fix:  start all PEs"), "{error}");
    }

    #[test]
    fn strangers_are_dropped_and_members_are_not_kept_waiting() {
        let gate = Gate::open().unwrap();
        let name = gate.invitation.address();
        let nodes = [0, 0, 0];
        let (leader, one, two) =
            (Membership::placed(0, &nodes), Membership::placed(1, &nodes), Membership::placed(2, &nodes));
        let invitation = gate.invitation;
        std::thread::scope(|scope| {
            for greeting in [&b""[..], b"GET / HTTP/1.1", &[0; 64]] {
                // A stranger may already be cut off while it still talks.
                let _ = (&descriptors::connect(&name).unwrap()).write_all(greeting);
            }
            let impostor = Invitation { token: [1; 16], ..invitation };
            scope.spawn(move || assert!(visit(&Membership::placed(1, &nodes), &impostor, &Parcel::default()).is_err()));
            scope.spawn(move || {
                assert!(visit(&Membership::placed(9, &[0; 10]), &invitation, &Parcel::default()).is_err())
            });
            let visitors = [(two, b"2"), (one, b"1")].map(|(job, word)| {
                scope.spawn(move || visit(&job, &invitation, &Parcel { bytes: word.into(), fds: Vec::new() }).unwrap())
            });
            let (guests, parcels) = gate.admit(&leader, PATIENCE).unwrap();
            assert_eq!([&parcels[0].bytes[..], &parcels[1].bytes[..]], [b"1", b"2"]);
            let all = [Parcel { bytes: b"all".into(), fds: Vec::new() }, Parcel::default()];
            let (bytes, fds) = pack(all.iter().chain(&parcels));
            guests.iter().for_each(|guest| answer(guest, &bytes, &fds).unwrap());
            for visitor in visitors {
                let gathered = visitor.join().unwrap();
                assert_eq!((gathered.common.bytes, gathered.of.len()), (b"all".to_vec(), 3));
            }
            // Processes that were refused, or still wait to be accepted, learn it now.
            drop(gate);
        });
    }

    #[test]
    fn a_limit_of_open_files_that_is_too_low_for_the_pes_is_raised() {
        if is_again() {
            let before = descriptors::limit();
            make_room(1, 1);
            assert_eq!((before, descriptors::limit()), (80, 80), "it is enough for one PE");
            make_room(20, 1);
            assert!(descriptors::limit() >= 120, "{} files", descriptors::limit());
            return;
        }
        passes(again(&["/bin/sh", "-c", "ulimit -S -n 80 && exec \"$0\" \"$@\""]));
    }

    #[test]
    fn who_does_not_come_is_named() {
        let gate = Gate::open().unwrap();
        let leader = Membership::placed(0, &[0, 1, 0, 0]);
        let error = gate.admit(&leader, Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("missing PE 2, 3\n"), "{error}");
    }

    #[test]
    fn alone_nobody_is_asked() {
        let job = Membership::placed(0, &[0]);
        for epoch in 0..2 {
            let common = |of: &[Parcel]| Ok(Parcel { bytes: vec![of.len() as u8], fds: Vec::new() });
            let gathered = share(&job, epoch, Parcel::default(), common).unwrap();
            assert_eq!((gathered.common.bytes, gathered.of.len()), (vec![1], 1));
        }
        let error = share(&job, 2, Parcel::default(), |_| Err(io::ErrorKind::OutOfMemory.into())).unwrap_err();
        assert!(error.to_string().contains("out of memory"), "{error}");
    }
}
