//! The operations of lanes that a link has issued and its peer has not completed.

use std::collections::VecDeque;
use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::Account;

use crate::proto::ticket::Ticket;

/// Operations in the order of their tickets.
#[derive(Default)]
pub(crate) struct OperationsUnderWay(VecDeque<SharedTicket>);

/// Operations of one lane that are complete when a ticket is reached.
struct SharedTicket {
    ticket: Ticket,
    account: Arc<Account>,
    count: u64,
}

impl OperationsUnderWay {
    /// Operations of a lane that were issued last. Those that share a frame share a line.
    pub(crate) fn note(&mut self, ticket: Ticket, account: &Arc<Account>, count: u64) {
        match self.0.back_mut() {
            Some(last) if last.ticket == ticket && Arc::ptr_eq(&last.account, account) => last.count += count,
            _ => self.0.push_back(SharedTicket { ticket, account: account.clone(), count }),
        }
    }

    /// Whether none is of these accounts. Where some are, mostly the last one is, which the caller has just issued, or one of the first.
    pub(crate) fn is_idle_for(&self, accounts: &[Arc<Account>]) -> bool {
        let is_theirs = |shared: &SharedTicket| accounts.iter().any(|account| Arc::ptr_eq(account, &shared.account));
        !self.0.back().is_some_and(is_theirs) && !self.0.iter().any(is_theirs)
    }

    /// Completes the operations that the peer has executed and answered.
    pub(crate) fn retire(&mut self, reached: Ticket) {
        while self.0.front().is_some_and(|first| first.ticket.is_complete(reached)) {
            if let Some(SharedTicket { account, count, .. }) = self.0.pop_front() {
                account.complete(count);
            }
        }
    }

    /// None of them will ever complete.
    pub(crate) fn fail(&mut self, error: &Error) {
        for SharedTicket { account, count, .. } in self.0.drain(..) {
            account.fail(error.clone());
            account.complete(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_other_lanes_are_not_waited_for() {
        let [copied, in_place, other]: [Arc<Account>; 3] = Default::default();
        let own = [copied, in_place];
        let mut under_way = OperationsUnderWay::default();
        let issue = |under_way: &mut OperationsUnderWay, frame, account: &Arc<Account>| {
            account.issue(1);
            under_way.note(Ticket { frame, fetch: 0 }, account, 1);
        };
        assert!(under_way.is_idle_for(&own));
        issue(&mut under_way, 1, &other);
        assert!(under_way.is_idle_for(&own));
        issue(&mut under_way, 2, &own[1]);
        issue(&mut under_way, 3, &other);
        assert_eq!([&own[..], &own[..1], &own[1..]].map(|some| under_way.is_idle_for(some)), [false, true, false]);
        under_way.retire(Ticket { frame: 2, fetch: 0 });
        assert!(under_way.is_idle_for(&own) && !under_way.is_idle_for(&[other]));
    }
}
