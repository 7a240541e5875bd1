//! Faults that are planted in protocols, to show that the checks of these protocols find them.
//!
//! Only builds with debug assertions have them, and there a fault is in force if `SHMEM_PLANTED` names it. `cargo xtask planted`
//! lists them all, and runs each until its check has found it.

use std::sync::{Once, OnceLock};

/// Whether the fault of this name is in force. Prints a message when its place is reached for the first time. The message shows
/// whether a check that misses the fault has reached it.
pub fn is(name: &str) -> bool {
    static PLANTED: OnceLock<String> = OnceLock::new();
    static REACHED: Once = Once::new();
    let is_it = PLANTED.get_or_init(|| std::env::var("SHMEM_PLANTED").unwrap_or_default()) == name;
    if is_it {
        REACHED.call_once(|| eprintln!("oxshmem: the planted fault {name} is in force"));
    }
    is_it
}

/// `planted!("name", right, wrong)` is `right`; `wrong` where this fault is in force.
#[macro_export]
macro_rules! planted {
    ($name:literal, $right:expr, $wrong:expr) => {
        if cfg!(debug_assertions) && $crate::planted::is($name) { $wrong } else { $right }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_is_planted_unless_somebody_asks_for_it() {
        let unset = std::env::var("SHMEM_PLANTED").is_err();
        assert!(!unset || planted!("nothing", true, false));
    }
}
