//! Connections that the peer has opened, and which of two is kept where both sides open one at the same moment.

use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use mio::net::TcpStream;

use super::{Agreement, Carrier, CarrierState};
use crate::connection::Connection;
use crate::local::LocalPe;
use crate::proto::handshake::{Acceptor, Standing, Verdict};

impl Carrier {
    /// An initiator has proven itself: its connection is taken or refused. When both sides try at once, the attempt of the
    /// lower PE number is kept as soon as that PE has said its claim. Until then the higher one cannot have decided for it, so
    /// the lower one can drop its attempt and take the connection that is there.
    pub(crate) fn adopt(
        &mut self,
        local: &LocalPe,
        mut stream: TcpStream,
        mut acceptor: Acceptor,
        peer: Standing,
        executed: u64,
    ) -> Option<Agreement> {
        let has_claimed = matches!(&self.state, CarrierState::Connecting(attempt) if attempt.claimed);
        let mine_goes_first = has_claimed && self.route.from < self.route.to;
        let mut standing = self.standing(executed);
        let verdict = if mine_goes_first {
            Verdict::Wait
        } else if peer.established < self.established {
            Verdict::Stale
        } else {
            self.state = CarrierState::Down;
            standing.established = peer.established + 1;
            Verdict::Accepted
        };
        // These few bytes always fit into the buffer of a new socket.
        let said = stream.write_all(&acceptor.welcome(verdict, standing));
        if verdict != Verdict::Accepted {
            return None;
        }
        self.address =
            stream.peer_addr().ok().map(|address| SocketAddr::new(address.ip().to_canonical(), address.port()));
        // The connection before this one is gone in any case, so after an error one side has to make the next.
        if let Err(e) = said.and_then(|()| local.watched.add(stream.as_raw_fd(), self.token)) {
            self.cut(&e.to_string());
            return None;
        }
        self.established = standing.established;
        Some((Box::new(Connection::new(stream, acceptor.seals(), local.probes(self.token))), peer.executed))
    }
}
