//! Watching one PE: what it asks on its PMI socket, and how it ends.

use std::process::ExitStatus;
use std::rc::Rc;

use oxshmem_bootstrap::pmi1::{Lines, Request};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::mpsc::UnboundedSender;

/// What happens to one PE.
#[derive(Debug)]
pub(crate) enum Event {
    /// It asks something.
    Asked(Request),
    /// It sent what is not PMI-1.
    Babbled(String),
    /// It has ended.
    Ended(ExitStatus),
}

/// Tells what a PE asks, and at last how it ended; what it asked before comes before.
pub(crate) async fn watch_over(
    pe: usize,
    mut child: Child,
    pmi: Rc<UnixStream>,
    report: UnboundedSender<(usize, Event)>,
) {
    let mut lines = Lines::default();
    // The receiver lives as long as the job; without it nobody wants to know.
    let tell = |event| drop(report.send((pe, event)));
    let mut open = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            ready = pmi.readable(), if open => open = ready.is_ok() && take_requests(&pmi, &mut lines, &tell),
        }
    };
    // The system reports bytes no later than the end of who wrote them.
    if open {
        take_requests(&pmi, &mut lines, &tell);
    }
    tell(Event::Ended(status.unwrap_or_default()));
}

/// Reads what is there; `false`: nothing more will come.
fn take_requests(pmi: &UnixStream, lines: &mut Lines, tell: &impl Fn(Event)) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match pmi.try_read(&mut bytes) {
            Ok(0) => return false,
            Ok(length) => lines.feed(&bytes[..length]),
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
        while let Some(line) = lines.next_line() {
            match line.and_then(|line| Request::decode(&line)) {
                Ok(request) => tell(Event::Asked(request)),
                Err(why) => {
                    tell(Event::Babbled(why.to_string()));
                    return false;
                }
            }
        }
    }
}
