//! The process mapping: whatever a launcher writes, every PE gets one node or the text is refused, and soon.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oxshmem_bootstrap::nodes_of_mapping;

fuzz_target!(|text: &str| {
    for size in [0, 1, 7, 1000] {
        if let Some(nodes) = nodes_of_mapping(text, size) {
            assert_eq!(nodes.len(), size as usize);
        }
    }
});
