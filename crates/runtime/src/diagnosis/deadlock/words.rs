//! The word that the first PE of a node publishes, and what all of them together say.

use super::stillness::Shown;

/// The kinds of the waits of a node.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct WaitKind {
    /// Some are for the program's own variables.
    pub(super) for_variables: bool,
    /// Something else than PEs may store to such variables.
    pub(super) others_may_store: bool,
}

/// The publication of a node's first PE: the node's state, the kinds of its waits and its progress, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeWord {
    pub(super) epoch: u64,
    pub(super) kind: WaitKind,
    pub(super) confirmed: u64,
}

impl NodeWord {
    pub(super) fn to_word(self) -> u64 {
        let Self { epoch, kind: WaitKind { for_variables, others_may_store }, confirmed } = self;
        epoch << 32 | u64::from(for_variables) << 31 | u64::from(others_may_store) << 30 | confirmed.min((1 << 30) - 1)
    }

    pub(super) fn of_word(word: u64) -> Self {
        let kind = WaitKind { for_variables: word >> 31 & 1 == 1, others_may_store: word >> 30 & 1 == 1 };
        Self { epoch: word >> 32, kind, confirmed: word & ((1 << 30) - 1) }
    }
}

/// The nodes' states and progress, if they may stand still for ever.
pub(super) fn still(words: &[u64]) -> Option<Vec<Shown>> {
    let nodes: Vec<NodeWord> = words.iter().copied().map(NodeWord::of_word).collect();
    let for_variables = nodes.iter().any(|node| node.kind.for_variables);
    let others_may_store = nodes.iter().any(|node| node.kind.others_may_store);
    if for_variables && others_may_store || nodes.iter().any(|node| node.confirmed == 0) {
        return None;
    }
    Some(nodes.iter().map(|node| (node.epoch, node.confirmed)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_D1_what_a_node_publishes_comes_back_from_its_word() {
        for (for_variables, others_may_store) in [(false, false), (true, false), (false, true), (true, true)] {
            let published = NodeWord { epoch: 77, kind: WaitKind { for_variables, others_may_store }, confirmed: 5 };
            assert_eq!(NodeWord::of_word(published.to_word()), published);
        }
    }

    #[test]
    fn fault_D1_a_handler_on_one_node_makes_variables_on_another_uncertain() {
        let word = |for_variables, others_may_store, confirmed| {
            NodeWord { epoch: 1, kind: WaitKind { for_variables, others_may_store }, confirmed }.to_word()
        };
        assert_eq!(still(&[word(true, false, 4), word(false, false, 2)]), Some(vec![(1, 4), (1, 2)]));
        assert_eq!(still(&[word(true, false, 4), word(false, true, 2)]), None);
        assert_eq!(still(&[word(false, false, 4), word(false, true, 2)]), Some(vec![(1, 4), (1, 2)]));
        assert_eq!(still(&[word(false, false, 4), word(false, false, 0)]), None);
    }
}
