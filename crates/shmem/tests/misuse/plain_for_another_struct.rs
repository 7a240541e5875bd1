//! The macro speaks for the struct that it defines, not for one of the same name.
#[derive(Clone, Copy)]
struct Address {
    value: &'static u64,
}

oxshmem::plain! {
    #[cfg(any())]
    struct Address {
        value: u64,
    }
}

fn main() {}
