//! How PEs find each other: PMI-1, the node rendezvous, one PE alone.
#![forbid(unsafe_code)]
