//! Messages of process managers and their clients: a message that is understood is understood the same way when it is said
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oxshmem_bootstrap::{pmi1, pmi2};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = pmi1::Request::decode(bytes) {
        assert_eq!(pmi1::Request::decode(request.encode().trim_end_matches('\n')).as_ref(), Ok(&request));
    }
    if let Ok(reply) = pmi1::Reply::decode(bytes) {
        assert_eq!(pmi1::Reply::decode(reply.encode().trim_end_matches('\n')).as_ref(), Ok(&reply));
    }
    let _ = pmi2::Pmi2Request::decode(bytes);
    let _ = pmi2::Pmi2Reply::decode(bytes);
});
