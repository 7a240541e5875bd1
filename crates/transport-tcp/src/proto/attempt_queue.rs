//! How many attempts at connections a PE has under way, and which one is next. Time comes from outside, as the time since some
//! start.
//!
//! A PE that puts to a thousand others would otherwise connect to all of them at once, as the others do to it. With few
//! attempts under way the connection of most peers comes from the peer itself before this PE's turn, listeners get no more than
//! they answer at once, and both sides of a pair seldom try at the same time. The next attempt is chosen at random, because
//! programs often address all PEs in the same order. In a job of many PEs no attempt begins at once: with 1,024 PEs the first 16
//! attempts of all PEs went to PEs 0 to 15, which then gave no answer for half a minute.

use std::collections::BTreeMap;
use std::time::Duration;

use oxshmem_base::chance::Dice;

/// Attempts that are under way at once.
pub const MOST: usize = 16;
/// With more peers no attempt begins before others of the same moment are in the queue with it.
pub const FEW_PEERS: usize = 64;
/// An attempt that takes many times as long as others waits for a peer that does not answer, and no longer keeps others waiting. On
/// an overloaded host all of them take long. There each further attempt would only make all others longer: with 1,024 PEs on two
/// processors an answer came after 30 s when attempts held others back for a quarter of a second.
const TIMES: u32 = 4;
/// The shortest and the longest time for which an attempt keeps others waiting.
pub const HOLDS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// The attempts of one PE.
#[derive(Debug)]
pub struct AttemptQueue {
    /// Since when each is under way that keeps others waiting, by token of its link; and those that do not any more, which tell how long
    /// attempts take when they end.
    under_way: BTreeMap<usize, Duration>,
    overdue: BTreeMap<usize, Duration>,
    queue: Vec<usize>,
    /// How many may begin without having been in the queue.
    at_once: usize,
    /// How long attempts took that have ended: the average, in which each has a weight of an eighth.
    usual: Duration,
    /// Differs from PE to PE.
    dice: Dice,
}

impl AttemptQueue {
    /// No attempts yet. `seed` should differ from PE to PE.
    pub fn new(peers: usize, seed: u64) -> Self {
        let at_once = if peers > FEW_PEERS { 0 } else { MOST };
        let (under_way, overdue) = (BTreeMap::new(), BTreeMap::new());
        Self { under_way, overdue, queue: Vec::new(), at_once, usual: HOLDS.0, dice: Dice::new(seed) }
    }

    /// A link wants to connect. Returns whether it may begin now; otherwise it is in the queue.
    pub fn begin(&mut self, token: usize, now: Duration) -> bool {
        if self.under_way.len() < self.at_once && self.queue.is_empty() {
            self.under_way.insert(token, now);
            return true;
        }
        self.queue.push(token);
        false
    }

    /// An attempt is over.
    pub fn end(&mut self, token: usize, now: Duration) {
        if let Some(since) = self.under_way.remove(&token).or_else(|| self.overdue.remove(&token)) {
            self.usual = self.usual * 7 / 8 + now.saturating_sub(since) / 8;
        }
    }

    /// The link whose turn has come needs no connection any more. So there is no attempt, and nobody knows how long it would have taken.
    pub fn withdraw(&mut self, token: usize) {
        self.under_way.remove(&token);
    }

    /// How long an attempt keeps others waiting.
    fn hold(&self) -> Duration {
        (self.usual * TIMES).clamp(HOLDS.0, HOLDS.1)
    }

    /// The next link that may begin, if one waits and may. It is under way from now on.
    pub fn next(&mut self, now: Duration) -> Option<usize> {
        if self.queue.is_empty() {
            return None;
        }
        if self.under_way.len() >= MOST {
            let (hold, overdue) = (self.hold(), &mut self.overdue);
            self.under_way.retain(|&token, &mut since| {
                let keeps_waiting = now.saturating_sub(since) < hold;
                if !keeps_waiting {
                    overdue.insert(token, since);
                }
                keeps_waiting
            });
        }
        if self.under_way.len() >= MOST {
            return None;
        }
        let token = self.queue.swap_remove(self.dice.below(self.queue.len()));
        self.under_way.insert(token, now);
        Some(token)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Duration = Duration::ZERO;

    #[test]
    fn fault_R1_few_attempts_are_under_way_and_all_have_their_turn() {
        let mut queue = AttemptQueue::new(FEW_PEERS, 1);
        let mut begun: Vec<usize> = (0..1_000).filter(|&token| queue.begin(token, ZERO)).collect();
        assert_eq!(begun, (0..MOST).collect::<Vec<_>>());
        assert_eq!(queue.next(ZERO), None);
        for ended in 0..1_000 {
            queue.end(begun[ended], ZERO);
            begun.extend(queue.next(ZERO));
        }
        assert_eq!((begun.len(), queue.waiting()), (1_000, 0));
        assert!(!begun.is_sorted(), "the order is not the program's");
        begun.sort_unstable();
        assert_eq!(begun, (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn fault_R1_many_pes_do_not_begin_with_the_same_peer() {
        // All PEs put to all others in the same order.
        let first = |pe: u64| {
            let mut queue = AttemptQueue::new(1_000, pe);
            assert!((0..1_000).all(|token| !queue.begin(token, ZERO)));
            std::array::from_fn::<_, MOST, _>(|_| queue.next(ZERO).expect("some may begin"))
        };
        let mut asked = [0; 1_000];
        (0..1_000).flat_map(first).for_each(|peer| asked[peer] += 1);
        assert!(asked.iter().all(|&times| times < 3 * MOST), "{:?} PEs begin with the same one", asked.iter().max());
    }

    #[test]
    fn fault_R1_pes_that_do_not_answer_keep_nobody_waiting_for_long() {
        let mut queue = AttemptQueue::new(FEW_PEERS, 2);
        (0..200).for_each(|token| {
            queue.begin(token, ZERO);
        });
        let (mut now, mut begun) = (ZERO, MOST);
        while begun < 200 {
            now += Duration::from_millis(1);
            begun += std::iter::from_fn(|| queue.next(now)).count();
        }
        assert!(now <= HOLDS.0 * TIMES * 200_usize.div_ceil(MOST) as u32, "{now:?}");
        // One that ends late does no harm.
        queue.end(0, now);
        assert_eq!(queue.next(now), None);
    }

    /// The most attempts that are under way, also from ten seconds on, and for how long each keeps others waiting in the end, where each of
    /// those that are needed takes five seconds, because all PEs of a crowded host connect.
    fn pile_up(is_needed: impl Fn(usize) -> bool) -> (usize, usize, Duration) {
        let takes = Duration::from_secs(5);
        let mut queue = AttemptQueue::new(FEW_PEERS, 3);
        let mut ends: std::collections::VecDeque<(Duration, usize)> =
            (0..1_000).filter(|&token| queue.begin(token, ZERO)).map(|token| (takes, token)).collect();
        let (mut now, mut most, mut late) = (ZERO, 0, 0);
        while !ends.is_empty() || queue.waiting() > 0 {
            now += Duration::from_millis(10);
            while let Some((_, token)) = ends.pop_front_if(|(end, _)| *end <= now) {
                queue.end(token, now);
            }
            while let Some(token) = queue.next(now) {
                if is_needed(token) {
                    ends.push_back((now + takes, token));
                } else {
                    queue.withdraw(token);
                }
            }
            most = most.max(ends.len());
            late = if now >= 2 * takes { late.max(ends.len()) } else { 0 };
        }
        assert!(queue.under_way.is_empty() && queue.overdue.is_empty(), "all have ended");
        (most, late, queue.hold())
    }

    #[test]
    fn fault_R1_on_an_overloaded_host_attempts_do_not_pile_up() {
        let (most, late, hold) = pile_up(|_| true);
        // Until the first ones have ended the queue does not know that they take long.
        assert!(most <= 6 * MOST, "{most} under way");
        assert!(late <= MOST, "{late} under way, although the queue knows how long attempts take");
        assert!(hold == HOLDS.1);
    }

    #[test]
    fn fault_R1_turns_that_nobody_needs_are_no_short_attempts() {
        // Most peers have connected before this PE's turn.
        let (most, late, hold) = pile_up(|token| token % 4 == 0);
        assert!(most <= 6 * MOST && late <= MOST, "{most} under way, later {late}");
        assert!(hold == HOLDS.1);
    }
}
