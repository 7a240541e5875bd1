//! An agent: the part of a launcher on another host. It is the same program. Its standard input and output are the pipe
//! to the process that started it. When that pipe ends, the agent ends everything here.

use std::path::PathBuf;
use std::process::Child;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::ask::{self, AnswerForm, Visitor};
use crate::link::frame::{self, AgentOrder, AgentReport, JobDescription};
pub use crate::link::greeting::{ARGUMENT, WITH_STATUS};
use crate::link::pulse::{Need, Pulse};
use crate::link::{child, greeting};
use crate::plan::JobPlan;
use crate::prepare::Prepared;
use crate::profile::gathering;
use crate::subtree::Subtree;
use crate::{guardian, runtime, say};

/// The status of an agent whose pipe ended before its work.
const ORPHANED: i32 = 1;
/// How long the last reports may take on their way.
const FAREWELL: Duration = Duration::from_secs(5);

/// The agent's whole life; its exit status, which is that of the job if `tells` says so.
pub fn serve(tells: bool) -> i32 {
    let runtime = match runtime::runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("the agent cannot start: {error}"));
            return ORPHANED;
        }
    };
    let status = LocalSet::new().block_on(&runtime, live());
    // A thread may still wait for orders.
    runtime.shutdown_background();
    match status {
        Ok(_) if !tells => 0,
        Ok(status) | Err(status) => status,
    }
}

/// The status of the job, or that of an agent whose work is unfinished.
async fn live() -> Result<i32, i32> {
    let (reports, to_write) = mpsc::unbounded_channel::<Vec<u8>>();
    let writer = tokio::task::spawn_local(child::send(tokio::io::stdout(), greeting::line().into_bytes(), to_write));
    let (tell, mut orders) = mpsc::unbounded_channel();
    tokio::task::spawn_local(read(tell));
    let description = match orders.recv().await {
        Some(AgentOrder::Start(description)) => Rc::new(*description),
        _ => return Err(ORPHANED),
    };
    let mark = format!("{}.{}", description.mark, description.host_pes[0].host);
    // Without a guardian the PEs still end with the agent. Only processes that they started may stay.
    let mut guard = guardian::post(&mark).ok();
    let mut pipe = Pipe { reports, pulse: Pulse::new(description.plan.places.host_timeout, Instant::now()) };
    let status = attend(&description, mark, guard.as_ref(), &mut orders, &mut pipe).await;
    drop(pipe);
    // A reader that takes longer does not read any more.
    let _ = tokio::time::timeout(FAREWELL, writer).await;
    if description.plan.recording.is_some() {
        // The folder is there only if the launcher has gone.
        let _ = std::fs::remove_dir_all(gathering::folder(&description.mark, description.host_pes[0].host));
    }
    if let Some(guard) = &mut guard {
        guardian::dismiss(guard);
    }
    status
}

/// Starts what is to be started and carries orders and reports until nothing is left to do.
async fn attend(
    description: &Rc<JobDescription>,
    mark: String,
    guard: Option<&Child>,
    orders: &mut mpsc::UnboundedReceiver<AgentOrder>,
    pipe: &mut Pipe,
) -> Result<i32, i32> {
    let host = description.host_pes[0].host;
    let records = description.plan.recording.as_ref().map(|_| gathering::folder(&description.mark, host));
    let (room, (tell, mut sent)) = (gathering::room(), mpsc::unbounded_channel());
    let mut subtree = Subtree::new(Rc::clone(description), host, mark);
    subtree.guard_by(guard);
    subtree.start_remotes(&description.host_pes[1..]);
    start_here(description, &mut subtree, pipe);
    let mut look = tokio::time::interval(Pulse::<Instant>::interval(description.plan.places.host_timeout));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut visitors, mut asking) = (ask::listen(&[AnswerForm::Waits]), Vec::<Visitor>::new());
    let (mut is_done, mut outcome) = (false, 0);
    while !(is_done && subtree.is_alone()) {
        tokio::select! {
            biased;
            order = orders.recv() => {
                let Some(order) = order else {
                    subtree.kill();
                    return Err(ORPHANED);
                };
                pipe.heard(&order);
                match &order {
                    AgentOrder::Told { host: to, text } if *to == host => {
                        asking.drain(..).for_each(|visitor| visitor.tell(text.clone().into_bytes()));
                    }
                    AgentOrder::Kept { host: to } if *to == host => room.add_permits(1),
                    AgentOrder::Finish { status } => outcome = *status,
                    _ => {}
                }
                subtree.obey(order);
            }
            _ = look.tick() => match pipe.pulse.need(Instant::now()) {
                Need::GiveUp => {
                    subtree.kill();
                    // The launcher reads it if it goes on.
                    say(&silence(description.plan.places.host_timeout));
                    return Err(ORPHANED);
                }
                Need::Beat => pipe.send(&AgentReport::Beat),
                Need::Nothing => {}
            },
            Some(visitor) = visitors.recv() => {
                asking.push(visitor);
                pipe.send(&AgentReport::Asked { host });
            }
            Some(report) = sent.recv() => {
                is_done |= report == (AgentReport::Done { host });
                pipe.send(&report);
            }
            report = subtree.next() => match &records {
                // Nothing is left of the job here once its records are with the launcher, which may take long.
                Some(records) if report == (AgentReport::Done { host }) => {
                    let (records, room, tell) = (records.clone(), Rc::clone(&room), tell.clone());
                    tokio::task::spawn_local(async move {
                        gathering::send(&records, host, &room, &tell).await;
                        // Without a receiver the job is over.
                        let _ = tell.send(report);
                    });
                }
                _ => {
                    is_done |= report == (AgentReport::Done { host });
                    pipe.send(&report);
                }
            },
        }
    }
    Ok(outcome)
}

/// Why an agent gives up a launcher.
fn silence(limit: Duration) -> String {
    format!(
        "nothing has come from oshrun for {limit:?} (--host-timeout), so this host's PEs were ended: was oshrun stopped (SIGSTOP, \
         a debugger, output of a background job to a terminal with `stty tostop`)?"
    )
}

/// Starts the PEs of this host, unless only their map is wanted, or reports why they cannot be started.
fn start_here(description: &Rc<JobDescription>, subtree: &mut Subtree, pipe: &mut Pipe) {
    let own = &description.host_pes[0];
    let prepared = match prepare(description) {
        Ok(prepared) => prepared,
        Err((status, error)) => {
            let (first, others) = (own.pes[0], own.pes[1..].to_vec());
            pipe.send(&AgentReport::Unstartable { pe: first, status, why: error.to_string(), others });
            return;
        }
    };
    let starts = !prepared.is_only_shown();
    for text in &prepared.notes {
        pipe.send(&AgentReport::Note { text: text.clone() });
    }
    if let Some(text) = prepared.crowding().filter(|_| starts) {
        pipe.send(&AgentReport::Note { text });
    }
    if let Some(text) = prepared.map() {
        let only = if starts { Vec::new() } else { own.pes.clone() };
        pipe.send(&AgentReport::Map { host: own.host, text, only });
    }
    if starts {
        subtree.start_processes(&prepared);
    }
}

/// Goes where the launcher is, finds the programs, and makes sure that the limits of this host leave room for its PEs.
fn prepare(description: &Rc<JobDescription>) -> Result<Prepared, crate::program::Unusable> {
    if let Err(error) = std::env::set_current_dir(&description.folder)
        && needs_folder(&description.plan)
    {
        let error = oxshmem_base::Error::new(format!("cannot run in {}", description.folder.display()))
            .because(error)
            .fix("start the job in a directory that all hosts have, or name one by its whole path: --wdir /DIR");
        return Err((2, error));
    }
    let prepared = Prepared::new(description, false)?;
    prepared.check_room()?;
    Ok(prepared)
}

/// Whether a path of the job begins in the launcher's folder.
fn needs_folder(plan: &JobPlan) -> bool {
    let is_whole = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.is_absolute());
    plan.output_dir.as_ref().is_some_and(|folder| folder.is_relative())
        || !plan.programs.iter().all(|program| is_whole(&program.wdir))
}

/// The way up.
struct Pipe {
    reports: mpsc::UnboundedSender<Vec<u8>>,
    pulse: Pulse<Instant>,
}

impl Pipe {
    fn send(&mut self, report: &AgentReport) {
        // If the writer has gone, the orders end too, and the agent sees that.
        let _ = self.reports.send(frame::encode(report));
        self.pulse.spoke(Instant::now());
    }

    fn heard(&mut self, order: &AgentOrder) {
        self.pulse.heard(Instant::now());
        match order {
            // A launcher that is stopped says nothing. Until it stops, a moment later, it still gives other orders.
            AgentOrder::Signal { signal: libc::SIGTSTP, .. } => self.pulse.pause(),
            AgentOrder::Signal { signal: libc::SIGCONT, .. } => self.pulse.resume(Instant::now()),
            _ => {}
        }
    }
}

async fn read(orders: mpsc::UnboundedSender<AgentOrder>) {
    if let Err(why) = child::listen(tokio::io::stdin(), &[], |order| drop(orders.send(order))).await {
        say(&format!("the agent does not understand its orders: {why}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_that_stops_is_not_lost_whatever_it_says_before_it_stops() {
        let signal = |signal| AgentOrder::Signal { signal, except: None };
        let limit = Duration::from_secs(8);
        let (reports, _frames) = mpsc::unbounded_channel();
        let mut pipe = Pipe { reports, pulse: Pulse::new(limit, Instant::now()) };
        let gives_up_later = |pipe: &mut Pipe| {
            let now = Instant::now();
            (1..=80_u32).any(|look| pipe.pulse.need(now + look * limit / 8) == Need::GiveUp)
        };
        pipe.heard(&signal(libc::SIGTSTP));
        pipe.heard(&AgentOrder::Beat);
        assert!(!gives_up_later(&mut pipe));
        pipe.heard(&signal(libc::SIGCONT));
        assert!(gives_up_later(&mut pipe));
    }
}
