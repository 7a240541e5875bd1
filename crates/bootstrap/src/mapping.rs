//! `PMI_process_mapping`: which PE is on which node, as servers write it.
//!
//! `(vector,(first,nodes,each),…)` places `each` PEs on each of `nodes` nodes from number `first` on; the whole list
//! repeats until every PE has a place.

/// Nodes that have equally many PEs.
struct NodeBlock {
    /// The number of the first node.
    first: u32,
    /// How many nodes.
    nodes: u32,
    /// PEs on each.
    each: u32,
}

/// The mapping of `size` PEs in blocks, `each` PEs on a node.
pub fn vector(size: u32, each: u32) -> String {
    let each = each.max(1);
    format!("(vector,(0,{},{each}))", size.div_ceil(each))
}

/// The mapping of PEs to any nodes, given the node of every PE. Nothing: it would be too long for a value, and PEs find
/// out by themselves.
pub fn of_nodes(nodes: &[u32]) -> Option<String> {
    let mut blocks: Vec<NodeBlock> = Vec::new();
    for run in nodes.chunk_by(|one, next| one == next) {
        let (node, each) = (run[0], run.len() as u32);
        match blocks.last_mut() {
            Some(last) if last.first + last.nodes == node && last.each == each => last.nodes += 1,
            _ => blocks.push(NodeBlock { first: node, nodes: 1, each }),
        }
    }
    let text = |blocks: &[NodeBlock]| {
        let one = |NodeBlock { first, nodes, each }: &NodeBlock| format!(",({first},{nodes},{each})");
        format!("(vector{})", blocks.iter().map(one).collect::<String>())
    };
    // PEs that are dealt in turn need their first round only.
    let rounds = (1..=blocks.len().min(4)).map(|length| text(&blocks[..length]));
    let means_all = |text: &String| nodes_of(text, nodes.len() as u32).is_some_and(|found| found == nodes);
    let shortest = rounds.into_iter().find(means_all).unwrap_or_else(|| text(&blocks));
    Some(shortest).filter(|text| text.len() <= LONGEST)
}

/// The length for which every server and client has room.
const LONGEST: usize = 1000;

/// The node number of every PE, or nothing if the text is not a mapping.
pub fn nodes_of(text: &str, size: u32) -> Option<Vec<u32>> {
    let blocks = blocks(text)?;
    let mut nodes = Vec::with_capacity(size as usize);
    while nodes.len() < size as usize {
        let before = nodes.len();
        // A block of no PEs adds none, however many nodes it has.
        for block in blocks.iter().filter(|block| block.each > 0) {
            for node in block.first..block.first.checked_add(block.nodes)? {
                let room = size as usize - nodes.len();
                nodes.extend(std::iter::repeat_n(node, room.min(block.each as usize)));
                if nodes.len() == size as usize {
                    return Some(nodes);
                }
            }
        }
        if nodes.len() == before {
            return None;
        }
    }
    Some(nodes)
}

fn blocks(text: &str) -> Option<Vec<NodeBlock>> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut rest = text.strip_prefix("(vector")?.strip_suffix(')')?;
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let (block, after) = rest.strip_prefix(",(")?.split_once(')')?;
        let mut numbers = block.split(',').map(|number| number.parse().ok());
        let block = NodeBlock { first: numbers.next()??, nodes: numbers.next()??, each: numbers.next()?? };
        // A block without PEs would only cost time.
        if numbers.next().is_some() || block.nodes == 0 || block.each == 0 {
            return None;
        }
        blocks.push(block);
        rest = after;
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mappings_that_servers_write() {
        assert_eq!(nodes_of("(vector,(0,1,4))", 4), Some(vec![0; 4]));
        assert_eq!(nodes_of("(vector,(0,1,1))", 3), Some(vec![0; 3]), "the list repeats");
        assert_eq!(nodes_of("(vector,(0,2,2))", 4), Some(vec![0, 0, 1, 1]));
        assert_eq!(nodes_of("(vector,(0,2,1))", 4), Some(vec![0, 1, 0, 1]), "cyclic");
        assert_eq!(nodes_of("(vector, (3,1,2), (0,1,1))", 3), Some(vec![3, 3, 0]));
        for bad in ["", "(vector)", "(vector,(0,1))", "(vector,(0,0,1))", "(matrix,(0,1,1))", "(vector,(0,1,1)"] {
            assert_eq!(nodes_of(bad, 2), None, "{bad}");
        }
        assert_eq!(nodes_of("(vector,(4294967295,4294967295,1))", 2), None);
        assert_eq!(nodes_of("(vector,(0,4294967295,0))", 2), None, "at once");
    }

    #[test]
    fn any_placement_has_a_short_text() {
        assert_eq!(of_nodes(&[0, 0, 1, 1]).as_deref(), Some("(vector,(0,2,2))"));
        assert_eq!(of_nodes(&[0, 1, 2, 0, 1]).as_deref(), Some("(vector,(0,3,1))"));
        assert_eq!(of_nodes(&[0, 0, 0, 1]).as_deref(), Some("(vector,(0,1,3),(1,1,1))"));
        let uneven: Vec<u32> = (0..2000).flat_map(|node| vec![node; 1 + node as usize % 2]).collect();
        assert_eq!(of_nodes(&uneven), None);
    }

    proptest! {
        #[test]
        fn placements_are_understood(nodes in proptest::collection::vec(0u32..6, 1..60)) {
            if let Some(text) = of_nodes(&nodes) {
                prop_assert_eq!(nodes_of(&text, nodes.len() as u32), Some(nodes));
            }
        }

        #[test]
        fn our_own_mapping_is_understood(size in 1u32..500, each in 1u32..70) {
            let expected: Vec<u32> = (0..size).map(|pe| pe / each).collect();
            prop_assert_eq!(nodes_of(&vector(size, each), size), Some(expected));
        }

        #[test]
        fn any_text_is_judged_quickly(text in "[(),vector0-9 ]{0,60}", size in 0u32..300) {
            if let Some(nodes) = nodes_of(&text, size) {
                prop_assert_eq!(nodes.len(), size as usize);
            }
        }
    }
}
