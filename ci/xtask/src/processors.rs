//! How much of the processors the steps use: two steps run at once, so that the time of one tells little.

use std::fs;
use std::time::Duration;

/// Linux counts in these for every program, whatever its own clock.
const TICKS_PER_SECOND: u64 = 100;

/// Processor time of this process and of all its children, and theirs, that have ended and have been waited for; zero where the system
/// does not tell.
pub(crate) fn used() -> Duration {
    fs::read_to_string("/proc/self/stat").map(|text| used_in(&text)).unwrap_or_default()
}

/// The fields 14 to 17 of `/proc/self/stat`. The second field, the name in parentheses, may have spaces.
fn used_in(stat: &str) -> Duration {
    let (_, behind_name) = stat.rsplit_once(')').unwrap_or_default();
    let times = behind_name.split_ascii_whitespace().skip(11).take(4);
    let ticks: u64 = times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_and_that_of_children_in_user_and_in_kernel_mode() {
        let stat = "1234 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3000 400 20 0 1";
        assert_eq!(used_in(stat), Duration::from_millis(35_200));
        assert_eq!(used_in(""), Duration::ZERO);
    }
}
