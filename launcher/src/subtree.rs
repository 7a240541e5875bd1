//! The part of a job from this host downwards: the PEs of this host, and the agents that look after others. Orders go in,
//! reports come out. A question to the job as a whole (a fence, a census) is answered once for all PEs here and below.
//!
//! The launcher is a subtree with the user's wishes on top, an agent is one with a pipe on top.

mod branches;
mod limits;
mod work;

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::rc::Rc;

use oxshmem_bootstrap::pmi1::{Reply, Request};
use oxshmem_os::limits::Kills;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::link::frame::{self, AgentOrder, AgentReport, HostPes, JobDescription};
use crate::link::pulse::Pulse;
use crate::pmi::{JobEffect, PmiServer, PmiStage};
use crate::prepare::Prepared;
use crate::processes::{Outlet, Processes};
use crate::remote::{AgentEvent, RemoteAgent};
use crate::runtime::at;
use crate::signals::SignalWish;
use crate::watch::{Event, counted};
use crate::{guardian, output};
use branches::{branches, depth};

pub(crate) struct Subtree {
    description: Rc<JobDescription>,
    /// This host's number in the job.
    host: u32,
    outlet: Outlet,
    processes: Processes,
    server: PmiServer,
    /// The values that were put before the fence, here and below.
    values: Vec<(String, String)>,
    remotes: Vec<RemoteAgent>,
    /// Whether a PE here or below has ended.
    ended: bool,
    /// The kernel's counts here before our PEs started.
    kills: Kills,
    /// A census, which is answered when these members' ends have been reported, and every remote agent has answered.
    census: Option<Vec<usize>>,
    /// The job is over; what the PEs have written is still on its way.
    finishing: bool,
    ready: VecDeque<AgentReport>,
    events: mpsc::UnboundedReceiver<(usize, Event)>,
    news: mpsc::UnboundedReceiver<(usize, AgentEvent)>,
    tell: mpsc::UnboundedSender<(usize, AgentEvent)>,
    reports: mpsc::UnboundedReceiver<AgentReport>,
    look: Interval,
}

/// The server for PEs that run these programs of the job.
fn server(job: &JobDescription, programs: Vec<u32>) -> PmiServer {
    PmiServer::new(job.space.clone(), programs, job.plan.size(), job.mapping.clone())
}

impl Subtree {
    /// A subtree without PEs, on the host with this number. `mark` is that of the host's processes.
    pub(crate) fn new(description: Rc<JobDescription>, host: u32, mark: String) -> Subtree {
        let outlet = Outlet::new();
        let (to_report, reports) = mpsc::unbounded_channel();
        let (tell, news) = mpsc::unbounded_channel();
        let (happens, events) = mpsc::unbounded_channel();
        let mut look = tokio::time::interval(Pulse::<Instant>::interval(description.plan.places.host_timeout));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Subtree {
            processes: Processes::new(host, mark, outlet.clone(), happens, to_report),
            server: server(&description, Vec::new()),
            description,
            host,
            outlet,
            values: Vec::new(),
            remotes: Vec::new(),
            ended: false,
            kills: Kills::so_far(),
            census: None,
            finishing: false,
            ready: VecDeque::new(),
            events,
            news,
            tell,
            reports,
            look,
        }
    }

    /// Names the guardian of the PEs of this host.
    pub(crate) fn guard_by(&mut self, guardian: Option<&Child>) {
        self.processes.guard_by(guardian.and_then(guardian::ear));
    }

    /// Starts the PEs of this host. After one that cannot be started no other is tried.
    pub(crate) fn start_processes(&mut self, prepared: &Prepared) {
        let programs = prepared.pes().iter().map(|&pe| prepared.program_of(pe)).collect();
        self.server = server(&self.description, programs);
        let mut pids = Vec::with_capacity(prepared.pes().len());
        let mut failed = None;
        for (&pe, i) in prepared.pes().iter().zip(0..) {
            match self.processes.start(prepared, pe) {
                Ok(pid) => pids.push((pe, pid)),
                Err((status, error)) => {
                    let others = prepared.pes()[i + 1..].to_vec();
                    failed = Some(AgentReport::Unstartable { pe, status, why: error.to_string(), others });
                    break;
                }
            }
        }
        self.ready.push_back(AgentReport::Started { pids });
        self.ready.extend(failed);
        self.processes.begin_input();
        self.processes.watch_for_stops();
    }

    pub(crate) fn start_remotes(&mut self, host_pes: &[HostPes]) {
        for group in branches(host_pes) {
            let index = self.remotes.len();
            let tell = self.tell.clone();
            let mut remote = RemoteAgent::start(index, &self.description, group.to_vec(), self.host, tell);
            remote.depth = depth(group);
            self.remotes.push(remote);
        }
    }

    /// Whether every agent has gone.
    pub(crate) fn is_alone(&self) -> bool {
        self.remotes.iter().all(RemoteAgent::is_over)
    }

    /// Returns the next event. The future may be dropped and made again.
    pub(crate) async fn next(&mut self) -> AgentReport {
        loop {
            if let Some(report) = self.ready.pop_front() {
                return report;
            }
            let farewell = self.first_farewell();
            tokio::select! {
                Some((i, event)) = self.events.recv() => self.process_event(i, event),
                Some((index, news)) = self.news.recv() => self.branch_news(index, news),
                Some(report) = self.reports.recv() => self.ready.push_back(report),
                () = self.processes.written(), if self.finishing => self.end(),
                _ = self.look.tick(), if !self.remotes.is_empty() => self.look_at_branches(),
                () = at(farewell) => self.dismiss_branches(),
            }
        }
    }

    /// Carries out an order, here and below.
    pub(crate) fn obey(&mut self, order: AgentOrder) {
        match &order {
            AgentOrder::Input { pe, .. } => self.pass_to(|remote| remote.pes.contains(pe), &order),
            AgentOrder::Written { host, .. } | AgentOrder::Told { host, .. } | AgentOrder::Kept { host } => {
                self.pass_to(|remote| remote.hosts.contains(host), &order);
            }
            AgentOrder::Start(_) | AgentOrder::Beat => {}
            _ => self.pass_to(|_| true, &order),
        }
        match order {
            AgentOrder::Input { pe, bytes } => self.processes.input(pe, bytes),
            AgentOrder::Written { host, stream, bytes } => {
                if host == self.host {
                    output::make_room(self.outlet.room(stream), bytes);
                }
            }
            AgentOrder::Closed { stream } => self.outlet.room(stream).close(),
            AgentOrder::Signal { signal, except } => {
                self.processes.signal(signal, except);
                self.signalled(signal);
            }
            AgentOrder::Fenced { values, last } => {
                self.server.learn(values);
                if last {
                    self.open_fence();
                }
            }
            AgentOrder::Look { question, calls } => self.processes.look(question, calls as usize),
            AgentOrder::Census => self.begin_census(),
            AgentOrder::Finish { status } => {
                let at_large = self.processes.at_large(|i| self.server.stage(i) == PmiStage::Silent);
                let ended = self.processes.sweep(status != 0);
                // A helper of a PE that was in the job may end a moment after its PE. Of a PE that was not, the work may be what is ended.
                if status == 0 && ended > 0 && self.server.has_silent() {
                    self.ready.push_back(AgentReport::Note { text: work::ended_with_job(ended) });
                }
                if status == 0 && ended == 0 && at_large > 0 {
                    self.ready.push_back(AgentReport::Note { text: work::runs_on(at_large) });
                }
                self.finishing = true;
            }
            // The agent of that host has its own PEs' questions and records.
            AgentOrder::Told { .. } | AgentOrder::Kept { .. } | AgentOrder::Start(_) | AgentOrder::Beat => {}
        }
    }

    /// Lets the PEs of this host and the agents below out of the fence.
    fn open_fence(&mut self) {
        for remote in &mut self.remotes {
            remote.fenced = false;
        }
        let (members, is_next_complete) = self.server.open();
        for member in members {
            self.processes.answer(member, &Reply::BarrierOut);
        }
        if is_next_complete {
            self.take_part_in_fence();
        }
    }

    fn begin_census(&mut self) {
        for remote in self.remotes.iter_mut().filter(|remote| remote.greeted && !remote.is_over()) {
            remote.owes_census = true;
        }
        self.census = Some(self.processes.dying());
        self.look_at_census();
    }

    /// Ends everything here at once; agents below notice that their pipes end.
    pub(crate) fn kill(&self) {
        self.processes.kill();
    }

    /// The silence during a stop does not count.
    pub(crate) fn resume(&mut self) {
        let now = Instant::now();
        self.remotes.iter_mut().for_each(|remote| remote.pulse.resume(now));
    }

    fn pass_to(&mut self, whom: impl Fn(&RemoteAgent) -> bool, order: &AgentOrder) {
        // An agent that has not answered yet finds it behind its first order.
        self.remotes.iter_mut().filter(|remote| whom(remote)).for_each(|remote| remote.send(order));
    }

    /// Passes a signal to the PEs on to the agents.
    fn signalled(&mut self, signal: i32) {
        match signal {
            // A stopped agent does not beat.
            libc::SIGTSTP => self.remotes.iter_mut().for_each(|remote| remote.pulse.pause()),
            libc::SIGCONT => self.resume(),
            // Agents that have not answered yet shall not start anything any more.
            _ if SignalWish::is_against_starts(signal) => {
                let silent = self.remotes.iter_mut().filter(|remote| !remote.greeted && !remote.is_over());
                silent.for_each(|remote| remote.give_up("the job ended before it answered".into()));
            }
            _ => {}
        }
    }

    /// Everything that was written here is on its way: nothing more will come.
    fn end(&mut self) {
        self.finishing = false;
        while let Ok(report) = self.reports.try_recv() {
            self.ready.push_back(report);
        }
        self.ready.push_back(AgentReport::Done { host: self.host });
    }

    fn process_event(&mut self, i: usize, event: Event) {
        let pe = self.processes.number(i);
        match event {
            Event::Asked(request) => self.serve(i, request),
            Event::Babbled(why) => self.ready.push_back(AgentReport::Babbled { pe, why }),
            Event::Ended(status) => {
                let (status, note) = counted(pe, status);
                self.ready.extend(note.map(|text| AgentReport::Note { text }));
                self.processes.ended(i);
                self.ended = true;
                self.server.leave_barrier(i);
                let stage = self.server.stage(i);
                let killed = status.signal() == Some(libc::SIGKILL);
                let shortage = if killed { self.kills.since() } else { None };
                self.ready.push_back(AgentReport::Ended { pe, status: status.into_raw(), stage, shortage });
                self.census.iter_mut().for_each(|dying| dying.retain(|&dying| dying != i));
                self.look_at_census();
                self.look_for_stuck_fence();
            }
        }
    }

    fn serve(&mut self, i: usize, request: Request) {
        match self.server.handle(i, request) {
            JobEffect::Answer(reply) => self.processes.answer(i, &reply),
            JobEffect::Nothing => {}
            JobEffect::Wait => self.look_for_stuck_fence(),
            JobEffect::Release => self.take_part_in_fence(),
            JobEffect::Abort(status) => {
                self.ready.push_back(AgentReport::Aborted { pe: self.processes.number(i), status: status & 0xff });
            }
        }
    }

    fn branch_news(&mut self, index: usize, news: AgentEvent) {
        let remote = &mut self.remotes[index];
        remote.pulse.heard(Instant::now());
        match news {
            AgentEvent::Greeted => remote.greeted = true,
            AgentEvent::Over(why) => self.lose_branch(index, why),
            AgentEvent::Report(AgentReport::Beat) => {}
            AgentEvent::Report(AgentReport::Fence { values, last }) => {
                self.values.extend(values);
                remote.fenced = last;
                self.look_at_fence();
            }
            AgentEvent::Report(AgentReport::Counted) => {
                remote.owes_census = false;
                self.look_at_census();
            }
            AgentEvent::Report(report) => self.pass_up(index, report),
        }
    }

    /// An agent has gone, with the hosts that it still looked after.
    fn lose_branch(&mut self, index: usize, why: String) {
        let remote = &mut self.remotes[index];
        let hosts: Vec<u32> = remote.hosts.iter().copied().collect();
        remote.over();
        if hosts.is_empty() {
            // A wait for the end of all agents looks again.
            self.ready.push_back(AgentReport::Beat);
        } else {
            self.ended = true;
            self.ready.push_back(AgentReport::Lost { hosts, why });
        }
        self.look_at_census();
        self.look_for_stuck_fence();
    }

    /// Notes which PEs and hosts a report from below takes away, and passes it on.
    fn pass_up(&mut self, index: usize, report: AgentReport) {
        let remote = &mut self.remotes[index];
        let is_end = matches!(report, AgentReport::Ended { .. });
        match &report {
            AgentReport::Ended { pe, .. } => {
                remote.pes.remove(pe);
                self.ended = true;
            }
            AgentReport::Done { host } => {
                remote.hosts.remove(host);
            }
            AgentReport::Lost { hosts, .. } => {
                remote.hosts.retain(|host| !hosts.contains(host));
                self.ended = true;
            }
            _ => {}
        }
        self.ready.push_back(report);
        self.limit_farewell(index);
        if is_end {
            self.look_for_stuck_fence();
        }
    }

    /// All PEs of this host are in the fence.
    fn take_part_in_fence(&mut self) {
        self.values.extend(self.server.take_news());
        self.look_at_fence();
    }

    /// The fence is complete when all PEs here and below are in it.
    fn look_at_fence(&mut self) {
        let processes = self.processes.is_empty() || self.server.is_complete();
        let mut below = self.remotes.iter();
        if processes && below.all(|remote| remote.fenced) {
            let mut portions = frame::portions(std::mem::take(&mut self.values)).into_iter().peekable();
            while let Some(values) = portions.next() {
                self.ready.push_back(AgentReport::Fence { values, last: portions.peek().is_none() });
            }
        } else {
            self.look_for_stuck_fence();
        }
    }

    /// A fence cannot open any more if a PE has ended that belongs to it.
    fn look_for_stuck_fence(&mut self) {
        let processes = self.server.waiting();
        let below: usize = self.remotes.iter().filter(|remote| remote.fenced).map(|remote| remote.pes.len()).sum();
        if self.ended && processes + below > 0 {
            self.ready.push_back(AgentReport::Stuck { waiting: (processes + below) as u32 });
        }
    }

    fn look_at_census(&mut self) {
        if self.census.as_ref().is_some_and(Vec::is_empty) && self.remotes.iter().all(|remote| !remote.owes_census) {
            self.census = None;
            self.ready.push_back(AgentReport::Counted);
        }
    }
}
