//! Two ends in virtual time: bytes are cut anywhere, come late, are lost with the connection; and what does not belong
//! to the protocol at all.

use std::collections::VecDeque;

use oxshmem_base::chance::Dice;
use oxshmem_transport::{Amo, Region, Width, suites};
use proptest::prelude::*;

use super::codec::{BULK, BatchMessages, FRAME, FrameKind, Header, MESSAGE, Message, SMALL, Urgency};
use super::fuzz::{self, connection::End};
use super::handshake::{Acceptor, Credentials, HandshakeStep, Initiator, Route, Standing, Verdict};
use super::seal::{SEAL, Sealer};
use super::{FrameReceiver, Garbage, MemoryRange, OutputPiece, Session};
use crate::limits::WINDOW;

const SHARED: usize = 1 << 20;
const PRIVATE: usize = 4 << 20;
const PUT: Message<'static> = Message::Put { lane: 0, region: Region::Heap, offset: 0, data: &[1; 8] };

/// One PE.
type Side = End<Wire>;

/// The bytes that a side has sent, and the key if they are sealed.
#[derive(Default)]
struct Wire {
    sealer: Option<Sealer>,
    /// On their way to the peer, with the time of arrival.
    pieces: VecDeque<(u64, Vec<u8>)>,
}

impl Side {
    fn new() -> Self {
        Self::with_memory(SHARED, PRIVATE)
    }

    /// Issues something and keeps the books.
    fn issue(&mut self, now: u64, dice: &mut Dice) {
        let (lane, region) = (dice.below(3) as u16, Region::Heap);
        let n = [0, 1, 8, 100, SMALL, SMALL + 1, 60_000, BULK][dice.below(8)];
        let offset = dice.below(SHARED - n) as u64;
        let urgency = [Urgency::Soon, Urgency::Later, Urgency::Soon, Urgency::Now][dice.below(4)];
        // Some is left for what is short.
        let has_room = self.room() > n + if n > SMALL { 64 << 10 } else { 32 << 10 };
        match dice.below(4) {
            0 if n <= SMALL => {
                let data: Vec<u8> = (0..n).map(|_| dice.below(256) as u8).collect();
                self.push(&Message::Put { lane, region, offset, data: &data }, urgency);
            }
            0 if has_room && dice.below(2) == 0 => {
                let what = (n, dice.below(256) as u8);
                let sends = dice.below(2) == 0;
                self.push_uncopied_put(lane, offset, what, urgency, |side| {
                    if sends {
                        side.transmit(now, dice);
                    }
                });
            }
            0 if has_room => self.push_bulk_put(lane, offset, n, dice.below(256) as u8, urgency),
            1 if has_room => self.push(&Message::Get { lane, region, offset, n }, urgency),
            0 | 1 => {}
            _ => {
                let (width, fetch) = (Width::ALL[dice.below(3)], dice.below(2) == 0);
                let amo = Amo::from_parts(dice.below(7) as u8, dice.next(), 0).expect("a known atomic");
                self.push(&Message::Amo { lane, region, offset: offset & !7, width, amo, fetch }, urgency);
            }
        }
    }

    /// Sends some of what is to be sent.
    fn transmit(&mut self, now: u64, dice: &mut Dice) {
        if dice.below(3) == 0 {
            self.session.close_batch();
        }
        if dice.below(3) == 0 && (self.session.wants_ack() || self.session.is_asked()) {
            self.session.acknowledge();
        }
        if dice.below(5) == 0 {
            self.session.ask_for_all();
        }
        let bytes = if let Some(sealer) = &mut self.wire.sealer {
            let Some((mut frame, place)) = self.session.whole_frame() else { return };
            place.into_iter().for_each(|place| frame.extend_from_slice(self.host.at(place)));
            sealer.seal(&mut frame).expect("it can be sealed");
            frame
        } else {
            let mut some = self.output(BULK);
            some.truncate(1 + dice.below(some.len()));
            self.session.sent(some.len());
            some
        };
        // Nothing overtakes: bytes arrive no earlier than those before them.
        let earliest = self.wire.pieces.back().map_or(now, |(at, _)| (*at).max(now));
        if !bytes.is_empty() {
            self.wire.pieces.push_back((earliest + dice.below(20) as u64, bytes));
        }
    }

    /// Says at once all that it has to say.
    fn say_all(&mut self, peer: &mut Side) {
        self.session.close_batch();
        while self.session.has_output() {
            let bytes = self.output(usize::MAX);
            self.session.sent(bytes.len());
            peer.receive(&bytes, 1 << 20);
        }
    }

    /// Receives what has arrived.
    fn deliver(&mut self, from: &mut Side, now: u64, dice: &mut Dice) {
        while from.wire.pieces.front().is_some_and(|(at, _)| *at <= now) {
            let (_, bytes) = from.wire.pieces.pop_front().expect("just seen");
            self.receive(&bytes, 1 + dice.below(100_000));
        }
    }
}

fn credentials(encrypt: bool) -> Credentials {
    Credentials { job: *b"a job of a test.", secret: [9; 32], encrypt }
}

/// A new connection from `a` to `b`, as the driver makes it; bytes of the old one are gone.
fn connect(a: &mut Side, b: &mut Side, encrypt: bool, times: u64) {
    let credentials = credentials(encrypt);
    let route = Route { from: 0, to: 1, rail: 0 };
    let (mut initiator, hello) = Initiator::new(&credentials, route, [times as u8; 32]);
    let mut acceptor = Acceptor::new(&credentials, 1, [!times as u8; 32]);
    let (head, tail) = hello.split_at(13);
    assert!(matches!(acceptor.hear(head), Ok(HandshakeStep::More)));
    let Ok(HandshakeStep::Say(challenge)) = acceptor.hear(tail) else { panic!("no challenge") };
    assert!(matches!(initiator.hear(&challenge), Ok(HandshakeStep::Challenged)));
    let claim = initiator.claim(Standing { established: times, executed: a.session.executed() });
    let Ok(HandshakeStep::Proven(heard, standing)) = acceptor.hear(&claim) else { panic!("not proven") };
    assert_eq!((heard, standing.established), (route, times));
    let mine = Standing { established: times + 1, executed: b.session.executed() };
    let welcome = acceptor.welcome(Verdict::Accepted, mine);
    let Ok(HandshakeStep::Decided(Verdict::Accepted, theirs)) = initiator.hear(&welcome) else {
        panic!("not accepted")
    };
    for (side, seals, executed) in
        [(&mut *a, initiator.seals(), theirs.executed), (b, acceptor.seals(), standing.executed)]
    {
        let (sealer, opener) = seals.unzip();
        side.wire = Wire { sealer, pieces: VecDeque::new() };
        side.receiver = FrameReceiver::new(opener);
        side.session.resume(executed).expect("both sides count alike");
        side.reuse_sources();
    }
}

/// Both sides of a new connection.
fn connected(encrypt: bool) -> (Side, Side) {
    let [mut a, mut b] = [(); 2].map(|()| Side::new());
    connect(&mut a, &mut b, encrypt, 0);
    (a, b)
}

/// Both issue, all the time and in both directions, while the connection is cut again and again.
fn two_sides(seed: u64, encrypt: bool, cuts: usize) {
    let mut dice = Dice::new(seed);
    let (mut a, mut b) = connected(encrypt);
    let (mut times, mut now) = (0, 0);
    while now < 600 || a.session.is_waiting() || b.session.is_waiting() {
        now += 1;
        assert!(now < 200_000, "seed {seed}: nothing moves");
        for side in [&mut a, &mut b] {
            for _ in 0..dice.below(3) {
                if now < 600 && !side.session.is_full() {
                    side.issue(now, &mut dice);
                }
            }
            side.transmit(now, &mut dice);
        }
        a.deliver(&mut b, now, &mut dice);
        b.deliver(&mut a, now, &mut dice);
        if now < 600 && dice.below(600) < cuts {
            times += 1;
            connect(&mut a, &mut b, encrypt, times);
        }
    }
    for (side, peer) in [(&a, &b), (&b, &a)] {
        side.expect_done(peer, &format!("seed {seed} after {times} cuts"));
    }
    assert_eq!(cuts > 0, times > 0, "seed {seed}: as many cuts as wanted");
}

suites! {
    everything_is_executed_once_and_in_order: (1..20).for_each(|seed| two_sides(seed * 7919, false, 0));
    cuts_lose_nothing_and_repeat_nothing: (1..30).for_each(|seed| two_sides(seed * 104_729, false, 30));
    cuts_under_seal: (1..10).for_each(|seed| two_sides(seed * 15_485_863, true, 30));
}

#[test]
fn a_session_says_when_the_peer_is_slow() {
    let mut session = Session::default();
    let mut pushed = 0;
    while !session.is_full() {
        session.push(&Message::Put { lane: 0, region: Region::Heap, offset: 0, data: &[0; SMALL] }, Urgency::Soon);
        pushed += SMALL;
    }
    assert!(pushed < 2 << 20, "{pushed} bytes are kept for a peer that hears nothing");
    let mut fetches = Session::default();
    while !fetches.is_full() {
        fetches
            .push_fetch(&Message::Get { lane: 0, region: Region::Heap, offset: 0, n: 8 }, MemoryRange { at: 0, n: 8 });
    }
}

fn push_bulk(session: &mut Session, n: usize, urgency: Urgency) {
    session.push_bulk_put(0, Region::Heap, 0, MemoryRange { at: SHARED, n }, urgency);
}

/// Sends everything that waits.
fn send(session: &mut Session) {
    let length = |piece| match piece {
        OutputPiece::Bytes(bytes) => bytes.len(),
        OutputPiece::MemoryRange(place) => place.n,
    };
    let all = session.pieces().map(length).sum();
    session.sent(all);
}

#[test]
fn messages_of_a_stream_share_calls_of_the_kernel() {
    let mut session = Session::default();
    let push = |session: &mut Session| push_bulk(session, 20_000, Urgency::Later);
    for sent in 0..4 {
        push(&mut session);
        assert!(!session.is_coalescing(false), "message {sent} waits, and the peer has nothing else to do");
        send(&mut session);
    }
    for _ in 0..4 {
        push(&mut session);
        assert!(session.is_coalescing(false), "a short message goes alone behind those that are under way");
    }
    push(&mut session);
    assert!(!session.is_coalescing(false), "100,000 bytes wait for more");
    session.sent(1);
    assert!(!session.is_coalescing(false), "what has begun to be sent waits");
    send(&mut session);
    session.acknowledged(9).expect("so many were sent");
    push(&mut session);
    assert!(!session.is_coalescing(false), "a message waits for nothing");
}

#[test]
fn puts_of_a_program_share_calls_of_the_kernel_behind_one_that_is_acknowledged_soon() {
    let mut session = Session::default();
    push_bulk(&mut session, 8192, Urgency::Soon);
    assert!(!session.is_coalescing(session.is_busy(false)), "the first message waits for nothing");
    send(&mut session);
    let was_busy = session.is_busy(false);
    for _ in 0..11 {
        push_bulk(&mut session, 8192, Urgency::Soon);
        assert!(session.is_coalescing(was_busy), "a put goes alone behind one that is under way");
        assert!(!session.is_coalescing(false), "a put waits though the peer was idle");
    }
    push_bulk(&mut session, 8192, Urgency::Soon);
    assert!(!session.is_coalescing(was_busy), "98,304 bytes wait for more");
    session.sent(1);
    assert!(!session.is_coalescing(was_busy), "what has begun to be sent waits");
    send(&mut session);
    for (n, urgency) in [(8192, Urgency::Now), (50_000, Urgency::Soon)] {
        push_bulk(&mut session, n, urgency);
        assert!(!session.is_coalescing(was_busy), "{n} bytes that are acknowledged {urgency:?} wait");
        send(&mut session);
    }
}

/// The bytes that are to be sent of a session whose memory has `fill` in each byte.
fn output(session: &Session, fill: u8) -> Vec<u8> {
    let bytes = |piece| match piece {
        OutputPiece::Bytes(bytes) => bytes.to_vec(),
        OutputPiece::MemoryRange(MemoryRange { n, .. }) => vec![fill; n],
    };
    session.pieces().flat_map(bytes).collect()
}

#[test]
fn an_uncopied_put_is_sent_with_its_first_bytes_whatever_its_owner_writes_there_later() {
    for sent in [0, 1, FRAME + MESSAGE, FRAME + MESSAGE + 1, 9_000] {
        let mut session = Session::default();
        let place = MemoryRange { at: SHARED, n: 10_000 };
        let ticket = session.push_uncopied_put(0, (Region::Heap, 0), place, Urgency::Soon);
        session.push(&PUT, Urgency::Soon);
        session.close_batch();
        let whole = output(&session, 7);
        session.sent(sent);
        session.copy_uncopied(|bytes, place| bytes.extend(std::iter::repeat_n(7, place.n)));
        assert!(output(&session, 0) == whole[sent..], "behind {sent} bytes the kernel gets others");
        send(&mut session);
        session.resume(0).expect("the peer has forgotten nothing");
        assert!(output(&session, 0) == whole, "other bytes are sent again");
        send(&mut session);
        session.acknowledged(ticket.frame).expect("it was sent");
        assert!(session.reached().frame == ticket.frame && !session.is_full());
    }
}

#[test]
fn uncopied_puts_fill_the_window() {
    let mut session = Session::default();
    let place = MemoryRange { at: SHARED, n: BULK };
    let put = |session: &mut Session| {
        session.push_uncopied_put(0, (Region::Heap, 0), place, Urgency::Soon);
        session.copy_uncopied(|bytes, place| bytes.resize(bytes.len() + place.n, 0));
    };
    let puts = (0..)
        .take_while(|_| {
            !session.is_full() && {
                put(&mut session);
                true
            }
        })
        .count();
    assert_eq!(puts, WINDOW / BULK, "copies have no bound");
}

#[test]
fn a_message_behind_a_fence_waits_for_nothing_but_a_stream() {
    let mut session = Session::default();
    let mut push = |urgency| {
        session.push(&PUT, urgency);
        session.close_batch();
        [false, true].map(|behind_fence| session.is_busy(behind_fence))
    };
    assert_eq!(push(Urgency::Later), [false, false]);
    assert_eq!([(); 2].map(|()| push(Urgency::Soon)), [[true, false]; 2]);
    assert_eq!(push(Urgency::Later), [true, true], "four messages are a stream");
}

/// Carries everything that `from` has to say to `to`, which acknowledges if that is wanted soon.
fn carry(from: &mut Side, to: &mut Side) {
    from.say_all(to);
    to.session.close_batch();
    if to.session.wants_ack() {
        to.session.acknowledge();
    }
}

#[test]
fn operations_of_contexts_complete_unasked() {
    let (region, offset) = (Region::Heap, 0);
    for n in [8, SMALL, 100_000] {
        let (mut a, mut b) = connected(false);
        // A message that no caller waits for may share the frame.
        a.session.push(&Message::Put { lane: 1, region, offset, data: &[1; 8] }, Urgency::Later);
        let get = a.session.push_fetch(&Message::Get { lane: 0, region, offset, n }, MemoryRange { at: SHARED, n });
        let put = a.session.push(&Message::Put { lane: 0, region, offset, data: &[2; 8] }, Urgency::Soon);
        let bulk = a.session.push_bulk_put(0, region, offset, MemoryRange { at: SHARED, n: 60_000 }, Urgency::Soon);
        for _ in 0..3 {
            carry(&mut a, &mut b);
            carry(&mut b, &mut a);
        }
        let reached = a.session.reached();
        for ticket in [get, put, bulk] {
            assert!(ticket.is_complete(reached), "{n} bytes: {ticket:?} of {reached:?}");
        }
    }
}

#[test]
fn an_acknowledgement_is_asked_for_by_the_most_urgent_message_of_a_frame() {
    for (urgencies, soon, at_once) in [
        ([Urgency::Later, Urgency::Later], false, false),
        ([Urgency::Soon, Urgency::Later], true, false),
        ([Urgency::Now, Urgency::Soon], true, true),
    ] {
        let (mut a, mut b) = connected(false);
        for urgency in urgencies {
            a.session.push(&PUT, urgency);
        }
        a.say_all(&mut b);
        assert_eq!((b.session.wants_ack(), b.session.is_asked()), (soon, at_once), "{urgencies:?}");
        b.session.acknowledge();
        assert!(b.session.has_output() && !b.session.wants_ack() && !b.session.is_asked());
        a.session.ask();
        assert_eq!(a.session.has_output(), !soon, "whoever acknowledges unasked is not asked: {urgencies:?}");
    }
}

#[test]
fn a_get_alone_takes_one_frame_each_way() {
    for n in [8, SMALL, 100_000] {
        let (mut a, mut b) = connected(false);
        let get = Message::Get { lane: 0, region: Region::Heap, offset: 0, n };
        for before in 0..3 {
            let ticket = a.session.push_fetch(&get, MemoryRange { at: SHARED, n });
            assert_eq!([false, true].map(|behind_fence| a.session.is_busy(behind_fence)), [true, false]);
            carry(&mut a, &mut b);
            assert!(!b.session.wants_ack(), "{n} bytes: a frame more for an acknowledgement");
            carry(&mut b, &mut a);
            let reached = a.session.reached();
            assert!(ticket.is_complete(reached), "{n} bytes: {ticket:?} of {reached:?}");
            assert!(reached.frame >= before, "{n} bytes: an answer acknowledges the frames before its request");
            assert!(!a.session.is_busy(false), "{n} bytes: nobody waits any more");
        }
        a.session.ask();
        assert!(!a.session.has_output(), "{n} bytes: a question that nobody needs");
        a.session.ask_for_all();
        carry(&mut a, &mut b);
        b.session.acknowledge();
        carry(&mut b, &mut a);
        assert!(!a.session.is_waiting(), "{n} bytes: a frame is kept for ever");
    }
}

#[test]
fn a_message_that_shares_its_frame_with_a_get_completes_unasked() {
    let (region, offset, n) = (Region::Heap, 0, 100_000);
    let (mut a, mut b) = connected(false);
    let put = a.session.push(&Message::Put { lane: 1, region, offset, data: &[1; 8] }, Urgency::Later);
    a.session.push_fetch(&Message::Get { lane: 0, region, offset, n }, MemoryRange { at: SHARED, n });
    for _ in 0..2 {
        carry(&mut a, &mut b);
        carry(&mut b, &mut a);
        a.session.ask();
        assert!(!a.session.has_output(), "nobody asks behind a request");
    }
    assert!(put.frame <= a.session.reached().frame);
}

#[test]
fn a_good_bye_that_was_lost_is_said_over_the_next_connection() {
    for under_way in [false, true] {
        let (mut a, mut b) = (Side::new(), Side::new());
        if under_way {
            a.session.push(&PUT, Urgency::Soon);
        }
        // There is no connection yet.
        a.session.leave();
        for times in 0..2 {
            // The second connection takes the place of one over which it was said and has not arrived.
            connect(&mut a, &mut b, false, times);
            let said = a.output(usize::MAX);
            a.session.sent(said.len());
        }
        connect(&mut a, &mut b, false, 2);
        carry(&mut a, &mut b);
        assert!(b.receiver.has_left() && !a.session.has_output(), "something is under way: {under_way}");
        assert_eq!(b.session.executed(), u64::from(under_way));
    }
}

#[test]
fn refusals_come_back_to_their_lane() {
    let (mut a, mut b) = connected(false);
    let (region, far) = (Region::Heap, SHARED as u64 - 3);
    let dest = MemoryRange { at: SHARED, n: 8 };
    a.session.push(&Message::Put { lane: 1, region, offset: far, data: &[1; 8] }, Urgency::Soon);
    a.session.push_fetch(&Message::Get { lane: 2, region, offset: u64::MAX, n: 8 }, dest);
    a.session.push_bulk_put(3, region, far, MemoryRange { at: SHARED, n: 100_000 }, Urgency::Soon);
    let amo = Message::Amo { lane: 4, region, offset: far, width: Width::Eight, amo: Amo::Add(1), fetch: true };
    a.session.push_fetch(&amo, dest);
    let last = a.session.push(&Message::Put { lane: 5, region, offset: 0, data: &[5; 4] }, Urgency::Soon);
    let mut dice = Dice::new(5);
    for now in 0..2_000 {
        a.transmit(now, &mut dice);
        b.transmit(now, &mut dice);
        a.deliver(&mut b, now, &mut dice);
        b.deliver(&mut a, now, &mut dice);
    }
    assert_eq!(a.host.refused, [1, 2, 3, 4]);
    assert_eq!(a.session.reached(), last);
    assert_eq!(b.host.memory[..5], [5, 5, 5, 5, 0]);
}

#[test]
fn fault_L2_encryption_on_one_side_is_told_to_both_sides_and_to_nobody_else() {
    let route = Route { from: 0, to: 1, rail: 0 };
    for encrypt in [false, true] {
        let (mut initiator, hello) = Initiator::new(&credentials(encrypt), route, [3; 32]);
        let mut acceptor = Acceptor::new(&credentials(!encrypt), 1, [4; 32]);
        let Ok(HandshakeStep::Refused(refusal, refused)) = acceptor.hear(&hello) else { panic!("no refusal") };
        assert_eq!(refused, route);
        assert!(matches!(initiator.hear(&refusal), Ok(HandshakeStep::Differs)));
        // Without the secret a peer gets no refusal, and cannot make one up.
        let wrong = Credentials { secret: [8; 32], ..credentials(encrypt) };
        let (_, hello) = Initiator::new(&wrong, route, [3; 32]);
        assert!(Acceptor::new(&credentials(!encrypt), 1, [4; 32]).hear(&hello).is_err());
        let (mut initiator, _) = Initiator::new(&credentials(encrypt), route, [5; 32]);
        assert!(initiator.hear(&refusal).is_err(), "a refusal of another hello was taken");
    }
}

#[test]
fn a_handshake_proves_the_secret_on_both_sides_and_cannot_be_replayed() {
    let ours = credentials(false);
    let route = Route { from: 0, to: 1, rail: 0 };
    let wrong = Credentials { secret: [8; 32], ..ours.clone() };
    let acceptor = |nonce| Acceptor::new(&ours, 1, [nonce; 32]);
    let refused = |hello: &[u8]| acceptor(1).hear(hello).is_err();
    assert!(refused(&Initiator::new(&wrong, route, [0; 32]).1), "another secret");
    assert!(refused(&Initiator::new(&ours, Route { to: 2, ..route }, [0; 32]).1), "another PE");
    assert!(refused(&Initiator::new(&Credentials { job: [0; 16], ..ours.clone() }, route, [0; 32]).1), "another job");
    assert!(refused(b"GET / HTTP/1.1\r\nHost: somebody\r\nUser-Agent: a scanner that is long enough to fill a hello, and more\r\n\r\n"));

    let (mut initiator, hello) = Initiator::new(&ours, route, [3; 32]);
    let Ok(HandshakeStep::Say(challenge)) = acceptor(1).hear(&hello) else { panic!("no challenge") };
    initiator.hear(&challenge).expect("it is proven");
    let claim = initiator.claim(Standing { established: 0, executed: 0 });
    // The same hello is answered by another nonce, to which the recorded claim says nothing.
    let mut later = acceptor(2);
    assert!(matches!(later.hear(&hello), Ok(HandshakeStep::Say(_))));
    assert!(later.hear(&claim).is_err(), "a replay was let in");
    // An acceptor that does not know the secret cannot answer.
    let (mut initiator, _) = Initiator::new(&ours, route, [4; 32]);
    assert!(initiator.hear(&challenge).is_err(), "the answer to another hello was taken");
}

#[test]
fn a_frame_to_be_sealed_has_room_for_its_data_and_its_seal() {
    let mut session = Session::default();
    session.push(&PUT, Urgency::Soon);
    session.push_bulk_put(0, Region::Heap, 0, MemoryRange { at: SHARED, n: BULK }, Urgency::Soon);
    for n in [8, BULK] {
        let (frame, place) = session.whole_frame().expect("two frames");
        let length = FRAME + MESSAGE + n;
        assert_eq!(frame.len() + place.map_or(0, |place| place.n), length);
        assert!(frame.capacity() >= length + SEAL, "room for {} bytes of {length} and a seal", frame.capacity());
    }
}

#[test]
fn a_broken_seal_ends_the_connection() {
    let (mut a, mut b) = connected(true);
    a.session.push(&PUT, Urgency::Soon);
    a.session.close_batch();
    let (mut frame, _) = a.session.whole_frame().expect("one frame");
    a.wire.sealer.as_mut().expect("sealed").seal(&mut frame).expect("it can be sealed");
    let last = frame.len() - 1;
    for at in [10, FRAME, FRAME + MESSAGE, last] {
        let mut broken = frame.clone();
        broken[at] ^= 1;
        let (mut session, mut receiver) =
            (Session::default(), std::mem::replace(&mut b.receiver, FrameReceiver::new(None)));
        assert!(fuzz::receive(&broken, 1000, &mut receiver, &mut session, &mut b.host).is_err(), "byte {at}");
        connect(&mut a, &mut b, true, 0);
    }
    assert_eq!(b.host.memory[..8], [0; 8]);
}

/// Messages in front of the garbage were executed, and again when the frame came again over the next connection: a sum was wrong, and the
/// answer to one atomic went to the place of another one.
#[test]
fn garbage_is_found_before_anything_of_its_frame_is_executed() {
    let dest = |i: usize| MemoryRange { at: SHARED + 8 * i, n: 8 };
    let (region, amo) = (Region::Heap, Amo::Add(1));
    let (mut a, mut b) = connected(false);
    for i in 0..2 {
        let add = Message::Amo { lane: 1, region, offset: 0, width: Width::Eight, amo, fetch: true };
        a.session.push_fetch(&add, dest(i));
    }
    let say_garbage = |from: &mut Side, to: &mut Side, at: usize| {
        from.session.close_batch();
        let mut said = from.output(usize::MAX);
        from.session.sent(said.len());
        said[at] ^= 0x0C;
        let heard = fuzz::receive(&said, said.len(), &mut to.receiver, &mut to.session, &mut to.host);
        heard.expect_err("a byte was changed");
    };
    // The kind of the second request.
    say_garbage(&mut a, &mut b, FRAME + 2 * MESSAGE);
    assert_eq!(b.host.memory[..8], [0; 8]);
    connect(&mut a, &mut b, false, 1);
    a.say_all(&mut b);
    // The length of the second answer.
    say_garbage(&mut b, &mut a, FRAME + MESSAGE + 8 + 4);
    connect(&mut a, &mut b, false, 2);
    b.say_all(&mut a);
    assert_eq!(b.host.memory[..8], 2_u64.to_le_bytes());
    for (i, old) in [0_u64, 1].into_iter().enumerate() {
        assert_eq!(a.host.at(dest(i)), old.to_le_bytes(), "the answer to atomic {i}");
    }
    assert_eq!(a.session.reached().fetch, 2);
}

/// A stream with one frame of every kind, as a peer would send it.
fn good_stream() -> Vec<u8> {
    let mut session = Session::default();
    let region = Region::Heap;
    session.push(&Message::Put { lane: 1, region, offset: 64, data: &[7; 40] }, Urgency::Soon);
    session.push(&Message::Get { lane: 1, region, offset: 64, n: 40 }, Urgency::Soon);
    session.push(&Message::Get { lane: 1, region, offset: 0, n: 100_000 }, Urgency::Soon);
    session.push(
        &Message::Amo { lane: 1, region, offset: 8, width: Width::Four, amo: Amo::Add(3), fetch: true },
        Urgency::Soon,
    );
    session.push(&Message::Reply { data: &[1; 8] }, Urgency::Soon);
    session.push(&Message::Reply { data: &[2; 56] }, Urgency::Soon);
    session.push_bulk_put(2, region, 5_000, MemoryRange { at: 0, n: 5_000 }, Urgency::Soon);
    session.push_bulk_reply(MemoryRange { at: 0, n: BULK });
    session.leave();
    let mut bytes = Vec::new();
    while session.has_output() {
        let (frame, place) = session.whole_frame().expect("there is output");
        bytes.extend(frame);
        bytes.extend(place.into_iter().flat_map(|place| std::iter::repeat_n(0xAB, place.n)));
    }
    bytes
}

#[test]
fn the_corpus_is_taken_or_refused_as_its_names_say() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut seen = 0;
    let frames = |bytes: &[u8]| [1, 7, 1 << 20].map(|step| fuzz::frames(bytes, step).is_ok_and(|n| n > 0));
    let strangers = |bytes: &[u8]| [fuzz::stranger(bytes).is_ok(); 3];
    for (kind, run) in [("frames", frames as fn(&[u8]) -> _), ("strangers", strangers)] {
        for file in std::fs::read_dir(corpus.join(kind)).expect("the corpus is there") {
            let path = file.expect("a file").path();
            let good = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("good"));
            let bytes = std::fs::read(&path).expect("it can be read");
            assert_eq!(run(&bytes), [good; 3], "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} inputs");
}

/// Inputs that the fuzzers have found worth keeping go through the same checks here.
#[test]
fn the_fuzzers_inputs_hold() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/fuzz/corpus");
    let frames = |bytes: &[u8]| assert_eq!(fuzz::frames(bytes, 41), fuzz::frames(bytes, usize::MAX));
    for (kind, run) in
        [("frames", frames as fn(&[u8])), ("connections", fuzz::connection), ("handshakes", fuzz::handshake)]
    {
        let files = std::fs::read_dir(corpus.join(kind)).expect("the corpus is there");
        let count =
            files.map(|file| run(&std::fs::read(file.expect("a file").path()).expect("it can be read"))).count();
        assert!(count >= 10, "only {count} inputs for {kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_survive(offset: u64, lane: u16, data in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u8..7, value: u64) {
        let (region, cond) = (Region::Statics, if kind == 6 { value ^ 5 } else { 0 });
        let value = if kind == 0 { 0 } else { value };
        let amo = Amo::from_parts(kind, value, cond).expect("a known atomic");
        let wrong = oxshmem_transport::OutOfRange { region, offset, bytes: data.len(), registered: 77 };
        let messages = [
            Message::Put { lane, region, offset, data: &data },
            Message::Get { lane, region, offset, n: data.len() },
            Message::Amo { lane, region, offset, width: Width::Two, amo, fetch: lane % 2 == 0 },
            Message::Reply { data: &data },
            Message::Refused { lane, fetch: true, wrong },
        ];
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| message.encode(&mut bytes));
        let back: Result<Vec<_>, Garbage> = BatchMessages(&bytes).collect();
        prop_assert_eq!(back.expect("all are known"), messages);
    }

    #[test]
    fn headers_survive(length in MESSAGE..1000usize, number: u64, ack: u64, urgency in 0usize..3) {
        let urgency = [Urgency::Later, Urgency::Soon, Urgency::Now][urgency];
        let header = Header { kind: FrameKind::Batch, urgency, length, number, ack };
        prop_assert_eq!(Header::decode(&header.encode(), 0), Ok(header));
    }

    #[test]
    fn garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 24..300), step in 1usize..400) {
        prop_assume!(!bytes.starts_with(b"ox"));
        prop_assert!(fuzz::frames(&bytes, step).is_err());
        prop_assert!(!fuzz::stranger(&bytes).unwrap_or(false));
    }

    #[test]
    fn a_damaged_stream_does_no_harm(flips in proptest::collection::vec((0usize..6_000, any::<u8>()), 1..6), cut in 0usize..300_000, step in 1usize..100_000) {
        let mut bytes = good_stream();
        let whole = fuzz::frames(&bytes, step).expect("it is good");
        for (at, with) in flips {
            bytes[at] ^= with;
        }
        bytes.truncate(cut);
        // Whether it is noticed depends on where it was damaged; that nothing more is executed than was sent does not.
        prop_assert!(fuzz::frames(&bytes, step).unwrap_or(0) <= whole + 300);
    }
}
