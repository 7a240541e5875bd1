//! A handshake of which some bytes are changed on the way.

use crate::proto::handshake::{Acceptor, Credentials, HandshakeStep, Initiator, Route, Standing, Verdict};

/// Holds a handshake and changes bytes of it: three bytes of `changes` say in which message, where, and how. Both sides
/// agree in the end exactly if nothing was changed.
pub fn handshake(changes: &[u8]) {
    let changes: Vec<&[u8]> = changes.chunks_exact(3).take(8).collect();
    let mut changed = false;
    let mut pass = |number: u8, mut message: Vec<u8>| {
        let sent = message.clone();
        for change in changes.iter().filter(|change| change[0] % 4 == number) {
            let at = usize::from(change[1]) % message.len();
            message[at] ^= change[2];
        }
        changed |= message != sent;
        message
    };
    let agreed = hold(&mut pass);
    assert_eq!(agreed, !changed, "a change went unnoticed, or none was seen as one");
}

/// Whether both sides have agreed on a connection, when `pass` hands on their messages.
fn hold(pass: &mut impl FnMut(u8, Vec<u8>) -> Vec<u8>) -> bool {
    let credentials = Credentials { job: *b"the fuzzer's job", secret: [1; 32], encrypt: false };
    let route = Route { from: 0, to: 1, rail: 0 };
    let (mine, theirs) = (Standing { established: 3, executed: 8 }, Standing { established: 4, executed: 5 });
    let (mut initiator, hello) = Initiator::new(&credentials, route, [5; 32]);
    let mut acceptor = Acceptor::new(&credentials, 1, [2; 32]);
    let Ok(HandshakeStep::Say(challenge)) = acceptor.hear(&pass(0, hello)) else { return false };
    let Ok(HandshakeStep::Challenged) = initiator.hear(&pass(1, challenge)) else { return false };
    let Ok(HandshakeStep::Proven(heard, standing)) = acceptor.hear(&pass(2, initiator.claim(mine))) else {
        return false;
    };
    assert!(heard == route && standing.executed == mine.executed && standing.established == mine.established);
    let welcome = acceptor.welcome(Verdict::Accepted, theirs);
    let Ok(HandshakeStep::Decided(Verdict::Accepted, heard)) = initiator.hear(&pass(3, welcome)) else { return false };
    assert!(heard.executed == theirs.executed && heard.established == theirs.established);
    true
}
