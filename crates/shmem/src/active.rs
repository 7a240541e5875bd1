//! Active messages: functions that run where the data is, over the [pieces](crate::pieces) that channels use.

mod answer;
mod running;
mod termination;

use core::cell::{Cell, RefCell};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::message::{decode, encode};
use crate::pieces::Pieces;
use crate::transfer::no_such_pe;
use crate::{Error, World, mistake, type_words};
use running::SetAside;
use termination::{CallCounts, Termination};

pub use answer::ActiveAnswer;

const CALL: &str = "ActiveMessages::call";

/// How many active messages this process has had.
static SERIALS: AtomicU64 = AtomicU64::new(0);

/// A message between two PEs.
#[derive(Serialize, Deserialize)]
enum ActiveFrame {
    /// Run this handler, which takes and gives these types.
    Request { number: u64, handler: u32, types: u64, body: Vec<u8> },
    /// The outcome of a request of the receiver.
    Answer { number: u64, outcome: Outcome },
}

/// The encoding of an answer, or why there is none.
type Outcome = Result<Vec<u8>, String>;

/// A handler, from the encoding of what it takes to that of what it gives.
type Run<'w> = Box<dyn FnMut(&ActiveMessages<'w>, usize, &[u8]) -> Result<Vec<u8>, Error> + 'w>;

/// A registered handler, as all PEs name it.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let active = world.active_messages(64)?;
/// let add: oxshmem::RemoteHandler<(u32, u32), u32> = active.register(|_, (a, b)| a + b);
/// assert_eq!(active.call(add, &(1, 2), 0).wait()?, 3);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct RemoteHandler<Q, A> {
    /// The serial number of its active messages.
    active: u64,
    index: u32,
    types: PhantomData<fn(Q) -> A>,
}

impl<Q, A> Clone for RemoteHandler<Q, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q, A> Copy for RemoteHandler<Q, A> {}

/// Functions that any PE may call on any PE, from [`World::active_messages`]. (Feature `serde`.)
///
/// A handler runs on the thread of its PE's world, while that PE is in [`progress`](Self::progress), waits for or awaits an answer, or
/// is in [`finish`](Self::finish). **No other thread runs it**: a PE that computes, or waits in another call of this crate, answers
/// nothing meanwhile. One handler runs at a time, so it may change what it captures without a lock.
///
/// ```
/// use std::cell::RefCell;
/// let world = oxshmem::World::init()?;
/// let words = RefCell::new(std::collections::HashMap::new());
/// let active = world.active_messages(256)?;
/// let count = active.register(|_from, word: String| {
///     let mut words = words.borrow_mut();
///     let seen = words.entry(word).or_insert(0_u64);
///     *seen += 1;
///     *seen
/// });
/// let owner = 7 % world.n_pes();
/// let seen = active.call(count, &"halo".to_string(), owner).wait()?;
/// assert!(seen >= 1);
/// active.finish();
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct ActiveMessages<'w> {
    /// No other ones of this process have it.
    serial: u64,
    pieces: Pieces<'w>,
    /// How all PEs learn that nothing is under way.
    termination: Termination<'w>,
    /// The types of each, and the function; `None` while it runs.
    handlers: RefCell<Vec<(u64, Option<Run<'w>>)>>,
    /// By receiver: messages that are not completely sent, and how much of the first is.
    outbox: RefCell<Vec<(VecDeque<Vec<u8>>, usize)>>,
    /// By sender: the message of which not all pieces have come.
    inbox: RefCell<Vec<Vec<u8>>>,
    /// Requests for handlers that ran when they came: each waits for its handler.
    set_aside: RefCell<VecDeque<SetAside>>,
    /// The handlers that run, outermost first, each with how many waits there were when it began.
    running: RefCell<Vec<(usize, usize)>>,
    /// The requests that are waited for, outermost first.
    waits: RefCell<Vec<u64>>,
    /// The answers that the program waits for, by the numbers of the requests.
    awaited: RefCell<HashMap<u64, Option<Outcome>>>,
    /// The requests of this PE.
    calls: Cell<CallCounts>,
    world: &'w World,
}

impl fmt::Debug for ActiveMessages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallCounts { made, answered } = self.calls.get();
        f.debug_struct("ActiveMessages").field("unanswered", &(made - answered)).finish_non_exhaustive()
    }
}

impl World {
    /// Active messages, with `room` bytes on each PE for those from each other PE; longer ones go in pieces. All PEs call it.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let active = world.active_messages(256)?;
    /// let where_am_i = active.register(|from: usize, ()| (from, world.my_pe()));
    /// assert_eq!(active.call(where_am_i, &(), 0).wait()?.1, 0);
    /// active.finish();
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn active_messages(&self, room: usize) -> Result<ActiveMessages<'_>, Error> {
        let n = self.n_pes();
        Ok(ActiveMessages {
            serial: SERIALS.fetch_add(1, Relaxed),
            pieces: Pieces::new(self, room)?,
            termination: Termination::new(self)?,
            handlers: RefCell::default(),
            outbox: RefCell::new((0..n).map(|_| Default::default()).collect()),
            inbox: RefCell::new(vec![Vec::new(); n]),
            set_aside: RefCell::default(),
            running: RefCell::default(),
            waits: RefCell::default(),
            awaited: RefCell::default(),
            calls: Cell::default(),
            world: self,
        })
    }
}

impl<'w> ActiveMessages<'w> {
    /// Registers a function of the caller's number and its request, whose result is the answer. All PEs register the same handlers
    /// in the same order, before they call any.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let active = world.active_messages(64)?;
    /// let double = active.register(|_, number: f64| 2.0 * number);
    /// assert_eq!(active.call(double, &1.5, 0).wait()?, 3.0);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn register<Q, A>(&self, mut handler: impl FnMut(usize, Q) -> A + 'w) -> RemoteHandler<Q, A>
    where
        Q: Serialize + DeserializeOwned + 'static,
        A: Serialize + DeserializeOwned + 'static,
    {
        self.register_with(move |_, from, request| handler(from, request))
    }

    /// [`register`](Self::register) of a function that also gets these active messages, so that it can call other handlers. Their
    /// answers may be dropped: [`finish`](Self::finish) waits for the calls of handlers as it does for those of programs.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let sum = std::cell::Cell::new(0);
    /// let active = world.active_messages(64)?;
    /// let add = active.register(|_, number: u64| sum.set(sum.get() + number));
    /// let next = (world.my_pe() + 1) % world.n_pes();
    /// let pass_on = active.register_with(move |active, _from, number: u64| {
    ///     drop(active.call(add, &number, next));
    /// });
    /// drop(active.call(pass_on, &5, next));
    /// active.finish();
    /// assert_eq!(sum.get(), 5);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn register_with<Q, A>(
        &self,
        mut handler: impl FnMut(&ActiveMessages<'w>, usize, Q) -> A + 'w,
    ) -> RemoteHandler<Q, A>
    where
        Q: Serialize + DeserializeOwned + 'static,
        A: Serialize + DeserializeOwned + 'static,
    {
        let run = move |active: &ActiveMessages<'w>, from: usize, request: &[u8]| {
            encode(CALL, &handler(active, from, decode(CALL, request)?))
        };
        let mut handlers = self.handlers.borrow_mut();
        handlers.push((type_words::of::<fn(Q) -> A>(), Some(Box::new(run))));
        RemoteHandler { active: self.serial, index: handlers.len() as u32 - 1, types: PhantomData }
    }

    /// Asks PE `pe` to run a handler. The answer is a future, and [`wait`](ActiveAnswer::wait) is for other code; a program may drop
    /// it. Requests to one PE run there in the order of the calls. Those that come while their handler waits for an answer itself run
    /// when it has returned, and others overtake them; so handlers that wait for each other in a circle wait for ever. A request that
    /// fails, as one whose handler panics, and whose answer has been dropped ends the job. The panic itself goes on at `pe`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let active = world.active_messages(64)?;
    /// let length = active.register(|_, word: String| word.len());
    /// let answers = ["a", "bc"].map(|word| active.call(length, &word.to_string(), 0));
    /// assert_eq!(answers.map(|answer| answer.wait().unwrap()), [1, 2]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn call<Q, A>(&self, handler: RemoteHandler<Q, A>, request: &Q, pe: usize) -> ActiveAnswer<'_, 'w, A>
    where
        Q: Serialize + DeserializeOwned + 'static,
        A: Serialize + DeserializeOwned + 'static,
    {
        if pe >= self.pieces.n_pes() {
            mistake(&no_such_pe(CALL, pe, self.pieces.n_pes()));
        }
        if handler.active != self.serial {
            mistake(
                &Error::new(format!("{CALL}: the handler is not one of these active messages"))
                    .because("other active messages of this PE have registered it; here its number may name another function")
                    .fix("call it through the active messages that have registered it"),
            );
        }
        let CallCounts { made: number, answered } = self.calls.get();
        let types = type_words::of::<fn(Q) -> A>();
        let frame = encode(CALL, request)
            .and_then(|body| encode(CALL, &ActiveFrame::Request { number, handler: handler.index, types, body }));
        // A request that has no encoding has a number, too, which no PE answers.
        self.calls.set(CallCounts { made: number + 1, answered: answered + u64::from(frame.is_err()) });
        let refused = frame.map(|frame| {
            self.awaited.borrow_mut().insert(number, None);
            self.post(pe, frame);
        });
        ActiveAnswer { active: self, number, refused: refused.err(), watch: None, answer: PhantomData }
    }

    fn post(&self, to: usize, frame: Vec<u8>) {
        self.outbox.borrow_mut()[to].0.push_back(frame);
        self.flush(to);
    }

    /// Sends as much to `to` as its slot takes.
    fn flush(&self, to: usize) {
        let (queue, at) = &mut self.outbox.borrow_mut()[to];
        while let Some(message) = queue.front().filter(|_| self.pieces.is_free(to)) {
            *at = message.len() - self.pieces.put(&message[*at..], to).len();
            if *at == message.len() {
                queue.pop_front();
                *at = 0;
            }
        }
    }

    /// Runs the handlers of the requests that have come, and takes the answers; says how many of both. It never waits.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let active = world.active_messages(64)?;
    /// while active.progress() > 0 {}
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn progress(&self) -> usize {
        let mut messages = 0;
        for pe in 0..self.pieces.n_pes() {
            self.flush(pe);
            if !self.pieces.has_come(pe) {
                continue;
            }
            let mut message = std::mem::take(&mut self.inbox.borrow_mut()[pe]);
            if self.pieces.take(pe, &mut message) {
                self.receive(pe, &message);
                messages += 1;
            } else {
                self.inbox.borrow_mut()[pe] = message;
            }
        }
        while let Some(request) = self.next_set_aside() {
            self.answer(&request);
        }
        messages
    }

    fn receive(&self, from: usize, message: &[u8]) {
        match decode(CALL, message) {
            Ok(ActiveFrame::Request { number, handler, types, body }) => {
                let request = SetAside { from, number, index: handler as usize, types, body };
                let has_one_before = self.set_aside.borrow().iter().any(|other| other.index == request.index);
                if has_one_before || self.waits_for_handler(&request) {
                    self.set_aside.borrow_mut().push_back(request);
                } else {
                    self.answer(&request);
                }
            }
            Ok(ActiveFrame::Answer { number, outcome }) => {
                let counts = self.calls.get();
                self.calls.set(CallCounts { answered: counts.answered + 1, ..counts });
                match (self.awaited.borrow_mut().get_mut(&number), outcome) {
                    (Some(awaited), outcome) => *awaited = Some(outcome),
                    // Nobody else would know that the request has not run.
                    (None, Err(why)) => crate::mistake(&answer::failed(why)),
                    (None, Ok(_)) => {}
                }
            }
            // All PEs run this code, so nothing else lies in the slots.
            Err(error) => crate::mistake(&error),
        }
    }

    #[cold]
    fn unknown(&self, index: usize) -> Error {
        Error::new(format!("{CALL}: PE {} cannot run handler {index}", self.world.my_pe())).because(format!(
            "it has {} handlers; this one is not registered there, takes other types, or waits for this call itself",
            self.handlers.borrow().len()
        ))
    }

    /// Serves until all PEs have come here and no call is under way on any of them: all calls of programs, those of their handlers,
    /// those of the handlers of these, and so on, have run and been answered. All PEs call it, before they drop the active messages.
    /// No handler calls it. A panic of a handler that runs meanwhile goes on when all have finished.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let active = world.active_messages(64)?;
    /// active.finish();
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn finish(&self) {
        if self.handlers.borrow().iter().any(|(_, run)| run.is_none()) {
            mistake(
                &Error::new("ActiveMessages::finish: a handler calls it")
                    .because("it waits until no handler runs any more, and so for this one")
                    .fix("let the programs call it, when they have made their calls"),
            );
        }
        // The others wait for the reports of this PE, so a panic of a handler goes on when all have finished.
        let panic = RefCell::new(None);
        let serve = || {
            if let Err(caught) = catch_unwind(AssertUnwindSafe(|| self.serve())) {
                panic.borrow_mut().get_or_insert(caught);
            }
        };
        self.termination.reach(|| self.calls.get(), serve);
        if let Some(panic) = panic.into_inner() {
            resume_unwind(panic);
        }
    }

    /// [`progress`](Self::progress) among others.
    fn serve(&self) {
        if self.progress() == 0 {
            self.termination.give_way();
        }
    }
}
