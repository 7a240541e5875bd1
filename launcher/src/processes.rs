//! The PEs of one host: started, heard, fed, signalled and cleaned up after.

use std::cell::RefCell;
use std::fs::File;
use std::rc::Rc;

use oxshmem_bootstrap::Conversation;
use oxshmem_bootstrap::pmi1::Reply;
use oxshmem_os::sockets;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use crate::link::frame::{self, AgentReport, OutputStream};
use crate::output::{self, FileSink, Room, Sink, Style, Upward};
use crate::pe::{self, Started};
use crate::plan::{JobPlan, Label};
use crate::prepare::Prepared;
use crate::program::Unusable;
use crate::watch::{Event, pass_on, watch_over};
use crate::{guardian, input, leftovers, look, terminal_stops};

/// Where the PEs' output goes: up to the launcher, as far as there is room. The launcher's own PEs take the same way.
#[derive(Clone)]
pub(crate) struct Outlet {
    stdout: Room,
    stderr: Room,
}

impl Outlet {
    pub(crate) fn new() -> Outlet {
        let room = || Rc::new(Semaphore::new(output::WINDOW));
        Outlet { stdout: room(), stderr: room() }
    }

    pub(crate) fn room(&self, of: OutputStream) -> &Room {
        match of {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        }
    }
}

/// A PE that was started here.
struct Member {
    /// Its number in the job.
    pe: u32,
    pid: u32,
    pmi: Rc<UnixStream>,
    conversation: Rc<RefCell<Conversation>>,
    running: bool,
    /// Where its input goes, if it comes through a pipe of agents.
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
}

/// All of them. What happens to member `i` is told with that number.
pub(crate) struct Processes {
    host: u32,
    mark: String,
    outlet: Outlet,
    members: Vec<Member>,
    readers: Vec<(u32, ChildStdin)>,
    events: mpsc::UnboundedSender<(usize, Event)>,
    /// Reports of the tasks that carry bytes.
    reports: mpsc::UnboundedSender<AgentReport>,
    pumps: JoinSet<()>,
    over: watch::Sender<bool>,
    /// The guardian learns the number of each PE here.
    guardian: Option<File>,
}

impl Processes {
    /// No PE yet. `mark` is that of this host's processes.
    pub(crate) fn new(
        host: u32,
        mark: String,
        outlet: Outlet,
        events: mpsc::UnboundedSender<(usize, Event)>,
        reports: mpsc::UnboundedSender<AgentReport>,
    ) -> Processes {
        Processes {
            host,
            mark,
            outlet,
            members: Vec::new(),
            readers: Vec::new(),
            events,
            reports,
            pumps: JoinSet::new(),
            over: watch::Sender::new(false),
            guardian: None,
        }
    }

    /// Names the guardian of the PEs that are started from now on.
    pub(crate) fn guard_by(&mut self, guardian: Option<File>) {
        self.guardian = guardian;
    }

    /// Starts PE `pe`; its process number.
    pub(crate) fn start(&mut self, prepared: &Prepared, pe: u32) -> Result<u32, Unusable> {
        let local = self.members.len();
        let Started { mut child, pid, pmi, files } = prepared.start(pe, local, &self.mark)?;
        self.guardian.iter().for_each(|ear| guardian::tell(ear, pid));
        match files {
            Some(files) => self.keep_output(pe, &mut child, files),
            None => self.carry_output(prepared.plan(), pe, &mut child),
        }
        let input = match (child.stdin.take(), prepared.directly) {
            (None, _) => None,
            (Some(stdin), true) => {
                self.readers.push((pe, stdin));
                None
            }
            (Some(stdin), false) => {
                let (input, bytes) = mpsc::unbounded_channel();
                tokio::task::spawn_local(feed(pe, stdin, bytes, self.reports.clone()));
                Some(input)
            }
        };
        let conversation = Conversation::of_app(prepared.program_of(pe));
        let (pmi, conversation) = (Rc::new(pmi), Rc::new(RefCell::new(conversation)));
        let watched = (Rc::clone(&pmi), Rc::clone(&conversation));
        tokio::task::spawn_local(watch_over(local, child, watched.0, watched.1, self.events.clone()));
        self.members.push(Member { pe, pid, pmi, conversation, running: true, input });
        Ok(pid)
    }

    /// All PEs have been started: the launcher's input may flow.
    pub(crate) fn begin_input(&mut self) {
        if !self.readers.is_empty() {
            tokio::task::spawn_local(input::copy(std::mem::take(&mut self.readers)));
        }
    }

    /// All PEs have been started: the user learns which of them the terminal stops.
    pub(crate) fn watch_for_stops(&self) {
        let pes = self.members.iter().map(|member| (member.pe, member.pid)).collect();
        tokio::task::spawn_local(terminal_stops::note(pes, self.reports.clone()));
    }

    fn carry_output(&mut self, plan: &JobPlan, pe: u32, child: &mut Child) {
        let [out, err] = [OutputStream::Stdout, OutputStream::Stderr].map(|stream| {
            let style = Style { label: plan.label, timestamps: plan.timestamps, pe, stream };
            let room = Rc::clone(self.outlet.room(stream));
            (Upward { host: self.host, pe, stream, room, reports: self.reports.clone() }, style)
        });
        self.pump(child.stdout.take(), out);
        self.pump(child.stderr.take(), err);
    }

    /// Writes what a PE says to its files. As the PE's own streams they would hide a full disk.
    fn keep_output(&mut self, pe: u32, child: &mut Child, [out, err]: [File; 2]) {
        let [out, err] = [(OutputStream::Stdout, out), (OutputStream::Stderr, err)].map(|(stream, file)| {
            let style = Style { label: Label::None, timestamps: false, pe, stream };
            (FileSink::new(pe, stream, file, self.reports.clone()), style)
        });
        self.pump(child.stdout.take(), out);
        self.pump(child.stderr.take(), err);
    }

    /// Carries one stream of a PE until its end.
    fn pump(&mut self, source: Option<impl AsyncRead + Unpin + 'static>, (sink, style): (impl Sink + 'static, Style)) {
        let over = self.over.subscribe();
        if let Some(source) = source {
            self.pumps.spawn_local(async move { output::pump(source, &sink, style, over).await });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The job's number of member `i`.
    pub(crate) fn number(&self, i: usize) -> u32 {
        self.members[i].pe
    }

    pub(crate) fn ended(&mut self, i: usize) {
        self.members[i].running = false;
        self.members[i].input = None;
    }

    pub(crate) fn answer(&self, i: usize, reply: &Reply) {
        let Member { pmi, conversation, .. } = &self.members[i];
        let bytes = conversation.borrow_mut().encode(reply);
        // A PE that has gone, or that asks without ever reading, gets no answer.
        let _ = pmi.try_write(&bytes);
        // The bytes behind its first line could not be read before the version was agreed.
        if matches!(reply, Reply::Init { .. }) {
            pass_on(conversation, &|event| drop(self.events.send((i, event))));
        }
    }

    /// Sends a signal to every PE that still runs, except one; the number of one that has ended may mean another process
    /// by now.
    ///
    /// SIGUSR1 asks the launcher for a report. Only processes that handle it get it, too: the question must not end the job.
    pub(crate) fn signal(&self, signal: i32, except: Option<u32>) {
        let told = self.members.iter().filter(|member| member.running && Some(member.pe) != except);
        told.for_each(|member| match signal {
            libc::SIGUSR1 => look::signal_handlers(member.pid, signal),
            _ => pe::signal(member.pid, signal),
        });
    }

    /// Tells what the PEs that still run do, as soon as it has been read; the launcher's work goes on meanwhile.
    pub(crate) fn look(&self, question: u32, calls: usize) {
        let running = self.members.iter().filter(|member| member.running);
        let pes: Vec<(u32, u32)> = running.map(|member| (member.pe, member.pid)).collect();
        if pes.is_empty() {
            return;
        }
        let (host, reports) = (self.host, self.reports.clone());
        tokio::task::spawn_blocking(move || {
            let mut report = AgentReport::Seen { host, question, witnesses: look::witnesses(&pes, calls) };
            // The last calls of some thousand PEs are more than an agent can send, and tell least.
            if !frame::has_room(&report)
                && let AgentReport::Seen { witnesses, .. } = &mut report
            {
                witnesses.iter_mut().for_each(|one| one.calls.clear());
            }
            // The waits of some ten thousand PEs may still be more: those of the first ones are told.
            while !frame::has_room(&report)
                && let AgentReport::Seen { witnesses, .. } = &mut report
                && !witnesses.is_empty()
            {
                witnesses.truncate(witnesses.len() / 2);
            }
            // The receiver lives as long as the job; without it the report has no reader.
            let _ = reports.send(report);
        });
    }

    /// Input for PE `pe`, if it is here; no bytes: the end.
    pub(crate) fn input(&mut self, pe: u32, bytes: Vec<u8>) {
        if let Some(member) = self.members.iter_mut().find(|member| member.pe == pe) {
            if bytes.is_empty() {
                member.input = None
            } else {
                // If the PE has closed its input the task has said so.
                drop(member.input.as_ref().map(|input| input.send(bytes)))
            }
        }
    }

    /// Members whose end is certain and has not been reported: a PE that noticed it before us is not its cause.
    pub(crate) fn dying(&self) -> Vec<usize> {
        let dying = |i: &usize| self.members[*i].running && pe::is_dying(self.members[*i].pid);
        (0..self.members.len()).filter(dying).collect()
    }

    /// All PEs of the job have ended: ends what they left in the background. What has left its PE's group (`setsid`) may
    /// live on, unless the job has failed. Returns how many processes it has ended.
    pub(crate) fn sweep(&mut self, failed: bool) -> usize {
        let has_remains = failed || self.members.iter().any(|member| pe::has_remains(member.pid));
        let ended = if has_remains { guardian::sweep(&self.mark) } else { 0 };
        leftovers::remove_all(&self.mark);
        self.over.send_replace(true);
        ended
    }

    /// How many of these PEs have left a process outside of their group that holds their connection to the launcher. A process of the group
    /// ends with the job.
    pub(crate) fn at_large(&self, is_asked_for: impl Fn(usize) -> bool) -> usize {
        let members = (0..self.members.len()).filter(|&i| is_asked_for(i)).map(|i| &self.members[i]);
        members.filter(|member| !pe::has_remains(member.pid) && !sockets::hung_up(&*member.pmi)).count()
    }

    /// Returns when what the PEs have written is out. It may be dropped and called again.
    pub(crate) async fn written(&mut self) {
        while self.pumps.join_next().await.is_some() {}
    }

    /// Ends everything at once, because the launcher has gone.
    pub(crate) fn kill(&self) {
        self.signal(libc::SIGKILL, None);
        guardian::sweep(&self.mark);
        // A PE that has died before the sweep looked at it is none of those whose files the sweep removes.
        self.members.iter().filter(|member| member.running).for_each(|member| leftovers::remove(member.pid));
        leftovers::remove_all(&self.mark);
    }
}

/// Writes what comes for one PE to its input, until it closes it or nothing more comes.
async fn feed(
    pe: u32,
    mut stdin: ChildStdin,
    mut bytes: mpsc::UnboundedReceiver<Vec<u8>>,
    reports: mpsc::UnboundedSender<AgentReport>,
) {
    while let Some(bytes) = bytes.recv().await {
        let taken = match stdin.write_all(&bytes).await {
            Ok(()) => bytes.len() as u32,
            Err(_) => 0,
        };
        // The receiver lives as long as the PEs.
        let _ = reports.send(AgentReport::Taken { pe, bytes: taken });
        if taken == 0 {
            return;
        }
    }
}
