//! A connection after its handshake: frames of a session flow over it, sealed or not.

use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};

use mio::net::TcpStream;
use oxshmem_os::pacing;

use crate::limits::TURN;
use crate::proto::seal::{Opener, Sealer};
use crate::proto::{FrameReceiver, Host, Probes, Session};
use crate::{served, socket};

/// A connection over which frames flow.
pub(crate) struct Connection {
    stream: TcpStream,
    pub(crate) receiver: FrameReceiver,
    seal: Option<Sealing>,
    /// The peer has closed it: its end stands behind what is left to read, and makes no event of its own.
    pub(crate) ends: bool,
}

/// Sealed frames on their way to the socket.
struct Sealing {
    sealer: Sealer,
    staged: Vec<u8>,
    sent: usize,
}

/// The result of reading from a connection.
#[derive(Default)]
pub(crate) struct Received {
    /// Frames that were executed.
    pub(crate) executed: usize,
    /// Bytes.
    pub(crate) read: usize,
    /// Why the connection can no longer be used.
    pub(crate) ended: Option<io::Error>,
    /// The peer has left the job.
    pub(crate) left: bool,
}

impl Received {
    /// Whether there may be more to read at once.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.read >= TURN
    }
}

impl Connection {
    /// The connection of a stream whose handshake is over.
    ///
    /// No frame waits for the kernel's acknowledgement of the one before (`TCP_NODELAY`): an acknowledgement of ours may be
    /// that frame, and the peer's next one may wait for it. This is the one place for both sides of a connection.
    pub(crate) fn new(stream: TcpStream, seals: Option<(Sealer, Opener)>, probes: Probes) -> Self {
        if let Err(e) = stream.set_nodelay(true) {
            tracing::warn!("a connection whose short frames may be late: {e}");
        }
        let tuned = if stays_on_host(&stream) {
            // The kernel that would answer for the peer is this one, which tells of the peer's end by itself.
            pacing::send_unpaced(stream.as_raw_fd())
        } else {
            socket::probe_when_idle(stream.as_fd(), probes)
        };
        if let Err(e) = tuned {
            tracing::debug!("a connection that may be paced, or without probes: {e}");
        }
        let (sealer, opener) = seals.unzip();
        let seal = sealer.map(|sealer| Sealing { sealer, staged: Vec::new(), sent: 0 });
        Self { stream, receiver: FrameReceiver::new(opener), seal, ends: false }
    }

    pub(crate) fn socket(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Sends what the socket takes.
    pub(crate) fn flush(&mut self, session: &mut Session) -> io::Result<()> {
        match &mut self.seal {
            None => flush_plain(&self.stream, session),
            Some(seal) => seal.flush(&self.stream, session),
        }
    }

    /// Reads and executes what has come.
    pub(crate) fn receive(&mut self, session: &mut Session, host: &mut impl Host) -> Received {
        let mut received = Received::default();
        received.ended = loop {
            let (place, bytes) = self.receiver.space();
            let room = place.map_or(0, |place| place.n) + bytes.len();
            // SAFETY: the place is registered memory that `Host::place` has bounded, or the destination of a get that is not
            // complete, which the caller of `Lane` keeps.
            match unsafe { socket::receive(self.stream.as_fd(), place, bytes) } {
                Ok(0) => {
                    break Some(io::Error::new(io::ErrorKind::UnexpectedEof, "the peer has closed the connection"));
                }
                Ok(n) => {
                    received.read += n;
                    match self.receiver.received(n, session, host) {
                        Ok(count) => received.executed += count,
                        Err(garbage) => {
                            break Some(io::Error::new(io::ErrorKind::InvalidData, garbage.to_string()));
                        }
                    }
                    // A short read has emptied the socket: the next bytes are a new event.
                    if n < room && !self.ends || received.is_cut_short() {
                        break None;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break None,
                Err(e) => break Some(e),
            }
        };
        received.left = self.receiver.has_left();
        received
    }
}

impl Sealing {
    fn flush(&mut self, mut stream: &TcpStream, session: &mut Session) -> io::Result<()> {
        loop {
            while self.sent < self.staged.len() {
                self.sent += stream.write(&self.staged[self.sent..])?;
            }
            self.staged.clear();
            self.sent = 0;
            let Some((mut frame, place)) = session.whole_frame() else { return Ok(()) };
            if let Some(place) = place {
                // SAFETY: the range is the source of a put that is not complete, which the caller of `Lane` keeps, or registered
                // memory that `Host::place` has bounded.
                unsafe { served::append(&mut frame, place) };
            }
            self.sealer.seal(&mut frame).map_err(|garbage| io::Error::other(garbage.0))?;
            self.staged = frame;
        }
    }
}

fn stays_on_host(stream: &TcpStream) -> bool {
    let (Ok(peer), Ok(own)) = (stream.peer_addr(), stream.local_addr()) else { return false };
    peer.ip().to_canonical().is_loopback() || peer.ip() == own.ip()
}

fn flush_plain(stream: &TcpStream, session: &mut Session) -> io::Result<()> {
    while session.has_output() {
        // SAFETY: ranges of memory in a session are sources of puts that are not complete, which the callers of `Lane` keep, or
        // registered memory that `Host::place` has bounded.
        let sent = unsafe { socket::send(stream.as_fd(), session.pieces())? };
        session.sent(sent);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Interest, Token};
    use oxshmem_transport::RegisteredMemory;

    use super::*;
    use crate::lanes::LaneTable;
    use crate::proto::codec::FrameKind;
    use crate::served::Served;
    use crate::watch::{FIRST_LINK, Poller};

    /// Both ends of a connection.
    fn pair() -> [TcpStream; 2] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let asking = std::net::TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        let (answering, _) = listener.accept().expect("somebody asks");
        [asking, answering].map(|stream| {
            stream.set_nonblocking(true).expect("sockets can be polled");
            TcpStream::from_std(stream)
        })
    }

    fn carrying(stream: TcpStream) -> Connection {
        Connection::new(stream, None, Probes::new(Duration::from_secs(30), 1, 1))
    }

    #[test]
    fn the_end_of_a_connection_that_comes_with_its_last_bytes_is_seen() {
        let [asking, answering] = pair();
        let mut poller = Poller::new().expect("there are descriptors");
        let both = Interest::READABLE | Interest::WRITABLE;
        let registry = poller.registry().expect("it is open");
        let registered = registry.register(&mut SourceFd(&answering.as_raw_fd()), Token(FIRST_LINK), both);
        registered.expect("a socket can be watched");
        let mut said = Session::default();
        said.say(FrameKind::Ack);
        flush_plain(&asking, &mut said).expect("the socket has room");
        drop(asking);
        while !poller.take_end(FIRST_LINK) {
            poller.wait(Duration::from_secs(10)).expect("sockets can be polled");
            assert_eq!(poller.happened(), [FIRST_LINK]);
        }
        assert!(!poller.take_end(FIRST_LINK), "it is told once");
        let (memory, lanes, mut session) = (RegisteredMemory::default(), LaneTable::default(), Session::default());
        // SAFETY: nothing is fetched.
        let mut served = unsafe { Served::new(&memory, &lanes, 1) };
        let mut connection = carrying(answering);
        connection.ends = true;
        let received = connection.receive(&mut session, &mut served);
        let ended = received.ended.map(|error| error.kind());
        assert_eq!((received.executed, ended), (1, Some(io::ErrorKind::UnexpectedEof)));
    }

    #[test]
    fn fault_R1_no_frame_waits_for_the_acknowledgement_of_another() {
        for stream in pair() {
            assert!(carrying(stream).stream.nodelay().expect("it is a socket of TCP"));
        }
    }
}
