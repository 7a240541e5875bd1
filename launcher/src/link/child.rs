//! The pipe to an agent: a process whose standard input and output it is, and the frames in it.

use std::process::Stdio;

use oxshmem_os::{process, signals};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, Command};
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

/// Kills a process that [`piped`] has made, with everything that it has started and that has not left its group (`setsid`).
///
/// The group is there since the start of the process, because Ctrl-C is not for it. So this changes nothing about who may read
/// the terminal. A sweep by the job's mark would find those who have left the group, too, but agents of other hosts that are reached through
/// this machine carry the same mark, and so do connections that ssh keeps for later jobs (`ControlPersist`).
pub(crate) fn kill_group(child: &Child) {
    // A child that has been waited for has no number any more, which may then be that of a stranger's group.
    if let Some(group) = child.id() {
        // All members may be gone, or belong to another user, as those of `sudo`.
        let _ = signals::signal_group(group, libc::SIGKILL);
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
