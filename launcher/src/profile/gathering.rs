//! Records of PEs on other hosts: their agent keeps them in a folder of that host and sends them when its last PE has ended.
//!
//! They may be larger than the memory of a host, and the way to the launcher slow. So a piece leaves its file only when there is room for it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use oxshmem_base::Error;
use oxshmem_profile::layout::{ENDING, UNRECORDED, gathering_folder};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

use crate::link::frame::AgentReport;
use crate::results;

/// Bytes that travel together. Those that are all zero do not travel.
const PIECE: usize = 1 << 16;

/// The folder of a host for the records of the job with this mark.
pub(crate) fn folder(mark: &str, host: u32) -> PathBuf {
    marked(&format!("{mark}.{host}"))
}

/// The same, by the mark of the host's processes.
fn marked(mark: &str) -> PathBuf {
    std::env::temp_dir().join(gathering_folder(mark))
}

/// Removes the folder of a host whose agent was killed. `mark` is that of the host's processes; a launcher has no such folder.
pub(crate) fn abandon(mark: &str) {
    // Most jobs have no records.
    let _ = fs::remove_dir_all(marked(mark));
}

/// Makes the folder, for this user only.
pub(crate) fn make(folder: &Path) -> Result<(), Error> {
    fs::DirBuilder::new().mode(0o700).create(folder).map_err(|error| {
        Error::new(format!("{} cannot be used for records of the job", folder.display()))
            .because(error)
            .fix("set TMPDIR to a directory that can be written, on every host")
    })
}

/// How many pieces of a host may be on their way to the launcher, in the memory of all hosts on the way.
const WINDOW: u32 = 4;

/// Room for pieces on their way. The launcher gives it back for each piece that it has kept.
pub(crate) fn room() -> Rc<Semaphore> {
    Rc::new(Semaphore::new(WINDOW as usize))
}

/// Sends every record of the folder, and removes each once the launcher has all of it, and the folder at last.
pub(crate) async fn send(folder: &Path, host: u32, room: &Semaphore, tell: &UnboundedSender<AgentReport>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if send_record(&path, host, room, tell).await.is_err() {
            return;
        }
        // All pieces have been kept when there is room for as many.
        let Ok(whole) = room.acquire_many(WINDOW).await else { return };
        drop(whole);
        let _ = fs::remove_file(path);
    }
    // A folder that cannot be removed is in the directory of temporary files.
    let _ = fs::remove_dir_all(folder);
}

/// The job is over, and nobody takes records any more.
struct Unwanted;

async fn send_record(
    path: &Path,
    host: u32,
    room: &Semaphore,
    tell: &UnboundedSender<AgentReport>,
) -> Result<(), Unwanted> {
    let (Some(name), Ok(file)) = (path.file_name().and_then(|name| name.to_str()), File::open(path)) else {
        return Ok(());
    };
    let send = async |offset, bytes| {
        room.acquire().await.map_err(|_| Unwanted)?.forget();
        tell.send(AgentReport::Record { host, name: name.into(), offset, bytes }).map_err(|_| Unwanted)
    };
    // The name of an empty file is all that it says.
    if name.ends_with(UNRECORDED) {
        send(0, Vec::new()).await?;
    }
    let mut bytes = vec![0; PIECE];
    let (mut offset, mut sent) = (0, 0);
    while let Ok(length @ 1..) = file.read_at(&mut bytes, offset) {
        let piece = &bytes[..length];
        if piece.iter().any(|byte| *byte != 0) {
            send(offset, piece.to_vec()).await?;
            sent = offset + length as u64;
        }
        offset += length as u64;
    }
    // A record that is shorter than it was counts as cut off: its last byte travels in any case.
    if sent < offset {
        send(offset - 1, vec![0]).await?;
    }
    Ok(())
}

/// Writes a piece of a record into the job's folder.
pub(crate) fn keep(folder: &Path, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let is_record = name.ends_with(ENDING) || name.ends_with(UNRECORDED);
    let plain = is_record && Path::new(name).file_name().is_some_and(|file| file == name);
    if !plain {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` is no name of a record")));
    }
    let path = folder.join(name);
    let file = if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
        File::options().write(true).open(path)?
    } else {
        results::fresh(&path)?
    };
    file.write_all_at(bytes, offset)
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;
    use tokio::sync::mpsc;

    use super::*;
    use crate::runtime;

    #[test]
    fn the_records_of_a_host_whose_agent_was_killed_go_by_its_mark() {
        let mark = format!("gathering-{}", std::process::id());
        let (killed, other) = (folder(&mark, 1), folder(&mark, 10));
        for folder in [&killed, &other] {
            make(folder).unwrap();
            fs::write(folder.join("pe.0.0.ledger"), "").unwrap();
        }
        abandon(&format!("{mark}.1"));
        assert!(!killed.exists() && other.exists());
        abandon(&format!("{mark}.10"));
        assert!(!other.exists());
    }

    /// Sends the records of a folder until all are out, or nothing more has room; `take` gets each piece.
    fn sent(from: &Path, mut take: impl FnMut(&str, u64, &[u8], &Semaphore)) {
        let runtime = runtime::runtime().unwrap();
        let (tell, mut reports) = mpsc::unbounded_channel();
        let room = room();
        runtime.block_on(async {
            let mut sends = std::pin::pin!(send(from, 1, &room, &tell));
            loop {
                tokio::select! {
                    biased;
                    () = &mut sends => break,
                    report = reports.recv() => {
                        let Some(AgentReport::Record { host: 1, name, offset, bytes }) = report else {
                            panic!("{report:?}")
                        };
                        take(&name, offset, &bytes, &room);
                    }
                    () = std::future::ready(()) => break,
                }
            }
        });
    }

    #[test]
    fn a_record_waits_in_its_file_until_the_launcher_has_kept_what_is_on_its_way() {
        let base = TestFolder::new("gathering-slowly");
        let from = base.join("from");
        // Of two records with six pieces each: pieces that are kept, that have been sent then, and records that are still there.
        for (kept, expected) in [(0, (WINDOW, 2)), (5, (6, 2)), (6, (6 + WINDOW, 1)), (11, (12, 1)), (12, (12, 0))] {
            for pe in 0..2 {
                base.write(format!("from/pe.{pe}.0.{ENDING}"), [1; 6 * PIECE]);
            }
            let mut pieces = 0;
            sent(&from, |_, _, _, room| {
                pieces += 1;
                room.add_permits(usize::from(pieces <= kept));
            });
            let left = fs::read_dir(&from).map_or(0, Iterator::count);
            assert_eq!((pieces, left), expected, "{kept}");
        }
    }

    #[test]
    fn a_record_arrives_as_it_was_and_zeros_stay_at_home() {
        let base = TestFolder::new("gathering");
        let (from, to) = (base.join("from"), base.join("to"));
        make(&from).unwrap();
        fs::create_dir(&to).unwrap();
        let mut bytes = vec![0; 4 * PIECE];
        bytes[PIECE + 7] = 3;
        bytes[3 * PIECE] = 4;
        base.write("from/pe.0.0.ledger", &bytes);
        // Its end is zeros, and it has to be as long as it was.
        let mut open_end = vec![0; 2 * PIECE + 5];
        open_end[3] = 1;
        base.write("from/pe.1.0.ledger", &open_end);
        let mut pieces = 0;
        sent(&from, |name, offset, bytes, room| {
            keep(&to, name, offset, bytes).unwrap();
            room.add_permits(1);
            pieces += 1;
        });
        assert_eq!((pieces, from.exists()), (4, false));
        assert!(fs::read(to.join("pe.1.0.ledger")).unwrap() == open_end);
        assert!(fs::read(to.join("pe.0.0.ledger")).unwrap() == bytes);
        for name in ["../pe.ledger", "x/y.ledger", "passwd", ".."] {
            assert!(keep(&to, name, 0, &[1]).is_err(), "{name}");
        }
    }
}
