//! The marks of [`super`] under the model checker. Run by `cargo xtask test loom`.

use std::time::Duration;

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::{DueBoard, DueMark};

/// One connection, and what the kernel tells the thread.
struct Stage {
    board: DueBoard,
    mark: DueMark,
    connection: Mutex<Connection>,
    event: Arc<Event>,
}

#[derive(Default)]
struct Connection {
    /// The peer waits for an acknowledgement.
    owes: bool,
    acknowledged: bool,
}

/// The descriptor on which the thread sleeps.
#[derive(Default)]
struct Event {
    has_come: Mutex<bool>,
    condition: Condvar,
}

impl Event {
    fn tell(&self) {
        *self.has_come.lock().expect("no panic") = true;
        self.condition.notify_one();
    }

    fn wait(&self) {
        let mut has_come = self.has_come.lock().expect("no panic");
        while !*has_come {
            has_come = self.condition.wait(has_come).expect("no panic");
        }
        *has_come = false;
    }
}

impl Connection {
    fn serve(&mut self, event: &Event) {
        if std::mem::take(&mut self.owes) {
            self.acknowledged = true;
            // This ends the thread of the model, whichever thread has served.
            event.tell();
        }
    }
}

/// How a caller that polls serves a marked connection.
type Poll = fn(&Stage);

fn poll(stage: &Stage) {
    let try_lock = || stage.connection.try_lock().ok();
    stage.mark.try_serve(&stage.board, try_lock, |mut connection| connection.serve(&stage.event));
}

/// It clears the mark before it has the lock.
fn poll_wrongly(stage: &Stage) {
    stage.mark.clear();
    if let Ok(mut connection) = stage.connection.try_lock() {
        connection.serve(&stage.event);
    }
}

/// A caller executes a frame, leaves its acknowledgement behind and computes; a second one polls once; the thread sleeps until the
/// frame is acknowledged. If no thread looks at the connection, the thread sleeps for ever, which the checker finds.
fn explore(poll: Poll) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let event = Arc::new(Event::default());
        let woken = event.clone();
        let stage = Arc::new(Stage {
            board: DueBoard::new(move || woken.tell()),
            mark: DueMark::default(),
            connection: Mutex::default(),
            event,
        });
        let executes = thread::spawn({
            let stage = stage.clone();
            move || {
                let mut connection = stage.connection.lock().expect("no panic");
                connection.owes = true;
                stage.board.mark(&stage.mark);
            }
        });
        let polls = thread::spawn({
            let stage = stage.clone();
            move || {
                if stage.board.take() && stage.mark.is_set() {
                    poll(&stage);
                }
            }
        });
        loop {
            if stage.board.take() && stage.mark.is_set() {
                let mut connection = stage.connection.lock().expect("no panic");
                stage.mark.clear();
                connection.serve(&stage.event);
            }
            if stage.connection.lock().expect("no panic").acknowledged {
                break;
            }
            stage.board.sleep(Duration::MAX, |most| {
                if most > Duration::ZERO {
                    stage.event.wait();
                }
            });
        }
        executes.join().expect("no panic");
        polls.join().expect("no panic");
    });
}

#[test]
fn loom_an_acknowledgement_that_was_left_behind_is_seen_to() {
    explore(poll);
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_mutant_a_mark_that_is_cleared_without_the_lock_is_lost() {
    explore(poll_wrongly);
}
