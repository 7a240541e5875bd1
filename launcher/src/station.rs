//! A place of a job: the PEs of this host, and the agents that look after others. Orders go in, reports come out; what
//! is one question to the job as a whole (a fence, a census) is answered once for everybody here and below.
//!
//! The launcher is a station with the user's wishes on top, an agent is one with a pipe on top.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::rc::Rc;

use oxshmem_bootstrap::pmi1::{Reply, Request};
use oxshmem_os::limits::Kills;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::branch::{Branch, News};
use crate::crew::{Crew, Outlet, raw};
use crate::link::frame::{self, Order, Post, Report, Seat};
use crate::link::pulse::{Need, Pulse};
use crate::output;
use crate::pmi::{Outcome, Server};
use crate::prepare::Prepared;
use crate::watch::Event;

/// How many agents one place looks after itself; beyond that some of them look after others.
const FAN_OUT: usize = 32;

pub(crate) struct Station {
    post: Rc<Post>,
    /// This host's number in the job.
    host: u32,
    outlet: Outlet,
    crew: Crew,
    server: Server,
    /// All PEs of the crew are in the fence.
    crew_fenced: bool,
    /// The values that were put before the fence, here and below.
    values: Vec<(String, String)>,
    branches: Vec<Branch>,
    /// Whether a PE here or below has ended.
    ended: bool,
    /// The kernel's counts here before our PEs started.
    kills: Kills,
    census: Option<Census>,
    /// The job is over; what the PEs have written is still on its way.
    finishing: bool,
    ready: VecDeque<Report>,
    events: mpsc::UnboundedReceiver<(usize, Event)>,
    news: mpsc::UnboundedReceiver<(usize, News)>,
    tell: mpsc::UnboundedSender<(usize, News)>,
    side: mpsc::UnboundedReceiver<Report>,
    look: Interval,
}

/// A question that is answered when these members' ends have been reported, and every branch has answered.
struct Census {
    dying: Vec<usize>,
}

impl Station {
    /// A place with nobody in it, on the host with this number. `mark` is that of the host's processes.
    pub(crate) fn new(post: Rc<Post>, host: u32, mark: String) -> Station {
        let outlet = Outlet::new();
        let (reports, side) = mpsc::unbounded_channel();
        let (tell, news) = mpsc::unbounded_channel();
        let (happens, events) = mpsc::unbounded_channel();
        let mut look = tokio::time::interval(Pulse::<Instant>::interval(post.plan.places.host_timeout));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Station {
            crew: Crew::new(host, mark, outlet.clone(), happens, reports),
            server: Server::new(post.space.clone(), Vec::new(), post.plan.size(), post.mapping.clone()),
            post,
            host,
            outlet,
            crew_fenced: false,
            values: Vec::new(),
            branches: Vec::new(),
            ended: false,
            kills: Kills::so_far(),
            census: None,
            finishing: false,
            ready: VecDeque::new(),
            events,
            news,
            tell,
            side,
            look,
        }
    }

    /// Starts the PEs of this host. After one that cannot be started no other is tried.
    pub(crate) fn start_crew(&mut self, prepared: &Prepared) {
        let (space, size) = (self.post.space.clone(), self.post.plan.size());
        self.server = Server::new(space, prepared.apps_here(), size, self.post.mapping.clone());
        let mut pids = Vec::with_capacity(prepared.pes().len());
        let mut failed = None;
        for (&pe, i) in prepared.pes().iter().zip(0..) {
            match self.crew.start(prepared, pe) {
                Ok(pid) => pids.push((pe, pid)),
                Err((status, error)) => {
                    let others = prepared.pes()[i + 1..].to_vec();
                    failed = Some(Report::Unstartable { pe, status, why: error.to_string(), others });
                    break;
                }
            }
        }
        self.ready.push_back(Report::Started { pids });
        self.ready.extend(failed);
        self.crew.begin_input();
    }

    /// Starts agents for these seats.
    pub(crate) fn start_branches(&mut self, seats: &[Seat]) {
        for group in groups(seats) {
            let index = self.branches.len();
            self.branches.push(Branch::start(index, &self.post, group.to_vec(), self.tell.clone()));
        }
    }

    /// Whether every agent has gone.
    pub(crate) fn is_alone(&self) -> bool {
        self.branches.iter().all(Branch::is_over)
    }

    /// Returns the next event. The future may be dropped and made again.
    pub(crate) async fn next(&mut self) -> Report {
        loop {
            if let Some(report) = self.ready.pop_front() {
                return report;
            }
            tokio::select! {
                Some((i, event)) = self.events.recv() => self.crew_event(i, event),
                Some((index, news)) = self.news.recv() => self.branch_news(index, news),
                Some(report) = self.side.recv() => self.ready.push_back(report),
                () = self.crew.written(), if self.finishing => self.is_clean(),
                _ = self.look.tick(), if !self.branches.is_empty() => self.look_at_branches(),
            }
        }
    }

    /// Carries out an order, here and below.
    pub(crate) fn obey(&mut self, order: Order) {
        match &order {
            Order::Input { pe, .. } => self.pass_to(|branch| branch.pes.contains(pe), &order),
            Order::Written { host, .. } => self.pass_to(|branch| branch.hosts.contains(host), &order),
            Order::Start(_) | Order::Beat => {}
            _ => self.pass_to(|_| true, &order),
        }
        match order {
            Order::Input { pe, bytes } => self.crew.input(pe, bytes),
            Order::Written { host, stream, bytes } => {
                if host == self.host {
                    output::make_room(self.outlet.room(stream), bytes);
                }
            }
            Order::Closed { stream } => self.outlet.room(stream).close(),
            Order::Signal { signal, except } => {
                self.crew.signal(signal, except);
                self.signalled(signal);
            }
            Order::Fenced { values, last } => {
                self.server.learn(values);
                if last {
                    self.crew_fenced = false;
                    self.branches.iter_mut().for_each(|branch| branch.fenced = false);
                    self.crew.answer_all(&Reply::BarrierOut);
                }
            }
            Order::Census => {
                let asked = self.branches.iter_mut().filter(|branch| branch.greeted && !branch.is_over());
                asked.for_each(|branch| branch.counts = true);
                self.census = Some(Census { dying: self.crew.dying() });
                self.look_at_census();
            }
            Order::Finish { failed } => {
                self.crew.sweep(failed);
                self.finishing = true;
            }
            Order::Start(_) | Order::Beat => {}
        }
    }

    /// Ends everything here at once; agents below notice that their pipes end.
    pub(crate) fn kill(&self) {
        self.crew.kill();
    }

    /// After a stop nobody's silence counts.
    pub(crate) fn resume(&mut self) {
        let now = Instant::now();
        self.branches.iter_mut().for_each(|branch| branch.pulse.resume(now));
    }

    fn pass_to(&mut self, whom: impl Fn(&Branch) -> bool, order: &Order) {
        // An agent that has not answered yet finds it behind its first order.
        self.branches.iter_mut().filter(|branch| whom(branch)).for_each(|branch| branch.send(order));
    }

    /// Passes a signal to the PEs on to the agents.
    fn signalled(&mut self, signal: i32) {
        match signal {
            // A stopped agent does not beat.
            libc::SIGTSTP => self.branches.iter_mut().for_each(|branch| branch.pulse.pause()),
            libc::SIGCONT => self.resume(),
            // Agents that have not answered yet shall not start anything any more.
            libc::SIGTERM | libc::SIGKILL | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT => {
                let silent = self.branches.iter_mut().filter(|branch| !branch.greeted && !branch.is_over());
                silent.for_each(|branch| branch.give_up("the job ended before it answered".into()));
            }
            _ => {}
        }
    }

    /// Everything that was written here is on its way: nothing more will come.
    fn is_clean(&mut self) {
        self.finishing = false;
        while let Ok(report) = self.side.try_recv() {
            self.ready.push_back(report);
        }
        self.ready.push_back(Report::Done { host: self.host });
    }

    fn crew_event(&mut self, i: usize, event: Event) {
        let pe = self.crew.number(i);
        match event {
            Event::Asked(request) => self.serve(i, request),
            Event::Babbled(why) => self.ready.push_back(Report::Babbled { pe, why }),
            Event::Ended(status) => {
                self.crew.ended(i);
                self.ended = true;
                self.server.leave_barrier(i);
                let stage = self.server.stage(i);
                let killed = status.signal() == Some(libc::SIGKILL);
                let shortage = if killed { self.kills.since() } else { None };
                self.ready.push_back(Report::Ended { pe, status: raw(status), stage, shortage });
                if let Some(census) = &mut self.census {
                    census.dying.retain(|&dying| dying != i);
                }
                self.look_at_census();
                self.look_for_stuck_fence();
            }
        }
    }

    fn serve(&mut self, i: usize, request: Request) {
        match self.server.handle(i, request) {
            Outcome::Answer(reply) => self.crew.answer(i, &reply),
            Outcome::Wait => self.look_for_stuck_fence(),
            Outcome::Release => {
                self.crew_fenced = true;
                self.values.extend(self.server.take_news());
                self.look_at_fence();
            }
            Outcome::Abort(status) => {
                self.ready.push_back(Report::Aborted { pe: self.crew.number(i), status: status & 0xff });
            }
        }
    }

    fn branch_news(&mut self, index: usize, news: News) {
        let branch = &mut self.branches[index];
        branch.pulse.heard(Instant::now());
        match news {
            News::Greeted => branch.greeted = true,
            News::Over(why) => {
                let hosts: Vec<u32> = branch.hosts.iter().copied().collect();
                branch.over();
                self.ended |= !hosts.is_empty();
                self.ready.push_back(match hosts.is_empty() {
                    // A wait for the end of all agents looks again.
                    true => Report::Beat,
                    false => Report::Lost { hosts, why },
                });
                self.look_at_census();
                self.look_for_stuck_fence();
            }
            News::Report(Report::Beat) => {}
            News::Report(Report::Fence { values, last }) => {
                self.values.extend(values);
                branch.fenced = last;
                self.look_at_fence();
            }
            News::Report(Report::Counted) => {
                branch.counts = false;
                self.look_at_census();
            }
            News::Report(report) => {
                match &report {
                    Report::Ended { pe, .. } => {
                        branch.pes.remove(pe);
                        self.ended = true;
                    }
                    Report::Done { host } => drop(branch.hosts.remove(host)),
                    Report::Lost { hosts, .. } => {
                        branch.hosts.retain(|host| !hosts.contains(host));
                        self.ended = true;
                    }
                    _ => {}
                }
                let ended = matches!(report, Report::Ended { .. });
                self.ready.push_back(report);
                if ended {
                    self.look_for_stuck_fence();
                }
            }
        }
    }

    /// The fence is complete when everybody here and below is in it.
    fn look_at_fence(&mut self) {
        let crew = self.crew.is_empty() || self.crew_fenced;
        let mut below = self.branches.iter();
        if crew && below.all(|branch| branch.fenced) {
            let mut portions = frame::portions(std::mem::take(&mut self.values)).into_iter().peekable();
            while let Some(values) = portions.next() {
                self.ready.push_back(Report::Fence { values, last: portions.peek().is_none() });
            }
        } else {
            self.look_for_stuck_fence();
        }
    }

    /// A fence cannot open any more if a PE has ended that belongs to it.
    fn look_for_stuck_fence(&mut self) {
        let crew = if self.crew_fenced { self.crew.running() } else { self.server.waiting() };
        let below: usize = self.branches.iter().filter(|branch| branch.fenced).map(|branch| branch.pes.len()).sum();
        if self.ended && crew + below > 0 {
            self.ready.push_back(Report::Stuck { waiting: (crew + below) as u32 });
        }
    }

    fn look_at_census(&mut self) {
        let answered = |census: &Census| census.dying.is_empty() && self.branches.iter().all(|branch| !branch.counts);
        if self.census.as_ref().is_some_and(answered) {
            self.census = None;
            self.ready.push_back(Report::Counted);
        }
    }

    fn look_at_branches(&mut self) {
        let now = Instant::now();
        let limit = self.post.plan.places.host_timeout;
        for branch in self.branches.iter_mut().filter(|branch| !branch.is_over()) {
            match branch.pulse.need(now) {
                Need::GiveUp if branch.greeted => branch.give_up(format!("nothing has come from it for {limit:?}")),
                Need::GiveUp => branch.give_up(format!(
                    "the remote shell has neither answered nor failed within {limit:?} (--host-timeout)"
                )),
                Need::Beat if branch.greeted => branch.send(&Order::Beat),
                Need::Beat | Need::Nothing => {}
            }
        }
    }
}

/// Seats in at most as many groups as one place can look after, as even as can be.
fn groups(seats: &[Seat]) -> Vec<&[Seat]> {
    let count = seats.len().min(FAN_OUT);
    let cut = |i: usize| i * seats.len() / count.max(1);
    (0..count).map(|i| &seats[cut(i)..cut(i + 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn depth(seats: &[Seat]) -> usize {
        match seats {
            [] => 0,
            [_, below @ ..] => 1 + groups(below).into_iter().map(depth).max().unwrap_or(0),
        }
    }

    proptest! {
        #[test]
        fn a_tree_reaches_every_host_once(hosts in 0u32..3000) {
            let seats: Vec<Seat> = (0..hosts).map(|host| Seat { host, name: String::new(), pes: vec![] }).collect();
            let groups = groups(&seats);
            prop_assert!(groups.len() <= FAN_OUT && groups.iter().all(|group| !group.is_empty()));
            prop_assert_eq!(&groups.concat(), &seats);
            prop_assert!(groups.into_iter().map(depth).max().unwrap_or(0) <= 3);
        }
    }
}
