//! Messages that arrive in any order, of another call, or too long; and the ways of runs.

use super::message::MOST_OFFSET;
use super::*;
use crate::collectives::signature::{CallKind, Signature};

#[test]
fn a_message_is_there_when_all_its_words_are_in_any_order() {
    for bytes in [0_usize, 1, 4, 5, 8, 56, 200] {
        let content: Vec<u8> = (0..bytes).map(|i| i as u8 ^ 0x5a).collect();
        let mut message = [0; MAILBOX_WORDS];
        let mine = Signature::of(CallKind::Sum).with(bytes, 0);
        let length = write(&mut message, 9, mine, (Place::Dest, 77), &content);
        // Words of an earlier run may look like anything but this stamp.
        let stale = || -> Vec<AtomicU64> { message.iter().map(|word| AtomicU64::new(word ^ (2 << 32))).collect() };
        for last in 0..length {
            let mailbox = stale();
            for i in (0..length).filter(|&i| i != last) {
                mailbox[i].store(message[i], Relaxed);
                assert_eq!(arrived(&mailbox, 9, mine), Ok(None), "{bytes} bytes without word {last}");
            }
            mailbox[last].store(message[last], Relaxed);
            assert_eq!(arrived(&mailbox, 9, mine), Ok(Some(bytes)));
            assert_eq!(arrived(&mailbox, 11, mine), Ok(None));
        }
    }
}

/// A short block of a collect may lie behind more than 2 GiB of others.
#[test]
fn a_message_goes_to_its_place_or_is_none() {
    for (place, offset) in [Place::Dest, Place::Scratch].into_iter().flat_map(|place| {
        [0, 77, 1 << 30, MOST_OFFSET, MOST_OFFSET + 1, 3 << 30, 1 << 32, (5 << 30) + 8].map(|offset| (place, offset))
    }) {
        if !fits(MAILBOX_WORDS, offset, 8) {
            assert!(offset > i32::MAX as usize, "{offset}");
            continue;
        }
        let mut message = [0; MAILBOX_WORDS];
        write(&mut message, 9, Signature::of(CallKind::Collect), (place, offset), &[7; 8]);
        assert_eq!((destination_of(message[1]), message[1] >> 32), ((place, offset), 9), "{offset}");
    }
}

#[test]
fn fault_W1_a_message_of_another_call_or_that_is_too_long_is_not_believed() {
    let (sum, barrier) = (Signature::of(CallKind::Sum).with(48, 0), Signature::of(CallKind::Barrier));
    let mut message = [0; MAILBOX_WORDS];
    let length = write(&mut message, 9, sum, (Place::Dest, 0), &[7; 48]);
    let mailbox: Vec<AtomicU64> = message.iter().map(|&word| AtomicU64::new(word)).collect();
    assert_eq!(arrived(&mailbox, 9, sum), Ok(Some(48)));
    assert_eq!(arrived(&mailbox, 9, barrier), Err(sum));
    assert_eq!(arrived(&mailbox[..length - 1], 9, sum), Err(sum));
    // A head that says more than the box holds, and one whose content is elsewhere.
    mailbox[0].store(message[0] | 0xfffe, Relaxed);
    assert_eq!(arrived(&mailbox, 9, sum), Err(sum));
    mailbox[0].store(head(9, sum, IN_PLACE), Relaxed);
    assert_eq!(arrived(&mailbox, 9, sum), Ok(Some(IN_PLACE)));
    assert_eq!(arrived(&mailbox, 9, barrier), Err(sum));
    assert_eq!(arrived(&mailbox, 11, sum), Ok(None));
}

#[test]
fn stamps_differ_for_two_thousand_million_runs_and_are_never_zero() {
    let stamp = |generation: u32| generation << 1 | 1;
    for generation in [0, 1, u32::MAX - 3, u32::MAX, 1 << 30] {
        assert_ne!(stamp(generation), 0);
        assert_ne!(stamp(generation), stamp(generation.wrapping_add(1 << 29)));
        assert_ne!(stamp(generation), stamp(generation.wrapping_add((1 << 31) - 1)));
    }
}
