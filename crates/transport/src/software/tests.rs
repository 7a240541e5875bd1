//! A wait, and messages that somebody else has taken from the network.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::active_message::{ActiveMessage, TargetTask};
use super::*;
use crate::{Amo, NotIssued, Position, Width};

/// A network on which nothing happens: a caller that rests there would sleep.
struct StillNetwork(Capabilities);

impl Fabric for StillNetwork {
    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    fn register(&self, _region: Region, _segment: Segment) -> Result<(), Error> {
        Ok(())
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

impl Messages for TakenMessages {
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
    let message = ActiveMessage::Ask { number: 0, task, answered: false }.encode();
    let messages = Box::new(TakenMessages(Mutex::new(vec![message])));
    let capabilities = Capabilities { features: Features::empty(), amo: AmoDomain::None, inject: 0, signal: None };
    let still = Box::new(StillNetwork(capabilities));
    let fabric = fill(0, Duration::ZERO, still, Some(messages)).expect("there are messages");
    fabric.register(Region::Heap, Segment { base: word.as_ptr().cast(), len: 8 }).expect("it registers");
    assert_eq!(fabric.rest(Duration::ZERO), Some(1));
    assert_eq!(word.load(Ordering::Relaxed), 5);
    assert_eq!(fabric.rest(Duration::ZERO), Some(0), "nothing else has come");
}
