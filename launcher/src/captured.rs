//! The outputs of commands, which need not end with them: a process that a command leaves behind may hold its streams for ever.

use std::io::{self, ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

use oxshmem_os::signals::Process;

/// How long the rest of the outputs may take after the end of a command.
const REST: Duration = Duration::from_secs(3);
/// Bytes of a stream that are kept. A program that prints without end would fill the memory of the tool.
const MOST: usize = 64 << 20;
/// How often it is looked whether a command has ended.
const GLANCE: Duration = Duration::from_millis(2);

/// A stream of a command, and the beginning of what has come from it so far.
struct StreamReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Is closed at the end of the stream.
    end: Receiver<()>,
}

impl StreamReader {
    fn new(stream: Option<impl Read + Send + 'static>) -> io::Result<Self> {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let (open, end) = mpsc::channel();
        Builder::new().spawn(move || {
            let _open = open;
            let Some(mut stream) = stream else { return };
            let mut piece = vec![0; 1 << 16];
            loop {
                match stream.read(&mut piece) {
                    Ok(length @ 1..) => {
                        let mut kept = kept.lock().expect("no thread panics");
                        let room = MOST - kept.len();
                        kept.extend_from_slice(&piece[..length.min(room)]);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // An error ends the stream; the bytes before it are the output.
                    Ok(_) | Err(_) => return,
                }
            }
        })?;
        Ok(Self { bytes, end })
    }

    /// Everything up to the end of the stream, or what has come by then.
    fn text(&self, until: Instant) -> String {
        // The channel carries nothing: this waits for its end, or until the time is over.
        let _ = self.end.recv_timeout(until.saturating_duration_since(Instant::now()));
        String::from_utf8_lossy(&self.bytes.lock().expect("no thread panics")).into_owned()
    }
}

/// How a command has ended, and what it has printed.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) messages: String,
    /// Whether it had to be stopped, because it had not ended within its limit.
    pub(crate) is_late: bool,
}

impl Captured {
    fn new(status: ExitStatus, output: &StreamReader, messages: &StreamReader, is_late: bool) -> Self {
        let rest = Instant::now() + REST;
        Self { status, output: output.text(rest), messages: messages.text(rest), is_late }
    }
}

/// Runs a command without input.
pub(crate) fn whole(command: &mut Command) -> io::Result<Captured> {
    let (mut child, output, messages) = started(command)?;
    let status = child.wait()?;
    Ok(Captured::new(status, &output, &messages, false))
}

/// Runs a command without input. One that has not ended within the limit is asked to, and killed after this grace.
pub(crate) fn within(limit: Duration, grace: Duration, command: &mut Command) -> io::Result<Captured> {
    let (mut child, output, messages) = started(command)?;
    let (until, mut is_late) = (Instant::now() + limit, false);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let over = Instant::now().checked_duration_since(until);
        if over.is_some() && !is_late {
            is_late = true;
            // It may just have ended.
            let _ = Process::hold(child.id()).and_then(|process| process.signal(libc::SIGTERM));
        }
        if over.is_some_and(|over| over >= grace) {
            child.kill()?;
        }
        std::thread::sleep(GLANCE);
    };
    Ok(Captured::new(status, &output, &messages, is_late))
}

/// Starts a command without input, and begins to read its outputs.
fn started(command: &mut Command) -> io::Result<(Child, StreamReader, StreamReader)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let output = StreamReader::new(child.stdout.take());
    match output.and_then(|output| Ok((output, StreamReader::new(child.stderr.take())?))) {
        Ok((output, messages)) => Ok((child, output, messages)),
        Err(error) => {
            // Nobody reads its outputs.
            child.kill()?;
            child.wait()?;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_though_a_process_of_it_goes_on() {
        let said = whole(Command::new("sh").args(["-c", "sleep 600 & echo $!"])).unwrap();
        let killed = Command::new("kill").arg(said.output.trim()).status().unwrap();
        assert!(killed.success() && said.status.success(), "it still holds the output: {said:?}");
    }

    #[test]
    fn of_an_output_without_end_the_beginning_is_kept() {
        let said = whole(Command::new("sh").args(["-c", "echo first; head -c 100000000 /dev/zero"])).unwrap();
        assert!(said.status.success() && said.output.starts_with("first") && said.output.len() == MOST);
    }

    #[test]
    fn a_command_that_does_not_end_is_given_up() {
        let run =
            |limit, script| within(limit, Duration::from_millis(50), Command::new("sh").args(["-c", script])).unwrap();
        let said = run(REST, "echo out; echo err >&2; exit 3");
        assert_eq!((said.output.as_str(), said.messages.as_str(), said.status.code()), ("out\n", "err\n", Some(3)));
        let killed = run(Duration::from_millis(50), "trap '' TERM; while :; do sleep 0.05; done");
        assert!(!said.is_late && killed.is_late && killed.status.code().is_none(), "{killed:?}");
        assert!(within(REST, REST, &mut Command::new("/nowhere/ssh")).is_err());
    }
}
