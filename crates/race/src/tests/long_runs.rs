//! Runs so long that a strand's numbers come to their end.

use super::{TestNode, at, barrier, put, read, sync, write};
use crate::clock::{Column, Milestone};

#[test]
fn the_last_numbers_are_ordered_as_the_others_are() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    // As after some thousand million puts.
    a.clock().pass(a.name, Milestone::Issued, u32::MAX - 2);
    let places = [0, 8, 16, 24].map(|offset| at(1, offset));
    assert!(!a.pe.has_run_out());
    assert_eq!(places.map(|place| put(&a, place)), [None; 4]);
    assert!(a.pe.has_run_out() && !b.pe.has_run_out());
    barrier(&[a, b]);
    assert_eq!(places.map(|place| read(&b, place)), [None; 4]);
    // And as many statements that have told others something.
    a.clock().raise(a.name, Column::Program, 0, u32::MAX - 1);
    for _ in 0..3 {
        assert_eq!(write(&a, at(0, 32)), None);
        sync(&[a, b]);
        assert_eq!(read(&b, at(0, 32)), None);
        sync(&[a, b]);
    }
    b.observe(at(0, 32), 8);
}
