//! The launcher's standard input and who gets it.
//!
//! One PE inherits the very descriptor, so that nothing is read that it does not read: `while read f; do oshrun …` keeps
//! its list. Only where that cannot be, with a terminal (the PE is not in its foreground) or several readers, the
//! launcher reads and copies.

use std::fs;
use std::io::IsTerminal;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;

use crate::arguments::Stdin;

/// What PE `pe` gets as its standard input.
pub(crate) fn stream_of(pe: u32, wish: Stdin) -> Stdio {
    match wish {
        Stdin::All => Stdio::piped(),
        Stdin::Pe(reader) if reader == pe => match std::io::stdin().is_terminal() {
            true if in_foreground() => Stdio::piped(),
            true => Stdio::null(),
            false => Stdio::inherit(),
        },
        _ => Stdio::null(),
    }
}

/// Copies the input to every PE that reads it. A PE that has closed its end is left out.
pub(crate) async fn copy(mut readers: Vec<ChildStdin>) {
    let mut input = tokio::io::stdin();
    let mut bytes = vec![0; 1 << 16];
    while !readers.is_empty() {
        let length = input.read(&mut bytes).await.unwrap_or(0);
        if length == 0 {
            return;
        }
        let mut still = Vec::with_capacity(readers.len());
        for mut reader in readers {
            if reader.write_all(&bytes[..length]).await.is_ok() {
                still.push(reader);
            }
        }
        readers = still;
    }
}

/// Whether the terminal's input is ours. In the background a read would stop the whole launcher.
fn in_foreground() -> bool {
    // The fields after the command's closing bracket: state, parent, group, session, terminal, its foreground group.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    fields.len() > 5 && fields[2] == fields[5]
}
