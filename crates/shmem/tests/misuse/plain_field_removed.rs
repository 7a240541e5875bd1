//! The size is right, but only with the field that is not there; the rest has padding.
oxshmem::plain! {
    struct Gone {
        #[cfg(any())]
        filler: [u8; 3],
        small: u8,
        large: u32,
    }
}

fn main() {}
