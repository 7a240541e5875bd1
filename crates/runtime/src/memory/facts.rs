//! Facts that the PEs of a node send each other before they share memory: each PE its own facts, the leader the terms of the heap.

use std::path::Path;

use oxshmem_base::Error;
use oxshmem_base::knobs::{NodeLevels, Wait};
use oxshmem_bootstrap::Membership;
use oxshmem_os::{cpus, memory, program};
use serde::{Deserialize, Serialize};

use crate::memory::heap::HeapBound;

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(Clone, PartialEq, Debug))]
pub(crate) struct MemberFacts {
    /// Length of the static region; zero when it is not shared.
    pub(crate) statics: u64,
    /// Processors' worth of time that its control group grants, if it limits that. It is the group's: a PE that is bound to one processor
    /// may share two processors' worth with all others.
    pub(crate) quota: Option<u32>,
    /// The processors it may run on.
    pub(crate) allowed: Vec<u32>,
    /// Addresses that the limit on them leaves this process.
    pub(crate) addresses_left: u64,
    program: String,
}

impl MemberFacts {
    /// Those of this process, whose static region has `statics` bytes.
    pub(crate) fn own(statics: u64) -> Self {
        let allowed: Vec<u32> = cpus::allowed().into_iter().map(|cpu| cpu as u32).collect();
        Self {
            statics,
            quota: cpus::quota().map(|quota| quota as u32),
            allowed,
            addresses_left: memory::addresses_left().unwrap_or(u64::MAX),
            program: this_program(),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a vector takes any number of bytes")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        whole(postcard::take_from_bytes(bytes).ok()?)
    }
}

/// A message without further bytes after it.
fn whole<T>((message, rest): (T, &[u8])) -> Option<T> {
    rest.is_empty().then_some(message)
}

/// The leader's decisions for the node.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(Clone, PartialEq, Debug))]
pub(crate) struct HeapTerms {
    pub(crate) heap_cap: u64,
    pub(crate) heap_shift: u32,
    pub(crate) page: u64,
    /// The reason for the cap.
    pub(crate) bound: HeapBound,
    /// The leader's `SHMEM_WAIT` as a number: PEs that wait in different ways would also use different ways to meet, and so never
    /// meet.
    pub(crate) wait: u8,
    /// Whether the leader's `SHMEM_CHECK` asks for guarded blocks, which lie at other offsets.
    pub(crate) guarded: bool,
    /// The leader's `SHMEM_NODE_LEVELS`, because PEs with other levels would look for each other in other lines: see [`widths_of`].
    pub(crate) widths: Option<Vec<u32>>,
}

impl HeapTerms {
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a vector takes any number of bytes")
    }

    /// The terms, and the bytes that follow them. `None`: no leader sends these.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (terms, rest) = postcard::take_from_bytes::<Self>(bytes).ok()?;
        let fits = terms.heap_shift < u64::BITS
            && terms.page.is_power_of_two()
            && terms.heap_cap <= 1 << terms.heap_shift
            && way_of(terms.wait).is_some()
            && terms.widths.iter().flatten().all(|&width| width > 0);
        fits.then_some((terms, rest))
    }

    /// The leader's `SHMEM_WAIT`.
    pub(crate) fn wait(&self) -> Wait {
        way_of(self.wait).expect("decode lets no other number pass")
    }

    /// The leader's `SHMEM_NODE_LEVELS`.
    pub(crate) fn node_levels(&self) -> NodeLevels {
        match &self.widths {
            None => NodeLevels::Off,
            Some(widths) if widths.is_empty() => NodeLevels::Auto,
            Some(widths) => NodeLevels::Groups(widths.clone()),
        }
    }
}

/// Levels as they travel: the widths of groups, an empty list for `auto`, no list for `off`.
pub(crate) fn widths_of(levels: &NodeLevels) -> Option<Vec<u32>> {
    match levels {
        NodeLevels::Off => None,
        NodeLevels::Auto => Some(Vec::new()),
        NodeLevels::Groups(widths) => Some(widths.clone()),
    }
}

fn way_of(number: u8) -> Option<Wait> {
    Wait::ALL.into_iter().find(|way| *way as u8 == number)
}

/// All PEs of a node must run the same program, or their static variables do not correspond.
pub(crate) fn same_program(job: &Membership, facts: &[MemberFacts]) -> Result<(), Error> {
    let Some(leader) = facts.first() else { return Ok(()) };
    for (member, pe) in facts.iter().zip(&job.node().members).skip(1) {
        let shared = leader.statics > 0 && member.statics > 0;
        if shared && (!is_one_program(&member.program, &leader.program) || member.statics != leader.statics) {
            let first = job.node().members[0];
            return Err(Error::new(format!("PE {pe} runs a different program than PE {first}"))
                .because(format!("PE {pe} is {}, PE {first} is {}", member.program, leader.program))
                .fix(
                    "start one program on all PEs, or set SHMEM_STATICS=0 if the programs share no static variables",
                ));
        }
    }
    Ok(())
}

/// Between a program's name and its build-id.
const BUILD_ID: &str = " (build-id ";

/// The program this process runs, by name and build-id.
pub(crate) fn this_program() -> String {
    described(&program::path().unwrap_or_default(), program::build_id(), program::layout())
}

/// A program whose linker has left no build-id is told from an older one of the same name by where its variables lie.
fn described(path: &Path, build: Option<String>, layout: u64) -> String {
    let build = build.unwrap_or_else(|| format!("none, layout {layout:x}"));
    format!("{}{BUILD_ID}{build})", path.display())
}

/// Whether two PEs run one program. Where its file lies is of no matter: `srun --bcast` gives it another name on each node. Without
/// build-ids the names and the layouts tell.
pub(crate) fn is_one_program(one: &str, other: &str) -> bool {
    one == other || build_id_of(one).is_some_and(|build| build_id_of(other) == Some(build))
}

fn build_id_of(program: &str) -> Option<&str> {
    let (_, build) = program.rsplit_once(BUILD_ID)?;
    build.starts_with(|first: char| first.is_ascii_hexdigit()).then_some(build)
}

/// The error of a message that no PE of this version sends.
pub(crate) fn unreadable() -> Error {
    Error::new("a PE of this node sent something unreadable at start-up")
        .because("the PEs do not run the same version of oxshmem")
        .fix("build and start all PEs with one version")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> MemberFacts {
        MemberFacts {
            statics: 1 << 33,
            quota: Some(2),
            allowed: vec![0, 5, u32::MAX],
            addresses_left: 1 << 40,
            program: "/bin/naïve (build-id 12)".into(),
        }
    }

    fn terms() -> HeapTerms {
        HeapTerms {
            heap_cap: 3 << 20,
            heap_shift: 22,
            page: 4096,
            bound: HeapBound::User,
            wait: Wait::Yield as u8,
            guarded: false,
            widths: Some(vec![4, 16]),
        }
    }

    #[test]
    fn facts_and_terms_arrive_as_they_were_sent() {
        for facts in [
            facts(),
            MemberFacts { statics: 0, quota: None, allowed: Vec::new(), addresses_left: 0, program: String::new() },
        ] {
            assert_eq!(MemberFacts::decode(&facts.encode()), Some(facts));
        }
        for wait in Wait::ALL {
            let terms = HeapTerms { wait: wait as u8, ..terms() };
            let sent = [terms.encode(), vec![1, 2, 3]].concat();
            assert_eq!(HeapTerms::decode(&sent), Some((terms, &[1, 2, 3][..])));
        }
    }

    #[test]
    fn levels_arrive_as_the_leader_has_them() {
        for levels in [NodeLevels::Auto, NodeLevels::Off, NodeLevels::Groups(vec![2, 4, 4])] {
            let bytes = HeapTerms { widths: widths_of(&levels), ..terms() }.encode();
            let arrived = HeapTerms::decode(&bytes).map(|(terms, _)| terms.node_levels());
            assert_eq!(arrived, Some(levels));
        }
    }

    #[test]
    fn facts_that_are_cut_short_or_too_long_are_unreadable() {
        let bytes = facts().encode();
        for n in (0..bytes.len()).chain([bytes.len() + 1]) {
            let mut other = bytes.clone();
            other.resize(n, 0);
            assert_eq!(MemberFacts::decode(&other), None, "{n} bytes");
        }
    }

    #[test]
    fn a_program_is_known_by_its_build_id_wherever_its_file_lies() {
        let one = "/tmp/slurm_bcast_7.0_n1 (build-id 0a1b)";
        assert!(is_one_program(one, "/tmp/slurm_bcast_7.0_n2 (build-id 0a1b)"));
        assert!(!is_one_program(one, "/tmp/slurm_bcast_7.0_n1 (build-id 0a1c)"));
        let without = |path: &str, layout| described(Path::new(path), None, layout);
        assert!(is_one_program(&without("/bin/a", 10), &without("/bin/a", 10)));
        assert!(!is_one_program(&without("/bin/a", 10), &without("/bin/b", 10)));
        assert!(!is_one_program(&without("/bin/a", 10), &without("/bin/a", 11)));
        assert!(is_one_program(&this_program(), &this_program()));
    }

    #[test]
    fn terms_that_no_leader_sends_are_unreadable() {
        let bytes = terms().encode();
        for n in 0..bytes.len() {
            assert_eq!(HeapTerms::decode(&bytes[..n]), None, "{n} bytes");
        }
        for other in [
            HeapTerms { heap_cap: 1 << 23, ..terms() },
            HeapTerms { heap_shift: 64, ..terms() },
            HeapTerms { page: 4095, ..terms() },
            HeapTerms { wait: 9, ..terms() },
            HeapTerms { widths: Some(vec![4, 0]), ..terms() },
        ] {
            assert_eq!(HeapTerms::decode(&other.encode()), None, "{other:?}");
        }
    }
}
