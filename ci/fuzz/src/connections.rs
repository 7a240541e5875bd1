//! The state machine of a connection: both ends under a script of operations, deliveries and cuts. Everything is
//! executed once and in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oxshmem_transport_tcp::proto::fuzz;

fuzz_target!(|script: &[u8]| fuzz::connection(script));
