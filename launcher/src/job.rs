//! A running job: one loop over everything that can happen to it, until its last PE has ended.
//!
//! `phase` lists what a job waits for and until when; `agenda` has the other times; `roster` knows PEs and hosts.
//! `outcome` decides the exit status, `requests` has the effect of signals, `inquiry` asks what PEs do, and `keeping`
//! has files and displays.

mod agenda;
mod inquiry;
mod keeping;
mod outcome;
mod phase;
mod requests;
mod roster;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;

use oxshmem_base::Error;
use oxshmem_os::descriptors;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::ask::{self, AnswerForm};
use crate::hosts::allocation;
use crate::input::{self, InputReader};
use crate::job::agenda::{Agenda, Due};
use crate::job::inquiry::{JobQuestion, ReportReason};
use crate::job::outcome::Conclusion;
use crate::job::phase::{Phase, PhaseTurn, SHORT_GRACE};
use crate::job::roster::Roster;
use crate::link::frame::{AgentOrder, AgentReport, JobDescription, NO_HOST};
use crate::plan::{JobPlan, Stdin};
use crate::prepare::Prepared;
use crate::program::{self, Unusable};
use crate::runtime::{self, at};
use crate::screen::Screen;
use crate::signals::Signals;
use crate::subtree::Subtree;
use crate::{guardian, layout, orphans, profile, say, signals, verdict};

/// The exit status of a job that ended well, but whose output, profile or timeline could not be written.
const LOST: i32 = 1;

/// Runs the job and returns the launcher's exit status.
pub fn run(plan: &JobPlan) -> i32 {
    match try_run(plan) {
        Ok(status) => status,
        Err((status, error)) => {
            let error = match plan.hint.as_ref().filter(|_| status == program::NOT_FOUND) {
                Some(hint) => error.fix(hint),
                None => error,
            };
            say(&error.to_string());
            status
        }
    }
}

/// The launcher's exit status, or why the job could not be started.
fn try_run(plan: &JobPlan) -> Result<i32, Unusable> {
    let unable = |error: std::io::Error| {
        let error = Error::new("the launcher cannot start").because(error);
        (1, error.fix("raise the limits of open files and of processes (ulimit -n, ulimit -u), or end other programs"))
    };
    let description = layout::laid_out(plan, guardian::new_mark().map_err(unable)?)?;
    if plan.display.is_some()
        && let Some(status) = layout::map(&description)?
    {
        return Ok(status);
    }
    if plan.dry_run {
        let status = layout::show(&description)?;
        plan.notes.iter().for_each(|note| say(note));
        return Ok(status);
    }
    if let Some(recording) = &plan.recording {
        profile::prepare(recording).map_err(|error| (2, error))?;
    }
    let prepared = description.is_here().then(|| Prepared::new(&description, true)).transpose()?;
    // A program that is not there may have its name from an option before it; then the note would mislead.
    let of_programs = prepared.iter().flat_map(|prepared| &prepared.notes);
    // Hosts that wait belong to one job, although another launcher may have started `oshrun` on each.
    let repeated = match plan.places.waiting {
        None => allocation::repeated(|name| std::env::var(name).ok()),
        Some(_) => None,
    };
    plan.notes.iter().chain(of_programs).chain(&repeated).for_each(|note| say(note));
    prepared.as_ref().map_or(Ok(()), Prepared::check_room)?;
    // A job that cannot start leaves the records of the one before it alone.
    if let Some(recording) = &plan.recording {
        profile::clear(recording);
    }
    let runtime = runtime::runtime().map_err(unable)?;
    let status = LocalSet::new().block_on(&runtime, carry_out(description, prepared));
    // Reports of large records take their time.
    signals::leave_to_system();
    // A thread may still wait for input that no PE wants any more.
    runtime.shutdown_background();
    let is_whole = plan.recording.as_ref().is_none_or(|recording| profile::conclude(recording, status));
    Ok(if status == 0 && !is_whole { LOST } else { status })
}

/// An agent costs four descriptors, and the usual limit is 1024.
const MANY_HOSTS: usize = 200;

/// `prepared`: the PEs are on this machine.
async fn carry_out(description: Rc<JobDescription>, prepared: Option<Prepared>) -> i32 {
    let mut signals = Signals::listen();
    orphans::wait_for_all();
    if description.host_pes.len() > MANY_HOSTS {
        // If this fails the start of an agent will say so.
        let _ = descriptors::raise_limit();
    }
    let mut guard = guardian::post(&description.mark).ok();
    let mut job = RunningJob::new(Rc::clone(&description));
    job.subtree.guard_by(guard.as_ref());
    match &prepared {
        Some(prepared) => {
            if let Some(note) = prepared.crowding() {
                say(&note);
            }
            job.subtree.start_processes(prepared);
        }
        None => {
            job.subtree.start_remotes(&description.host_pes);
            job.send_input();
        }
    }
    let mut visitors = ask::listen(&[AnswerForm::View, AnswerForm::Waits]);
    job.attend(&mut signals, &mut visitors).await;
    let status = job.conclude();
    if let Some(guard) = &mut guard {
        guardian::dismiss(guard);
    }
    status
}

struct RunningJob {
    description: Rc<JobDescription>,
    subtree: Subtree,
    roster: Roster,
    phase: Phase,
    agenda: Agenda,
    conclusion: Conclusion,
    begun: Instant,
    /// The last signal that was passed on to the PEs and ends those that do not handle it, and when.
    forwarded: Option<(i32, Instant)>,
    /// The signal by which the user has ended the job, even if it had failed before.
    ended_by: Option<i32>,
    /// Every PE that has asked to end the job.
    aborters: BTreeSet<u32>,
    /// The first PE that ended well without having left the job.
    deserter: Option<u32>,
    /// The question what the PEs do, while hosts owe an answer.
    inquiry: Option<JobQuestion>,
    /// How many such questions there have been.
    inquiries: u32,
    readers: Vec<InputReader>,
    screen: Screen,
    /// Orders from the tasks that carry input and output.
    orders: mpsc::UnboundedReceiver<AgentOrder>,
    order: mpsc::UnboundedSender<AgentOrder>,
    /// Displays that hosts have sent, kept until all have.
    maps: BTreeMap<u32, String>,
}

impl RunningJob {
    fn new(description: Rc<JobDescription>) -> RunningJob {
        let (order, orders) = mpsc::unbounded_channel();
        let host = if description.is_here() { 0 } else { NO_HOST };
        let mark = format!("{}.{host}", description.mark);
        let begun = Instant::now();
        let mut agenda = Agenda::default();
        if let Some(timeout) = description.plan.timeout {
            agenda.set(Due::Timeout, begun + timeout);
        }
        RunningJob {
            subtree: Subtree::new(Rc::clone(&description), host, mark),
            roster: Roster::new(&description),
            phase: Phase::Running,
            agenda,
            conclusion: Conclusion::default(),
            begun,
            forwarded: None,
            ended_by: None,
            aborters: BTreeSet::new(),
            deserter: None,
            inquiry: None,
            inquiries: 0,
            readers: Vec::new(),
            screen: Screen::new(order.clone()),
            orders,
            order,
            maps: BTreeMap::new(),
            description,
        }
    }

    /// Sends our input to the PEs elsewhere that read it.
    fn send_input(&mut self) {
        self.readers = match self.plan().stdin {
            Stdin::None => Vec::new(),
            Stdin::All => (0..self.roster.size()).map(InputReader::new).collect(),
            Stdin::Pe(pe) => vec![InputReader::new(pe)],
        };
        if !self.readers.is_empty() {
            tokio::task::spawn_local(input::send(self.readers.clone(), self.order.clone()));
        }
    }

    /// A PE on another host has taken this many bytes of its input; 0: it wants no more.
    fn taken(&self, pe: u32, bytes: u32) {
        self.readers.iter().filter(|reader| reader.pe == pe).for_each(|reader| reader.took(bytes));
    }

    fn plan(&self) -> &JobPlan {
        &self.description.plan
    }

    /// The job's whole life: until its last PE has ended, no host has anything left of it, and what PEs wrote is out.
    ///
    /// This is the only place that waits. So signals and deadlines are obeyed whatever the job waits for.
    async fn attend(&mut self, signals: &mut Signals, visitors: &mut ask::Visitors) {
        while !self.is_over() {
            let next = self.next_due();
            tokio::select! {
                biased;
                wish = signals.next() => self.obey(wish),
                // This comes before reports: PEs that write without end must not delay a deadline.
                () = at(next.map(|(at, _)| at)) => match next {
                    Some((_, Due::Phase)) if self.phase.is_draining() => return,
                    Some((_, due)) => self.act_on(due),
                    None => {}
                },
                Some(order) = self.orders.recv() => self.subtree.obey(order),
                Some(visitor) = visitors.recv() => self.ask(ReportReason::Visit(visitor)),
                report = self.subtree.next() => self.take(report),
            }
            if self.roster.is_empty() && self.turn(PhaseTurn::Empty) {
                self.finish();
            }
        }
    }

    /// The event that comes next if nothing else happens.
    fn next_due(&self) -> Option<(Instant, Due)> {
        let phase = self.phase.until().map(|at| (at, Due::Phase));
        // PEs that are to end have a limit of their own. A census of PEs that have all ended is answered soon.
        let limited = self.phase.is_draining() || self.phase.is_open() && !self.roster.is_empty();
        let other = self.agenda.first(|due| due != Due::Timeout || limited);
        phase.into_iter().chain(other).min()
    }

    /// Carries out the event whose time has come.
    fn act_on(&mut self, due: Due) {
        self.agenda.cancel(due);
        match due {
            Due::Phase => self.phase_is_over(),
            Due::Timeout => self.time_is_over(),
            Due::Answer => self.answer(),
            Due::Remind => self.remind(),
            Due::Stop => self.stop(),
            Due::Note => self.note_deserter(),
        }
    }

    /// The phase has lasted as long as it may.
    fn phase_is_over(&mut self) {
        match self.phase {
            Phase::Counted { pe, status, .. } => self.aborted(pe, status),
            Phase::Lingering { .. } => self.end(SHORT_GRACE, None),
            Phase::Asked { .. } => self.kill(),
            // These phases have no end in time, or the job ends with them.
            Phase::Running | Phase::Killed | Phase::Draining { .. } => {}
        }
    }

    /// Goes on to the next phase. Returns false if the turn changes nothing now.
    fn turn(&mut self, turn: PhaseTurn) -> bool {
        let next = self.phase.after(turn);
        self.phase = next.unwrap_or(self.phase);
        next.is_some()
    }

    /// Whether nothing is left to wait for.
    fn is_over(&self) -> bool {
        let here = self.subtree.is_alone() && self.screen.is_empty();
        self.phase.is_draining() && self.roster.hosts_left.is_empty() && here
    }

    fn take(&mut self, report: AgentReport) {
        match report {
            AgentReport::Started { pids } => self.started(&pids),
            AgentReport::Note { text } => say(&text),
            AgentReport::Map { host, text, only } => self.mapped(host, text, &only),
            AgentReport::Unstartable { pe, status, why, others } => self.unstartable(pe, status, &why, &others),
            AgentReport::Ended { pe, status, stage, shortage } => {
                // The other readers of the same input do not wait for it.
                self.taken(pe, 0);
                self.ended(pe, ExitStatus::from_raw(status), stage, shortage);
            }
            AgentReport::Aborted { pe, status } => self.about_to_abort(pe, status),
            AgentReport::Counted => self.counted(),
            AgentReport::Babbled { pe, why } => {
                let sentence = format!("{} does not speak PMI on PMI_FD: {why}; exit 1", self.roster.named(pe));
                self.fail(1, sentence, SHORT_GRACE);
            }
            // All PEs are in the fence: the values go down to all hosts.
            AgentReport::Fence { values, last } => self.subtree.obey(AgentOrder::Fenced { values, last }),
            AgentReport::Stuck { waiting } => self.stuck(waiting),
            AgentReport::Output { host, pe, stream, bytes } => self.screen.show(host, Some(pe), stream, bytes),
            AgentReport::Unkept { pe, stream, why } => self.unkept(pe, stream, &why),
            AgentReport::Record { host, name, offset, bytes } => {
                self.keep(&name, offset, &bytes);
                self.subtree.obey(AgentOrder::Kept { host });
            }
            AgentReport::Taken { pe, bytes } => self.taken(pe, bytes),
            AgentReport::Seen { host, question, witnesses } => self.seen(host, question, witnesses),
            AgentReport::Asked { host } => self.ask(ReportReason::Agent(host)),
            AgentReport::Lost { hosts, why } => self.lost(&hosts, &why),
            AgentReport::Done { host } => drop(self.roster.hosts_left.remove(&host)),
            AgentReport::Beat => {}
        }
    }

    fn started(&mut self, pids: &[(u32, u32)]) {
        for &(pe, pid) in pids {
            self.roster.started(pe, pid);
            if self.plan().verbose {
                say(&format!("PE {pe} is pid {pid}{}", self.roster.placed(pe, " on ")));
            }
        }
        // These PEs missed the signal that ended the others. A second one does no harm to those, but one signal for
        // each of thousands of reports takes long.
        if self.phase.is_ending() {
            self.signal(libc::SIGTERM);
        }
    }

    fn unstartable(&mut self, pe: u32, status: i32, why: &str, others: &[u32]) {
        let (size, place) = (self.roster.size(), self.roster.placed(pe, " on host "));
        let sentence = format!("PE {pe} of {size} could not be started{place}: {why}");
        self.roster.give_up([pe].iter().chain(others).copied());
        self.fail_to_run(status, sentence, false);
    }

    /// Hosts that can report nothing any more. Their PEs end by themselves, because the agent has ended.
    fn lost(&mut self, hosts: &[u32], why: &str) {
        let is_unstarted = self.roster.is_unstarted(hosts);
        let name = self.roster.forget_hosts(hosts);
        let below = match hosts.len() {
            1 => String::new(),
            more => format!(" and {} more behind it", more - 1),
        };
        let others = verdict::stopped(self.roster.running());
        self.fail_to_run(1, format!("host {name}{below}: {why}{others}; exit 1"), is_unstarted);
    }

    /// Sends a signal to every PE that still runs.
    fn signal(&mut self, signal: i32) {
        self.subtree.obey(AgentOrder::Signal { signal, except: None });
    }
}
