//! How much time a job has been given, in the place of how much has passed.
//!
//! A limit ends what hangs. On a machine where forty processes want to run, a job that is well gets a twentieth of two processors, and
//! takes twenty times as long. So limits count the share of a processor that one process can have: all of it on a quiet machine.

use std::time::{Duration, Instant};

/// Time between two looks at the machine.
const PAUSE: Duration = Duration::from_millis(100);

/// The time since its beginning, as one process could have it.
#[derive(Debug)]
pub struct GivenTime {
    given: Duration,
    looked: Instant,
    share: f64,
}

impl GivenTime {
    /// Begins now.
    pub fn begin() -> GivenTime {
        GivenTime { given: Duration::ZERO, looked: Instant::now(), share: 1.0 }
    }

    /// The time so far.
    pub fn so_far(&mut self) -> Duration {
        let passed = self.looked.elapsed();
        if passed >= PAUSE {
            let [load, ticks] =
                ["loadavg", "stat"].map(|name| std::fs::read_to_string(format!("/proc/{name}")).unwrap_or_default());
            self.share = share(&load, processors(&ticks));
            self.given += passed.mul_f64(self.share);
            self.looked = Instant::now();
        }
        self.given
    }
}

/// The machine's processors, of all of whose processes `/proc/loadavg` speaks: a line of `/proc/stat` for each behind that of all.
fn processors(ticks: &str) -> f64 {
    ticks.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1).max(1) as f64
}

/// The share of a processor for each process that wants to run: the fourth column of `/proc/loadavg` is their number, and that of all.
fn share(load: &str, processors: f64) -> f64 {
    let column = load.split_whitespace().nth(3).and_then(|column| column.split_once('/'));
    let running = column.and_then(|(running, _)| running.parse().ok()).unwrap_or(0.0);
    processors / processors.max(running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_gives_less_time_than_passes() {
        let shares =
            ["0.1 0.2 0.3 1/99 5", "0.1 0.2 0.3 2/99 5", "40.1 20.2 9.3 40/500 5", ""].map(|load| share(load, 2.0));
        assert_eq!(shares, [1.0, 1.0, 0.05, 1.0]);
        assert_eq!((processors("cpu  1 2\ncpu0 1 2\ncpu1 1 2\nintr 5"), processors("")), (2.0, 1.0));
        let mut time = GivenTime::begin();
        std::thread::sleep(2 * PAUSE);
        let given = time.so_far();
        assert!(given > Duration::ZERO && given <= time.looked.elapsed() + 100 * PAUSE, "{given:?}");
    }
}
