//! Numbers that tell types apart: equal on all PEs that run one program.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of `T`, by its name.
pub(crate) fn of<T: ?Sized>() -> u64 {
    let mut hasher = DefaultHasher::new();
    core::any::type_name::<T>().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_type_has_one_number_and_another_type_another_one() {
        assert_eq!(of::<u64>(), of::<u64>());
        assert_ne!(of::<u64>(), of::<crate::Atomic<u64>>());
        assert_ne!(of::<fn(u8) -> u16>(), of::<fn(u16) -> u8>());
    }
}
