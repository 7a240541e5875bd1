//! A wait, messages that another thread has taken from the network, and operations that another thread completes.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::*;
use crate::{
    ActiveMessage, Amo, AtomicArguments, Busy, Failed, GetArguments, MessageContent, NotIssued, Position, PutArguments,
    Remote, SignalUpdate, TargetTask, Width,
};

/// A network on which nothing happens: a caller that rests there would sleep.
struct StillNetwork(Capabilities);

/// Bytes of the longest region that it registers.
const LOCKABLE: usize = 64;

impl Fabric for StillNetwork {
    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    fn register(&self, _region: Region, segment: Segment) -> Result<(), Error> {
        if segment.len > LOCKABLE { Err(Error::new("that is too much to lock")) } else { Ok(()) }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&self, _book: Box<dyn AddressBook>) -> Result<(), Error> {
        Ok(())
    }

    fn lane(&self, _options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Err(Error::new("there are no lanes"))
    }

    fn progress(&self) -> usize {
        0
    }

    fn rest(&self, _most: Duration) -> Option<usize> {
        Some(0)
    }

    fn close(&self) {}

    fn describe(&self) -> String {
        "a still network".into()
    }
}

/// Messages that are here already.
struct TakenMessages(Mutex<Vec<Vec<u8>>>);

impl Messages for Arc<TakenMessages> {
    fn send(&self, _pe: u32, _message: &[u8]) -> Result<(), NotIssued> {
        Ok(())
    }

    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        Some((1, self.0.lock().pop()?))
    }
}

#[test]
fn a_caller_that_rests_takes_a_message_of_which_the_network_does_not_tell_any_more() {
    let word = AtomicU64::new(0);
    let at = Position { region: Region::Heap, offset: 0 };
    let task = TargetTask::Amo { at, width: Width::Eight, amo: Amo::Add(5) };
    let message = ActiveMessage { number: 0, answered: false, content: MessageContent::Ask(task) }.encode();
    let messages = Box::new(Arc::new(TakenMessages(Mutex::new(vec![message.to_vec()]))));
    let capabilities = Capabilities { features: Features::empty(), amo: AmoDomain::None, inject: 0, signal: None };
    let still = Box::new(StillNetwork(capabilities));
    let fabric = fill(0, Duration::ZERO, still, Some(messages)).expect("there are messages");
    fabric.register(Region::Heap, Segment { base: word.as_ptr().cast(), len: 8 }).expect("it registers");
    assert_eq!(fabric.rest(Duration::ZERO), Some(1));
    assert_eq!(word.load(Ordering::Relaxed), 5);
    assert_eq!(fabric.rest(Duration::ZERO), Some(0), "nothing else has come");
}

#[test]
fn a_region_that_the_network_has_refused_grows_by_less() {
    let words = [const { AtomicU64::new(0) }; LOCKABLE / 8 + 1];
    let capabilities = Capabilities { features: Features::PINS, amo: AmoDomain::Processor, inject: 0, signal: None };
    let fabric = fill(0, Duration::ZERO, Box::new(StillNetwork(capabilities)), None).expect("it has atomics");
    let register = |len| fabric.register(Region::Heap, Segment { base: words.as_ptr().cast_mut().cast(), len });
    register(8).expect("it registers");
    register(LOCKABLE + 8).expect_err("the network refuses it");
    register(LOCKABLE).expect("it is less than what was refused");
}

/// A network whose thread has nothing to do, and whose completions would end its sleep.
#[derive(Default)]
struct QuietDrive(Callers);

const SLEEP: Duration = Duration::from_secs(7);
const BACKOFF: Duration = Duration::from_millis(7);

impl Drive for QuietDrive {
    fn callers(&self) -> &Callers {
        &self.0
    }

    fn turn(&self, _resumed: bool) -> NextStep {
        NextStep::Sleep(SLEEP)
    }

    fn sleep(&self, _most: Duration) {}

    fn backoff_while_sending(&self) -> Option<Duration> {
        Some(BACKOFF)
    }
}

#[test]
fn the_thread_backs_off_while_callers_send_messages_and_not_for_answers() {
    let question = MessageContent::Ask(TargetTask::Mark);
    let question = ActiveMessage { number: 0, answered: true, content: question }.encode().to_vec();
    let messages = Arc::new(TakenMessages(Mutex::new(vec![question.clone()])));
    let service = Arc::new(Service::new(Box::new(messages.clone()), Arc::default()));
    let serving = Serving { drive: Arc::<QuietDrive>::default(), service: service.clone() };
    let turn = || serving.turn(false);
    assert_eq!(turn(), NextStep::Again, "a question has come");
    assert_eq!(turn(), NextStep::Sleep(SLEEP), "an answer is no message of a caller");
    service.send(1, &question, true).expect("there is room");
    messages.0.lock().push(question);
    assert_eq!(turn(), NextStep::Again, "another question has come");
    assert_eq!(turn(), NextStep::Backoff(BACKOFF), "a caller has sent a message");
    assert_eq!(turn(), NextStep::Sleep(SLEEP), "that was the last one");
}

/// A lane whose last operation another thread completes, with a failure, just before it is asked whether any is left.
#[derive(Default)]
struct FailingLane(Account);

// SAFETY: it touches no memory.
unsafe impl Lane for FailingLane {
    unsafe fn put(&self, _put: &PutArguments) -> usize {
        0
    }

    unsafe fn put_nbi(&self, _put: &PutArguments) -> usize {
        0
    }

    unsafe fn get_nbi(&self, _get: &GetArguments) -> usize {
        0
    }

    unsafe fn amo(&self, _atomic: &AtomicArguments) -> Result<(), Busy> {
        Ok(())
    }

    unsafe fn put_signal(&self, _put: &PutArguments, _signal: Remote, _update: SignalUpdate) -> Result<(), Busy> {
        Ok(())
    }

    fn fence(&self) -> Result<(), Busy> {
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.0.fail(Error::new("the peer is lost"));
        0
    }

    fn has_failed(&self) -> bool {
        self.0.has_failed()
    }

    fn progress(&self) -> Result<usize, Error> {
        self.0.error().map_or(Ok(0), Err)
    }
}

#[test]
fn who_sees_the_end_of_an_operation_sees_its_failure() {
    let messages = Box::new(Arc::new(TakenMessages(Mutex::default())));
    let by_messages = ByMessages {
        requester: Requester::new(Arc::new(Service::new(messages, Arc::default()))),
        follows: false,
        unacknowledged: Unacknowledged::None,
        skips_put_acknowledgements: false,
    };
    for asked in [None, Some(by_messages)] {
        let (lane, memory) = (Box::<FailingLane>::default(), Arc::default());
        let filled = FilledLane { me: 0, lane, memory, by_network: false, own: Account::default(), asked };
        assert_eq!(filled.poll_completion(), Err(Failed));
    }
}
