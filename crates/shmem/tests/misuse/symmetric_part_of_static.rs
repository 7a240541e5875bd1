//! In a part of a static variable a put could meet something else on another PE.
use std::sync::Mutex;

enum Either {
    Shared(oxshmem::Symmetric<u64>),
    Own(&'static u64),
}

static EITHER: Mutex<Either> = Mutex::new(Either::Shared(oxshmem::Symmetric::in_static(0)));

fn main() {}
