//! A running job: one loop over everything that can happen to it, until its last PE has ended.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::rc::Rc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_bootstrap::pmi1::{Lines, Reply, Request};
use oxshmem_os::{cpus, descriptors};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;

use crate::arguments::Plan;
use crate::output::{self, Stream, Style};
use crate::pe::{self, Started, Streams};
use crate::pmi::{Outcome, Server, Stage};
use crate::program::{self, Unusable};
use crate::signals::{Signals, Wish};
use crate::{guardian, input, verdict};

/// How long a PE may take to end after a polite signal because another PE failed.
const SHORT_GRACE: Duration = Duration::from_millis(500);
/// The same when the user or `--timeout` ends the job.
const GRACE: Duration = Duration::from_secs(3);
/// How long other PEs may outlive one that did not finalize before a note says so.
const NOTE_AFTER: Duration = Duration::from_secs(1);

/// Runs the job and returns the launcher's exit status.
pub fn run(plan: &Plan) -> i32 {
    let prepared = match Prepared::new(plan) {
        Ok(prepared) => prepared,
        Err((status, error)) => {
            eprintln!("oshrun: {error}");
            return status;
        }
    };
    if plan.dry_run {
        prepared.show();
        return 0;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => LocalSet::new().block_on(&runtime, prepared.run()),
        Err(error) => {
            eprintln!("oshrun: {}", Error::new("the launcher cannot start").because(error));
            1
        }
    }
}

/// What every PE runs, found before the first one starts.
struct Prepared<'a> {
    plan: &'a Plan,
    files: Vec<std::path::PathBuf>,
    /// The program of each PE.
    apps: Vec<u32>,
    processors: Vec<usize>,
}

impl<'a> Prepared<'a> {
    fn new(plan: &'a Plan) -> Result<Prepared<'a>, Unusable> {
        let file = |program: &crate::arguments::Program| {
            program::resolve(&program.command[0], program.wdir.as_deref())
        };
        let files = plan.programs.iter().map(file).collect::<Result<_, _>>()?;
        if let Some(folder) = &plan.output_dir {
            std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        let apps = plan.programs.iter().zip(0u32..).flat_map(|(program, i)| std::iter::repeat_n(i, program.count as usize));
        Ok(Prepared { plan, files, apps: apps.collect(), processors: cpus::allowed() })
    }

    /// The processor for a PE, if PEs are to be pinned.
    fn processor(&self, pe: u32) -> Option<usize> {
        self.plan.bind.then(|| self.processors[pe as usize % self.processors.len()])
    }

    /// `--dry-run`.
    fn show(&self) {
        for (&app, pe) in self.apps.iter().zip(0..) {
            let program = &self.plan.programs[app as usize];
            let set = pe::variables(pe, self.plan.size(), "<random>");
            let mut words: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
            words.extend(program.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value))));
            words.push(quoted(self.files[app as usize].as_os_str()));
            words.extend(program.command[1..].iter().map(|word| quoted(word)));
            let place = self.processor(pe).map(|cpu| format!(" on processor {cpu}")).unwrap_or_default();
            let folder = program.wdir.as_ref().map(|wdir| format!(" in {}", wdir.display())).unwrap_or_default();
            println!("PE {pe}{place}{folder}: {}", words.join(" "));
        }
    }

    async fn run(self) -> i32 {
        let mut signals = Signals::listen();
        let mark = match guardian::new_mark() {
            Ok(mark) => mark,
            Err(error) => {
                eprintln!("oshrun: {}", Error::new("no random numbers for the job's mark").because(error));
                return 1;
            }
        };
        // With too few descriptors the start of the PEs says so.
        let _ = descriptors::raise_limit();
        let mut guard = guardian::post(&mark).ok();
        self.note_crowding();
        let mut job = Job::new(&self, &mark);
        job.start(&self).await;
        job.attend(&mut signals).await;
        if job.pes.iter().any(|pe| pe::has_remains(pe.pid)) {
            guardian::sweep(&mark);
        }
        job.end_output().await;
        if let Some(guard) = &mut guard {
            guardian::dismiss(guard);
        }
        job.status
    }

    /// More PEs than processors is fine, but whoever looks at a terminal wonders about the speed.
    fn note_crowding(&self) {
        let (pes, processors) = (self.apps.len(), cpus::usable());
        if pes > processors && (self.plan.verbose || std::io::IsTerminal::is_terminal(&std::io::stderr())) {
            let s = if processors == 1 { "" } else { "s" };
            eprintln!("oshrun: {pes} PEs on {processors} processor{s}: waits will yield");
        }
    }
}

/// What happens to one PE.
#[derive(Debug)]
enum Event {
    /// It asks something.
    Asked(Request),
    /// It sent what is not PMI-1.
    Babbled(String),
    /// It has ended.
    Ended(ExitStatus),
}

/// A PE that was started.
#[derive(Debug)]
struct Pe {
    pid: u32,
    pmi: Rc<UnixStream>,
    ended: Option<ExitStatus>,
}

struct Job {
    mark: String,
    server: Server,
    pes: Vec<Pe>,
    running: usize,
    /// The launcher's exit status: that of the first failure.
    status: i32,
    /// Why the job is being ended, once it is.
    ending: Option<Ending>,
    /// The last signal that was passed on to the PEs.
    forwarded: Option<i32>,
    /// A PE that ended well without having left the job, and when the others are told.
    deserter: Option<(usize, Instant)>,
    events: mpsc::UnboundedReceiver<(usize, Event)>,
    report: mpsc::UnboundedSender<(usize, Event)>,
    pumps: JoinSet<()>,
    over: watch::Sender<bool>,
    timeout: Option<Instant>,
    timeout_text: String,
    verbose: bool,
}

/// The PEs have been told to end.
struct Ending {
    /// When those that still run are killed.
    kill_at: Instant,
    killed: bool,
}

impl Job {
    fn new(prepared: &Prepared<'_>, mark: &str) -> Job {
        let (report, events) = mpsc::unbounded_channel();
        let timeout = prepared.plan.timeout;
        Job {
            mark: mark.to_string(),
            server: Server::new(format!("oxshmem_{}", std::process::id()), prepared.apps.clone()),
            pes: Vec::with_capacity(prepared.apps.len()),
            running: 0,
            status: 0,
            ending: None,
            forwarded: None,
            deserter: None,
            events,
            report,
            pumps: JoinSet::new(),
            over: watch::Sender::new(false),
            timeout: timeout.map(|timeout| Instant::now() + timeout),
            timeout_text: timeout.map(|timeout| timeout.as_secs_f64().to_string()).unwrap_or_default(),
            verbose: prepared.plan.verbose,
        }
    }

    /// Starts the PEs. If one cannot be started the job ends.
    async fn start(&mut self, prepared: &Prepared<'_>) {
        let sinks = Rc::new((Mutex::new(tokio::io::stdout()), Mutex::new(tokio::io::stderr())));
        let mut readers = Vec::new();
        let size = prepared.plan.size();
        for (&app, pe) in prepared.apps.iter().zip(0..) {
            let (program, file) = (&prepared.plan.programs[app as usize], &prepared.files[app as usize]);
            let started = streams(prepared.plan, pe).map_err(|error| error.to_string()).and_then(|streams| {
                pe::start(pe, size, &self.mark, program, file, prepared.processor(pe), streams)
                    .map_err(|error| unstartable(&error))
            });
            let Started { mut child, pid, pmi } = match started {
                Ok(started) => started,
                Err(why) => {
                    let what = format!("PE {pe} of {size} could not be started");
                    self.fail(126, &format!("{}", Error::new(what).because(why)), SHORT_GRACE);
                    return;
                }
            };
            self.carry_output(prepared.plan, pe, &mut child, &sinks);
            readers.extend(child.stdin.take());
            let pmi = Rc::new(pmi);
            tokio::task::spawn_local(watch_over(pe as usize, child, Rc::clone(&pmi), self.report.clone()));
            self.pes.push(Pe { pid, pmi, ended: None });
            self.running += 1;
            if self.verbose {
                eprintln!("oshrun: PE {pe} is pid {pid}");
            }
        }
        if !readers.is_empty() {
            tokio::task::spawn_local(input::copy(readers));
        }
    }

    fn carry_output(
        &mut self,
        plan: &Plan,
        pe: u32,
        child: &mut Child,
        sinks: &Rc<(Mutex<tokio::io::Stdout>, Mutex<tokio::io::Stderr>)>,
    ) {
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
            let kill_at = self.ending.as_ref().filter(|ending| !ending.killed).map(|ending| ending.kill_at);
            let timeout = self.timeout.filter(|_| self.ending.is_none());
            let note_at = self.deserter.map(|(_, at)| at);
            tokio::select! {
                biased;
                wish = signals.next() => self.obey(wish),
                Some((pe, event)) = self.events.recv() => match event {
                    Event::Asked(request) => self.serve(pe, request),
                    Event::Babbled(why) => self.fail(1, &format!("PE {pe} does not speak PMI-1 on PMI_FD: {why}"), SHORT_GRACE),
                    Event::Ended(status) => self.ended(pe, status),
                },
                () = at(kill_at) => self.kill(),
                () = at(timeout) => {
                    let (running, all) = (self.running, self.pes.len());
                    let text = format!("the job did not end within {} s (--timeout): {running} of {all} PEs stopped; exit {}",
                        self.timeout_text, verdict::TIMED_OUT);
                    self.fail(verdict::TIMED_OUT, &text, GRACE);
                }
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
        let entering = request == Request::BarrierIn;
        match self.server.handle(pe, request) {
            Outcome::Answer(reply) => self.answer(pe, &reply),
            Outcome::Wait => {}
            Outcome::Release => (0..self.pes.len()).for_each(|pe| self.answer(pe, &Reply::BarrierOut)),
            Outcome::Abort(status) => self.aborted(pe, status & 0xff),
        }
        if entering {
            self.look_for_hopeless_barrier();
        }
    }

    fn answer(&self, pe: usize, reply: &Reply) {
        let line = reply.encode();
        // A PE that has gone, or that asks without ever reading, gets no answer.
        let _ = self.pes[pe].pmi.try_write(line.as_bytes());
    }

    /// `shmem_global_exit`: the status of the first caller is the job's.
    fn aborted(&mut self, pe: usize, status: i32) {
        if self.ending.is_some() {
            return;
        }
        self.status = status;
        if status != 0 || self.verbose {
            let others = verdict::stopped(self.running - 1);
            eprintln!("oshrun: PE {pe} (pid {}) ended the job{others}; exit {status}", self.pes[pe].pid);
        }
        self.end(SHORT_GRACE, Some(pe));
    }

    fn ended(&mut self, pe: usize, status: ExitStatus) {
        self.running -= 1;
        self.pes[pe].ended = Some(status);
        self.server.leave_barrier(pe);
        let code = verdict::code(status);
        if self.ending.is_some() {
            return;
        }
        if code != 0 {
            // Whoever sent the signal knows why the PE ended.
            let expected = self.forwarded.is_some_and(|signal| code == 128 + signal);
            let text = (!expected).then(|| {
                let (pid, others) = (self.pes[pe].pid, verdict::stopped(self.running));
                format!("PE {pe} (pid {pid}) {}{others}; exit {code}", verdict::manner(status))
            });
            self.status = code;
            if let Some(text) = text {
                eprintln!("oshrun: {text}");
            }
            self.end(if expected { GRACE } else { SHORT_GRACE }, None);
        } else if self.server.stage(pe) == Stage::Joined && self.deserter.is_none() {
            self.deserter = Some((pe, Instant::now() + NOTE_AFTER));
        }
        self.look_for_hopeless_barrier();
    }

    /// A barrier of the launcher cannot open any more if a PE that belongs to it has ended.
    fn look_for_hopeless_barrier(&mut self) {
        let waiting = self.server.waiting();
        if waiting == 0 || self.ending.is_some() {
            return;
        }
        if let Some(pe) = self.pes.iter().position(|pe| pe.ended.is_some()) {
            let text = format!(
                "PE {pe} (pid {}) ended before the job's PEs had met, and {waiting} wait for it{}; exit 1",
                self.pes[pe].pid,
                verdict::stopped(self.running)
            );
            self.fail(1, &text, SHORT_GRACE);
        }
    }

    fn note_deserter(&mut self) {
        if let Some((pe, _)) = self.deserter.take() {
            if self.running > 0 && self.ending.is_none() {
                let pid = self.pes[pe].pid;
                eprintln!(
                    "oshrun: note: PE {pe} (pid {pid}) exited with status 0 without shmem_finalize; {} still run",
                    self.running
                );
            }
            // One note is enough.
            self.deserter = None;
        }
    }

    /// Ends the job because of a failure, with a sentence.
    fn fail(&mut self, status: i32, text: &str, grace: Duration) {
        if self.ending.is_none() {
            eprintln!("oshrun: {text}");
            self.status = status;
            self.end(grace, None);
        }
    }

    /// Asks all PEs to end, except one that is ending anyway.
    fn end(&mut self, grace: Duration, except: Option<usize>) {
        for (i, pe) in self.pes.iter().enumerate() {
            if except != Some(i) {
                pe::signal(pe.pid, libc::SIGTERM);
                // A stopped process takes no other signal.
                pe::signal(pe.pid, libc::SIGCONT);
            }
        }
        self.ending = Some(Ending { kill_at: Instant::now() + grace, killed: false });
    }

    fn kill(&mut self) {
        self.pes.iter().for_each(|pe| pe::signal(pe.pid, libc::SIGKILL));
        self.ending = Some(Ending { kill_at: Instant::now(), killed: true });
    }

    fn obey(&mut self, wish: Wish) {
        let signal = match wish {
            Wish::Forward(signal) => signal,
            Wish::Stop => {
                self.pes.iter().for_each(|pe| pe::signal(pe.pid, libc::SIGTSTP));
                Signals::stop_here();
                return;
            }
        };
        let again = self.forwarded == Some(libc::SIGINT) && signal == libc::SIGINT;
        if again || (signal == libc::SIGINT && self.ending.is_some()) {
            if self.status == 0 {
                self.status = 128 + libc::SIGINT;
            }
            return self.kill();
        }
        self.pes.iter().for_each(|pe| pe::signal(pe.pid, signal));
        if Wish::is_an_end(signal) {
            self.forwarded = Some(signal);
        }
        if signal == libc::SIGTERM && self.ending.is_none() {
            self.status = 128 + signal;
            self.end(GRACE, None);
        }
    }
}

/// Tells what a PE asks, and at last how it ended; what it asked before comes before.
async fn watch_over(
    pe: usize,
    mut child: Child,
    pmi: Rc<UnixStream>,
    report: mpsc::UnboundedSender<(usize, Event)>,
) {
    let lines = RefCell::new(Lines::default());
    // The receiver lives as long as the job; without it nobody wants to know.
    let tell = |event| drop(report.send((pe, event)));
    let mut open = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            ready = pmi.readable(), if open => open = ready.is_ok() && take_requests(&pmi, &lines, &tell),
        }
    };
    if open {
        take_requests(&pmi, &lines, &tell);
    }
    tell(Event::Ended(status.unwrap_or_default()));
}

/// Reads what is there; `false`: nothing more will come.
fn take_requests(pmi: &UnixStream, lines: &RefCell<Lines>, tell: &impl Fn(Event)) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match pmi.try_read(&mut bytes) {
            Ok(0) => return false,
            Ok(length) => lines.borrow_mut().feed(&bytes[..length]),
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
        while let Some(line) = lines.borrow_mut().next_line() {
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

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn streams(plan: &Plan, pe: u32) -> Result<Streams, Error> {
    let stdin = input::stream_of(pe, plan.stdin);
    if let Some(folder) = &plan.output_dir {
        let file = |stream| {
            let path = folder.join(format!("pe.{pe}.{stream}"));
            File::create(&path).map(Stdio::from).map_err(|error| unwritable(&path, &error).1)
        };
        return Ok(Streams { stdin, stdout: file("out")?, stderr: file("err")? });
    }
    let shown = plan.only.as_ref().is_none_or(|only| only.contains(pe));
    let plain = plan.label == crate::arguments::Label::None && !plan.timestamps;
    // A PE alone may write to the terminal or file itself: not a byte is touched.
    let stream = || match shown {
        false => Stdio::null(),
        true if plan.size() == 1 && plain => Stdio::inherit(),
        true => Stdio::piped(),
    };
    Ok(Streams { stdin, stdout: stream(), stderr: stream() })
}

fn unwritable(path: &Path, error: &std::io::Error) -> Unusable {
    (2, Error::new(format!("cannot write the PEs' output to {}", path.display())).because(error))
}

fn unstartable(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => "the limit of processes is reached (ulimit -u, or pids.max of the control group)".into(),
        Some(libc::EMFILE | libc::ENFILE) => "the limit of open files is reached (ulimit -n)".into(),
        Some(libc::ENOENT) => "its loader or interpreter is not there".into(),
        Some(libc::ENOEXEC) => "the file is not a program for this machine".into(),
        _ => error.to_string(),
    }
}

fn quoted(word: &std::ffi::OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+%@".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
