//! A running job: one loop over everything that can happen to it, until its last PE has ended.

mod inquiry;
mod keeping;
mod outcome;
mod requests;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::descriptors;
use oxshmem_topology::picture;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::deadline::at;
use crate::input::{self, InputReader};
use crate::job::inquiry::{JobQuestion, ReportReason};
use crate::layout::Layout;
use crate::link::frame::{AgentOrder, AgentReport, JobDescription, NO_HOST, OutputStream};
use crate::plan::{Display, JobPlan, Stdin};
use crate::prepare::Prepared;
use crate::program::Unusable;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::subtree::Subtree;
use crate::{ask, guardian, profile, say, verdict};

/// How long a PE may take to end politely because another PE failed.
const SHORT_GRACE: Duration = Duration::from_millis(500);
/// How long other PEs may outlive one that has left the job and then failed: they are about to end, with their output.
const LINGER: Duration = Duration::from_secs(2);
/// How long other PEs may outlive one that did not finalize before a note says so.
const NOTE_AFTER: Duration = Duration::from_secs(1);
/// How long the agents' pipes may take to swallow that the job stops.
const STOP_AFTER: Duration = Duration::from_millis(100);
/// How long PEs may outlive an interrupt before a note says how to kill them.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How long output may still take after the user has ended a job whose PEs have ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The exit status of a job that ended well, but whose output, profile or timeline could not be written.
const LOST: i32 = 1;
/// How long hosts may take to say whether somebody died before a PE ended the job.
const CENSUS: Duration = Duration::from_secs(1);

/// Runs the job and returns the launcher's exit status.
pub fn run(plan: &JobPlan) -> i32 {
    match prepare(plan) {
        Ok(status) => status,
        Err((status, error)) => {
            say(&error.to_string());
            status
        }
    }
}

fn prepare(plan: &JobPlan) -> Result<i32, Unusable> {
    let unable = |error| (1, Error::new("the launcher cannot start").because(error));
    plan.note.iter().for_each(|note| say(note));
    let layout = Layout::new(plan, guardian::new_mark().map_err(unable)?)?;
    if plan.display.is_some() && !layout.map()? {
        return Ok(0);
    }
    if plan.dry_run {
        layout.show()?;
        return Ok(0);
    }
    if let Some(recording) = &plan.recording {
        profile::prepare(recording).map_err(|error| (2, error))?;
    }
    let prepared = match layout.description.is_here() {
        true => Some(Prepared::new(Rc::clone(&layout.description), layout.description.host_pes[0].clone(), true)?),
        false => None,
    };
    prepared.as_ref().map_or(Ok(()), Prepared::check_room)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(unable)?;
    let status = LocalSet::new().block_on(&runtime, carry_out(layout.description, prepared));
    // A thread may still wait for input that nobody wants any more.
    runtime.shutdown_background();
    let is_whole = plan.recording.as_ref().is_none_or(|recording| profile::conclude(recording, status));
    Ok(if status == 0 && !is_whole { LOST } else { status })
}

/// `prepared`: the PEs are on this machine.
async fn carry_out(description: Rc<JobDescription>, prepared: Option<Prepared>) -> i32 {
    let mut signals = Signals::listen();
    // An agent costs four descriptors.
    if description.host_pes.len() > 200 {
        // If this fails the start of an agent will say so.
        let _ = descriptors::raise_limit();
    }
    let mut guard = guardian::post(&description.mark).ok();
    let mut job = RunningJob::new(Rc::clone(&description));
    match &prepared {
        Some(prepared) => {
            prepared.note_crowding();
            job.subtree.start_processes(prepared);
        }
        None => {
            job.subtree.start_remotes(&description.host_pes);
            job.send_input();
        }
    }
    let mut visitors = ask::listen();
    job.attend(&mut signals, &mut visitors).await;
    job.explain();
    if let Some(guard) = &mut guard {
        guardian::dismiss(guard);
    }
    job.status.unwrap_or(0)
}

/// The state of a PE, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeState {
    /// It is to be started.
    Expected,
    Running {
        pid: u32,
    },
    /// It has ended, or never was.
    Ended {
        pid: Option<u32>,
    },
}

struct RunningJob {
    description: Rc<JobDescription>,
    subtree: Subtree,
    pes: Vec<PeState>,
    /// Which host each PE is on, where there are several.
    hosts: Vec<u32>,
    /// How many have not ended.
    left: usize,
    /// The exit status, once the first failure has decided it.
    status: Option<i32>,
    /// The sentence about it, until it has been said. It comes after what the PEs still had to say.
    sentence: Option<String>,
    /// Once the PEs have been told to end.
    ending: Option<EndPhase>,
    /// The last signal that was passed on to the PEs and ends those that do not handle it.
    forwarded: Option<i32>,
    /// A PE that ends the job, its status, and until when we look whether another one's death is the reason.
    abort: Option<(u32, i32, Instant)>,
    /// Every PE that has asked to end the job.
    aborters: BTreeSet<u32>,
    /// A PE that ended well without having left the job, and when the user is told.
    deserter: Option<(u32, Instant)>,
    timeout: Option<Instant>,
    /// Whether something that was to be kept in a file is lost.
    is_output_lost: bool,
    /// When the user is told that PEs have outlived an interrupt.
    remind_at: Option<Instant>,
    /// When we stop ourselves, after the PEs.
    stop_at: Option<Instant>,
    /// All PEs have ended; what they have written is still on its way.
    finishing: bool,
    /// When we go although not everything is out, and the status if nothing else decides it.
    leave_at: Option<(Instant, i32)>,
    /// When the last signal was passed on that ends those that do not handle it.
    forwarded_at: Option<Instant>,
    readers: Vec<InputReader>,
    screen: Screen,
    /// Orders from those who carry input and output.
    orders: mpsc::UnboundedReceiver<AgentOrder>,
    order: mpsc::UnboundedSender<AgentOrder>,
    /// Hosts that are not done.
    hosts_left: BTreeSet<u32>,
    /// Displays that hosts have sent, kept until all have.
    maps: BTreeMap<u32, String>,
    /// The question what the PEs do, while hosts owe an answer.
    inquiry: Option<JobQuestion>,
    /// How many such questions there have been.
    inquiries: u32,
    begun: Instant,
    /// The PEs that have left the job before they ended.
    finalized: BTreeSet<u32>,
}

#[derive(Clone, Copy)]
enum EndPhase {
    /// They are about to end by themselves, and are asked to at this time.
    Awaited { ask_at: Instant },
    /// Those that still run are killed at this time.
    Asked { kill_at: Instant },
    /// They have been killed.
    Killed,
}

impl RunningJob {
    fn new(description: Rc<JobDescription>) -> RunningJob {
        let (order, orders) = mpsc::unbounded_channel();
        let size = description.plan.size() as usize;
        let mut hosts = vec![0; size];
        for host in &description.host_pes {
            host.pes.iter().for_each(|&pe| hosts[pe as usize] = host.host);
        }
        let here = description.is_here();
        let host = if here { 0 } else { NO_HOST };
        let mark = format!("{}.{host}", description.mark);
        RunningJob {
            subtree: Subtree::new(Rc::clone(&description), host, mark),
            pes: vec![PeState::Expected; size],
            hosts,
            left: size,
            status: None,
            sentence: None,
            ending: None,
            forwarded: None,
            abort: None,
            aborters: BTreeSet::new(),
            deserter: None,
            timeout: description.plan.timeout.map(|timeout| Instant::now() + timeout),
            is_output_lost: false,
            remind_at: None,
            stop_at: None,
            finishing: false,
            leave_at: None,
            forwarded_at: None,
            readers: Vec::new(),
            screen: Screen::new(order.clone()),
            orders,
            order,
            hosts_left: description.host_pes.iter().map(|host| host.host).chain((!here).then_some(NO_HOST)).collect(),
            maps: BTreeMap::new(),
            inquiry: None,
            inquiries: 0,
            begun: Instant::now(),
            finalized: BTreeSet::new(),
            description,
        }
    }

    /// Sends our input to the PEs elsewhere that read it.
    fn send_input(&mut self) {
        let size = self.pes.len() as u32;
        self.readers = match self.plan().stdin {
            Stdin::None => Vec::new(),
            Stdin::All => (0..size).map(InputReader::new).collect(),
            Stdin::Pe(pe) => vec![InputReader::new(pe)],
        };
        if !self.readers.is_empty() {
            tokio::task::spawn_local(input::send(self.readers.clone(), self.order.clone()));
        }
    }

    fn plan(&self) -> &JobPlan {
        &self.description.plan
    }

    /// The job's whole life: until its last PE has ended, no host has anything left of it, and what PEs wrote is out.
    ///
    /// This is the only place that waits. So signals and deadlines are obeyed whatever the job waits for.
    async fn attend(&mut self, signals: &mut Signals, visitors: &mut ask::Visitors) {
        while !self.is_over() {
            let (ask_at, kill_at) = match self.ending {
                Some(EndPhase::Awaited { ask_at }) => (Some(ask_at), None),
                Some(EndPhase::Asked { kill_at }) => (None, Some(kill_at)),
                _ => (None, None),
            };
            let timeout = self.timeout.filter(|_| self.ending.is_none() || self.finishing);
            let note_at = self.deserter.map(|(_, at)| at);
            let answer_by = self.inquiry.as_ref().map(JobQuestion::answer_by);
            let abort_at = self.abort.filter(|_| self.ending.is_none()).map(|(_, _, at)| at);
            tokio::select! {
                biased;
                wish = signals.next() => self.obey(wish),
                // PEs that write without end shall not keep the time from passing.
                () = at(ask_at), if !self.finishing => self.end(SHORT_GRACE, None),
                () = at(kill_at), if !self.finishing => self.kill(),
                () = at(timeout) => self.time_is_over(),
                () = at(answer_by) => self.answer(),
                () = at(abort_at) => self.aborted(),
                () = at(self.remind_at) => self.remind(),
                () = at(self.stop_at) => self.stop(),
                () = at(self.leave_at.map(|(at, _)| at)) => break,
                () = at(note_at) => self.note_deserter(),
                Some(order) = self.orders.recv() => self.subtree.obey(order),
                Some(visitor) = visitors.recv() => self.ask(ReportReason::Visit(visitor)),
                report = self.subtree.next() => self.take(report),
            }
            if self.left == 0 && !self.finishing {
                self.finish();
            }
        }
        if let Some((_, status)) = self.leave_at.filter(|_| !self.is_over()) {
            self.status.get_or_insert(status);
        }
        if self.is_output_lost && self.status.is_none_or(|status| status == 0) {
            self.status = Some(LOST);
        }
        match (self.screen.lost(), self.status) {
            (None, _) => {}
            (Some(lost), None | Some(0)) => {
                self.status = Some(lost.status());
                self.sentence = Some(format!("{}; exit {}", lost.error(), lost.status()));
            }
            // The job has ended badly, perhaps because of it. That somebody stopped reading needs no words then.
            (Some(lost), Some(_)) if lost.is_unread() => {}
            (Some(lost), Some(_)) => say(&lost.error().to_string()),
        }
    }

    /// All PEs have ended.
    fn finish(&mut self) {
        self.finishing = true;
        self.subtree.obey(AgentOrder::Finish { status: self.status.unwrap_or(0) });
        // A signal that came when the last PE was ending is for us.
        if let Some(signal) = self.forwarded
            && self.forwarded_at.is_some_and(|at| at.elapsed() < AGAIN_AFTER)
        {
            self.leave_at = Some((Instant::now() + LAST_WORDS, 128 + signal));
        }
    }

    /// Whether nothing is left to wait for.
    fn is_over(&self) -> bool {
        self.finishing && self.hosts_left.is_empty() && self.subtree.is_alone() && self.screen.is_empty()
    }

    fn take(&mut self, report: AgentReport) {
        match report {
            AgentReport::Started { pids } => pids.into_iter().for_each(|(pe, pid)| self.started(pe, pid)),
            AgentReport::Map { host, text, only } => self.mapped(host, text, &only),
            AgentReport::Unstartable { pe, status, why, others } => self.unstartable(pe, status, &why, &others),
            AgentReport::Ended { pe, status, stage, shortage } => {
                self.ended(pe, ExitStatus::from_raw(status), stage, shortage);
            }
            AgentReport::Aborted { pe, status } => self.about_to_abort(pe, status),
            AgentReport::Counted => self.aborted(),
            AgentReport::Babbled { pe, why } => {
                let sentence = format!("{} does not speak PMI on PMI_FD: {why}; exit 1", self.named(pe));
                self.fail(1, sentence, SHORT_GRACE);
            }
            // Everybody is in: what was put goes down to all of them.
            AgentReport::Fence { values, last } => self.subtree.obey(AgentOrder::Fenced { values, last }),
            AgentReport::Stuck { waiting } => self.stuck(waiting),
            AgentReport::Output { host, pe, stream, bytes } => self.screen.show(host, Some(pe), stream, bytes),
            AgentReport::Unkept { pe, stream, why } => self.unkept(pe, stream, &why),
            AgentReport::Record { name, offset, bytes } => self.keep(&name, offset, &bytes),
            AgentReport::Taken { pe, bytes } => {
                self.readers.iter().filter(|reader| reader.pe == pe).for_each(|reader| reader.took(bytes));
            }
            AgentReport::Seen { host, question, witnesses } => self.seen(host, question, witnesses),
            AgentReport::Asked { host } => self.ask(ReportReason::Agent(host)),
            AgentReport::Lost { hosts, why } => self.lost(&hosts, &why),
            AgentReport::Done { host } => drop(self.hosts_left.remove(&host)),
            AgentReport::Beat => {}
        }
    }

    fn started(&mut self, pe: u32, pid: u32) {
        self.pes[pe as usize] = PeState::Running { pid };
        if self.plan().verbose {
            let place = self.host_name(pe).map(|name| format!(" on {name}")).unwrap_or_default();
            say(&format!("PE {pe} is pid {pid}{place}"));
        }
        // It missed the signal that ended the others; asking those twice does no harm.
        if self.ending.is_some() {
            self.signal(libc::SIGTERM);
        }
    }

    fn unstartable(&mut self, pe: u32, status: i32, why: &str, others: &[u32]) {
        let place = self.host_name(pe).map(|name| format!(" on host {name}")).unwrap_or_default();
        let sentence = format!("PE {pe} of {} could not be started{place}: {why}", self.pes.len());
        self.forget(pe);
        others.iter().for_each(|&pe| self.forget(pe));
        self.fail(status, sentence, SHORT_GRACE);
    }

    /// Shows the maps of all hosts in their order, once the last one has come.
    fn mapped(&mut self, host: u32, text: String, only: &[u32]) {
        only.iter().for_each(|&pe| self.forget(pe));
        self.maps.insert(host, text);
        if self.maps.len() < self.description.host_pes.len() {
            return;
        }
        let maps: Vec<String> = std::mem::take(&mut self.maps).into_values().collect();
        let all = match self.plan().display {
            Some(Display::Picture) => picture::together(&maps),
            _ => maps.concat(),
        };
        self.screen.show(NO_HOST, None, OutputStream::Stdout, all.into_bytes());
    }

    /// Counts a PE out.
    fn forget(&mut self, pe: u32) {
        let pe = &mut self.pes[pe as usize];
        let pid = match *pe {
            PeState::Expected => None,
            PeState::Running { pid } => Some(pid),
            PeState::Ended { .. } => return,
        };
        *pe = PeState::Ended { pid };
        self.left -= 1;
    }

    /// Hosts that can tell us nothing any more. Whatever runs there ends by itself, because its agent has.
    fn lost(&mut self, hosts: &[u32], why: &str) {
        let name =
            self.description.host_pes.iter().find(|one| one.host == hosts[0]).map_or("", |one| &one.name).to_string();
        let gone: Vec<u32> =
            (0..self.pes.len() as u32).filter(|&pe| hosts.contains(&self.hosts[pe as usize])).collect();
        gone.into_iter().for_each(|pe| self.forget(pe));
        self.hosts_left.retain(|host| !hosts.contains(host));
        let below = match hosts.len() {
            1 => String::new(),
            more => format!(" and {} more behind it", more - 1),
        };
        let others = verdict::stopped(self.running());
        self.fail(1, format!("host {name}{below}: {why}{others}; exit 1"), SHORT_GRACE);
    }

    /// Ends those that did not end when they were asked. Should even this take long, the user knows why.
    fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        self.ending = Some(EndPhase::Killed);
        self.explain();
    }

    /// Sends a signal to every PE that still runs.
    fn signal(&mut self, signal: i32) {
        self.subtree.obey(AgentOrder::Signal { signal, except: None });
    }

    fn explain(&mut self) {
        if let Some(sentence) = self.sentence.take() {
            say(&sentence);
        }
    }

    fn running(&self) -> usize {
        self.pes.iter().filter(|pe| matches!(pe, PeState::Running { .. })).count()
    }

    fn runs(&self, pe: u32) -> bool {
        matches!(self.pes[pe as usize], PeState::Running { .. })
    }

    /// The host of a PE, if there is anything to tell apart.
    fn host_name(&self, pe: u32) -> Option<&str> {
        let host = self.hosts[pe as usize];
        let found = self.description.host_pes.iter().find(|one| one.host == host && !one.name.is_empty());
        found.map(|one| one.name.as_str())
    }

    fn named(&self, pe: u32) -> String {
        let host = self.host_name(pe).map(|name| format!("{name}, ")).unwrap_or_default();
        match self.pes[pe as usize] {
            PeState::Running { pid } | PeState::Ended { pid: Some(pid) } => format!("PE {pe} ({host}pid {pid})"),
            PeState::Expected | PeState::Ended { pid: None } => format!("PE {pe} ({host}not started)"),
        }
    }
}
