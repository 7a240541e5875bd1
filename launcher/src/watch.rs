//! Watching one PE: what it asks on its PMI socket, and how it ends.

use std::cell::RefCell;
use std::process::ExitStatus;
use std::rc::Rc;

use oxshmem_bootstrap::Conversation;
use oxshmem_bootstrap::pmi1::Request;
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::mpsc::UnboundedSender;

use crate::leftovers;

/// An event of one PE.
#[derive(Debug)]
pub(crate) enum Event {
    /// It asks something.
    Asked(Request),
    /// It sent what is no PMI.
    Babbled(String),
    /// It has ended.
    Ended(ExitStatus),
}

/// Tells what a PE asks, and at last how it ended; what it asked before comes before.
pub(crate) async fn watch_over(
    pe: usize,
    mut child: Child,
    pmi: Rc<UnixStream>,
    conversation: Rc<RefCell<Conversation>>,
    report: UnboundedSender<(usize, Event)>,
) {
    // The receiver lives as long as the job; without it nobody wants to know.
    let tell = |event| drop(report.send((pe, event)));
    let (mut open, pid) = (true, child.id());
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            ready = pmi.readable(), if open => open = ready.is_ok() && take_requests(&pmi, &conversation, &tell),
        }
    };
    if let Some(pid) = pid {
        leftovers::remove(pid);
    }
    // The system reports bytes no later than the end of who wrote them.
    if open {
        take_requests(&pmi, &conversation, &tell);
    }
    tell(Event::Ended(status.unwrap_or_default()));
}

/// Reads what is there; `false`: nothing more will come.
fn take_requests(pmi: &UnixStream, conversation: &RefCell<Conversation>, tell: &impl Fn(Event)) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match pmi.try_read(&mut bytes) {
            Ok(0) => return false,
            Ok(length) => conversation.borrow_mut().feed(&bytes[..length]),
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
        if !pass_on(conversation, tell) {
            return false;
        }
    }
}

/// Passes on every request that has come in whole; `false`: nothing sensible will come.
pub(crate) fn pass_on(conversation: &RefCell<Conversation>, tell: &impl Fn(Event)) -> bool {
    // The borrow ends before anybody is told.
    let next = || conversation.borrow_mut().next_request();
    while let Some(request) = next() {
        match request {
            Ok(request) => tell(Event::Asked(request)),
            Err(why) => {
                tell(Event::Babbled(why.to_string()));
                return false;
            }
        }
    }
    true
}
