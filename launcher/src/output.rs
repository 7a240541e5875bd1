//! The PEs' output: whole lines, never mixed, with the labels that were asked for.
//!
//! Complete lines go out at once, as many as one read brought. The beginning of a line waits for its end, so that no
//! other PE's text gets between. Without labels it goes out when nothing follows for a while, because a prompt must be seen, or when
//! it is old, because progress must be seen. `line_ends` decides what becomes of its line when another PE writes.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, Semaphore, mpsc, watch};
use tokio::time::Instant;

use crate::link::frame::{AgentReport, OutputStream};
use crate::plan::Label;

/// How long the beginning of a line waits for its end.
const PROMPT: Duration = Duration::from_millis(100);
/// How old the beginning of a line may become that is still written to: a program may show its progress by dots.
const OLDEST: Duration = Duration::from_secs(1);
/// How long a stream may be silent after the last PE has ended; a process that still holds it open is no PE.
const LULL: Duration = Duration::from_millis(300);
/// How long such a process keeps the launcher by writing again and again.
const LEFT_OVER: Duration = Duration::from_secs(3);
/// The longest line that is kept whole.
const LONGEST: usize = 1 << 20;
/// How much of one stream of a host may be on its way to the launcher. If that is not read, PEs wait when they write.
pub(crate) const WINDOW: usize = 256 << 10;

/// How the lines of one stream look.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) label: Label,
    pub(crate) timestamps: bool,
    pub(crate) pe: u32,
    pub(crate) stream: OutputStream,
}

impl Style {
    fn is_plain(&self) -> bool {
        self.label == Label::None && !self.timestamps
    }

    /// The whole lines in `text` as they are shown.
    fn dress(&self, text: &[u8]) -> Vec<u8> {
        if self.is_plain() {
            return text.to_vec();
        }
        let prefix = self.prefix();
        text.split_inclusive(|&byte| byte == b'\n')
            .flat_map(|line| [prefix.as_bytes(), line])
            .flatten()
            .copied()
            .collect()
    }

    fn prefix(&self) -> String {
        let time = if self.timestamps { time_of_day(SystemTime::now()) + " " } else { String::new() };
        let stream = match self.stream {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        match self.label {
            Label::None => time,
            Label::Number => format!("{time}[{}] ", self.pe),
            Label::Tag => format!("{time}[1,{}]<{stream}>:", self.pe),
        }
    }
}

/// Where lines go. An error: the lines will never have a reader.
pub(crate) trait Sink {
    async fn write(&self, bytes: &[u8]) -> std::io::Result<()>;
}

impl<S: AsyncWrite + Unpin> Sink for Mutex<S> {
    async fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut sink = self.lock().await;
        sink.write_all(bytes).await?;
        sink.flush().await
    }
}

/// How much may be sent before the launcher has written some of it; closed when it cannot write any more.
pub(crate) type Room = Rc<Semaphore>;

/// One stream of a PE, on its way up.
pub(crate) struct Upward {
    pub(crate) host: u32,
    pub(crate) pe: u32,
    pub(crate) stream: OutputStream,
    pub(crate) room: Room,
    pub(crate) reports: mpsc::UnboundedSender<AgentReport>,
}

impl Sink for Upward {
    async fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        let closed = |_| std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let wanted = bytes.len().min(WINDOW) as u32;
        self.room.acquire_many(wanted).await.map_err(closed)?.forget();
        let report = AgentReport::Output { host: self.host, pe: self.pe, stream: self.stream, bytes: bytes.to_vec() };
        self.reports.send(report).map_err(|_| std::io::ErrorKind::BrokenPipe.into())
    }
}

/// A file that keeps one stream of a PE.
pub(crate) struct FileSink {
    pe: u32,
    stream: OutputStream,
    file: Arc<File>,
    is_full: Cell<bool>,
    reports: mpsc::UnboundedSender<AgentReport>,
}

impl FileSink {
    pub(crate) fn new(pe: u32, stream: OutputStream, file: File, reports: mpsc::UnboundedSender<AgentReport>) -> Self {
        FileSink { pe, stream, file: Arc::new(file), is_full: Cell::new(false), reports }
    }
}

impl Sink for FileSink {
    /// After an error the rest is dropped: a program that computes for hours shall not end because its words are lost.
    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if self.is_full.get() {
            return Ok(());
        }
        let (file, bytes) = (Arc::clone(&self.file), bytes.to_vec());
        // A network's file system may take its time, and the launcher has other work.
        let written = tokio::task::spawn_blocking(move || (&*file).write_all(&bytes)).await;
        if let Err(error) = written.map_err(io::Error::other).and_then(|written| written) {
            self.is_full.set(true);
            // The receiver lives as long as the job.
            let _ = self.reports.send(AgentReport::Unkept { pe: self.pe, stream: self.stream, why: error.to_string() });
        }
        Ok(())
    }
}

/// Gives room back for this many written bytes.
pub(crate) fn make_room(room: &Room, written: u32) {
    room.add_permits((written as usize).min(WINDOW));
}

/// Carries one stream until its end. If the launcher's own output is closed the stream is dropped, so that the PE
/// meets a broken pipe as it would without a launcher.
pub(crate) async fn pump(
    mut source: impl AsyncRead + Unpin,
    sink: &impl Sink,
    style: Style,
    mut over: watch::Receiver<bool>,
) {
    let mut held = Vec::new();
    // When the first byte of what is held came.
    let mut begun: Option<Instant> = None;
    let mut bytes = vec![0; 1 << 16];
    let mut end = None;
    loop {
        if *over.borrow() {
            end.get_or_insert_with(|| Instant::now() + LEFT_OVER);
        }
        let late = Instant::now() + PROMPT;
        let due = begun.map_or(late, |begun| late.min(begun + OLDEST));
        let length = tokio::select! {
            // The stream is read first: PEs have written all that is there, however late it is.
            biased;
            length = source.read(&mut bytes) => length.unwrap_or(0),
            () = tokio::time::sleep_until(due), if style.is_plain() && !held.is_empty() => {
                begun = None;
                if write(sink, &std::mem::take(&mut held)).await.is_err() { return }
                continue;
            }
            () = lull(&mut over, end) => 0,
        };
        // There is no end of a line in what is held.
        let before = held.len();
        held.extend_from_slice(&bytes[..length]);
        let ready = match bytes[..length].iter().rposition(|&byte| byte == b'\n') {
            Some(end) => before + end + 1,
            None if length == 0 || held.len() > LONGEST => held.len(),
            None => 0,
        };
        let mut shown = style.dress(&held[..ready]);
        held.drain(..ready);
        let is_older = ready == 0 && begun.is_some();
        begun = if is_older { begun } else { Some(Instant::now()).filter(|_| !held.is_empty()) };
        // A label at the end of an unfinished line would be followed by the next one on the same line.
        if !style.is_plain() && !shown.is_empty() && !shown.ends_with(b"\n") {
            shown.push(b'\n');
        }
        if write(sink, &shown).await.is_err() || length == 0 {
            return;
        }
    }
}

async fn write(sink: &impl Sink, bytes: &[u8]) -> std::io::Result<()> {
    if bytes.is_empty() { Ok(()) } else { sink.write(bytes).await }
}

/// Returns when the job has been over for a while, or at `end`.
async fn lull(over: &mut watch::Receiver<bool>, end: Option<Instant>) {
    // The sender lives as long as the job; if it is gone the job is over too.
    let _ = over.wait_for(|&over| over).await;
    let silent = Instant::now() + LULL;
    tokio::time::sleep_until(end.map_or(silent, |end| end.min(silent))).await;
}

/// `14:03:59.123`, UTC.
fn time_of_day(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs() % 86_400;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}.{:03}", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(label: Label) -> Style {
        Style { label, timestamps: false, pe: 3, stream: OutputStream::Stderr }
    }

    async fn pumped(pieces: &[&str], label: Label) -> String {
        let (mut writer, reader) = tokio::io::duplex(64);
        let sink = Mutex::new(Vec::new());
        let (_over, receiver) = watch::channel(false);
        let feed = async {
            for piece in pieces {
                writer.write_all(piece.as_bytes()).await.unwrap();
            }
            drop(writer);
        };
        tokio::join!(pump(reader, &sink, style(label), receiver), feed);
        String::from_utf8(sink.into_inner()).unwrap()
    }

    #[tokio::test]
    async fn lines_are_dressed_and_the_last_one_is_ended() {
        assert_eq!(pumped(&["a\nb", "c\n", "\nd"], Label::Number).await, "[3] a\n[3] bc\n[3] \n[3] d\n");
        assert_eq!(pumped(&["a\n"], Label::Tag).await, "[1,3]<stderr>:a\n");
        assert_eq!(pumped(&["a\nb"], Label::None).await, "a\nb", "bytes pass as they are");
        assert_eq!(pumped(&[], Label::Number).await, "");
    }

    #[tokio::test]
    async fn a_line_behind_one_that_is_almost_too_long_stays_whole() {
        let (long, next) = ("x".repeat(LONGEST + 10), "y".repeat(200));
        let shown = pumped(&[format!("{long}\n{next}\n").as_str()], Label::Number).await;
        assert!(shown == format!("[3] {long}\n[3] {next}\n"), "{}", &shown[LONGEST..]);
    }

    #[tokio::test]
    async fn a_prompt_is_seen_before_its_line_ends() {
        let (mut writer, reader) = tokio::io::duplex(64);
        let (here, mut there) = tokio::io::duplex(64);
        let sink = Mutex::new(here);
        let (_over, receiver) = watch::channel(false);
        let mut shown = [0; 5];
        let user = async {
            writer.write_all(b"name?").await.unwrap();
            there.read_exact(&mut shown).await.unwrap();
            drop(writer);
        };
        tokio::join!(pump(reader, &sink, style(Label::None), receiver), user);
        assert_eq!(&shown, b"name?");
    }

    #[tokio::test]
    async fn a_line_that_is_still_written_to_is_seen_before_its_end() {
        let (mut writer, reader) = tokio::io::duplex(64);
        let (here, mut there) = tokio::io::duplex(1 << 16);
        let sink = Mutex::new(here);
        let (_over, receiver) = watch::channel(false);
        let mut shown = [0; 5];
        let user = async {
            let dots = async {
                while writer.write_all(b".").await.is_ok() {
                    tokio::time::sleep(PROMPT / 5).await;
                }
            };
            let seen = tokio::time::timeout(20 * OLDEST, there.read_exact(&mut shown));
            tokio::select! { () = dots => {} seen = seen => drop(seen.expect("the dots are shown")) }
            drop(writer);
        };
        tokio::join!(pump(reader, &sink, style(Label::None), receiver), user);
        assert_eq!(&shown, b".....");
    }

    #[tokio::test]
    async fn a_process_that_goes_on_writing_keeps_no_job_that_has_ended() {
        let (mut writer, reader) = tokio::io::duplex(64);
        let sink = Mutex::new(Vec::new());
        let (over, receiver) = watch::channel(false);
        writer.write_all(b"of the PE\n").await.unwrap();
        over.send_replace(true);
        let other = async {
            while writer.write_all(b"tick\n").await.is_ok() {
                tokio::time::sleep(LULL / 10).await;
            }
        };
        let pump = tokio::time::timeout(10 * LEFT_OVER, pump(reader, &sink, style(Label::None), receiver));
        let (pumped, ()) = tokio::join!(pump, other);
        pumped.expect("the stream is given up");
        assert!(sink.into_inner().starts_with(b"of the PE\ntick\n"));
    }

    #[test]
    fn the_time_is_of_the_day() {
        let time = UNIX_EPOCH + Duration::from_millis(86_400_000 * 3 + 3_723_045);
        assert_eq!(time_of_day(time), "01:02:03.045");
    }
}
