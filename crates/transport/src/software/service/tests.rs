//! A PE that asks itself, by messages that the tests count.

use super::*;
use crate::{Amo, Position, Region, Segment, SignalUpdate};

/// The messages under way, and how many there have been.
#[derive(Default)]
struct Post {
    under_way: Mutex<VecDeque<Vec<u8>>>,
    sent: AtomicUsize,
}

impl Messages for Arc<Post> {
    fn send(&self, _pe: u32, message: &[u8]) -> Result<(), NotIssued> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.under_way.lock().push_back(message.to_vec());
        Ok(())
    }

    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        Some((0, self.under_way.lock().pop_front()?))
    }

    fn longest(&self) -> usize {
        100
    }
}

/// A requester of PE 0, which serves itself and has this memory as its heap.
fn requester(memory: &mut [u64]) -> (Arc<Post>, Requester) {
    let (post, registered) = (Arc::new(Post::default()), Arc::new(RegisteredMemory::default()));
    let segment = Segment { base: memory.as_mut_ptr().cast(), len: size_of_val(memory) };
    registered.register(Region::Heap, segment).expect("it registers");
    (post.clone(), Requester::new(Arc::new(Service::new(Box::new(post), registered))))
}

fn add(offset: u64) -> TargetTask<'static> {
    TargetTask::Amo { at: Position { region: Region::Heap, offset }, width: Width::Eight, amo: Amo::Add(1) }
}

fn complete(requester: &Requester) {
    for _ in 0..1000 {
        requester.collect();
    }
    assert_eq!(requester.account.outstanding(), 0);
}

#[test]
fn one_answer_completes_what_was_told_before() {
    let mut memory = [0_u64; 4];
    let (post, requester) = requester(&mut memory);
    for _ in 0..100 {
        requester.tell(0, add(8)).expect("there is room");
    }
    assert_eq!(post.sent.load(Ordering::Relaxed), 100);
    while requester.service.serve() {}
    // Every 33rd expects an answer.
    assert_eq!(post.sent.load(Ordering::Relaxed), 103);
    assert!(requester.account.outstanding() > 0, "nobody has asked for the last one");
    complete(&requester);
    assert_eq!(post.sent.load(Ordering::Relaxed), 105, "one question about the last ones, and its answer");
    assert_eq!(memory, [0, 100, 0, 0]);
}

#[test]
fn a_put_and_its_signal_are_one_message() {
    let mut memory = [0_u64; 4];
    let (post, requester) = requester(&mut memory);
    assert_eq!(requester.longest_put(), 64);
    let (to, signal) = (Position { region: Region::Heap, offset: 0 }, Position { region: Region::Heap, offset: 24 });
    let data = [7_u8; 16];
    requester
        .tell(0, TargetTask::Put { to, data: &data, signal: Some((signal, SignalUpdate::Add(3))) })
        .expect("there is room");
    while requester.service.serve() {}
    assert_eq!(post.sent.load(Ordering::Relaxed), 1);
    complete(&requester);
    let seven = u64::from_ne_bytes([7; 8]);
    assert_eq!(memory, [seven, seven, 0, 3]);
}

#[test]
fn what_is_told_and_fails_is_an_error_and_writes_nothing() {
    let mut memory = [0_u64; 4];
    let (_post, requester) = requester(&mut memory);
    let (to, signal) = (Position { region: Region::Heap, offset: 0 }, Position { region: Region::Heap, offset: 32 });
    requester.tell(0, add(0)).expect("there is room");
    requester
        .tell(0, TargetTask::Put { to, data: &[1; 8], signal: Some((signal, SignalUpdate::Set(3))) })
        .expect("there is room");
    complete(&requester);
    let error = requester.account.error().expect("the signal is outside").to_string();
    assert!(error.contains("outside its registered memory"), "{error}");
    assert_eq!(memory, [1, 0, 0, 0]);
}

#[test]
fn questions_are_bounded_and_told_messages_are_not_counted_among_them() {
    let mut memory = [0_u64; 4];
    let (_post, requester) = requester(&mut memory);
    requester.tell(0, add(8)).expect("there is room");
    for _ in 0..MOST_ASKED {
        // SAFETY: null asks for no old value.
        unsafe { requester.ask(0, add(0), std::ptr::null_mut()) }.expect("there is room");
    }
    assert_eq!(requester.tell(0, add(8)), Err(Busy));
    complete(&requester);
    requester.tell(0, add(8)).expect("there is room again");
    complete(&requester);
    assert_eq!(memory, [MOST_ASKED as u64, 2, 0, 0]);
}
