//! The levels of a node, as `SHMEM_NODE_LEVELS` names them.

use crate::Error;

/// How collectives on one node take its caches, NUMA nodes and packages into account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeLevels {
    /// They use the levels of the node if a team is large enough to gain by it.
    #[default]
    Auto,
    /// They treat all members of a team as equally close.
    Off,
    /// They use groups of these numbers of consecutive PEs, from the smallest to the widest, whatever hardware the
    /// node has.
    Groups(Vec<u32>),
}

impl NodeLevels {
    /// Reads the value of the variable `name`.
    pub(super) fn read(name: &str, value: &str) -> Result<Self, Error> {
        match value {
            "auto" => return Ok(Self::Auto),
            "off" => return Ok(Self::Off),
            _ => {}
        }
        let numbers: Option<Vec<u32>> = value.split(',').map(|part| part.trim().parse().ok()).collect();
        let grow = |numbers: &Vec<u32>| numbers[0] > 1 && numbers.len() <= 3 && numbers.is_sorted();
        numbers.filter(grow).map(Self::Groups).ok_or_else(|| {
            Error::new(format!("{name}={value} cannot be read"))
                .because("it wants auto, off, or one to three numbers from 2 that grow, separated by commas")
                .fix(format!("set for example {name}=4,16,64"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::NodeLevels::{self, Auto, Groups, Off};

    #[test]
    fn levels_are_words_or_numbers_that_grow() {
        let read = |value| NodeLevels::read("SHMEM_NODE_LEVELS", value).ok();
        assert_eq!([read("auto"), read("off")], [Some(Auto), Some(Off)]);
        assert_eq!([read("4"), read("2, 4,4")], [Some(Groups(vec![4])), Some(Groups(vec![2, 4, 4]))]);
        assert!(["", "1", "4,2", "2,3,4,5", "two"].into_iter().all(|value| read(value).is_none()));
    }
}
