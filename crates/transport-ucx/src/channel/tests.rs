//! Channels to the only PE of a job, which serves when the test says so. It answers as PE 1 as well.

mod last_answers;
mod lists;
mod losses;

use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{ptr, thread};

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_test_folder::not_run;
use oxshmem_transport::suite::AllAddresses;
use oxshmem_transport::{
    Amo, AtomicArguments, AwaitedState, GetArguments, Lane, LaneOptions, MOST_UNACKNOWLEDGED, NotIssued, Participant,
    PutArguments, Region, Remote, Segment, SignalUpdate, Width,
};
use oxshmem_ucx_sys::{
    UCS_ERR_IO_ERROR, Ucx, ucp_ep_h, ucp_request_param_t, ucp_rkey_h, ucp_worker_h, ucs_status_ptr_t,
};

use super::coalescing::FLAGS;
use super::unacknowledged::PIECE;
use super::{Channel, Issued, LONGEST_MESSAGE, TOGETHER};
use crate::devices::Devices;
use crate::lane::UcxLane;
use crate::load;
use crate::net::{LOOKS_PER_END, Net};
use crate::objects::UcxContext;

/// A place in the heap.
const fn at(offset: usize) -> Remote {
    Remote { pe: 0, region: Region::Heap, offset: offset as u64 }
}

const HEAP: Remote = at(0);

fn put(to: Remote, source: &[u8]) -> PutArguments {
    PutArguments { to, source: source.as_ptr(), n: source.len() }
}

/// The only PE of a job, and a channel of it. Sources of puts live longer than the channel.
struct Stage<'n> {
    net: &'n Arc<Net>,
    channel: Channel,
}

/// Plays a job of one PE with this memory as its heap. `None`: UCX is not here.
fn alone<R>(memory: &mut [u8], play: impl FnOnce(&mut Stage<'_>) -> R) -> Option<R> {
    alone_over(&Settings::default(), memory, |_| {}, play)
}

/// The same with these settings, over what `change` makes of UCX.
fn alone_over<R>(
    settings: &Settings,
    memory: &mut [u8],
    change: impl FnOnce(&mut Ucx),
    play: impl FnOnce(&mut Stage<'_>) -> R,
) -> Option<R> {
    let mut context = UcxContext::new(Some("tcp"), Devices::with(&[]), 1, false).map_err(not_run).ok()?;
    let made = Arc::get_mut(&mut context).expect("nobody else has it");
    let mut ucx = Ucx { ..*made.ucx };
    change(&mut ucx);
    made.ucx = Box::leak(Box::new(ucx));
    let net = Arc::new(Net::new(&Participant::new(0, 2, settings, &[0; 48]), context.clone(), false));
    net.open_service().expect("it listens");
    let segment = Segment { base: memory.as_mut_ptr(), len: memory.len() };
    net.regions.register(Region::Heap, segment).expect("it registers");
    assert!(net.peers.book.set(Box::new(AllAddresses(vec![net.address(); 2]))).is_ok(), "nobody has connected");
    let mut stage = Stage { net: &net, channel: Channel::new(context, net.losses.clone()).expect("there are workers") };
    let played = play(&mut stage);
    drop(stage);
    net.tear_down();
    Some(played)
}

impl Stage<'_> {
    /// Moves the channel on, and serves.
    fn turn(&mut self) {
        self.channel.step(&self.net.peers);
        self.net.serve();
    }

    /// Completes what the channel has under way.
    fn complete(&mut self) {
        while self.channel.outstanding() > 0 {
            self.channel.progress(&self.net.peers).expect("nothing fails");
            self.net.serve();
        }
    }

    /// Moves the channel on until something fails.
    fn failure(&mut self) -> String {
        loop {
            match self.channel.progress(&self.net.peers) {
                Ok(_) => drop(self.net.serve()),
                Err(error) => return error.to_string(),
            }
        }
    }

    /// The word at this offset of the heap.
    fn word(&self, offset: usize) -> u64 {
        self.net.regions.memory.amo(Region::Heap, offset as u64, Width::Eight, Amo::Fetch).expect("it is there")
    }

    fn put(&mut self, to: Remote, source: &[u8]) -> Issued<usize> {
        // SAFETY: the source lives longer than the channel.
        unsafe { self.channel.put(&self.net.peers, &put(to, source)) }
    }

    /// A put that waits for memory keys.
    fn put_in_the_end(&mut self, to: Remote, source: &[u8]) {
        while self.put(to, source).is_err() {
            self.turn();
        }
    }

    fn put_copy(&mut self, to: Remote, source: &[u8]) {
        // SAFETY: the source has its bytes.
        let put = unsafe { self.channel.put_copy(&self.net.peers, &put(to, source)) };
        assert_eq!(put.expect("there is room"), source.len());
    }

    fn put_signal(&mut self, to: Remote, source: &[u8], signal: Remote, update: SignalUpdate) {
        // SAFETY: the source lives longer than the channel.
        unsafe { self.channel.put_signal(&self.net.peers, &put(to, source), signal, update) }.expect("there is room");
    }

    fn put_unacknowledged(&mut self, to: Remote, source: &[u8], signal: Option<(Remote, SignalUpdate)>) {
        // SAFETY: the source lives longer than the channel.
        unsafe { self.channel.put_unacknowledged(&self.net.peers, &put(to, source), signal) }.expect("there is room");
    }

    fn update(&mut self, to: Remote, amo: Amo) {
        let atomic = AtomicArguments { to, width: Width::Eight, amo, old: ptr::null_mut() };
        // SAFETY: no old value is asked for.
        unsafe { self.channel.amo(&self.net.peers, &atomic) }.expect("there is room");
    }

    /// Fetches a word, with a look at the channel while the question is under way.
    fn fetch(&mut self, from: Remote, look: impl FnOnce(&Channel)) -> u64 {
        let mut old = 0_u64;
        let place = (&raw mut old).cast();
        let atomic = AtomicArguments { to: from, width: Width::Eight, amo: Amo::Fetch, old: place };
        // SAFETY: the old value lives until the operation is complete.
        unsafe { self.channel.amo(&self.net.peers, &atomic) }.expect("there is room");
        look(&self.channel);
        self.complete();
        old
    }
}

/// A word of a source.
const SEVENS: u64 = u64::from_ne_bytes([7; 8]);

fn is_sevens(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 7)
}

#[test]
fn fault_P4_a_flush_begins_behind_puts_that_are_done() {
    let (source, mut target) = (vec![7_u8; 1 << 20], vec![0_u8; 1 << 20]);
    let flushed = alone(&mut target, |stage| {
        stage.put_in_the_end(HEAP, &source);
        // UCX may complete at once what the sockets have room for; with this many more, some are always under way.
        let mut puts = 0;
        let mut fill = |stage: &mut Stage<'_>| {
            while stage.channel.gathering().get() < 16 {
                assert!(stage.put(HEAP, &source).is_ok(), "there is room");
                puts += 1;
                assert!(puts < 2000, "the flush waits for puts that came after it");
            }
        };
        fill(stage);
        stage.channel.begin_flush(&stage.net.peers);
        while let Some(flush) = &stage.channel.flush {
            let begun = flush.request.is_some();
            assert_eq!(begun, stage.channel.flushing().get() == 0, "puts before the flush decide");
            if !begun {
                fill(stage);
            }
            stage.turn();
        }
        stage.complete();
    });
    assert!(flushed.is_none() || target == source);
}

/// UCX may refuse a put at once. The flush behind it goes well then.
#[test]
fn a_signal_does_not_follow_a_put_that_was_refused() {
    const BYTES: usize = 64 << 10;
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; BYTES + 64]);
    let signalled = alone(&mut target, |stage| {
        stage.put_in_the_end(HEAP, &source[..8]);
        stage.channel.note(Error::new("a put was refused"));
        stage.put_signal(HEAP, &source, at(BYTES), SignalUpdate::Set(1));
        while stage.channel.outstanding() > 0 {
            stage.channel.progress(&stage.net.peers).expect_err("a put was refused");
            stage.net.serve();
        }
        stage.word(BYTES)
    });
    assert!(signalled.is_none_or(|signalled| signalled == 0), "the signal tells of data that is not there");
}

/// Memory that may only be read.
static TABLE: [u8; 20_000] = {
    let mut table = [0; 20_000];
    let mut i = 0;
    while i < table.len() {
        table[i] = (i % 251) as u8;
        i += 1;
    }
    table
};

/// UCX's answer to a call that has failed.
fn failed() -> ucs_status_ptr_t {
    ptr::without_provenance_mut((UCS_ERR_IO_ERROR as isize).cast_unsigned())
}

/// The answer of a card, which cannot register such memory.
fn refused(data: *const c_void) -> Option<ucs_status_ptr_t> {
    TABLE.as_ptr_range().contains(&data.cast::<u8>()).then(failed)
}

/// UCX's put over a card.
unsafe extern "C" fn put_of_a_card(
    endpoint: ucp_ep_h,
    from: *const c_void,
    n: usize,
    to: u64,
    key: ucp_rkey_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let put = load::library().expect("it is open").put;
    // SAFETY: the arguments of a call of UCX's go unchanged to it.
    refused(from).unwrap_or_else(|| unsafe { put(endpoint, from, n, to, key, param) })
}

/// UCX's active message over a card.
unsafe extern "C" fn message_of_a_card(
    endpoint: ucp_ep_h,
    id: c_uint,
    header: *const c_void,
    header_length: usize,
    data: *const c_void,
    n: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let send = load::library().expect("it is open").am_send;
    // SAFETY: the arguments of a call of UCX's go unchanged to it.
    refused(data).unwrap_or_else(|| unsafe { send(endpoint, id, header, header_length, data, n, param) })
}

#[test]
fn a_put_from_memory_that_may_only_be_read_is_copied() {
    let (signal, behind) = (TABLE.len(), TABLE.len() + 64);
    let mut target = vec![0_u8; behind + TOGETHER];
    let change = |ucx: &mut Ucx| (ucx.put, ucx.am_send) = (put_of_a_card, message_of_a_card);
    let signalled = alone_over(&Settings::default(), &mut target, change, |stage| {
        stage.put_in_the_end(HEAP, &TABLE[..8]);
        stage.complete();
        stage.channel.allow_straight(0);
        // SAFETY: the source is static.
        let straight = unsafe { stage.channel.put_straight(HEAP, TABLE.as_ptr(), TABLE.len()) };
        assert_eq!((straight, stage.channel.outstanding()), (false, 0), "a put that was refused counts");
        // The longer one is a put of UCX's, and the shorter one travels with its signal.
        for (to, n) in [(HEAP, TABLE.len()), (at(behind), TOGETHER)] {
            stage.put_signal(to, &TABLE[..n], at(signal), SignalUpdate::Add(1));
            stage.complete();
        }
        stage.word(signal)
    });
    if let Some(signalled) = signalled {
        assert_eq!(signalled, 2);
        assert!(target[..TABLE.len()] == TABLE, "the copies have not arrived whole");
        assert!(target[behind..] == TABLE[..TOGETHER], "the copy in the message has not arrived whole");
    }
}

/// UCX's active message where there is no memory for a whole piece of a put.
unsafe extern "C" fn message_without_memory(
    endpoint: ucp_ep_h,
    id: c_uint,
    header: *const c_void,
    header_length: usize,
    data: *const c_void,
    n: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    if n == PIECE {
        return failed();
    }
    let send = load::library().expect("it is open").am_send;
    // SAFETY: the arguments of a call of UCX's go unchanged to it.
    unsafe { send(endpoint, id, header, header_length, data, n, param) }
}

#[test]
fn a_signal_does_not_follow_a_piece_that_was_refused() {
    const BYTES: usize = PIECE + (64 << 10);
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; BYTES + 64]);
    let change = |ucx: &mut Ucx| ucx.am_send = message_without_memory;
    let signalled = alone_over(&Settings::default(), &mut target, change, |stage| {
        stage.channel.longest_message = usize::MAX;
        stage.put_unacknowledged(HEAP, &source, Some((at(BYTES), SignalUpdate::Set(1))));
        while stage.channel.outstanding() > 0 {
            stage.channel.progress(&stage.net.peers).expect_err("a piece was refused");
            stage.net.serve();
        }
        stage.word(BYTES)
    });
    assert!(signalled.is_none_or(|signalled| signalled == 0), "the signal tells of data that is not there");
}

#[test]
fn a_peer_that_does_not_say_where_its_memory_is_is_given_up() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let settings = Settings { peer_timeout: 1, ..Settings::default() };
    let said = alone_over(
        &settings,
        &mut target,
        |_| {},
        |stage| {
            // The peer is this PE, which does not serve: its memory keys never come.
            let error = loop {
                match stage.put(HEAP, &source) {
                    Ok(_) => panic!("a put was issued without a key"),
                    Err(NotIssued::Busy) => drop(stage.channel.step(&stage.net.peers)),
                    Err(NotIssued::Failed(error)) => break *error,
                }
            };
            assert!(stage.channel.outstanding() > 0, "the question is under way");
            error.to_string()
        },
    );
    if let Some(said) = said {
        for part in
            ["PE 0 cannot be reached over UCX", "has not said where its memory is for 1 s", "SHMEM_PEER_TIMEOUT"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(target, [0; 8], "nothing was written");
    }
}

/// Two threads that reach two peers for the first time ask in turn. Each look of the other one dropped the keys that had come.
#[test]
fn keys_that_come_while_another_peer_is_to_be_reached_stay() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let played = alone(&mut target, |stage| {
        let other = Remote { pe: 1, ..HEAP };
        assert!(matches!(stage.put(other, &source), Err(NotIssued::Busy)), "its keys are not known");
        while stage.channel.inbox.keys.borrow().is_none() {
            stage.turn();
        }
        assert!(matches!(stage.put(HEAP, &source), Err(NotIssued::Busy)), "its keys are not known either");
        assert!(stage.put(other, &source).is_ok(), "the keys of the other peer are lost");
        stage.put_in_the_end(HEAP, &source);
        stage.complete();
    });
    assert!(played.is_none() || target == source);
}

#[test]
fn unacknowledged_messages_arrive_and_are_complete_when_somebody_asks() {
    let (source, mut target) = (vec![7_u8; 100_000], vec![0_u8; 200_000]);
    let refused = alone(&mut target, |stage| {
        stage.channel.longest_message = usize::MAX;
        for i in 0..MOST_UNACKNOWLEDGED as usize + 100 {
            stage.put_copy(at(100_000 + 8 * i), &source[..8]);
            stage.channel.fence();
        }
        stage.put_unacknowledged(HEAP, &source, Some((at(199_992), SignalUpdate::Set(9))));
        while stage.word(199_992) != 9 || stage.channel.to_end() > 0 {
            stage.turn();
        }
        assert_eq!(stage.channel.outstanding(), 100, "all before the question is known to be done");
        assert_eq!(stage.channel.unmarked, 100);
        stage.channel.progress(&stage.net.peers).expect("nothing fails");
        assert_eq!((stage.channel.unmarked, stage.channel.unanswered()), (0, 101), "one question stands behind them");
        stage.complete();
        stage.put_copy(at(199_999), &source[..8]);
        stage.failure()
    });
    if let Some(refused) = refused {
        assert!(refused.contains("outside its registered memory"), "{refused}");
        assert!(is_sevens(&target[..102_848]), "the messages have not arrived whole");
    }
}

/// A blocking put of some KiB is a message, and its caller waits until the source is free: each step is a call of the kernel over TCP.
#[test]
fn a_source_that_ucx_has_read_is_free_without_a_step() {
    let (source, mut target) = (vec![7_u8; LONGEST_MESSAGE], vec![0_u8; LONGEST_MESSAGE]);
    let played = alone(&mut target, |stage| {
        stage.channel.longest_message = LONGEST_MESSAGE;
        // UCX keeps messages until there is a connection.
        stage.put_in_the_end(HEAP, &source);
        stage.complete();
        let is_free =
            |stage: &mut Stage<'_>| stage.channel.poll_local_completion(&stage.net.peers).expect("nothing fails");
        let before = stage.channel.steps();
        stage.put_in_the_end(HEAP, &source);
        assert_eq!(stage.channel.inbox.unsent.get(), 0, "the socket has room");
        assert!(is_free(stage));
        assert_eq!(stage.channel.steps(), before, "nothing is left to move on");
        stage.complete();
    });
    assert!(played.is_none() || target == source);
}

#[test]
fn short_messages_that_follow_one_another_travel_together_and_first_of_all() {
    let (source, mut target) = ([7_u8; 64], [0_u8; 256]);
    let played = alone(&mut target, |stage| {
        stage.channel.longest_message = usize::MAX;
        let send = |stage: &mut Stage<'_>, offset, n: usize| stage.put_copy(at(offset), &source[..n]);
        send(stage, 0, 64);
        assert!(!stage.channel.has_batch(), "the first goes at once");
        send(stage, 64, 8);
        send(stage, 72, 8);
        assert!(stage.channel.has_batch() && stage.channel.to_move() > 0 && stage.channel.outstanding() == 3);
        stage.channel.step(&stage.net.peers);
        assert!(!stage.channel.has_batch(), "whoever moves the channel on sends them");
        send(stage, 80, 8);
        send(stage, 88, 8);
        assert!(stage.channel.has_batch());
        let joins = |channel: &Channel| assert_eq!(channel.waiting, 2, "a question joins the messages before it");
        assert_eq!(stage.fetch(at(88), joins), SEVENS);
        assert_eq!([80, 72, 64, 0].map(|offset| stage.word(offset)), [SEVENS; 4]);
        send(stage, 112, 8);
        stage.channel.fence();
        send(stage, 120, 8);
        assert!(!stage.channel.has_batch(), "a flag behind its data goes at once");
        send(stage, 128, 8);
        stage.channel.fence();
        send(stage, 136, 8);
        assert!(stage.channel.has_batch(), "a flag in a stream goes with it");
        stage.complete();
        assert_eq!([112, 120, 128, 136].map(|offset| stage.word(offset)), [SEVENS; 4]);
        // A message of a batch that cannot be delivered says so, and those beside it arrive.
        [96, 250, 104].into_iter().for_each(|offset| send(stage, offset, 8));
        let error = stage.failure();
        assert!(error.contains("outside its registered memory"), "{error}");
        assert_eq!((stage.word(96), stage.word(104)), (SEVENS, SEVENS));
    });
    assert!(played.is_none() || is_sevens(&target[..112]));
}

/// Each put of a stream with fences in it went by itself: a call of the kernel for 8 bytes.
#[test]
fn a_stream_with_fences_in_it_travels_together_and_the_flags_of_neighbours_go_at_once() {
    const PUTS: usize = 40;
    let (source, mut target) = ([7_u8; 8], [0_u8; 8 * (PUTS + 1)]);
    let played = alone(&mut target, |stage| {
        stage.channel.longest_message = LONGEST_MESSAGE;
        // There is a connection to each of them.
        for pe in [0, 1] {
            stage.put_in_the_end(Remote { pe, ..HEAP }, &source);
        }
        stage.complete();
        let put_behind_fence = |stage: &mut Stage<'_>, pe, word: usize| {
            stage.channel.fence();
            stage.put_copy(Remote { pe, ..at(8 * word) }, &source);
            !stage.channel.has_batch()
        };
        let at_once = (0..PUTS).take_while(|&word| put_behind_fence(stage, 0, word)).count();
        assert_eq!(at_once, 1 + FLAGS as usize);
        stage.channel.step(&stage.net.peers);
        assert!((0..at_once).all(|word| put_behind_fence(stage, 0, word)), "somebody has moved on");
        assert!(!put_behind_fence(stage, 0, at_once));
        let peer = stage.channel.index[1] as usize;
        put_behind_fence(stage, 1, PUTS);
        assert_eq!(stage.channel.peers[peer].waiting, 0, "the flag of a neighbour goes at once");
        for word in at_once..PUTS {
            put_behind_fence(stage, 0, word);
        }
        stage.complete();
        assert_eq!((0..=PUTS).filter(|word| stage.word(8 * word) == SEVENS).count(), PUTS + 1);
    });
    assert!(played.is_none() || is_sevens(&target));
}

/// Each was one message and had one answer.
#[test]
fn what_is_fetched_without_a_wait_travels_together() {
    const ADDS: usize = 40;
    let (source, mut target) = ([7_u8; 64], [0_u8; 256]);
    let played = alone(&mut target, |stage| {
        stage.channel.longest_message = LONGEST_MESSAGE;
        stage.put_in_the_end(HEAP, &source);
        stage.complete();
        let (mut olds, mut bytes) = ([u64::MAX; ADDS], [0_u8; 64]);
        let is_awaited = |stage: &mut Stage<'_>| {
            stage.channel.poll_awaited(&stage.net.peers).expect("nothing fails") == AwaitedState::UnderWay
        };
        for old in &mut olds {
            let atomic =
                AtomicArguments { to: at(64), width: Width::Eight, amo: Amo::Add(1), old: (&raw mut *old).cast() };
            // SAFETY: the places of old values live until all is complete.
            unsafe { stage.channel.amo(&stage.net.peers, &atomic) }.expect("there is room");
        }
        let get = GetArguments { dest: bytes.as_mut_ptr(), from: HEAP, n: bytes.len() };
        // SAFETY: the destination lives until all is complete.
        assert_eq!(unsafe { stage.channel.get(&stage.net.peers, &get) }.expect("there is room"), bytes.len());
        assert_eq!(stage.channel.waiting, ADDS as u64, "the first went at once");
        let questions = stage.channel.asked;
        assert!(is_awaited(stage) && !stage.channel.has_batch());
        assert_eq!(stage.channel.asked, questions + 1, "the others are one message");
        stage.complete();
        assert!(!is_awaited(stage));
        assert!(olds.iter().zip(0..).all(|(&old, before)| old == before), "{olds:?}");
        assert_eq!((bytes, stage.word(64)), (source, ADDS as u64));
        // The answer says what is wrong.
        let beyond = GetArguments { from: at(256), ..get };
        // SAFETY: nothing is written there.
        assert!(unsafe { stage.channel.get(&stage.net.peers, &beyond) }.is_ok());
        assert!(stage.failure().contains("outside its registered memory"));
    });
    assert!(played.is_none() || is_sevens(&target[..64]));
}

#[test]
fn a_programs_short_puts_are_messages_and_a_fence_keeps_them_behind_its_long_ones() {
    const LONG: usize = LONGEST_MESSAGE + 1;
    let (source, mut target) = ([7_u8; LONG], vec![0_u8; 3 * LONG]);
    let played = alone(&mut target, |stage| {
        stage.channel.longest_message = LONGEST_MESSAGE;
        let put = |stage: &mut Stage<'_>, to, n: usize| stage.put(at(to), &source[..n]);
        assert!(put(stage, 0, LONGEST_MESSAGE).is_ok());
        assert_eq!((stage.channel.unanswered(), stage.channel.transfers()), (1, 0), "a short put is a message");
        stage.put_in_the_end(at(LONG), &source);
        assert!(stage.channel.transfers() > 0, "a long put is UCX's");
        stage.channel.fence();
        assert!(matches!(put(stage, 0, 8), Err(NotIssued::Busy)), "a message overtakes a long put");
        stage.complete();
        assert!(put(stage, 2 * LONG, 8).is_ok());
        stage.channel.fence();
        assert!(put(stage, 2 * LONG + 8, 8).is_ok(), "messages keep their order without a wait");
        stage.channel.fence();
        assert!(matches!(put(stage, 0, LONG), Err(NotIssued::Busy)), "a long put overtakes messages");
        stage.complete();
    });
    assert!(played.is_none() || is_sevens(&target[..LONGEST_MESSAGE]) && is_sevens(&target[LONG..2 * LONG + 16]));
}

/// UCX calls a message sent that waits for room in a socket. Nobody else moves a program's lane on.
#[test]
fn a_message_of_a_program_is_moved_on_until_it_is_acknowledged() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let played = alone(&mut target, |stage| {
        stage.channel.longest_message = LONGEST_MESSAGE;
        stage.put_copy(HEAP, &source);
        while stage.word(0) == 0 || stage.channel.to_end() > 0 {
            stage.turn();
        }
        let counts = (stage.channel.outstanding(), stage.channel.to_move());
        assert_eq!(counts, (1, 1), "a message that UCX may have is left to it");
        stage.channel.serves = true;
        assert_eq!(stage.channel.to_move(), 0, "a worker that serves is moved on in any case");
        stage.channel.serves = false;
        stage.complete();
        assert_eq!(stage.channel.to_move(), 0);
    });
    assert!(played.is_none() || target == source);
}

#[test]
fn a_wait_looks_at_messages_that_have_gone_now_and_then() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let played = alone(&mut target, |stage| {
        let net = stage.net;
        let shared = net.take_channel(LaneOptions::default()).expect("there are workers");
        // SAFETY: the source has its bytes.
        let put = unsafe { shared.lock().put_copy(&net.peers, &put(HEAP, &source)) };
        assert_eq!(put.expect("there is room"), source.len());
        while stage.word(0) == 0 || shared.lock().to_end() > 0 {
            shared.nudge(&net.peers);
            net.look();
        }
        let before = shared.lock().steps();
        for _ in 0..3 * LOOKS_PER_END {
            net.look();
        }
        assert_eq!(shared.lock().steps() - before, 3, "only the end of a message may have stayed behind");
        let before = shared.lock().steps();
        for _ in 0..LOOKS_PER_END {
            net.serve();
            net.look();
        }
        assert_eq!(shared.lock().steps() - before, 1, "another sign of life took the turn of a look");
        shared.lock().progress(&net.peers).expect("nothing fails");
        let before = shared.lock().steps();
        net.look();
        assert_eq!(shared.lock().steps() - before, 1, "a caller waits for an answer");
        while shared.to_move() > 0 {
            net.look();
        }
        net.leave_channel(&shared);
    });
    assert!(played.is_none() || target == source);
}

#[test]
fn a_program_that_waits_behind_each_put_has_each_one_answered() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let played = alone(&mut target, |stage| {
        stage.channel.longest_message = LONGEST_MESSAGE;
        let put = |stage: &mut Stage<'_>| {
            stage.put_copy(HEAP, &source);
            stage.channel.unmarked
        };
        for (time, unmarked) in [1, 1, 0, 0].into_iter().enumerate() {
            assert_eq!(put(stage), unmarked, "put number {time}");
            stage.complete();
        }
        assert_eq!([put(stage), put(stage)], [0, 1], "one that others follow needs no answer");
        stage.complete();
        assert_eq!(put(stage), 1);
        stage.complete();
        for _ in 0..3 {
            assert_eq!(put(stage), 1, "the answer to a fetch is one to the put before it");
            stage.fetch(HEAP, |_| {});
        }
    });
    assert!(played.is_none() || target == source);
}

/// A thread that waited on one of many contexts held back calls on the default one.
#[test]
fn the_lane_of_the_default_context_shares_no_worker() {
    let mut target = [0_u8; 8];
    alone(&mut target, |stage| {
        let take = |unshared| {
            let options = LaneOptions { unshared, ..LaneOptions::default() };
            stage.net.take_channel(options).expect("there are workers")
        };
        let first = take(true);
        let plain: Vec<_> = (0..stage.net.most_channels + 2).map(|_| take(false)).collect();
        let last = take(true);
        let count = |of: &Arc<_>| plain.iter().chain([&first, &last]).filter(|other| Arc::ptr_eq(of, other)).count();
        assert_eq!([count(&first), count(&last)], [1, 1]);
        assert_eq!(plain.iter().map(count).max(), Some(2), "the other lanes are more than the workers");
        plain.iter().chain([&first, &last]).for_each(|shared| stage.net.leave_channel(shared));
    });
}

#[test]
fn a_caller_that_waits_for_its_lane_serves_its_peers() {
    const LONG: usize = 2 * LONGEST_MESSAGE;
    const PATIENCE: Duration = Duration::from_secs(30);
    let (source, mut target) = (vec![7_u8; LONG], vec![0_u8; LONG]);
    let played = alone(&mut target, |stage| {
        let lane = UcxLane::new(stage.net.clone(), LaneOptions::default()).expect("there are workers");
        let (put, begun) = (put(HEAP, &source), Instant::now());
        let until = |done: &dyn Fn() -> bool| {
            while !done() {
                assert!(begun.elapsed() < PATIENCE, "a PE that puts to itself waits for somebody who serves it");
            }
        };
        // The first attempt asks for memory keys.
        // SAFETY: the source lives longer than the lane.
        until(&|| lane.poll_completion().expect("nothing fails") && unsafe { lane.put_nbi(&put) } == 0);
        until(&|| lane.poll_local_completion().expect("nothing fails"));
        until(&|| lane.poll_completion().expect("nothing fails"));
    });
    assert!(played.is_none() || target == source);
}

/// A blocking put of more than 16 KiB waited for a round trip.
#[test]
fn a_put_whose_source_is_awaited_is_free_although_nobody_serves() {
    const LONG: usize = 2 * LONGEST_MESSAGE;
    const PATIENCE: Duration = Duration::from_secs(30);
    let (source, mut target) = (vec![7_u8; LONG], vec![0_u8; LONG]);
    let played = alone(&mut target, |stage| {
        let lane = UcxLane::new(stage.net.clone(), LaneOptions::default()).expect("there are workers");
        let (put, begun) = (put(HEAP, &source), Instant::now());
        let complete = || while !lane.poll_completion().expect("nothing fails") {};
        // SAFETY: the sources of both live longer than the lane.
        let put_awaited = |n: usize| assert_eq!(unsafe { lane.put_awaited(&PutArguments { n, ..put }) }, 0);
        put_awaited(8);
        complete();
        // Nobody answers while the serving channel is held.
        let service = stage.net.service.lock();
        put_awaited(LONG);
        while !lane.poll_local_completion().expect("nothing fails") {
            assert!(begun.elapsed() < PATIENCE, "the source waits for the target");
        }
        drop(service);
        complete();
    });
    assert!(played.is_none() || target == source);
}

#[test]
fn the_thread_is_woken_for_a_message_that_waits_for_a_connection() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let played = alone(&mut target, |stage| {
        let net = stage.net;
        let lane = UcxLane::new(net.clone(), LaneOptions::default()).expect("there are workers");
        let put = put(HEAP, &source);
        let sleeps_on = || {
            let mut asleep = false;
            net.asleep.sleep(|| {
                // SAFETY: the source has its bytes.
                let left = unsafe { lane.put(&put) };
                assert_eq!(left, 0, "there is room");
                net.asleep.remind(|| asleep = true);
            });
            while !lane.poll_completion().expect("nothing fails") {}
            asleep
        };
        assert!(!sleeps_on(), "nobody makes the connection while the caller computes");
        assert!(sleeps_on(), "a message that has gone wakes the thread");
    });
    assert!(played.is_none() || target == source);
}

#[test]
fn an_answer_leaves_its_memory_to_the_next_one() {
    alone(&mut [7_u8; 8], |stage| {
        assert!(!stage.net.answers.has_spare(), "nobody has asked");
        // UCX keeps the first one until there is a connection.
        let is_left = (0..100).any(|_| {
            assert_eq!(stage.fetch(HEAP, |_| {}), SEVENS);
            stage.net.answers.has_spare()
        });
        assert!(is_left, "each answer has memory of its own");
    });
}

/// An answer that UCX had not sent went with the PE, and the one that had said good-bye waited for it for `SHMEM_PEER_TIMEOUT` seconds.
#[test]
fn a_pe_stays_until_its_answers_have_gone() {
    alone(&mut [0_u8; 8], |stage| {
        let net = stage.net;
        // UCX keeps the first answer until there is a connection.
        stage.channel.ask_bye(&net.peers, 0);
        while stage.channel.to_end() > 0 {
            stage.turn();
            assert!(!net.has_left() || !net.answers.are_under_way(), "an answer is lost");
        }
        while !net.has_left() {}
    });
}

#[test]
fn a_message_that_ucx_has_not_sent_waits_for_the_thread() {
    const BYTES: usize = 2 * LONGEST_MESSAGE;
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; BYTES]);
    let played = alone(&mut target, |stage| {
        stage.channel.longest_message = usize::MAX;
        stage.put_unacknowledged(HEAP, &source, None);
        stage.complete();
        while stage.channel.to_end() > 0 {
            stage.channel.step(&stage.net.peers);
        }
        assert!(!stage.channel.has_waiting(), "all has gone");
        // Nobody receives, so the sockets are full in the end.
        let mut puts = 0;
        while stage.channel.inbox.unsent.get() == 0 {
            stage.put_unacknowledged(HEAP, &source, None);
            puts += 1;
            assert!(puts < 4000, "sockets take everything");
        }
        let waits = !stage.channel.has_batch() && stage.channel.has_waiting();
        assert!(waits, "a message stays while the caller computes");
        stage.channel.serves = true;
        assert!(!stage.channel.has_waiting(), "the thread watches the serving worker");
        stage.channel.serves = false;
        stage.complete();
    });
    assert!(played.is_none() || target == source);
}

#[test]
fn what_comes_behind_a_long_put_waits_until_it_has_arrived() {
    const BYTES: usize = 2 << 20;
    const SIGNAL: usize = 3 * BYTES;
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; SIGNAL + 64]);
    let refused = alone(&mut target, |stage| {
        stage.channel.longest_message = usize::MAX;
        let turn = |stage: &mut Stage<'_>| {
            stage.turn();
            // The last elements of arrays are there before the messages behind them, in their order.
            let words = [BYTES - 8, SIGNAL, SIGNAL + 8, SIGNAL + 16, 2 * BYTES - 8, SIGNAL + 24];
            let there = words.map(|word| stage.word(word) != 0);
            assert!(there.is_sorted_by(|earlier, later| earlier >= later), "{there:?}");
            there[5]
        };
        let add = |word| Some((at(word), SignalUpdate::Add(1)));
        stage.put_unacknowledged(HEAP, &source, add(SIGNAL));
        stage.put_copy(at(SIGNAL + 8), &source[..8]);
        stage.put_copy(at(SIGNAL + 16), &source[..8]);
        stage.put_unacknowledged(at(BYTES), &source, None);
        stage.update(at(SIGNAL + 24), Amo::Add(5));
        let mut waited = false;
        while !turn(stage) {
            waited |= stage.net.backlog.is_due(0);
        }
        assert!(waited, "nothing came by rendezvous");
        stage.complete();
        assert_eq!([SIGNAL, SIGNAL + 8, SIGNAL + 24].map(|word| stage.word(word)), [1, SEVENS, 5]);
        // Puts to nowhere, one of them behind another put, do nothing and say so.
        stage.put_unacknowledged(at(2 * BYTES), &source, add(SIGNAL + 32));
        stage.put_unacknowledged(at(SIGNAL - 8), &source, add(SIGNAL + 40));
        stage.put_unacknowledged(at(usize::MAX - 8), &source, add(SIGNAL + 40));
        stage.put_unacknowledged(at(2 * BYTES), &source, add(SIGNAL + 32));
        let refused = stage.failure();
        while stage.channel.outstanding() > 0 || stage.channel.to_end() > 0 {
            let _ = stage.channel.progress(&stage.net.peers);
            stage.net.serve();
        }
        assert_eq!((stage.word(SIGNAL + 32), stage.word(SIGNAL + 40)), (2, 0));
        assert!(!stage.net.backlog.is_due(0) && !stage.channel.is_broken());
        refused
    });
    if let Some(refused) = refused {
        assert!(refused.contains("outside its registered memory"), "{refused}");
        assert!(is_sevens(&target[..SIGNAL]), "puts have not arrived whole");
    }
}

/// UCX's receipt where it has no memory left.
unsafe extern "C" fn receive_nothing(
    _worker: ucp_worker_h,
    _announced: *mut c_void,
    _to: *mut c_void,
    _n: usize,
    _param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    failed()
}

#[test]
fn the_signal_of_a_long_put_that_has_not_arrived_stays_away_and_waits_learn_why() {
    const BYTES: usize = 2 << 20;
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; BYTES + 64]);
    let without_receipts = |ucx: &mut Ucx| ucx.am_recv_data = receive_nothing;
    let lost = alone_over(&Settings::default(), &mut target, without_receipts, |stage| {
        stage.channel.longest_message = usize::MAX;
        stage.put_unacknowledged(HEAP, &source, None);
        stage.update(at(BYTES), Amo::Add(1));
        while stage.net.losses.first().is_none() || stage.channel.to_end() > 0 {
            stage.turn();
        }
        // The signal has been sent, and arrives meanwhile.
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(1));
            stage.turn();
        }
        assert_eq!(stage.word(BYTES), 0, "the signal tells of data that is not there");
        stage.net.losses.first().map(ToString::to_string).unwrap_or_default()
    });
    assert!(lost.is_none_or(|lost| lost.contains("a put of PE 0 has not arrived over UCX")));
}
