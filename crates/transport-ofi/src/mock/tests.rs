//! The suite of all providers over the mock, and what the suite cannot see.

mod one_sided;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;
use oxshmem_transport::{
    Amo, Busy, Fabric, GetArguments, Issuer, LaneOptions, PutArguments, Region, Segment, SignalUpdate, suite, suites,
};
use parking_lot::{Mutex, MutexGuard};

use super::calls::open_fabric;
use super::card::MockCard;
use super::end::{MockEnd, MockPending};
use super::entries::{dupinfo, freeinfo, getinfo};
use super::natures::NATURES;
use super::objects::end_of;
use super::operation::MockEffect;
use super::transfer::CONSTANTS;
use super::wire;
use crate::address::PeAddress;
use crate::list::Selection;
use crate::provider::{Ofi, open_with};
use one_sided::{DATA, FLAG, LONG, SOURCE, one_sided, one_sided_by, puts_under_way, until};

static MOCK: Libfabric = Libfabric { getinfo, freeinfo, dupinfo, fabric, strerror, version };

/// The job's endpoints in the order in which they were opened: their addresses, and their cards.
static ENDS: Mutex<Vec<(usize, Arc<MockCard>)>> = Mutex::new(Vec::new());

unsafe extern "C" fn fabric(
    attr: *mut fi::fi_fabric_attr,
    fabric: *mut *mut fi::fid_fabric,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the arguments of libfabric's call; the fabric is open when it is asked for its endpoint.
    unsafe {
        let code = open_fabric(attr, fabric, context);
        let end = end_of(*fabric);
        let card = end.card.clone();
        ENDS.lock().push((ptr::from_mut(end).expose_provenance(), card));
        code
    }
}

unsafe extern "C" fn strerror(_code: c_int) -> *const c_char {
    c"the mock refuses".as_ptr()
}

unsafe extern "C" fn version() -> u32 {
    fi::VERSION
}

/// The endpoint that was opened as this one of the job, in which no other thread is now.
fn end(number: usize) -> &'static MockEnd {
    // SAFETY: endpoints stay until the process ends, and the test that asks uses this one alone, or the job is over.
    unsafe { &*ptr::with_exposed_provenance::<MockEnd>(ENDS.lock()[number].0) }
}

/// One job at a time: there is one network.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock();
    wire::clear();
    ENDS.lock().clear();
    turn
}

/// PE `me` of a job over `rails` rails of one of the mock's providers.
fn pe(provider: &str, me: u32, pes: u32, rails: usize) -> Box<dyn Fabric> {
    open_with(&MOCK, me, suite::PATIENCE, &selection(provider, pes, rails)).expect("the mock opens")
}

fn selection(provider: &str, pes: u32, rails: usize) -> Selection {
    Selection { provider: Some(provider.into()), rails: Some(rails), pes, ..Selection::default() }
}

/// The same with the provider's atomics.
fn pe_with_atomics(provider: &str, me: u32, pes: u32, rails: usize) -> Result<Box<dyn Fabric>, Error> {
    let selection = Selection { atomics: true, ..selection(provider, pes, rails) };
    open_with(&MOCK, me, suite::PATIENCE, &selection)
}

/// The suite with the provider's own atomics.
fn with_atomics(provider: &str, rails: usize) {
    let _alone = alone();
    let pe = |me, pes| pe_with_atomics(provider, me, pes, rails).expect("the mock opens");
    suite::threads(2, |pes| (0..pes).map(|me| pe(me, pes)).collect());
}

/// The suite over one of the mock's providers, with as many rails for each PE.
fn over(provider: &str, rails: &[usize]) {
    let _alone = alone();
    suite::threads(rails.len() as u32, |pes| (0..pes).map(|me| pe(provider, me, pes, rails[me as usize])).collect());
    let ends = ENDS.lock().len();
    let used = (0..ends).map(end).filter(|end| end.domain > 0 && end.carried > 0).count();
    // A rail is used where the peer has one, too; the PEs stand in a ring.
    let shared = |(me, &mine): (usize, &usize)| mine.min(rails[(me + 1) % rails.len()]) - 1;
    assert!(used >= rails.iter().enumerate().map(shared).sum(), "{used} further rails were used");
}

suites! {
    what_slingshot_demands_is_obeyed: over("mock_slingshot", &[1; 3]);
    local_registrations_and_early_completions_are_obeyed: over("mock_local", &[1; 3]);
    order_is_used_where_it_is_kept: over("mock_orderly", &[1; 3]);
    slingshot_has_rails: over("mock_slingshot", &[3; 3]);
    completed_puts_are_read_back_by_their_own_rail: over("mock_local", &[2; 3]);
    order_ends_where_another_rail_begins: over("mock_orderly", &[2; 3]);
    atomics_of_slingshot: with_atomics("mock_slingshot", 2);
    atomics_with_local_registrations_and_early_completions: with_atomics("mock_local", 1);
    atomics_in_order: with_atomics("mock_orderly", 2);
}

#[test]
fn who_lacks_an_atomic_is_not_of_the_networks_domain() {
    let _alone = alone();
    let refused = pe_with_atomics("mock_incomplete", 0, 1, 1).err().expect("an error").to_string();
    assert!(refused.contains("lacks an atomic") && refused.contains("Xor(0) on 4 bytes"), "{refused}");
    drop(pe("mock_incomplete", 0, 1, 1));
}

/// libfabric's layer over datagrams says that it has all atomics (libfabric 1.17); a job with fetching ones ended with a crash.
#[test]
fn the_layer_whose_atomics_crash_is_not_of_the_networks_domain() {
    let _alone = alone();
    let refused = pe_with_atomics("mock_datagrams", 0, 1, 1).err().expect("an error").to_string();
    assert!(refused.contains("ofi_rxd's atomics") && refused.contains("SHMEM_AMO"), "{refused}");
    drop(pe("mock_datagrams", 0, 1, 1));
}

/// Whether an injecting call of this provider refuses a put of `n` bytes, although the provider says that it takes
/// them.
fn misreports(provider: &str, n: usize) -> bool {
    let nature = NATURES.iter().find(|nature| nature.name.to_str() == Ok(provider)).expect("the mock has it");
    n <= nature.inject && n > nature.injects
}

#[test]
fn fault_P_efa_reports_an_inject_size_that_puts_do_not_have() {
    assert!(misreports("mock_efa", 8));
    over("mock_efa", &[1; 3]);
    over("mock_efa", &[2; 3]);
}

#[test]
fn fault_P_efa_has_no_atomics() {
    let _alone = alone();
    let refused = pe_with_atomics("mock_efa", 0, 1, 1).err().expect("an error").to_string();
    assert!(refused.contains("lacks an atomic"), "{refused}");
}

/// The error of a put to a PE of this provider whose address is changed.
fn put_to_changed(provider: &str, change: impl FnOnce(&mut PeAddress)) -> String {
    let _alone = alone();
    let selection = Selection { provider: Some(provider.into()), pes: 2, ..Selection::default() };
    let [here, there] = [0, 1].map(|me| Ofi::open(&MOCK, me, suite::PATIENCE, &selection).expect("the mock opens"));
    let mut address = PeAddress::decode(1, &there.address()).expect("it is one");
    change(&mut address);
    let addresses = vec![here.address(), address.encode()];
    here.connect(Box::new(suite::AllAddresses(addresses))).expect("it connects");
    let lane = here.lane(LaneOptions::default()).expect("a lane");
    // SAFETY: the source is static.
    let left = unsafe { lane.put_nbi(&PutArguments { to: DATA, source: SOURCE.as_ptr(), n: 8 }) };
    assert_eq!(left, 0, "what has failed does not wait for room");
    lane.progress().expect_err("the peer cannot be reached").to_string()
}

/// A node with an older card, or an older libfabric, has EFA's other fabric. Its PEs were waited for, as if they were dead.
#[test]
fn fault_P_efa_has_two_fabrics_that_do_not_understand_each_other() {
    let error = put_to_changed("mock_efa", |address| address.rails[0].fabric = "efa-direct".into());
    for part in ["PE 1 is on libfabric's fabric efa-direct, this PE on mock_efa", "SHMEM_OFI_FABRIC"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// The reason was "Success".
#[test]
fn an_address_that_is_not_taken_is_of_another_network() {
    let error = put_to_changed("mock_orderly", |address| address.rails[0].name = vec![0xFF; 28]);
    for part in ["does not take a peer's address", "it has 28 bytes, and the address of this PE 16", "SHMEM_OFI_FABRIC"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn fault_P_verbs_inject_less_than_they_say_and_complete_early() {
    assert!(misreports("mock_verbs", 32) && !misreports("mock_verbs", 16));
    over("mock_verbs", &[1; 3]);
    over("mock_verbs", &[2; 3]);
}

#[test]
fn fault_P_shm_drops_what_comes_before_it_is_connected() {
    over("mock_shm", &[1; 3]);
    with_atomics("mock_shm", 1);
}

/// A put that waited behind a get was overtaken by the next one, and a read told of puts that had not arrived.
#[test]
fn fault_P_rxd_promises_orders_that_it_does_not_keep() {
    over("mock_datagrams", &[1; 3]);
}

#[test]
fn peers_meet_on_the_rails_that_both_have() {
    over("mock_slingshot", &[3, 1, 2]);
    over("mock_orderly", &[1, 2, 1]);
}

/// The thread looks at intervals while a caller only issues, and would else be woken by each completion.
#[test]
fn operations_that_were_issued_since_the_last_look_are_seen_once() {
    one_sided("mock_orderly", 1, |lane, _| {
        let take_issued = || lane.fabric.net.lock().take_issued();
        take_issued();
        assert!(!take_issued(), "nothing was issued");
        lane.put(DATA, &SOURCE[..8]);
        assert!(take_issued() && !take_issued());
        lane.quiet();
        assert!(!take_issued(), "a completion is no issue");
    });
}

#[test]
fn a_fence_waits_for_other_rails_and_for_nothing_else() {
    one_sided("mock_orderly", 2, |lane, ends| {
        lane.put(DATA, &SOURCE);
        assert!(puts_under_way(&ends[1..]) > 0, "the second rail has no share");
        lane.issue(|lane| lane.fence());
        assert_eq!(puts_under_way(&ends[1..]), 0, "a fence left puts of the other rail behind");
        lane.put(FLAG, &SOURCE[..8]);
        assert_eq!(puts_under_way(ends), 1);
        lane.issue(|lane| lane.fence());
        assert_eq!(puts_under_way(ends), 1, "a fence waited although one rail keeps the order");
        lane.quiet();
    });
}

#[test]
fn a_long_put_behind_a_fence_does_not_overtake_by_another_rail() {
    one_sided("mock_orderly", 2, |lane, ends| {
        lane.put(FLAG, &SOURCE[..8]);
        lane.issue(|lane| lane.fence());
        lane.put(DATA, &SOURCE);
        let short =
            |put: &&MockPending| matches!(&put.operation.what, MockEffect::Put { bytes: Err((_, 8)) | Ok(_), .. });
        let left = end(ends[0]).pending.iter().filter(short).count();
        assert_eq!(left, 0, "the put from before the fence is still under way");
        assert!(puts_under_way(&ends[1..]) > 0, "the second rail has no share");
        lane.quiet();
    });
}

/// The second rail loses its share of the data, and the first one would carry the signal.
#[test]
fn a_signal_does_not_follow_data_that_a_rail_has_lost() {
    let selection = Selection { atomics: true, ..selection("mock_orderly", 2, 2) };
    one_sided_by(&selection, |lane, ends| {
        let others_second_rail = ends.len() + 1;
        ENDS.lock()[others_second_rail].1.lost.store(true, Ordering::Relaxed);
        // No caller asks the lane for its error meanwhile.
        let settle = || {
            until(|| {
                lane.fabric.progress();
                lane.lane.outstanding() == 0
            });
        };
        lane.put(DATA, &SOURCE);
        settle();
        // SAFETY: the flag is aligned in the peer's heap.
        unsafe { lane.lane.amo_behind_puts(FLAG, Amo::Add(1)) }.expect("nothing is outstanding");
        settle();
        let mut flag = u64::MAX;
        let get = GetArguments { dest: (&raw mut flag).cast(), from: FLAG, n: 8 };
        // SAFETY: the destination stays until the get is complete.
        assert_eq!(unsafe { lane.lane.get_nbi(&get) }, 0, "there is room");
        settle();
        assert_eq!(flag, 0, "the signal tells of data that is not there");
        lane.lane.progress().expect_err("a rail has lost data");
        // A wait for something else asks the fabric.
        assert!(lane.fabric.lost().is_some(), "the data was lost");
    });
}

/// The peer's answer to the greeting is lost, which is not sent again.
#[test]
fn a_message_that_could_not_be_received_is_not_waited_for() {
    one_sided("mock_orderly", 1, |lane, ends| {
        ENDS.lock()[ends[0]].1.damages.store(true, Ordering::Relaxed);
        lane.put(DATA, &SOURCE[..8]);
        let error = lane.lane.progress().expect_err("a message is lost").to_string();
        assert!(error.contains("a message of another PE could not be received"), "{error}");
        assert_eq!(lane.lane.outstanding(), 0);
    });
}

/// A card that breaks while its PE leaves gives all slots for messages back. The PE gave them to it again, without end.
#[test]
fn a_pe_that_leaves_does_not_give_a_broken_card_its_slots_again() {
    one_sided("mock_orderly", 1, |lane, ends| {
        lane.put(DATA, &SOURCE[..8]);
        lane.quiet();
        lane.fabric.leave();
        ENDS.lock()[ends[0]].1.flushes.store(true, Ordering::Relaxed);
        until(|| {
            lane.fabric.progress();
            end(ends[0]).receives.is_empty()
        });
        assert!(lane.fabric.lost().is_none(), "it is no error any more that a peer is not there");
    });
}

#[test]
fn a_source_that_the_provider_cannot_map_is_copied() {
    one_sided("mock_slingshot", 1, |lane, _| {
        for _ in 0..2 {
            lane.put(DATA, &CONSTANTS);
            lane.quiet();
        }
        let mut got = vec![0_u8; CONSTANTS.len()];
        // SAFETY: the destination stays until the get is complete.
        unsafe { lane.issue(|lane| lane.get_nbi(got.as_mut_ptr(), DATA, CONSTANTS.len())) };
        lane.quiet();
        assert!(got == CONSTANTS, "the copies have not arrived whole");
    });
}

/// Nothing that is complete for the network alone counts as complete, on any rail.
#[test]
fn what_is_complete_has_been_read_back_on_every_rail() {
    one_sided("mock_local", 2, |lane, ends| {
        for _ in 0..4 {
            lane.put(DATA, &SOURCE);
            lane.quiet();
            assert_eq!(puts_under_way(ends), 0, "a quiet left puts behind");
        }
        let shares: Vec<usize> = ends.iter().map(|&at| end(at).carried).collect();
        assert!(shares.iter().all(|&bytes| bytes > LONG / 8), "the rails have carried {shares:?}");
    });
}

/// A put with a wait behind it takes one message and its acknowledgement, once the program has done so twice; others share a read.
#[test]
fn a_put_that_is_waited_for_by_itself_is_acknowledged() {
    one_sided("mock_shm", 1, |lane, ends| {
        let carried_by = |puts: usize, n: usize| {
            let before = end(ends[0]).carried;
            for _ in 0..puts {
                lane.put(DATA, &SOURCE[..n]);
            }
            until(|| lane.lane.poll_completion().expect("nothing is wrong"));
            assert_eq!(puts_under_way(ends), 0, "a quiet left puts behind");
            end(ends[0]).carried - before
        };
        // The read has one byte.
        assert_eq!([1; 5].map(|puts| carried_by(puts, 8)), [9, 9, 8, 8, 8]);
        assert_eq!([3, 1, 3, 1, 1, 1].map(|puts| carried_by(puts, 8)), [25, 9, 25, 9, 9, 8]);
        // A put of up to 4096 bytes is copied; libfabric reads a longer one where it is.
        assert_eq!([4096, 4097, LONG].map(|n| carried_by(1, n)), [4096, 4097, LONG]);
    });
}

/// The answer to a message behind a put shows that the put has arrived. What is put after the message is read back, and so is everything
/// if the message does not go.
#[test]
fn a_put_in_front_of_a_message_that_is_answered_is_not_read_back() {
    one_sided("mock_shm", 1, |lane, ends| {
        let carried_by = |act: &dyn Fn()| {
            let before = end(ends[0]).carried;
            act();
            lane.quiet();
            end(ends[0]).carried - before
        };
        let put = || lane.put(DATA, &SOURCE);
        let message = |sent| {
            let mut send = || sent;
            assert_eq!(lane.lane.send_behind_puts(1, &mut send), sent);
        };
        // The read has one byte.
        assert_eq!(carried_by(&put), LONG + 1);
        let answered = || [put(), message(Ok(()))];
        assert_eq!(carried_by(&|| _ = answered()), LONG);
        assert!(lane.lane.completion().expect("nothing is wrong"), "the put counts as under way");
        assert_eq!(carried_by(&|| _ = [put(), message(Err(Busy))]), LONG + 1);
        assert_eq!(carried_by(&|| _ = [message(Ok(())), put()]), LONG + 1);
        assert_eq!(puts_under_way(ends), 0, "a quiet left puts behind");
        let overtaken = |sent| {
            put();
            let mut send = || {
                put();
                sent
            };
            assert_eq!(lane.lane.send_behind_puts(1, &mut send), sent);
        };
        assert_eq!(carried_by(&|| overtaken(Ok(()))), 2 * LONG + 1);
        assert_eq!(carried_by(&|| overtaken(Err(Busy))), 2 * LONG + 1);
        assert_eq!(puts_under_way(ends), 0, "a quiet left puts behind");
    });
}

/// Puts stop being unread while other operations are under way. A thread that looked meanwhile took a get that was under way for complete, in
/// every third round.
#[test]
fn what_is_under_way_is_not_complete_locally_beside_a_message() {
    const ROUNDS: usize = 100;
    one_sided("mock_shm", 1, |lane, ends| {
        let over = AtomicBool::new(false);
        let mut got = vec![0_u8; LONG];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    lane.lane.send_behind_puts(1, &mut || Ok(())).expect("it goes");
                }
            });
            let early = (0..ROUNDS).filter(|_| {
                lane.put(DATA, &SOURCE[..8]);
                // SAFETY: the destination outlives the lane's last operation.
                lane.issue(|lane| unsafe { lane.get_nbi(got.as_mut_ptr(), DATA, LONG) });
                until(|| lane.lane.poll_local_completion().expect("nothing is wrong"));
                let _alone_in_it = lane.fabric.net.lock();
                let is_get = |it: &MockPending| matches!(it.operation.what, MockEffect::Get { .. });
                end(ends[0]).pending.iter().any(is_get)
            });
            let early = early.count();
            over.store(true, Ordering::Relaxed);
            assert_eq!(early, 0, "of {ROUNDS} gets");
        });
        lane.quiet();
    });
}

/// The same with the software around the provider, which asks for the answer when its caller waits.
#[test]
fn a_signal_saves_its_put_the_read() {
    let _alone = alone();
    let memory = [0, 1].map(|_| vec![0_u8; LONG + 64].leak());
    let pes = [0, 1].map(|me| pe("mock_shm", me, 2, 1));
    for (pe, memory) in pes.iter().zip(memory) {
        let segment = Segment { base: memory.as_mut_ptr(), len: memory.len() };
        pe.register(Region::Heap, segment).expect("memory is registered");
    }
    let addresses: Vec<_> = pes.iter().map(|pe| pe.address()).collect();
    for pe in &pes {
        pe.connect(Box::new(suite::AllAddresses(addresses.clone()))).expect("it connects");
    }
    let lane = pes[0].lane(LaneOptions { rarely_completed: true, ..LaneOptions::default() }).expect("a lane");
    let wait = |attempt: &mut dyn FnMut() -> bool| until(attempt);
    let issuer = Issuer::new(&*lane, pes[0].capabilities(), &wait);
    const ROUNDS: usize = 5;
    for _ in 0..ROUNDS {
        // SAFETY: the source is static, and the flag lies in the peer's heap.
        unsafe { issuer.put_signal(DATA, SOURCE.as_ptr(), LONG, FLAG, SignalUpdate::Add(1)) };
        until(|| lane.poll_completion().expect("nothing is wrong"));
    }
    drop(lane);
    pes.iter().for_each(|pe| pe.leave());
    until(|| {
        pes.iter().for_each(|pe| _ = pe.progress());
        pes.iter().all(|pe| pe.has_left())
    });
    drop(pes);
    assert_eq!(end(0).carried, ROUNDS * LONG, "a read has one byte");
}

#[test]
fn a_rail_that_cannot_be_opened_says_why() {
    let _alone = alone();
    let words = pe("mock_slingshot", 0, 1, 5).describe();
    assert!(words.contains("on mock_slingshot and mock_slingshot_1 and mock_slingshot_2,"), "{words}");
    let why = "without mock_slingshot_3 (libfabric's provider mock_slingshot on mock_slingshot_3 has failed to make the domain";
    assert!(words.contains(why) && words.contains(", 1 more that SHMEM_RAILS=5 asks for"), "{words}");
}

#[test]
fn rails_begin_with_the_nearest_card_and_only_cards_have_them_unasked() {
    let _alone = alone();
    let cards = |provider: &str, change: &dyn Fn(&mut Selection)| {
        let mut selection = Selection { rails: None, cards_each: 2, ..selection(provider, 1, 1) };
        change(&mut selection);
        let words = open_with(&MOCK, 0, suite::PATIENCE, &selection).expect("the mock opens").describe();
        words.split([',', '(']).next().and_then(|words| Some(words.split_once(" on ")?.1.trim().to_owned()))
    };
    let near = ["mock_slingshot_2", "mock_slingshot_1", "mock_slingshot"].map(String::from);
    let found = cards("mock_slingshot", &|selection| selection.nearest = near.to_vec());
    assert_eq!(found.as_deref(), Some("mock_slingshot_2 and mock_slingshot_1"));
    let found = cards("mock_slingshot", &|selection| {
        selection.nearest = near.to_vec();
        selection.domain = Some("mock_slingshot_1, mock_slingshot".into());
    });
    assert_eq!(found.as_deref(), Some("mock_slingshot_1 and mock_slingshot"));
    let found = cards("mock_efa", &|selection| selection.nearest = vec!["mock_efa_1".into(), "mock_efa".into()]);
    assert_eq!(found.as_deref(), Some("mock_efa_1-rdm and mock_efa-rdm"));
    assert_eq!(cards("mock_orderly", &|_| {}).as_deref(), Some("mock_orderly"));
    let found = cards("mock_orderly", &|selection| selection.rails = Some(2));
    assert_eq!(found.as_deref(), Some("mock_orderly and mock_orderly_1"));
}

/// A provider in software makes no completions at the target, which must know all the same whether peers ask for
/// something.
#[test]
fn fault_P3_who_serves_a_peer_knows_it() {
    const GETS: usize = 100;
    for (provider, in_software) in [("mock_orderly", true), ("mock_slingshot", false)] {
        let served = one_sided(provider, 1, |lane, _| {
            for _ in 0..GETS {
                let mut got = 0u64;
                // SAFETY: the destination stays until the get is complete.
                unsafe { lane.issue(|lane| lane.get_nbi((&raw mut got).cast(), DATA, 8)) };
                lane.quiet();
            }
        });
        // A greeting is served everywhere.
        assert_eq!(served >= GETS, in_software, "{provider}: {served} of {GETS} served");
    }
}
