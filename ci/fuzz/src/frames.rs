//! The frame decoder: what a peer that knows the secret may send, in pieces of three sizes. How it was cut makes no
//! difference.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oxshmem_transport_tcp::proto::fuzz;

fuzz_target!(|bytes: &[u8]| {
    let whole = fuzz::frames(bytes, usize::MAX);
    for step in [1, 41] {
        assert_eq!(fuzz::frames(bytes, step), whole, "in pieces of {step} bytes");
    }
});
