//! A running job: one loop over everything that can happen to it, until its last PE has ended.

use std::cell::RefCell;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_bootstrap::Conversation;
use oxshmem_bootstrap::pmi1::{Reply, Request};
use oxshmem_os::descriptors;
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;

use crate::arguments::Plan;
use crate::output::{self, Stream, Style};
use crate::pe::{self, Started};
use crate::pmi::{Outcome, Server, Stage};
use crate::prepare::Prepared;
use crate::signals::{Signals, Wish};
use crate::watch::{Event, pass_on, watch_over};
use crate::{guardian, input, say, verdict};

/// How long a PE may take to end politely because another PE failed.
const SHORT_GRACE: Duration = Duration::from_millis(500);
/// How long other PEs may outlive one that did not finalize before a note says so.
const NOTE_AFTER: Duration = Duration::from_secs(1);

/// Runs the job and returns the launcher's exit status.
pub fn run(plan: &Plan) -> i32 {
    let prepared = match Prepared::new(plan) {
        Ok(prepared) => prepared,
        Err((status, error)) => {
            say(&error.to_string());
            return status;
        }
    };
    if plan.dry_run {
        prepared.show();
        return 0;
    }
    let mark = guardian::new_mark();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match mark.and_then(|mark| Ok((mark, runtime?))) {
        Ok((mark, runtime)) => {
            let status = LocalSet::new().block_on(&runtime, carry_out(&prepared, &mark));
            // A thread may still wait for input that nobody wants any more.
            runtime.shutdown_background();
            status
        }
        Err(error) => {
            say(&Error::new("the launcher cannot start").because(error).to_string());
            1
        }
    }
}

async fn carry_out(prepared: &Prepared<'_>, mark: &str) -> i32 {
    let mut signals = Signals::listen();
    // Each PE costs four descriptors. Below the usual limit the PEs shall inherit it as it is.
    if prepared.apps.len() > 200 {
        // If this fails the start of a PE will say so.
        let _ = descriptors::raise_limit();
    }
    let mut guard = guardian::post(mark).ok();
    prepared.note_crowding();
    let mut job = Job::new(prepared);
    job.start(prepared, mark);
    job.attend(&mut signals).await;
    if job.pes.iter().any(|pe| pe::has_remains(pe.pid)) {
        guardian::sweep(mark);
    }
    job.end_output().await;
    job.explain();
    if let Some(guard) = &mut guard {
        guardian::dismiss(guard);
    }
    job.status.unwrap_or(0)
}

/// A PE that was started.
#[derive(Debug)]
struct Pe {
    pid: u32,
    pmi: Rc<UnixStream>,
    conversation: Rc<RefCell<Conversation>>,
    running: bool,
}

struct Job<'a> {
    plan: &'a Plan,
    server: Server,
    pes: Vec<Pe>,
    running: usize,
    /// The exit status, once the first failure has decided it.
    status: Option<i32>,
    /// The sentence about it, until it has been said. It comes after what the PEs still had to say.
    sentence: Option<String>,
    /// Once the PEs have been told to end.
    ending: Option<Ending>,
    /// The last signal that was passed on to the PEs and ends those that do not handle it.
    forwarded: Option<i32>,
    /// A PE that ended well without having left the job, and when the user is told.
    deserter: Option<(usize, Instant)>,
    timeout: Option<Instant>,
    events: mpsc::UnboundedReceiver<(usize, Event)>,
    report: mpsc::UnboundedSender<(usize, Event)>,
    pumps: JoinSet<()>,
    over: watch::Sender<bool>,
}

#[derive(Clone, Copy)]
enum Ending {
    /// Those that still run are killed at this time.
    Asked { kill_at: Instant },
    /// They have been killed.
    Killed,
}

type Sinks = Rc<(Mutex<tokio::io::Stdout>, Mutex<tokio::io::Stderr>)>;

impl<'a> Job<'a> {
    fn new(prepared: &Prepared<'a>) -> Job<'a> {
        let (report, events) = mpsc::unbounded_channel();
        let space = format!("oxshmem_{}", std::process::id());
        Job {
            plan: prepared.plan,
            server: Server::new(space, prepared.apps.clone(), prepared.plan.nodes),
            pes: Vec::with_capacity(prepared.apps.len()),
            running: 0,
            status: None,
            sentence: None,
            ending: None,
            forwarded: None,
            deserter: None,
            timeout: prepared.plan.timeout.map(|timeout| Instant::now() + timeout),
            events,
            report,
            pumps: JoinSet::new(),
            over: watch::Sender::new(false),
        }
    }

    /// Starts the PEs. If one cannot be started the job ends.
    fn start(&mut self, prepared: &Prepared<'_>, mark: &str) {
        let sinks: Sinks = Rc::new((Mutex::new(tokio::io::stdout()), Mutex::new(tokio::io::stderr())));
        let mut readers = Vec::new();
        let size = self.plan.size();
        for pe in 0..size {
            let Started { mut child, pid, pmi } = match prepared.start(pe, mark) {
                Ok(started) => started,
                Err((status, error)) => {
                    let sentence = format!("PE {pe} of {size} could not be started: {error}");
                    return self.fail(status, sentence, SHORT_GRACE);
                }
            };
            self.carry_output(pe, &mut child, &sinks);
            readers.extend(child.stdin.take());
            let (pmi, conversation) = (Rc::new(pmi), Rc::<RefCell<Conversation>>::default());
            let watched = (Rc::clone(&pmi), Rc::clone(&conversation));
            tokio::task::spawn_local(watch_over(pe as usize, child, watched.0, watched.1, self.report.clone()));
            self.pes.push(Pe { pid, pmi, conversation, running: true });
            self.running += 1;
            if self.plan.verbose {
                say(&format!("PE {pe} is pid {pid}"));
            }
        }
        if !readers.is_empty() {
            tokio::task::spawn_local(input::copy(readers));
        }
    }

    fn carry_output(&mut self, pe: u32, child: &mut Child, sinks: &Sinks) {
        let plan = self.plan;
        let style = |stream| Style { label: plan.label, timestamps: plan.timestamps, pe, stream };
        if let Some(source) = child.stdout.take() {
            let (sinks, over, style) = (Rc::clone(sinks), self.over.subscribe(), style(Stream::Stdout));
            self.pumps.spawn_local(async move { output::pump(source, &sinks.0, style, over).await });
        }
        if let Some(source) = child.stderr.take() {
            let (sinks, over, style) = (Rc::clone(sinks), self.over.subscribe(), style(Stream::Stderr));
            self.pumps.spawn_local(async move { output::pump(source, &sinks.1, style, over).await });
        }
    }

    /// The loop: until the last PE has ended.
    async fn attend(&mut self, signals: &mut Signals) {
        while self.running > 0 {
            let kill_at = match self.ending {
                Some(Ending::Asked { kill_at }) => Some(kill_at),
                _ => None,
            };
            let timeout = self.timeout.filter(|_| self.ending.is_none());
            let note_at = self.deserter.map(|(_, at)| at);
            tokio::select! {
                biased;
                wish = signals.next() => self.obey(wish),
                Some((pe, event)) = self.events.recv() => match event {
                    Event::Asked(request) => self.serve(pe, request),
                    Event::Babbled(why) => self.babbled(pe, &why),
                    Event::Ended(status) => self.ended(pe, status),
                },
                () = at(kill_at) => self.kill(),
                () = at(timeout) => self.timed_out(),
                () = at(note_at) => self.note_deserter(),
            }
        }
    }

    /// Waits until what the PEs have written is out.
    async fn end_output(&mut self) {
        self.over.send_replace(true);
        while self.pumps.join_next().await.is_some() {}
    }

    fn serve(&mut self, pe: usize, request: Request) {
        match self.server.handle(pe, request) {
            Outcome::Answer(reply) => self.answer(pe, &reply),
            Outcome::Wait => self.look_for_hopeless_barrier(),
            Outcome::Release => (0..self.pes.len()).for_each(|pe| self.answer(pe, &Reply::BarrierOut)),
            Outcome::Abort(status) => self.aborted(pe, status & 0xff),
        }
    }

    fn answer(&self, pe: usize, reply: &Reply) {
        let Pe { pmi, conversation, .. } = &self.pes[pe];
        let bytes = conversation.borrow_mut().encode(reply);
        // A PE that has gone, or that asks without ever reading, gets no answer.
        let _ = pmi.try_write(&bytes);
        // What it sent behind its first line could not be read before it was agreed how.
        if matches!(reply, Reply::Init { .. }) {
            pass_on(conversation, &|event| drop(self.report.send((pe, event))));
        }
    }

    /// `shmem_global_exit`: the status of the first caller is the job's.
    fn aborted(&mut self, pe: usize, status: i32) {
        if self.ending.is_some() {
            return;
        }
        self.status = Some(status);
        if status != 0 || self.plan.verbose {
            let others = verdict::stopped(self.running.saturating_sub(1));
            self.sentence = Some(format!("{} ended the job{others}; exit {status}", self.named(pe)));
        }
        self.end(SHORT_GRACE, Some(pe));
    }

    fn babbled(&mut self, pe: usize, why: &str) {
        let sentence = format!("{} does not speak PMI on PMI_FD: {why}; exit 1", self.named(pe));
        self.fail(1, sentence, SHORT_GRACE);
    }

    fn ended(&mut self, pe: usize, status: ExitStatus) {
        self.running -= 1;
        self.pes[pe].running = false;
        self.server.leave_barrier(pe);
        let code = verdict::code(status);
        match self.ending {
            // The user ends the job, and the first PE that does not do so well decides. That we had to kill it is not
            // the user's signal.
            Some(ending) if code != 0 && self.status.is_none() => {
                let killed = matches!(ending, Ending::Killed) && status.signal() == Some(libc::SIGKILL);
                self.status = Some(self.forwarded.filter(|_| killed).map_or(code, |signal| 128 + signal));
            }
            Some(_) => {}
            // Whoever sent the signal knows why the PE ended.
            None if self.forwarded.is_some_and(|signal| status.signal() == Some(signal)) => {
                self.status = Some(code);
                self.end(self.plan.grace, None);
            }
            None if code != 0 => {
                let (manner, others) = (verdict::manner(status), verdict::stopped(self.running));
                self.fail(code, format!("{} {manner}{others}; exit {code}", self.named(pe)), SHORT_GRACE);
            }
            None => {
                if self.server.stage(pe) == Stage::Joined && self.deserter.is_none() {
                    self.deserter = Some((pe, Instant::now() + NOTE_AFTER));
                }
                self.look_for_hopeless_barrier();
            }
        }
    }

    /// A barrier of the launcher cannot open any more if a PE has ended that belongs to it.
    fn look_for_hopeless_barrier(&mut self) {
        let waiting = self.server.waiting();
        if waiting == 0 {
            return;
        }
        if let Some(pe) = self.pes.iter().position(|pe| !pe.running) {
            let (name, others) = (self.named(pe), verdict::stopped(self.running));
            let sentence =
                format!("{name} ended before the job's PEs had met, and {waiting} wait for it{others}; exit 1");
            self.fail(1, sentence, SHORT_GRACE);
        }
    }

    fn note_deserter(&mut self) {
        if let Some((pe, _)) = self.deserter.take()
            && self.ending.is_none()
        {
            let (name, running) = (self.named(pe), self.running);
            say(&format!("note: {name} exited with status 0 without shmem_finalize; {running} still run"));
        }
    }

    fn timed_out(&mut self) {
        let (running, all, code) = (self.running, self.pes.len(), verdict::TIMED_OUT);
        let limit = self.plan.timeout.unwrap_or_default();
        let sentence =
            format!("the job did not end within {limit:?} (--timeout): {running} of {all} PEs stopped; exit {code}");
        self.fail(code, sentence, self.plan.grace);
    }

    /// Ends the job because of a failure.
    fn fail(&mut self, status: i32, sentence: String, grace: Duration) {
        if self.ending.is_none() {
            self.status = Some(status);
            self.sentence = Some(sentence);
            self.end(grace, None);
        }
    }

    /// Asks all PEs to end, except one that is ending anyway.
    fn end(&mut self, grace: Duration, except: Option<usize>) {
        for (_, pe) in self.pes.iter().enumerate().filter(|(i, pe)| pe.running && except != Some(*i)) {
            pe::signal(pe.pid, libc::SIGTERM);
            // A stopped process takes no other signal.
            pe::signal(pe.pid, libc::SIGCONT);
        }
        self.ending = Some(Ending::Asked { kill_at: Instant::now() + grace });
    }

    /// Ends those that did not end when they were asked. Should even this take long, the user knows why.
    fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        self.ending = Some(Ending::Killed);
        self.explain();
    }

    fn obey(&mut self, wish: Wish) {
        match wish {
            Wish::Stop => {
                self.signal(libc::SIGTSTP);
                Signals::stop_here();
            }
            Wish::Forward(libc::SIGINT) if self.forwarded == Some(libc::SIGINT) || self.ending.is_some() => self.kill(),
            Wish::Forward(libc::SIGTERM) => {
                self.forwarded = Some(libc::SIGTERM);
                if self.ending.is_none() {
                    self.end(self.plan.grace, None);
                }
            }
            Wish::Forward(signal) => {
                if Wish::is_an_end(signal) {
                    self.forwarded = Some(signal);
                }
                self.signal(signal);
            }
        }
    }

    /// Sends a signal to every PE that still runs; the number of one that has ended may mean another process by now.
    fn signal(&self, signal: i32) {
        self.pes.iter().filter(|pe| pe.running).for_each(|pe| pe::signal(pe.pid, signal));
    }

    fn explain(&mut self) {
        if let Some(sentence) = self.sentence.take() {
            say(&sentence);
        }
    }

    fn named(&self, pe: usize) -> String {
        format!("PE {pe} (pid {})", self.pes[pe].pid)
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
