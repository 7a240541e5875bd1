//! How the hosts of a subtree are divided among the agents below.

use crate::link::frame::{FAN_OUT, HostPes};

/// The hosts in groups, one for each agent that is started from here: at most as many as one place can look after, as even as
/// can be.
pub(super) fn branches(host_pes: &[HostPes]) -> Vec<&[HostPes]> {
    let count = host_pes.len().min(FAN_OUT);
    let cut = |i: usize| i * host_pes.len() / count.max(1);
    (0..count).map(|i| &host_pes[cut(i)..cut(i + 1)]).collect()
}

/// How many agents there are from the first of these hosts down to the last.
pub(super) fn depth(host_pes: &[HostPes]) -> u32 {
    match host_pes {
        [] => 0,
        [_, below @ ..] => 1 + branches(below).into_iter().map(depth).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tree_reaches_every_host_once(hosts in 0u32..3000) {
            let host_pes: Vec<HostPes> = (0..hosts).map(|host| HostPes { host, name: String::new(), pes: vec![] }).collect();
            let branches = branches(&host_pes);
            prop_assert!(branches.len() <= FAN_OUT && branches.iter().all(|branch| !branch.is_empty()));
            prop_assert_eq!(&branches.concat(), &host_pes);
            prop_assert!(branches.into_iter().map(depth).max().unwrap_or(0) <= 3);
        }
    }
}
