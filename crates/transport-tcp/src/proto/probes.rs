//! When the kernel asks an idle peer whether its host is still there.
//!
//! Timers of many seconds are coarse in the kernel, so probes that are due within some seconds are sent in one burst, and a burst that
//! a queue does not take is lost. With 1,024 PEs on one machine, each socket probed after ten seconds, 638,000 connections were cut
//! within two minutes, because the queue of loopback takes 1,000 packets. So connections that stay on a host have no probes, and
//! elsewhere the first probe of a connection comes at a random time, with more connections later. A host that dies is still
//! noticed soon: the first of its many connections whose time has come notices it, and that ends the job.

use std::time::Duration;

use oxshmem_base::chance::Dice;

/// Connections that may be probed within one time of patience.
const TOGETHER: u64 = 64;
/// Probes without an answer after which the peer is gone. A busy kernel loses some of them.
const MOST: u64 = 5;

/// The probes of one connection, in whole seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probes {
    /// How long the connection is idle before the first one.
    pub idle: u64,
    /// How long the next one is waited for.
    pub interval: u64,
    /// How many may stay without an answer.
    pub count: u64,
}

impl Probes {
    /// Of one of `connections`, for a peer whose silence may last `limit`. `seed` should differ from connection to connection.
    pub fn new(limit: Duration, connections: u64, seed: u64) -> Self {
        let third = limit.as_secs().div_ceil(3).clamp(1, 10_000);
        let count = (2 * third).clamp(2, MOST);
        let latest = third.saturating_mul(connections / TOGETHER);
        let random = Dice::new(seed).below((latest.saturating_sub(third) + 1) as usize) as u64;
        // The kernel takes no more than 32,767 s.
        Self { idle: (third + random).min(32_767), interval: (2 * third).div_ceil(count), count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn the_peer_of_a_small_job_is_noticed_within_its_time() {
        for seconds in [0, 1, 2, 3, 10, 30, 300, 1_000_000] {
            let limit = Duration::from_secs(seconds);
            for connections in [1, 2, 64, 127] {
                let Probes { idle, interval, count } = Probes::new(limit, connections, seconds);
                let noticed = idle + interval * count;
                let longest = seconds.clamp(1, 30_000) + 3 + MOST;
                assert!(idle >= 1 && interval >= 1 && noticed <= longest, "{seconds} s: {noticed} s");
            }
        }
    }

    #[test]
    fn fault_R1_more_connections_send_no_more_probes() {
        let per_second = |connections: u64| -> f64 {
            (0..connections).map(|seed| 1.0 / Probes::new(LIMIT, connections, seed).idle as f64).sum()
        };
        let (few, many) = (per_second(64), per_second(960));
        assert!(many < 4.0 * few, "{few:.1} and {many:.1} probes in a second");
        // They do not come together either.
        let mut idle: Vec<u64> = (0..960).map(|seed| Probes::new(LIMIT, 960, seed).idle).collect();
        idle.sort_unstable();
        let together = idle.chunk_by(|one, two| one == two).map(<[u64]>::len).max();
        assert!(together.is_some_and(|together| together < 30), "{together:?} in one second");
    }

    #[test]
    fn fault_R1_a_host_that_dies_is_noticed_by_the_first_of_its_connections() {
        for host in 0..15 {
            let noticed = (host * 64..host * 64 + 64).map(|seed| {
                let Probes { idle, interval, count } = Probes::new(LIMIT, 960, seed);
                idle + interval * count
            });
            let first = noticed.min().expect("a host has PEs");
            assert!(first <= 45, "host {host}: {first} s");
        }
    }
}
