//! Channels to the only PE of a job, which serves when the test says so.

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_test_folder::not_run;
use oxshmem_transport::suite::AllAddresses;
use oxshmem_transport::{
    Amo, Lane, LaneOptions, MOST_UNACKNOWLEDGED, NotIssued, Participant, PutArguments, Region, Remote, Segment,
    SignalUpdate, Width,
};
use oxshmem_ucx_sys::{
    UCS_ERR_IO_ERROR, Ucx, ucp_ep_h, ucp_request_param_t, ucp_rkey_h, ucp_worker_h, ucs_status_ptr_t,
};

use super::unacknowledged::PIECE;
use super::{Channel, LONGEST_MESSAGE, TOGETHER};
use crate::devices::Devices;
use crate::lane::UcxLane;
use crate::load;
use crate::net::{LOOKS_PER_END, Net};
use crate::objects::UcxContext;

const HEAP: Remote = Remote { pe: 0, region: Region::Heap, offset: 0 };

/// Plays a job of one PE with this memory as its heap, whose lane is given to `play`.
fn alone(settings: &Settings, memory: &mut [u8], play: impl FnOnce(&Arc<Net>, &mut Channel)) {
    alone_over(settings, memory, |ucx| ucx, play);
}

/// The same over what `change` makes of UCX.
fn alone_over(
    settings: &Settings,
    memory: &mut [u8],
    change: impl FnOnce(&'static Ucx) -> &'static Ucx,
    play: impl FnOnce(&Arc<Net>, &mut Channel),
) {
    let context = UcxContext::new(Some("tcp"), Devices::with(&[]), 1, false);
    let mut context = match context {
        Ok(made) => made,
        Err(error) => return not_run(error),
    };
    let made = Arc::get_mut(&mut context).expect("nobody else has it");
    made.ucx = change(made.ucx);
    let net = Arc::new(Net::new(&Participant::new(0, 1, settings, &[0; 48]), context.clone(), false));
    net.open_service().expect("it listens");
    let segment = Segment { base: memory.as_mut_ptr(), len: memory.len() };
    net.regions.register(Region::Heap, segment).expect("it registers");
    assert!(net.peers.book.set(Box::new(AllAddresses(vec![net.address()]))).is_ok(), "nobody has connected");
    let mut channel = Channel::new(context).expect("there are workers");
    play(&net, &mut channel);
    drop(channel);
    net.tear_down();
}

/// Completes what the channel has under way.
fn complete(net: &Net, channel: &mut Channel) {
    while channel.outstanding() > 0 {
        channel.progress(&net.peers).expect("nothing fails");
        net.serve();
    }
}

/// Moves the channel on until something fails.
fn failure(net: &Net, channel: &mut Channel) -> String {
    loop {
        match channel.progress(&net.peers) {
            Ok(_) => drop(net.serve()),
            Err(error) => return error.to_string(),
        }
    }
}

/// The word at this offset of the heap.
fn word(net: &Net, offset: u64) -> u64 {
    net.regions.memory.amo(Region::Heap, offset, Width::Eight, Amo::Fetch).expect("it is there")
}

#[test]
fn fault_P4_a_flush_begins_behind_puts_that_are_done() {
    let (source, mut target) = (vec![7_u8; 1 << 20], vec![0_u8; 1 << 20]);
    let mut flushed = false;
    alone(&Settings::default(), &mut target, |net, channel| {
        // SAFETY: the source lives until the channel has nothing outstanding.
        let put = |channel: &mut Channel| unsafe { channel.put(&net.peers, HEAP, source.as_ptr(), source.len()) };
        while put(channel).is_err() {
            channel.step(&net.peers);
            net.serve();
        }
        // UCX may complete at once what the sockets have room for; with this many more, some are always under way.
        let mut puts = 0;
        let mut fill = |channel: &mut Channel| {
            while channel.gathering().get() < 16 {
                assert!(put(channel).is_ok(), "there is room");
                puts += 1;
                assert!(puts < 2000, "the flush waits for puts that came after it");
            }
        };
        fill(channel);
        channel.begin_flush(&net.peers);
        while let Some(flush) = &channel.flush {
            assert_eq!(flush.request.is_some(), channel.flushing().get() == 0, "puts before the flush decide");
            if flush.request.is_none() {
                fill(channel);
            }
            channel.step(&net.peers);
            net.serve();
        }
        complete(net, channel);
        flushed = true;
    });
    assert!(!flushed || target == source);
}

/// UCX may refuse a put at once. The flush behind it goes well then.
#[test]
fn a_signal_does_not_follow_a_put_that_was_refused() {
    const BYTES: usize = 64 << 10;
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; BYTES + 64]);
    let signal = Remote { offset: BYTES as u64, ..HEAP };
    let mut signalled = None;
    alone(&Settings::default(), &mut target, |net, channel| {
        // SAFETY: the source lives longer than the channel.
        while unsafe { channel.put(&net.peers, HEAP, source.as_ptr(), 8) }.is_err() {
            channel.step(&net.peers);
            net.serve();
        }
        channel.note(Error::new("a put was refused"));
        let update = SignalUpdate::Set(1);
        // SAFETY: the source lives longer than the channel.
        let issued = unsafe { channel.put_signal(&net.peers, HEAP, source.as_ptr(), BYTES, signal, update) };
        assert!(issued.is_ok(), "there is room");
        while channel.outstanding() > 0 {
            channel.progress(&net.peers).expect_err("a put was refused");
            net.serve();
        }
        signalled = Some(word(net, signal.offset));
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
    let behind = TABLE.len() + 64;
    let mut target = vec![0_u8; behind + TOGETHER];
    let at = |offset: usize| Remote { offset: offset as u64, ..HEAP };
    let signal = at(TABLE.len());
    let change = |ucx: &'static Ucx| -> &'static Ucx {
        Box::leak(Box::new(Ucx { put: put_of_a_card, am_send: message_of_a_card, ..*ucx }))
    };
    let mut signalled = None;
    alone_over(&Settings::default(), &mut target, change, |net, channel| {
        // SAFETY: the source is static.
        while unsafe { channel.put(&net.peers, HEAP, TABLE.as_ptr(), 8) }.is_err() {
            channel.step(&net.peers);
            net.serve();
        }
        complete(net, channel);
        channel.allow_straight(0);
        // SAFETY: the source is static.
        let straight = unsafe { channel.put_straight(HEAP, TABLE.as_ptr(), TABLE.len()) };
        assert_eq!((straight, channel.outstanding()), (false, 0), "a put that was refused counts");
        // The longer one is a put of UCX's, and the shorter one travels with its signal.
        for (to, n) in [(HEAP, TABLE.len()), (at(behind), TOGETHER)] {
            // SAFETY: the source is static.
            unsafe { channel.put_signal(&net.peers, to, TABLE.as_ptr(), n, signal, SignalUpdate::Add(1)) }
                .expect("there is room");
            complete(net, channel);
        }
        signalled = Some(word(net, signal.offset));
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
    let signal = Remote { offset: BYTES as u64, ..HEAP };
    let change =
        |ucx: &'static Ucx| -> &'static Ucx { Box::leak(Box::new(Ucx { am_send: message_without_memory, ..*ucx })) };
    let mut signalled = None;
    alone_over(&Settings::default(), &mut target, change, |net, channel| {
        channel.longest_message = usize::MAX;
        let signal = Some((signal, SignalUpdate::Set(1)));
        // SAFETY: the source lives longer than the channel.
        unsafe { channel.put_unacknowledged(&net.peers, HEAP, source.as_ptr(), BYTES, signal) }.expect("there is room");
        while channel.outstanding() > 0 {
            channel.progress(&net.peers).expect_err("a piece was refused");
            net.serve();
        }
        signalled = Some(word(net, BYTES as u64));
    });
    assert!(signalled.is_none_or(|signalled| signalled == 0), "the signal tells of data that is not there");
}

#[test]
fn a_peer_that_does_not_say_where_its_memory_is_is_given_up() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let settings = Settings { peer_timeout: 1, ..Settings::default() };
    let mut said = None;
    alone(&settings, &mut target, |net, channel| {
        // The peer is this PE, which does not serve: its memory keys never come.
        let error = loop {
            // SAFETY: the source lives longer than the channel.
            match unsafe { channel.put(&net.peers, HEAP, source.as_ptr(), source.len()) } {
                Ok(_) => panic!("a put was issued without a key"),
                Err(NotIssued::Busy) => drop(channel.step(&net.peers)),
                Err(NotIssued::Failed(error)) => break *error,
            }
        };
        assert!(channel.outstanding() > 0, "the question is under way");
        said = Some(error.to_string());
    });
    if let Some(said) = said {
        for part in
            ["PE 0 cannot be reached over UCX", "has not said where its memory is for 1 s", "SHMEM_PEER_TIMEOUT"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(target, [0; 8], "nothing was written");
    }
}

#[test]
fn unacknowledged_messages_arrive_and_are_complete_when_somebody_asks() {
    let (source, mut target) = (vec![7_u8; 100_000], vec![0_u8; 200_000]);
    let at = |offset| Remote { offset, ..HEAP };
    let mut refused = None;
    alone(&Settings::default(), &mut target, |net, channel| {
        channel.longest_message = usize::MAX;
        for i in 0..MOST_UNACKNOWLEDGED + 100 {
            // SAFETY: the source lives longer than the channel.
            let issued =
                unsafe { channel.put_copy_unacknowledged(&net.peers, at(100_000 + 8 * i), source.as_ptr(), 8) };
            assert_eq!(issued.expect("there is room"), 8);
            channel.fence();
        }
        let signal = Some((at(199_992), SignalUpdate::Set(9)));
        // SAFETY: the source is as long as what is put of it, and lives longer than the channel.
        unsafe { channel.put_unacknowledged(&net.peers, HEAP, source.as_ptr(), source.len(), signal) }
            .expect("there is room");
        while word(net, 199_992) != 9 || channel.to_end() > 0 {
            channel.step(&net.peers);
            net.serve();
        }
        assert_eq!(channel.outstanding(), 100, "all before the question is known to be done");
        assert_eq!(channel.unmarked, 100);
        channel.progress(&net.peers).expect("nothing fails");
        assert_eq!((channel.unmarked, channel.owed()), (0, 101), "one question stands behind them");
        complete(net, channel);
        // SAFETY: the source is as long as what is put of it, and lives longer than the channel.
        unsafe { channel.put_copy_unacknowledged(&net.peers, at(199_999), source.as_ptr(), 8) }.expect("there is room");
        refused = Some(failure(net, channel));
    });
    if let Some(refused) = refused {
        assert!(refused.contains("outside its registered memory"), "{refused}");
        assert!(target[..102_848].iter().all(|&byte| byte == 7), "the messages have not arrived whole");
    }
}

#[test]
fn short_messages_that_follow_one_another_travel_together_and_first_of_all() {
    let (source, mut target) = ([7_u8; 64], [0_u8; 256]);
    let at = |offset| Remote { offset, ..HEAP };
    let mut played = false;
    alone(&Settings::default(), &mut target, |net, channel| {
        channel.longest_message = usize::MAX;
        let send = |channel: &mut Channel, offset, n| {
            // SAFETY: the source is as long as what is put of it, and lives longer than the channel.
            let issued = unsafe { channel.put_copy_unacknowledged(&net.peers, at(offset), source.as_ptr(), n) };
            assert_eq!(issued.expect("there is room"), n);
        };
        let seen = |offset| word(net, offset);
        let all = u64::from_ne_bytes([7; 8]);
        send(channel, 0, 64);
        assert!(!channel.has_batch(), "the first goes at once");
        send(channel, 64, 8);
        send(channel, 72, 8);
        assert!(channel.has_batch() && channel.to_move() > 0 && channel.outstanding() == 3);
        channel.step(&net.peers);
        assert!(!channel.has_batch(), "whoever moves the channel on sends them");
        send(channel, 80, 8);
        send(channel, 88, 8);
        assert!(channel.has_batch());
        let (old, to) = (&mut 0_u64, at(88));
        // SAFETY: the old value lives until the operation is complete.
        unsafe { channel.amo(&net.peers, to, Width::Eight, Amo::Fetch, (&raw mut *old).cast()) }
            .expect("there is room");
        assert!(!channel.has_batch(), "a question comes behind unacknowledged messages");
        complete(net, channel);
        assert_eq!((*old, seen(80), seen(72), seen(64), seen(0)), (all, all, all, all, all));
        send(channel, 112, 8);
        channel.fence();
        send(channel, 120, 8);
        assert!(!channel.has_batch(), "a flag behind its data goes at once");
        send(channel, 128, 8);
        channel.fence();
        send(channel, 136, 8);
        assert!(channel.has_batch(), "a flag in a stream goes with it");
        complete(net, channel);
        assert_eq!((seen(112), seen(120), seen(128), seen(136)), (all, all, all, all));
        // A message of a batch that cannot be delivered says so, and those beside it arrive.
        for (offset, n) in [(96, 8), (250, 8), (104, 8)] {
            send(channel, offset, n);
        }
        let error = failure(net, channel);
        assert!(error.contains("outside its registered memory"), "{error}");
        assert_eq!((seen(96), seen(104)), (all, all));
        played = true;
    });
    assert!(!played || target[..112].iter().all(|&byte| byte == 7));
}

#[test]
fn a_programs_short_puts_are_messages_and_a_fence_keeps_them_behind_its_long_ones() {
    const LONG: usize = LONGEST_MESSAGE + 1;
    let (source, mut target) = ([7_u8; LONG], vec![0_u8; 3 * LONG]);
    let mut played = false;
    alone(&Settings::default(), &mut target, |net, channel| {
        channel.longest_message = LONGEST_MESSAGE;
        let put = |channel: &mut Channel, to: usize, n| {
            // SAFETY: the source is as long as what is put of it, and lives longer than the channel.
            unsafe { channel.put(&net.peers, Remote { offset: to as u64, ..HEAP }, source.as_ptr(), n) }
        };
        assert!(put(channel, 0, LONGEST_MESSAGE).is_ok());
        assert_eq!((channel.owed(), channel.transfers()), (1, 0), "a short put is a message");
        while put(channel, LONG, LONG).is_err() {
            channel.step(&net.peers);
            net.serve();
        }
        assert!(channel.transfers() > 0, "a long put is UCX's");
        channel.fence();
        assert!(matches!(put(channel, 0, 8), Err(NotIssued::Busy)), "a message overtakes a long put");
        complete(net, channel);
        assert!(put(channel, 2 * LONG, 8).is_ok());
        channel.fence();
        assert!(put(channel, 2 * LONG + 8, 8).is_ok(), "messages keep their order without a wait");
        channel.fence();
        assert!(matches!(put(channel, 0, LONG), Err(NotIssued::Busy)), "a long put overtakes messages");
        complete(net, channel);
        played = true;
    });
    let arrived = |part: &[u8]| part.iter().all(|&byte| byte == 7);
    assert!(!played || arrived(&target[..LONGEST_MESSAGE]) && arrived(&target[LONG..2 * LONG + 16]));
}

/// UCX calls a message sent that waits for room in a socket. Nobody else moves a program's lane on.
#[test]
fn a_message_of_a_program_is_moved_on_until_it_is_acknowledged() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let mut played = false;
    alone(&Settings::default(), &mut target, |net, channel| {
        channel.longest_message = LONGEST_MESSAGE;
        // SAFETY: the source has its bytes.
        let put = unsafe { channel.put_copy(&net.peers, HEAP, source.as_ptr(), source.len()) };
        assert_eq!(put.expect("there is room"), source.len());
        while word(net, 0) == 0 || channel.to_end() > 0 {
            channel.step(&net.peers);
            net.serve();
        }
        assert_eq!((channel.outstanding(), channel.to_move()), (1, 1), "a message that UCX may have is left to it");
        channel.serves = true;
        assert_eq!(channel.to_move(), 0, "a worker that serves is moved on in any case");
        channel.serves = false;
        complete(net, channel);
        assert_eq!(channel.to_move(), 0);
        played = true;
    });
    assert!(!played || target == source);
}

#[test]
fn a_wait_looks_at_messages_that_have_gone_now_and_then() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let mut played = false;
    alone(&Settings::default(), &mut target, |net, _| {
        let shared = net.take_channel(LaneOptions::default()).expect("there are workers");
        // SAFETY: the source has its bytes.
        let put = unsafe { shared.lock().put_copy(&net.peers, HEAP, source.as_ptr(), source.len()) };
        assert_eq!(put.expect("there is room"), source.len());
        while word(net, 0) == 0 || shared.lock().to_end() > 0 {
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
        played = true;
    });
    assert!(!played || target == source);
}

#[test]
fn a_program_that_waits_behind_each_put_has_each_one_answered() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let mut played = false;
    alone(&Settings::default(), &mut target, |net, channel| {
        channel.longest_message = LONGEST_MESSAGE;
        let put = |channel: &mut Channel| {
            // SAFETY: the source has its bytes.
            let put = unsafe { channel.put_copy(&net.peers, HEAP, source.as_ptr(), source.len()) };
            assert_eq!(put.expect("there is room"), source.len());
            channel.unmarked
        };
        for (time, unmarked) in [1, 1, 0, 0].into_iter().enumerate() {
            assert_eq!(put(channel), unmarked, "put number {time}");
            complete(net, channel);
        }
        assert_eq!([put(channel), put(channel)], [0, 1], "one that others follow needs no answer");
        complete(net, channel);
        assert_eq!(put(channel), 1);
        complete(net, channel);
        for _ in 0..3 {
            assert_eq!(put(channel), 1, "the answer to a fetch is one to the put before it");
            let old = &mut 0_u64;
            // SAFETY: the old value lives until the operation is complete.
            unsafe { channel.amo(&net.peers, HEAP, Width::Eight, Amo::Fetch, (&raw mut *old).cast()) }
                .expect("there is room");
            complete(net, channel);
        }
        played = true;
    });
    assert!(!played || target == source);
}

#[test]
fn a_caller_that_waits_for_its_lane_serves_its_peers() {
    const LONG: usize = 2 * LONGEST_MESSAGE;
    const PATIENCE: Duration = Duration::from_secs(30);
    let (source, mut target) = (vec![7_u8; LONG], vec![0_u8; LONG]);
    let mut played = false;
    alone(&Settings::default(), &mut target, |net, _| {
        let lane = UcxLane::new(net.clone(), LaneOptions::default()).expect("there are workers");
        let (put, begun) = (PutArguments { to: HEAP, source: source.as_ptr(), n: LONG }, Instant::now());
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
        played = true;
    });
    assert!(!played || target == source);
}

#[test]
fn the_thread_is_woken_for_a_message_that_waits_for_a_connection() {
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let mut played = false;
    alone(&Settings::default(), &mut target, |net, _| {
        let lane = UcxLane::new(net.clone(), LaneOptions::default()).expect("there are workers");
        let put = PutArguments { to: HEAP, source: source.as_ptr(), n: source.len() };
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
        played = true;
    });
    assert!(!played || target == source);
}

#[test]
fn an_answer_leaves_its_memory_to_the_next_one() {
    let mut target = [7_u8; 8];
    alone(&Settings::default(), &mut target, |net, channel| {
        assert!(!net.answers.has_spare(), "nobody has asked");
        // UCX keeps the first one until there is a connection.
        let is_left = (0..100).any(|_| {
            let old = &mut 0_u64;
            // SAFETY: the old value lives until the operation is complete.
            unsafe { channel.amo(&net.peers, HEAP, Width::Eight, Amo::Fetch, (&raw mut *old).cast()) }
                .expect("there is room");
            complete(net, channel);
            assert_eq!(*old, u64::from_ne_bytes([7; 8]));
            net.answers.has_spare()
        });
        assert!(is_left, "each answer has memory of its own");
    });
}

#[test]
fn a_message_that_ucx_has_not_sent_waits_for_the_thread() {
    const BYTES: usize = 2 * LONGEST_MESSAGE;
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; BYTES]);
    let mut played = false;
    alone(&Settings::default(), &mut target, |net, channel| {
        channel.longest_message = usize::MAX;
        let put = |channel: &mut Channel| {
            // SAFETY: the source is as long as what is put of it, and lives longer than the channel.
            unsafe { channel.put_unacknowledged(&net.peers, HEAP, source.as_ptr(), BYTES, None) }
                .expect("there is room");
        };
        put(channel);
        complete(net, channel);
        while channel.to_end() > 0 {
            channel.step(&net.peers);
        }
        assert!(!channel.has_waiting(), "all has gone");
        // Nobody receives, so the sockets are full in the end.
        let mut puts = 0;
        while channel.inbox.unsent.get() == 0 {
            put(channel);
            puts += 1;
            assert!(puts < 4000, "sockets take everything");
        }
        assert!(!channel.has_batch() && channel.has_waiting(), "a message stays while the caller computes");
        channel.serves = true;
        assert!(!channel.has_waiting(), "the thread watches the serving worker");
        channel.serves = false;
        complete(net, channel);
        played = true;
    });
    assert!(!played || target == source);
}

#[test]
fn what_comes_behind_a_long_put_waits_until_it_has_arrived() {
    const BYTES: usize = 1 << 20;
    const SIGNAL: u64 = 3 * BYTES as u64;
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; SIGNAL as usize + 64]);
    let at = |offset| Remote { offset, ..HEAP };
    let mut refused = None;
    alone(&Settings::default(), &mut target, |net, channel| {
        channel.longest_message = usize::MAX;
        let seen = |offset| word(net, offset);
        let all = u64::from_ne_bytes([7; 8]);
        let turn = |channel: &mut Channel| {
            channel.step(&net.peers);
            net.serve();
            // The last elements of arrays are there before the messages behind them, in their order.
            let words = [BYTES as u64 - 8, SIGNAL, SIGNAL + 8, SIGNAL + 16, 2 * BYTES as u64 - 8, SIGNAL + 24];
            let there = words.map(|word| seen(word) != 0);
            assert!(there.is_sorted_by(|earlier, later| earlier >= later), "{there:?}");
            there[5]
        };
        let add = |word| Some((at(word), SignalUpdate::Add(1)));
        let whole = |channel: &mut Channel, offset, signal| {
            // SAFETY: the source is as long as what is put of it, and lives longer than the channel.
            unsafe { channel.put_unacknowledged(&net.peers, at(offset), source.as_ptr(), BYTES, signal) }
                .expect("there is room");
        };
        whole(channel, 0, add(SIGNAL));
        for word in [SIGNAL + 8, SIGNAL + 16] {
            // SAFETY: the source is as long as what is put of it, and lives longer than the channel.
            unsafe { channel.put_copy_unacknowledged(&net.peers, at(word), source.as_ptr(), 8) }
                .expect("there is room");
        }
        whole(channel, BYTES as u64, None);
        // SAFETY: no old value is asked for.
        unsafe { channel.amo(&net.peers, at(SIGNAL + 24), Width::Eight, Amo::Add(5), ptr::null_mut()) }
            .expect("there is room");
        let mut waited = false;
        while !turn(channel) {
            waited |= net.backlog.is_due(0);
        }
        assert!(waited, "nothing came by rendezvous");
        complete(net, channel);
        assert_eq!((seen(SIGNAL), seen(SIGNAL + 8), seen(SIGNAL + 24)), (1, all, 5));
        // Puts to nowhere, one of them behind another put, do nothing and say so.
        whole(channel, 2 * BYTES as u64, add(SIGNAL + 32));
        whole(channel, SIGNAL - 8, add(SIGNAL + 40));
        whole(channel, u64::MAX - 8, add(SIGNAL + 40));
        whole(channel, 2 * BYTES as u64, add(SIGNAL + 32));
        refused = Some(failure(net, channel));
        while channel.outstanding() > 0 || channel.to_end() > 0 {
            let _ = channel.progress(&net.peers);
            net.serve();
        }
        assert_eq!((seen(SIGNAL + 32), seen(SIGNAL + 40)), (2, 0));
        assert!(!net.backlog.is_due(0) && !channel.is_broken());
    });
    if let Some(refused) = refused {
        assert!(refused.contains("outside its registered memory"), "{refused}");
        assert!(target[..SIGNAL as usize].iter().all(|&byte| byte == 7), "puts have not arrived whole");
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

/// A UCX with such receipts.
fn without_receipts(ucx: &'static Ucx) -> &'static Ucx {
    Box::leak(Box::new(Ucx { am_recv_data: receive_nothing, ..*ucx }))
}

#[test]
fn the_signal_of_a_long_put_that_has_not_arrived_stays_away_and_waits_learn_why() {
    const BYTES: usize = 1 << 20;
    let (source, mut target) = (vec![7_u8; BYTES], vec![0_u8; BYTES + 64]);
    let signal = Remote { offset: BYTES as u64, ..HEAP };
    let mut lost = None;
    alone_over(&Settings::default(), &mut target, without_receipts, |net, channel| {
        channel.longest_message = usize::MAX;
        // SAFETY: the source lives longer than the channel.
        unsafe { channel.put_unacknowledged(&net.peers, HEAP, source.as_ptr(), BYTES, None) }.expect("there is room");
        // SAFETY: no old value is asked for.
        unsafe { channel.amo(&net.peers, signal, Width::Eight, Amo::Add(1), ptr::null_mut()) }.expect("there is room");
        let turn = |channel: &mut Channel| {
            channel.step(&net.peers);
            net.serve();
        };
        while net.lost.get().is_none() || channel.to_end() > 0 {
            turn(channel);
        }
        // The signal has been sent, and arrives meanwhile.
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(1));
            turn(channel);
        }
        assert_eq!(word(net, signal.offset), 0, "the signal tells of data that is not there");
        lost = net.lost.get().map(ToString::to_string);
    });
    assert!(lost.is_none_or(|lost| lost.contains("a put of PE 0 has not arrived over UCX")));
}
