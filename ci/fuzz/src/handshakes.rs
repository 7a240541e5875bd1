//! The handshake: garbage at both of its sides, and a conversation of which bytes are changed on the way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oxshmem_transport_tcp::proto::fuzz;

fuzz_target!(|bytes: &[u8]| {
    let _ = fuzz::stranger(bytes);
    fuzz::handshake(bytes);
});
