//! Heap calls that differ between PEs, in words.

use oxshmem_base::size;

/// How the last heap calls of two PEs differ, as far as their sizes tell. A call of 0 bytes frees a block: others of that size do not meet.
/// In Rust a block has a type, and its owner's drop frees it.
pub(super) fn sizes(call: &str, pe: u32, theirs: u64, own: u64) -> String {
    let (theirs_told, own_told) = (size::display(theirs), size::display(own));
    let sizes = if theirs == own {
        let both = if own == 0 { "frees".to_owned() } else { format!("of {own_told}") };
        let (freed, kinds) = if call.contains("::") {
            ("dropped another SymmetricBox, or in another order: that of a HashMap differs", "types")
        } else {
            ("freed another block, or in another order", "kinds")
        };
        format!(
            "both last ones are {both}, so earlier allocations or frees differ between the PEs (one PE has {freed}), or the last \
             ones are of other {kinds}"
        )
    } else if own == 0 {
        format!("this PE's last one is a free, that of PE {pe} is of {theirs_told}")
    } else if theirs == 0 {
        format!("this PE's last one is of {own_told}, that of PE {pe} is a free")
    } else if theirs_told == own_told {
        format!("this PE's last one is of {own} bytes, that of PE {pe} of {theirs} bytes")
    } else {
        format!("this PE's last one is of {own_told}, that of PE {pe} of {theirs_told}")
    };
    format!("{sizes}; they must be the same, in the same order")
}

/// The remedy. Pieces of different lengths are the usual reason of different sizes.
pub(super) fn remedy(theirs: u64, own: u64) -> String {
    let largest = if theirs == own || theirs == 0 || own == 0 {
        ""
    } else {
        "; if PEs need different sizes, allocate the largest on all"
    };
    format!("make the heap calls on all PEs, with the same arguments{largest}")
}

#[cfg(test)]
mod tests {
    use super::{remedy, sizes};

    #[test]
    fn sizes_that_differ_are_named_so_that_they_differ() {
        let sizes = |pe, theirs, own| sizes("shmem_malloc", pe, theirs, own);
        assert!(sizes(3, 800, 8).starts_with("this PE's last one is of 8 B, that of PE 3 of 800 B;"));
        assert!(sizes(3, 1 << 30, (1 << 30) + 8).contains("1073741832 bytes, that of PE 3 of 1073741824 bytes"));
        assert!(sizes(3, 8, 8).contains("earlier allocations or frees differ between the PEs"));
        assert!(sizes(3, 800, 0).starts_with("this PE's last one is a free, that of PE 3 is of 800 B;"));
        assert!(sizes(3, 0, 8).starts_with("this PE's last one is of 8 B, that of PE 3 is a free;"));
        assert!(sizes(3, 0, 0).starts_with("both last ones are frees, so earlier"));
        assert!(sizes(3, 8, 8).ends_with("of other kinds; they must be the same, in the same order"));
        assert!(super::sizes("World::allocate", 3, 8, 8).contains("dropped another SymmetricBox"));
        assert!(!remedy(800, 0).contains("largest") && !remedy(0, 8).contains("largest"));
        assert!(remedy(800, 8).contains("allocate the largest on all") && !remedy(8, 8).contains("largest"));
    }
}
