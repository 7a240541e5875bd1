//! Handlers that run. One that waits for an answer lets others run meanwhile, and requests for itself wait until it has returned.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{ActiveFrame, ActiveMessages, CALL, Run};
use crate::message::encode;
use crate::{Error, threads};

/// A request whose handler is to run.
pub(super) struct SetAside {
    pub(super) from: usize,
    pub(super) number: u64,
    pub(super) index: usize,
    pub(super) types: u64,
    pub(super) body: Vec<u8>,
}

/// A handler while it runs, taken out so that it may make calls itself. It goes back where it was, behind a panic, too.
struct RunningHandler<'a, 'w> {
    active: &'a ActiveMessages<'w>,
    index: usize,
    run: Option<Run<'w>>,
}

impl Drop for RunningHandler<'_, '_> {
    fn drop(&mut self) {
        self.active.running.borrow_mut().pop();
        self.active.handlers.borrow_mut()[self.index].1 = self.run.take();
    }
}

impl<'w> ActiveMessages<'w> {
    /// Whether the request's handler runs, so that it can run again only when it has returned. It never returns if what it waits for is
    /// the answer to this very request.
    pub(super) fn waits_for_handler(&self, request: &SetAside) -> bool {
        let running = self.running.borrow();
        let Some(&(_, before)) = running.iter().find(|(index, _)| *index == request.index) else { return false };
        let is_own = request.from == self.world.my_pe();
        !(is_own && self.waits.borrow().iter().skip(before).any(|number| *number == request.number))
    }

    /// The next request that has been set aside and need not wait any more.
    pub(super) fn next_set_aside(&self) -> Option<SetAside> {
        let mut set_aside = self.set_aside.borrow_mut();
        let at = set_aside.iter().position(|request| !self.waits_for_handler(request))?;
        set_aside.remove(at)
    }

    /// Runs a request's handler and sends the answer. A panic of the handler goes on behind the answer: this PE may catch it, as executors
    /// of tasks do, and then the caller would wait for ever.
    pub(super) fn answer(&self, request: &SetAside) {
        let ran = catch_unwind(AssertUnwindSafe(|| self.run(request)));
        let (outcome, panic) = match ran {
            Ok(outcome) => (outcome, None),
            Err(panic) => (Err(self.panicked(request.index, &threads::words_of(&panic))), Some(panic)),
        };
        let outcome = outcome.map_err(|error| error.in_one_line());
        match encode(CALL, &ActiveFrame::Answer { number: request.number, outcome }) {
            Ok(frame) => self.post(request.from, frame),
            Err(error) => crate::mistake(&error),
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    #[cold]
    fn panicked(&self, index: usize, words: &str) -> Error {
        Error::new(format!("{CALL}: handler {index} of PE {} has panicked", self.world.my_pe())).because(words)
    }

    fn run(&self, request: &SetAside) -> Result<Vec<u8>, Error> {
        let index = request.index;
        let taken = match self.handlers.borrow_mut().get_mut(index) {
            Some((types, run)) if *types == request.types => run.take(),
            _ => None,
        };
        if taken.is_some() {
            self.running.borrow_mut().push((index, self.waits.borrow().len()));
            let mut running = RunningHandler { active: self, index, run: taken };
            if let Some(run) = &mut running.run {
                return run(self, request.from, &request.body);
            }
        }
        Err(self.unknown(index))
    }
}
