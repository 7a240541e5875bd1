//! The pipe to an agent: a process whose standard input and output it is, and the frames in it.

use std::process::Stdio;

use oxshmem_os::process;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::mpsc;

use super::frame::Frames;

/// Makes pipes of the process's input and output, and lets it end with us. Ctrl-C is not for it.
pub(crate) fn piped(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
    #[allow(unsafe_code, reason = "what a process does between fork and exec cannot be checked")]
    // SAFETY: the closure runs in the forked child and makes one system call.
    unsafe {
        command.pre_exec(process::die_with_parent)
    }
}

/// Writes this and then frames, as long as the other side reads.
pub(crate) async fn send(
    mut output: impl AsyncWrite + Unpin,
    first: Vec<u8>,
    mut frames: mpsc::UnboundedReceiver<Vec<u8>>,
) {
    let mut next = Some(first);
    while let Some(bytes) = &next
        && output.write_all(bytes).await.is_ok()
        && output.flush().await.is_ok()
    {
        next = frames.recv().await;
    }
}

/// Passes on the content of every frame until the end of the stream. `begun`: what has come before.
pub(crate) async fn listen<T: DeserializeOwned>(
    mut input: impl AsyncRead + Unpin,
    begun: &[u8],
    tell: impl Fn(T),
) -> Result<(), String> {
    let (mut frames, mut bytes) = (Frames::default(), vec![0; 1 << 16]);
    frames.feed(begun);
    loop {
        while let Some(content) = frames.next() {
            tell(content?);
        }
        match input.read(&mut bytes).await {
            Ok(length @ 1..) => frames.feed(&bytes[..length]),
            _ => return Ok(()),
        }
    }
}
