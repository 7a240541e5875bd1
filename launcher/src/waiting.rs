//! Hosts on which an agent waits, for places where no remote shell leads from one host to another: pods of Kubernetes.
//!
//! `oshrun --wait-for-launch` listens on a port and becomes the agent of a launcher that proves that it knows the job's key. The
//! launcher's "remote shell" to such a host is this program with [`reach::ARGUMENT`]: it carries the agent's pipe over one
//! connection, sealed. All else is as with any other remote shell.

pub mod host;
pub mod part;
pub mod reach;

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::link::sealed::{Opened, RecordOpener, RecordSealer};

/// How long one side may take for its part of the proofs.
const PROOFS: Duration = Duration::from_secs(10);

/// How a conversation ended.
#[derive(Debug, PartialEq, Eq)]
enum Closing {
    /// The other side has said its last word.
    Told,
    /// The connection broke, or its data was changed on the way.
    Broken(String),
}

/// Sends what comes from `input`, and its end.
async fn send(mut input: impl AsyncRead + Unpin, mut socket: OwnedWriteHalf, mut sealer: RecordSealer) {
    let mut bytes = vec![0; 64 << 10];
    // Where the other side reads no more, its own end tells us.
    while let Ok(length @ 1..) = input.read(&mut bytes).await {
        if socket.write_all(&sealer.seal(&bytes[..length])).await.is_err() {
            return;
        }
    }
    let _ = socket.write_all(&sealer.end()).await;
}

/// Passes on what comes from the other side.
async fn receive(mut socket: OwnedReadHalf, mut opener: RecordOpener, mut output: impl AsyncWrite + Unpin) -> Closing {
    let mut bytes = vec![0; 64 << 10];
    let mut is_read = true;
    loop {
        while let Some(opened) = opener.next() {
            match opened {
                Ok(Opened::End) => return Closing::Told,
                // An agent or launcher that reads no more has ended, and its output ends with it.
                Ok(Opened::Bytes(bytes)) => {
                    is_read = is_read && output.write_all(&bytes).await.is_ok() && output.flush().await.is_ok();
                }
                Err(why) => return Closing::Broken(why),
            }
        }
        match socket.read(&mut bytes).await {
            Ok(0) => return Closing::Broken("the other side is gone".into()),
            Ok(length) => opener.feed(&bytes[..length]),
            Err(error) => return Closing::Broken(error.to_string()),
        }
    }
}
