//! Moves connections on: by callers that wait, and by the thread ([`Drive`]). Each side has its own view of the sockets.

use std::time::Duration;

use oxshmem_os::sockets::PollEntry;
use oxshmem_transport::progress_thread::{Callers, Drive, NextStep, sleep_until_ready};

use crate::limits::{FEW_LINKS, LOOK_AROUND};
use crate::link::ServingThread;
use crate::net::Net;
use crate::watch::{FIRST_PENDING, LISTENER, Poller, ThreadPoller};

impl Net {
    /// A caller's turn.
    pub(crate) fn progress(&self) -> usize {
        let turn = self.callers.note();
        let mut done = 0;
        let few = self.local.watched.has_few_links();
        if few {
            done += self.links.iter().map(|link| link.try_serve(&self.local, ServingThread::Caller)).sum::<usize>();
        } else if self.local.due.take() {
            let due = self.links.iter().filter(|link| link.is_due());
            done += due.map(|link| link.try_serve(&self.local, ServingThread::Caller)).sum::<usize>();
        }
        if !few || turn.is_multiple_of(LOOK_AROUND) {
            done += self.poll();
        }
        done
    }

    /// Serves the sockets of which callers are told, if no other caller does.
    fn poll(&self) -> usize {
        let Some(mut poller) = self.poller.try_lock() else { return 0 };
        self.wait(&mut poller, Duration::ZERO);
        self.serve(&mut poller, ServingThread::Caller)
    }

    /// Waits for at most `most` for something to happen. The callers find an error at their next look.
    fn wait(&self, poller: &mut Poller, most: Duration) {
        if let Err(error) = poller.wait(most) {
            let _ = self.local.lost.set(error);
            // Nothing takes the time of a wait any more.
            std::thread::sleep(most.min(Duration::from_millis(1)));
        }
    }

    /// Asks peers how far they are that have not been asked for all that was issued.
    pub(crate) fn ask(&self) {
        if self.local.unasked.exist() {
            self.links.iter().for_each(|link| link.ask(&self.local));
        }
    }

    /// A caller's turn that waits for something to come, for `most` at most.
    pub(crate) fn rest(&self, most: Duration) -> usize {
        if self.poller.try_lock().is_some_and(|poller| poller.has_more()) {
            return self.progress();
        }
        let mut awaited = Vec::with_capacity(1 + FEW_LINKS);
        let Some(descriptor) = self.local.watched.descriptor() else { return 0 };
        awaited.push(PollEntry::to_read(descriptor));
        if self.local.watched.has_few_links() {
            awaited.extend(self.links.iter().filter_map(|link| link.socket()));
        }
        let ready = sleep_until_ready(&awaited, most);
        let polled = if ready.first() == Some(&true) { self.poll() } else { 0 };
        polled + self.progress()
    }

    /// Serves all sockets to which something has happened.
    fn serve(&self, poller: &mut Poller, server: ServingThread) -> usize {
        let mut done = 0;
        for token in poller.happened() {
            if is_new(token) {
                if self.welcome(token) {
                    poller.again(token);
                }
            } else if let Some(link) = self.link_of(token) {
                let ends = poller.take_end(token);
                let (executed, more) = link.serve(&self.local, server, ends);
                done += executed;
                if more {
                    poller.again(token);
                }
            }
        }
        self.connect_next();
        done
    }

    /// Serves new connections, and leaves the links to callers.
    fn serve_new(&self, poller: &mut Poller) {
        for token in poller.happened() {
            if !is_new(token) || self.welcome(token) {
                poller.again(token);
            }
        }
        self.connect_next();
    }

    /// Serves the links that have something to send. Those that have something to read make events, of which the thread is told
    /// also while callers serve them; only the sockets of few links are read by callers without.
    fn serve_links(&self) {
        let few = self.local.watched.has_few_links();
        for link in self.links.iter() {
            if link.is_due() {
                link.serve(&self.local, ServingThread::ProgressThread, false);
            } else if few {
                link.try_serve(&self.local, ServingThread::ProgressThread);
            }
        }
    }

    /// Looks at the clock for all, when it is time.
    fn look(&self, thread: &mut ThreadPoller) {
        let interval = thread.interval();
        if thread.take_time() {
            let looks = self.links.iter().map(|link| link.look(&self.local, interval));
            let (count, owed) = looks.fold((0, false), |(count, owed), owes| (count + 1, owed | owes));
            thread.owed = self.pending.look(&self.local, |arrival| self.settle(arrival)) || owed;
            thread.looked_at(count);
            self.connect_next();
        }
    }
}

/// Whether a token is the listener's or that of a connection that has not proven itself.
fn is_new(token: usize) -> bool {
    token == LISTENER || token >= FIRST_PENDING
}

impl Drive for Net {
    fn callers(&self) -> &Callers {
        &self.callers
    }

    fn turn(&self, resumed: bool) -> NextStep {
        let mut thread = self.thread.lock();
        self.look(&mut thread);
        if self.local.due.take() || resumed {
            self.serve_links();
        }
        self.serve(&mut thread.poller, ServingThread::ProgressThread);
        NextStep::Sleep(thread.interval())
    }

    fn sleep(&self, most: Duration) {
        let mut thread = self.thread.lock();
        self.local.due.sleep(most, |most| self.wait(&mut thread.poller, most));
    }

    fn wake(&self) {
        self.local.due.wake();
    }

    /// Callers serve the links, but do not look at the clock, and seldom at new connections.
    fn aside(&self) {
        let mut thread = self.thread.lock();
        self.look(&mut thread);
        self.serve_new(&mut thread.poller);
    }
}
