//! Numbers for the strands of a PE.
//!
//! A number is reused when the work that had it is over. A number whose end the maker knows of is best, because then the
//! recorded order of both is the true one.

/// The numbers of a PE's strands.
#[derive(Debug)]
pub(crate) struct StrandTable {
    /// How many strands have the number at the moment.
    users: Vec<u32>,
    /// When the last of them has ended, as a number of ends.
    ended: Vec<u64>,
    ends: u64,
}

impl StrandTable {
    pub(crate) fn new(strands: usize) -> StrandTable {
        let mut users = vec![0; strands];
        users[0] = 1;
        StrandTable { users, ended: vec![0; strands], ends: 0 }
    }

    /// A number for a strand: a free one that is `known` to be over, or a new one, or the one that is free for the longest time, or the
    /// last. Tasks that a thread runs one after the other so have several.
    pub(crate) fn choose(&mut self, used: usize, known: impl Fn(usize) -> bool) -> usize {
        let free =
            |users: &[u32], range: std::ops::Range<usize>| range.filter(|&at| users[at] == 0).collect::<Vec<_>>();
        let (old, fresh) = (free(&self.users, 1..used), free(&self.users, used..self.users.len()));
        let oldest = || old.iter().copied().min_by_key(|&at| self.ended[at]);
        let chosen = old.iter().copied().find(|&at| known(at)).or(fresh.first().copied()).or_else(oldest);
        let chosen = chosen.unwrap_or(self.users.len() - 1);
        self.users[chosen] += 1;
        chosen
    }

    /// Whether several strands have the number: there are more than numbers.
    pub(crate) fn is_shared(&self, strand: usize) -> bool {
        self.users[strand] > 1
    }

    /// One strand less has the number.
    pub(crate) fn give_back(&mut self, strand: usize) {
        if strand > 0 && self.users[strand] > 0 {
            self.users[strand] -= 1;
            self.ends += 1;
            self.ended[strand] = self.ends;
        }
    }
}
