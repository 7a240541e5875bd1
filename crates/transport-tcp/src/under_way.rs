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
