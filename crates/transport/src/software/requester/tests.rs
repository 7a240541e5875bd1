//! A PE that asks itself, by messages that the tests count.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use super::*;
use crate::limits::AT_ONCE;
use crate::progress_thread::Drive;
use crate::software::service::Messages;
use crate::{Amo, NotIssued, Position, Region, RegisteredMemory, Segment, SignalUpdate};

/// The messages under way, and how many there have been.
#[derive(Default)]
struct Post {
    under_way: Mutex<VecDeque<Vec<u8>>>,
    sent: AtomicUsize,
    /// It takes no message any more.
    broken: AtomicBool,
    gathers: bool,
    /// Where an answer is to stop until the test has looked: it says that it is there, and waits.
    stop: Option<(mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>)>,
}

impl Messages for Arc<Post> {
    fn send(&self, _pe: u32, message: &[u8]) -> Result<(), NotIssued> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(oxshmem_base::Error::new("the post is broken").into());
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        let content = ActiveMessage::decode(message).map(|(message, _)| message.content);
        if let (Some((here, go)), Some(MessageContent::Answer(_))) = (&self.stop, content) {
            here.send(()).expect("the test looks");
            go.lock().recv().expect("the test lets it go");
        }
        self.under_way.lock().push_back(message.to_vec());
        Ok(())
    }

    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        Some((0, self.under_way.lock().pop_front()?))
    }

    fn longest(&self) -> usize {
        100
    }

    fn gather(&self) -> bool {
        self.gathers
    }
}

/// A requester of PE 0, which serves itself and has this memory as its heap.
fn requester(memory: &mut [u64]) -> (Arc<Post>, Requester) {
    requester_by(Post::default(), memory)
}

fn requester_by(post: Post, memory: &mut [u64]) -> (Arc<Post>, Requester) {
    let (post, registered) = (Arc::new(post), Arc::new(RegisteredMemory::default()));
    let segment = Segment { base: memory.as_mut_ptr().cast(), len: size_of_val(memory) };
    registered.register(Region::Heap, segment).expect("it registers");
    (post.clone(), Requester::new(Arc::new(Service::new(Box::new(post), registered))))
}

fn add(offset: u64) -> TargetTask {
    TargetTask::Amo { at: Position { region: Region::Heap, offset }, width: Width::Eight, amo: Amo::Add(1) }
}

/// Sends so many atomics that expect no answer.
fn send_adds(requester: &Requester, many: u64, offset: u64) {
    (0..many).for_each(|_| requester.send_unacknowledged(0, add(offset), &[]).expect("there is room"));
}

fn complete(requester: &Requester) {
    for _ in 0..1000 {
        requester.collect();
    }
    assert_eq!(requester.account.outstanding(), 0);
}

#[test]
fn an_answer_completes_nothing_after_its_question() {
    let mut memory = [0_u64; 4];
    let (_, requester) = requester(&mut memory);
    let mut old = 0_u64;
    send_adds(&requester, 1, 8);
    // SAFETY: `old` lives until the end of the test.
    unsafe { requester.ask(0, add(8), &[], (&raw mut old).cast()).expect("there is room") };
    send_adds(&requester, 1, 16);
    while requester.service.serve() {}
    assert_eq!(requester.take_answers(&mut requester.questions.lock()), 2);
    assert_eq!((old, requester.account.outstanding()), (1, 1), "the last one may still be under way");
    while requester.account.outstanding() > 0 {
        requester.collect();
        while requester.service.serve() {}
    }
    assert_eq!(memory, [0, 2, 1, 0]);
}

#[test]
fn one_answer_acknowledges_all_that_was_sent_before() {
    let mut memory = [0_u64; 4];
    let (post, requester) = requester(&mut memory);
    let sent = 3 * (MOST_UNACKNOWLEDGED as usize + 1) + 1;
    send_adds(&requester, sent as u64, 8);
    assert_eq!(post.sent.load(Ordering::Relaxed), sent);
    while requester.service.serve() {}
    assert_eq!(post.sent.load(Ordering::Relaxed), sent + 3, "some expect an answer");
    assert!(requester.account.outstanding() > 0, "nobody has asked for the last one");
    complete(&requester);
    assert_eq!(post.sent.load(Ordering::Relaxed), sent + 5, "one question about the last ones, and its answer");
    assert_eq!(memory, [0, sent as u64, 0, 0]);
}

/// A caller that never waits is ahead of its target by few bytes, too.
#[test]
fn many_bytes_are_acknowledged_before_many_messages() {
    let mut memory = [0_u64; 256];
    let (post, requester) = requester(&mut memory);
    let data = [7_u8; 2048];
    let task = TargetTask::Put { to: Position { region: Region::Heap, offset: 0 }, signal: None };
    let sent = MOST_UNACKNOWLEDGED_BYTES / data.len() + 1;
    assert!((sent as u64) < MOST_UNACKNOWLEDGED, "the number asks for no answer");
    for _ in 0..sent {
        requester.send_unacknowledged(0, task, &data).expect("there is room");
    }
    while requester.service.serve() {}
    assert_eq!(post.sent.load(Ordering::Relaxed), sent + 1, "the last one alone expects an answer");
    complete(&requester);
    assert_eq!(post.sent.load(Ordering::Relaxed), sent + 1, "that answer has acknowledged all of them");
    assert_eq!(memory[255], u64::from_ne_bytes([7; 8]));
}

#[test]
fn an_answer_acknowledges_the_messages_to_its_pe_alone() {
    let mut memory = [0_u64; 4];
    let (_post, requester) = requester(&mut memory);
    let send = |pe| requester.send_unacknowledged(pe, add(8), &[]).expect("there is room");
    (0..6).for_each(|i| send(i % 2));
    let overtaken = || [0, 1, 2].map(|pe| requester.may_be_overtaken(pe));
    assert_eq!(overtaken(), [false; 3], "there was no fence");
    requester.fence();
    send(1);
    assert_eq!(overtaken(), [true, true, false]);
    // SAFETY: null asks for no old value.
    unsafe { requester.ask(1, add(16), &[], ptr::null_mut()) }.expect("there is room");
    assert_eq!(overtaken(), [true, true, false], "the question is behind the fence, and not all that it acknowledges");
    while requester.service.serve() {}
    assert_eq!(requester.take_answers(&mut requester.questions.lock()), 5);
    assert_eq!((overtaken(), requester.account.outstanding()), ([true, false, false], 3));
    send(1);
    assert_eq!(overtaken(), [true, false, false]);
    complete(&requester);
    assert_eq!((overtaken(), memory), ([false; 3], [0, 8, 1, 0]));
}

/// A wait for an acknowledgement ends where there will be none.
#[test]
fn nobody_asks_a_broken_network_for_ever() {
    let (post, requester) = requester(Box::leak(Box::new([0_u64; 4])));
    send_adds(&requester, 1, 8);
    post.broken.store(true, Ordering::Relaxed);
    let (tell, told) = mpsc::channel();
    // Not joined: a thread that asks for ever is left behind.
    std::thread::spawn(move || {
        requester.collect();
        tell.send(requester.account.has_failed())
    });
    assert_eq!(told.recv_timeout(std::time::Duration::from_secs(60)), Ok(true));
}

/// A message may be the signal for the data of the one before it.
#[test]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
fn fault_B2_a_message_is_not_begun_while_another_thread_has_the_one_before() {
    let mut memory = [0_u64; 4];
    let ((here, is_here), (go, may_go)) = (mpsc::channel(), mpsc::channel());
    let post = Post { stop: Some((here, Mutex::new(may_go))), ..Post::default() };
    let (_post, requester) = requester_by(post, &mut memory);
    let mut old = 0_u64;
    // SAFETY: the place lives until completion.
    unsafe { requester.ask(0, add(8), &[], (&raw mut old).cast()) }.expect("there is room");
    send_adds(&requester, 1, 16);
    std::thread::scope(|scope| {
        let service = &requester.service;
        scope.spawn(|| service.serve());
        is_here.recv().expect("the thread is at the first message");
        let second = service.serve_caller();
        go.send(()).expect("the thread waits");
        assert!(!second, "a caller has taken the second message before the first was done");
    });
    drop(go);
    assert!(requester.service.serve(), "the second message is still there");
    assert_eq!(memory, [0, 1, 1, 0]);
}

#[test]
fn messages_that_follow_one_another_go_in_one_batch_and_first_of_all() {
    let mut memory = [0_u64; 4];
    let (post, requester) = requester_by(Post { gathers: true, ..Post::default() }, &mut memory);
    let sent = || post.sent.swap(0, Ordering::Relaxed);
    let send = |many: u32, offset| send_adds(&requester, many.into(), offset);
    send(AT_ONCE, 8);
    assert_eq!(sent(), AT_ONCE as usize, "the first go at once");
    send(2, 8);
    assert_eq!((sent(), requester.account.outstanding()), (0, u64::from(AT_ONCE) + 2));
    send(1, 8);
    assert_eq!(sent(), 1, "a message has room for two");
    requester.service.serve();
    assert_eq!(sent(), 1, "the thread sends those that wait");
    send(1, 8);
    assert_eq!(sent(), 0, "the thread says nothing about callers");
    requester.service.serve_caller();
    assert_eq!(sent(), 1);
    send(AT_ONCE + 1, 16);
    assert_eq!(sent(), AT_ONCE as usize, "the first after a wait go at once");
    let mut old = 0_u64;
    // SAFETY: the place lives until completion.
    unsafe { requester.ask(0, add(16), &[], (&raw mut old).cast()) }.expect("there is room");
    assert_eq!(sent(), 0, "a question joins the messages before it");
    // SAFETY: no old value is asked for.
    unsafe { requester.ask(0, TargetTask::Mark, &[], ptr::null_mut()) }.expect("there is room");
    assert_eq!(sent(), 2, "a mark comes behind them at once");
    complete(&requester);
    let (first, second) = (u64::from(AT_ONCE) + 4, u64::from(AT_ONCE) + 1);
    assert_eq!((old, memory), (second, [0, first, second + 1, 0]));
}

/// Each was one message and had one answer.
#[test]
fn what_is_fetched_without_a_wait_goes_in_batches_and_so_do_the_answers() {
    const FETCHES: usize = AT_ONCE as usize + 4;
    let mut memory = [5_u64, 7, 0, 0];
    let (post, requester) = requester_by(Post { gathers: true, ..Post::default() }, &mut memory);
    let sent = || post.sent.swap(0, Ordering::Relaxed);
    let mut fetched = [u64::MAX; FETCHES];
    for (i, place) in fetched.iter_mut().enumerate() {
        let dest = (&raw mut *place).cast();
        let from = crate::Remote { pe: 0, region: Region::Heap, offset: 8 };
        // SAFETY: the places live until completion.
        let asked = unsafe {
            if i % 2 == 0 {
                requester.ask(0, add(0), &[], dest)
            } else {
                requester.get(&GetArguments { dest, from, n: 8 })
            }
        };
        asked.expect("there is room");
    }
    assert_eq!(sent(), AT_ONCE as usize + 1, "the first go at once, and a message has room for two");
    assert!(requester.expects_values());
    while requester.service.serve() {}
    assert_eq!(sent(), 1 + AT_ONCE as usize + 2, "the last two, and an answer to each message");
    complete(&requester);
    assert!(!requester.expects_values());
    let expected: Vec<u64> = (0..FETCHES as u64).map(|i| if i % 2 == 0 { 5 + i / 2 } else { 7 }).collect();
    assert_eq!(fetched[..], expected);
    assert_eq!(memory, [5 + FETCHES as u64 / 2, 7, 0, 0]);
}

#[test]
fn a_batch_that_waits_wakes_the_thread_that_sleeps() {
    #[derive(Default)]
    struct Woken(crate::progress_thread::Callers, AtomicBool);
    impl Drive for Woken {
        fn callers(&self) -> &crate::progress_thread::Callers {
            &self.0
        }
        fn turn(&self, _resumed: bool) -> crate::progress_thread::NextStep {
            unreachable!("nobody runs it")
        }
        fn sleep(&self, _most: std::time::Duration) {}
        fn wake(&self) {
            self.1.store(true, Ordering::Relaxed);
        }
    }
    let mut memory = [0_u64; 4];
    let (_post, requester) = requester_by(Post { gathers: true, ..Post::default() }, &mut memory);
    let thread = Arc::<Woken>::default();
    requester.service.expect_thread(thread.clone());
    let mut slept = 0;
    send_adds(&requester, AT_ONCE.into(), 8);
    requester.service.sleep(|| {
        slept += 1;
        send_adds(&requester, 1, 8);
        assert!(thread.1.load(Ordering::Relaxed), "it waits for somebody who sends it");
    });
    requester.service.sleep(|| slept += 1);
    assert_eq!(slept, 1, "it does not sleep before it has sent the message");
    requester.service.serve();
    requester.service.sleep(|| slept += 1);
    assert_eq!(slept, 2);
    complete(&requester);
}

#[test]
fn a_put_and_its_signal_are_one_message() {
    let mut memory = [0_u64; 4];
    let (post, requester) = requester(&mut memory);
    assert_eq!(requester.service.longest_put(), 64);
    let (to, signal) = (Position { region: Region::Heap, offset: 0 }, Position { region: Region::Heap, offset: 24 });
    let data = [7_u8; 16];
    let task = TargetTask::Put { to, signal: Some((signal, SignalUpdate::Add(3))) };
    requester.send_unacknowledged(0, task, &data).expect("there is room");
    while requester.service.serve() {}
    assert_eq!(post.sent.load(Ordering::Relaxed), 1);
    complete(&requester);
    let seven = u64::from_ne_bytes([7; 8]);
    assert_eq!(memory, [seven, seven, 0, 3]);
}

#[test]
fn an_unacknowledged_message_that_fails_is_an_error_and_writes_nothing() {
    let mut memory = [0_u64; 4];
    let (_post, requester) = requester(&mut memory);
    let (to, signal) = (Position { region: Region::Heap, offset: 0 }, Position { region: Region::Heap, offset: 32 });
    send_adds(&requester, 1, 0);
    let task = TargetTask::Put { to, signal: Some((signal, SignalUpdate::Set(3))) };
    requester.send_unacknowledged(0, task, &[1; 8]).expect("there is room");
    complete(&requester);
    let error = requester.account.error().expect("the signal is outside").to_string();
    assert!(error.contains("outside its registered memory"), "{error}");
    assert_eq!(memory, [1, 0, 0, 0]);
}

/// The caller may see several answers at once, in any order.
#[test]
fn an_answer_does_not_acknowledge_a_message_that_has_failed() {
    for before in 0..32 {
        let mut memory = [0_u64; 4];
        let (_post, requester) = requester(&mut memory);
        send_adds(&requester, before, 0);
        send_adds(&requester, 1, 32);
        requester.mark(&mut requester.questions.lock(), |_, send| send());
        // The message is refused, the mark answered, and both answers are taken.
        while requester.service.serve() {}
        requester.take_answers(&mut requester.questions.lock());
        assert_eq!(requester.account.outstanding(), 0);
        assert!(requester.account.has_failed(), "the error of message {before} is lost");
        assert!(requester.answers.lock().is_empty());
    }
}

#[test]
fn questions_are_bounded_and_unacknowledged_messages_are_not_counted_among_them() {
    let mut memory = [0_u64; 4];
    let (_post, requester) = requester(&mut memory);
    send_adds(&requester, 1, 8);
    for _ in 0..MOST_ASKED {
        // SAFETY: null asks for no old value.
        unsafe { requester.ask(0, add(0), &[], std::ptr::null_mut()) }.expect("there is room");
    }
    assert_eq!(requester.send_unacknowledged(0, add(8), &[]), Err(Busy));
    complete(&requester);
    send_adds(&requester, 1, 8);
    complete(&requester);
    assert_eq!(memory, [MOST_ASKED, 2, 0, 0]);
}
