//! How busy the machine's processors are: a step that leaves them idle can run beside another one.

use std::fs;

/// Ticks of all processors since the machine started.
#[derive(Clone, Copy, Default)]
pub(crate) struct MachineTicks {
    idle: u64,
    together: u64,
}

impl MachineTicks {
    /// The state now; zero where the system does not tell.
    pub(crate) fn now() -> MachineTicks {
        fs::read_to_string("/proc/stat").map(|text| read(&text)).unwrap_or_default()
    }

    /// The share of the processors that worked since then, in percent.
    pub(crate) fn busy_since(self) -> u64 {
        self.busy_until(MachineTicks::now())
    }

    fn busy_until(self, now: MachineTicks) -> u64 {
        let together = now.together.saturating_sub(self.together);
        let idle = now.idle.saturating_sub(self.idle);
        (together.saturating_sub(idle) * 100).checked_div(together).unwrap_or(0)
    }
}

/// The first line of `/proc/stat` has the ticks of all processors: user, nice, system, idle, waiting for disks, interrupts.
/// The last two columns repeat the time of guests, which is part of `user` and `nice`.
fn read(text: &str) -> MachineTicks {
    let columns = text.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
    let ticks: Vec<u64> = columns.filter_map(|column| column.parse().ok()).collect();
    MachineTicks { idle: ticks.iter().skip(3).take(2).sum(), together: ticks.iter().sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_the_time_between_two_looks() {
        let then = read("cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 2 3 4");
        let now = read("cpu  190 0 60 890 60 0 0 0 7 0\n");
        assert_eq!([then.idle, then.together], [850, 1000]);
        assert_eq!(then.busy_until(now), 50);
        assert_eq!(then.busy_until(then), 0);
    }
}
