//! How long an agent below may take: to say anything, and to go when everything is done.

use std::time::Duration;

use tokio::time::Instant;

use super::Subtree;
use crate::link::frame::AgentOrder;
use crate::link::pulse::Need;

/// How long an agent without others below it may take to go when its host is done.
const FAREWELL: Duration = Duration::from_secs(2);

impl Subtree {
    /// Gives up agents that have said nothing for too long, and lets others know that we are here.
    pub(super) fn look_at_branches(&mut self) {
        let now = Instant::now();
        let limit = self.description.plan.places.host_timeout;
        let waits = self.description.plan.places.waiting.is_some();
        for remote in self.remotes.iter_mut().filter(|remote| !remote.is_over()) {
            match remote.pulse.need(now) {
                // The way to an agent that waits has a limit of its own.
                Need::GiveUp if !remote.greeted && waits => {}
                Need::GiveUp if remote.greeted => remote.give_up(format!("nothing has come from it for {limit:?}")),
                Need::GiveUp => remote.give_up(format!(
                    "the remote shell has neither answered nor failed within {limit:?} (--host-timeout)"
                )),
                Need::Beat if remote.greeted => remote.send(&AgentOrder::Beat),
                Need::Beat | Need::Nothing => {}
            }
        }
    }

    /// Limits the farewell of an agent that has no host left.
    ///
    /// The last report of a host is that it is done, so nothing is missing then. The pipe may still be open for ever: what a login script has
    /// started in the background holds it as long as it runs. An agent may have to give up others first, and would leave their remote
    /// shells behind if it were ended meanwhile. So its limit is longer by one for each level below.
    pub(super) fn limit_farewell(&mut self, index: usize) {
        let remote = &mut self.remotes[index];
        // Between us and an agent that waits there is no shell, and it ends with the job's status only if it goes by itself.
        if remote.hosts.is_empty() && self.description.plan.places.waiting.is_none() {
            remote.farewell.get_or_insert(Instant::now() + remote.depth * FAREWELL);
        }
    }

    /// When the next agent has taken too long to go.
    pub(super) fn first_farewell(&self) -> Option<Instant> {
        self.remotes.iter().filter_map(|remote| remote.farewell).min()
    }

    /// Ends the remote shells of the agents that have taken too long to go. No host is lost with them.
    pub(super) fn dismiss_branches(&mut self) {
        let now = Instant::now();
        for remote in self.remotes.iter_mut().filter(|remote| remote.farewell.is_some_and(|at| at <= now)) {
            remote.farewell = None;
            remote.give_up("all of its hosts are done".into());
        }
    }
}
