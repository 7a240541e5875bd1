//! The symmetric heap's allocator, on offsets: same calls, same offsets on every PE.
#![forbid(unsafe_code)]
