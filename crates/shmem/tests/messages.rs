//! Values of serde types travel between PEs.

#![cfg(feature = "serde")]

mod worlds;

use std::collections::BTreeMap;

use oxshmem::ErrorKind;
use oxshmem::test::processes;
use serde::{Deserialize, Serialize};
use worlds::everywhere;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Job {
    name: String,
    limits: BTreeMap<String, Option<f64>>,
    cells: Vec<u32>,
}

fn job(pe: usize, cells: usize) -> Job {
    let limits = [("low".to_owned(), None), ("high".to_owned(), Some(pe as f64))];
    Job { name: format!("of {pe}"), limits: limits.into(), cells: (0..cells as u32).collect() }
}

#[test]
fn a_value_reaches_everybody_whatever_its_size() {
    everywhere(3, |world| {
        for (root, cells) in [(0, 0), (2, 1000), (1, 20_000)] {
            let mine = (world.my_pe() == root).then(|| job(root, cells));
            assert_eq!(world.broadcast_value(mine, root).unwrap(), job(root, cells));
        }
        // A value of no bytes.
        assert_eq!(world.broadcast_value(Some(()), 1), Ok(()));
    });
}

#[test]
fn a_team_has_values_of_its_own() {
    everywhere(4, |world| {
        let rows = world.split_2d(2).unwrap().x;
        let row = world.my_pe() / 2;
        for (root, cells) in [(0, 0), (1, 4000 + 20_000 * row), (0, 30_000)] {
            let mine = (rows.my_pe() == root).then(|| job(row, cells));
            assert_eq!(rows.broadcast_value(mine, root).unwrap(), job(row, cells));
        }
        assert_eq!(rows.broadcast_value(Some(()), 1), Ok(()));
        let missing = rows.broadcast_value(None::<Job>, 1).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::InvalidArgument);
        // A PE that has gone on to another team leaves those alone who have not.
        let columns = world.split_2d(2).unwrap().y;
        assert_eq!(
            columns.broadcast_value(Some(job(world.my_pe(), 9000)), 1).unwrap(),
            job(2 + world.my_pe() % 2, 9000)
        );
    });
}

#[test]
fn a_broadcast_without_a_value_fails_everywhere() {
    everywhere(2, |world| {
        let missing = world.broadcast_value(None::<Job>, 1).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::InvalidArgument);
        let nobody = world.broadcast_value(Some(job(0, 1)), 2).unwrap_err();
        assert!(nobody.to_string().contains("PE 2 has no value"), "{nobody}");
        // And everything goes on.
        assert_eq!(world.sum_of(1), 2);
    });
}

#[test]
fn messages_of_a_pair_keep_their_order() {
    everywhere(3, |world| {
        let channel = world.channel::<Job>(256).unwrap();
        let (me, n) = (world.my_pe(), world.n_pes());
        for round in 0..5 {
            (0..n).for_each(|pe| channel.send(&job(me, round), pe).unwrap());
            for pe in (0..n).rev() {
                assert_eq!(channel.receive(pe).unwrap(), job(pe, round));
            }
        }
        world.barrier();
        assert!((0..n).all(|pe| channel.try_receive(pe).unwrap().is_none()));
        // Nobody frees what others still look at.
        world.barrier();
    });
}

#[test]
fn a_message_longer_than_the_room_comes_in_pieces() {
    everywhere(2, |world| {
        let channel = world.channel::<Job>(100).unwrap();
        let (first, second) = (job(0, 5000), job(7, 0));
        if world.my_pe() == 0 {
            channel.send(&first, 1).unwrap();
            channel.send(&second, 1).unwrap();
        } else {
            assert_eq!(channel.receive(0).unwrap(), first);
            assert_eq!(channel.receive(0).unwrap(), second);
        }
        world.barrier();
    });
}

#[test]
fn a_message_to_oneself_that_would_wait_is_an_error() {
    everywhere(2, |world| {
        let me = world.my_pe();
        let channel = world.channel::<Vec<u8>>(16).unwrap();
        let refused = channel.send(&vec![7; 100], me).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        // The length of the vector is a byte of the encoding.
        assert!(refused.to_string().contains("the message has 101 bytes"), "{refused}");
        for round in 0..3 {
            channel.send(&vec![round; 15], me).unwrap();
            let refused = channel.send(&vec![9], me).unwrap_err();
            assert!(refused.to_string().contains("has not received its message before"), "{refused}");
            assert_eq!(channel.receive(me).unwrap(), vec![round; 15]);
        }
        assert!(channel.try_receive(me).unwrap().is_none());
        world.barrier();
    });
}

#[test]
fn a_task_awaits_a_message() {
    processes(2, |world| {
        let channel = world.channel::<String>(64).unwrap();
        let other = 1 - world.my_pe();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            if world.my_pe() == 0 {
                channel.send(&"ping".to_owned(), other).unwrap();
            }
            channel.until_come(other).await;
            let word = channel.receive(other).unwrap();
            if world.my_pe() == 1 {
                channel.send(&word.replace('i', "o"), other).unwrap();
            }
            assert_eq!(word, if world.my_pe() == 0 { "pong" } else { "ping" });
        });
        world.barrier();
    });
}
