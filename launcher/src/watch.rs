//! Watching one PE: what it asks on its PMI socket, and how it ends.

use std::cell::RefCell;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;

use oxshmem_bootstrap::Conversation;
use oxshmem_bootstrap::pmi1::Request;
use oxshmem_os::sockets;
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::mpsc::UnboundedSender;

use crate::leftovers;

/// An event of one PE.
#[derive(Debug)]
pub(crate) enum Event {
    Asked(Request),
    /// It sent bytes that are no message of PMI.
    Babbled(String),
    /// Its exit status, unless the system does not tell it.
    Ended(io::Result<ExitStatus>),
}

/// Tells what a PE asks, and at last how it ended; what it asked before comes before.
pub(crate) async fn watch_over(
    member: usize,
    mut child: Child,
    pmi: Rc<UnixStream>,
    conversation: Rc<RefCell<Conversation>>,
    report: UnboundedSender<(usize, Event)>,
) {
    // The receiver lives as long as the job; without it the report has no reader.
    let tell = |event| drop(report.send((member, event)));
    let (mut open, pid) = (true, child.id());
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            ready = pmi.readable(), if open => {
                open = ready.is_ok() && take_requests(|bytes| pmi.try_read(bytes), &conversation, &tell);
            }
        }
    };
    if let Some(pid) = pid {
        leftovers::remove(pid);
    }
    // The bytes were there before the end. But on kernels before 5.10 the runtime may learn of the end first, because
    // the end of any process makes it ask for the ends of all.
    if open {
        take_requests(|bytes| sockets::read_now(&*pmi, bytes), &conversation, &tell);
    }
    tell(Event::Ended(status));
}

/// The exit status of a PE as the job counts it, and a note about it where the system has not told it: then nobody knows whether the
/// PE has done its work, and it counts as failed.
pub(crate) fn counted(pe: u32, status: io::Result<ExitStatus>) -> (ExitStatus, Option<String>) {
    match status {
        Ok(status) => (status, None),
        Err(error) => {
            let note = format!("note: the exit status of PE {pe} is not known, and counts as 1: {error}");
            (ExitStatus::from_raw(1 << 8), Some(note))
        }
    }
}

/// Reads what is there; `false`: nothing more will come.
fn take_requests(
    read: impl Fn(&mut [u8]) -> io::Result<usize>,
    conversation: &RefCell<Conversation>,
    tell: &impl Fn(Event),
) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match read(&mut bytes) {
            Ok(0) => return false,
            Ok(length) => conversation.borrow_mut().feed(&bytes[..length]),
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
        if !pass_on(conversation, tell) {
            return false;
        }
    }
}

/// Passes on every request that has come in whole; `false`: nothing sensible will come.
pub(crate) fn pass_on(conversation: &RefCell<Conversation>, tell: &impl Fn(Event)) -> bool {
    // The borrow ends before the requests are passed on.
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_pe_whose_status_cannot_be_learned_has_failed() {
        let (status, note) = counted(3, Err(io::Error::from_raw_os_error(libc::ECHILD)));
        assert_eq!(status.code(), Some(1));
        assert!(note.expect("the user learns it").contains("PE 3 is not known"));
        assert_eq!(counted(3, Ok(ExitStatus::default())), (ExitStatus::default(), None));
    }

    #[tokio::test]
    async fn the_last_words_of_a_pe_are_heard_before_the_runtime_has_noticed_them() {
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        ours.set_nonblocking(true).expect("our socket");
        let pmi = UnixStream::from_std(ours).expect("our socket");
        theirs.write_all(b"cmd=abort exitcode=7\n").expect("it has room");
        drop(theirs);
        let (conversation, told) = (RefCell::<Conversation>::default(), RefCell::new(Vec::new()));
        let tell = |event: Event| told.borrow_mut().push(event);
        let is_open = take_requests(|bytes| sockets::read_now(&pmi, bytes), &conversation, &tell);
        assert!(!is_open, "the PE is gone");
        assert!(matches!(&told.borrow()[..], [Event::Asked(Request::Abort { status: 7 })]), "{:?}", told.borrow());
    }
}
