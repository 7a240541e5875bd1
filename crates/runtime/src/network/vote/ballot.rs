//! The vote of a job's nodes on a transport: each offers its ways, and PE 0 takes the best one that all nodes have.

use oxshmem_base::Error;
use oxshmem_base::knobs::Atomics;
use oxshmem_transport::{Grade, NetworkAtomics, Participant, Provider, Rejected, TransportOffer, WantedTransport};
use serde::{Deserialize, Serialize};

use super::asked::AskedTransport;
use super::atomics::{self, Domain};
use crate::network::neighbours::{self, Quarters};

/// The vote of one node, for PE 0.
#[derive(Serialize, Deserialize)]
pub(super) struct Vote {
    pub(super) ballot: Ballot,
    pub(super) quarters: Quarters,
}

/// PE 0's message to all.
#[derive(Serialize, Deserialize)]
pub(super) struct TransportDecision {
    /// `None`: nothing carries the job.
    pub(super) way: Option<(TransportWay, Domain)>,
    pub(super) rejected: Vec<Rejected>,
    /// The nodes, by number, on whose machines PEs outnumber processors.
    pub(super) crowded: Vec<u32>,
    /// Whether loopback leads from every node to every other one.
    pub(super) one_host: bool,
}

/// A value as it travels between the nodes.
pub(super) fn written(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("a vector takes any value")
}

/// The value that [`written`] wrote on another node.
pub(super) fn read<'d, T: Deserialize<'d>>(what: impl FnOnce() -> String, bytes: &'d [u8]) -> Result<T, Error> {
    let garbage = |why: String| {
        Error::new(format!("{} cannot be read", what()))
            .because(format!("{} bytes: {why}", bytes.len()))
            .fix("run one version of oxshmem on all PEs")
    };
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(garbage(format!("{} follow its end", rest.len()))),
        Err(error) => Err(garbage(error.to_string())),
    }
}

/// PE 0's decision on all votes, which come in the order of the nodes; `pes` says how many PEs a node has.
pub(super) fn decision(votes: &[Vote], pes: impl Fn(u32) -> usize, atomics: Atomics) -> TransportDecision {
    let nodes: Vec<(&Quarters, usize)> = (0..).zip(votes).map(|(node, vote)| (&vote.quarters, pes(node))).collect();
    let ballots: Vec<&Ballot> = votes.iter().map(|vote| &vote.ballot).collect();
    let one_pe_each = nodes.iter().all(|&(_, pes)| pes == 1);
    let (way, rejected) = agreed(&ballots, atomics, one_pe_each);
    let one_host = nodes.iter().all(|(quarters, _)| quarters.is_one_host(nodes[0].0));
    TransportDecision { way, rejected, crowded: neighbours::crowded(&nodes), one_host }
}

/// The ways that one node could take, best first.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Ballot {
    ways: Vec<TransportWay>,
    rejected: Vec<Rejected>,
}

/// A transport and its atomics.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TransportWay {
    /// `name` or `name:detail`.
    pub(super) name: String,
    atomics: NetworkAtomics,
}

/// The ways that this node could take.
pub(super) fn ballot(
    providers: &[&'static Provider],
    asked: &AskedTransport<'_>,
    participant: &Participant<'_>,
) -> Ballot {
    let mut ways: Vec<(Grade, TransportWay)> = Vec::new();
    let mut rejected = Vec::new();
    for provider in providers {
        let wanted = match asked {
            AskedTransport::Best => WantedTransport::default(),
            AskedTransport::One(one, detail) if one.name == provider.name => {
                WantedTransport { named: true, detail: *detail }
            }
            AskedTransport::One(one, _) => {
                rejected.push(Rejected::new(provider.name, format!("SHMEM_TRANSPORT names {}", one.name)));
                continue;
            }
            AskedTransport::Nothing => {
                rejected.push(Rejected::new(provider.name, "SHMEM_TRANSPORT=shm"));
                continue;
            }
        };
        let offers = (provider.offers)(participant, &wanted);
        let way = |TransportOffer { grade, detail, atomics }| {
            let name = if detail.is_empty() { provider.name.to_owned() } else { format!("{}:{detail}", provider.name) };
            (grade, TransportWay { name, atomics })
        };
        ways.extend(offers.ways.into_iter().map(way));
        rejected.extend(offers.rejected);
    }
    // Stable: rows keep their order.
    ways.sort_by_key(|(grade, _)| std::cmp::Reverse(*grade));
    Ballot { ways: ways.into_iter().map(|(_, way)| way).collect(), rejected }
}

/// The way that all nodes have and that the first node grades best, with the device for its atomics; and why not the others.
/// `one_pe_each` says that each node has one PE.
fn agreed(ballots: &[&Ballot], wanted: Atomics, one_pe_each: bool) -> (Option<(TransportWay, Domain)>, Vec<Rejected>) {
    let Some((first, others)) = ballots.split_first() else { return (None, Vec::new()) };
    let (mut chosen, mut rejected) = (None, first.rejected.clone());
    for way in &first.ways {
        let name = &way.name;
        let theirs = |ballot: &&Ballot| ballot.ways.iter().find(|way| way.name == *name).map(|way| way.atomics.clone());
        let lacking = others.iter().position(|ballot| theirs(ballot).is_none());
        if let Some(other) = lacking {
            let node = other + 1;
            let candidate = |name: &str| name.split(':').next().map(String::from);
            let theirs = ballots[node].rejected.iter().find(|theirs| candidate(&theirs.name) == candidate(name));
            let why = theirs.map_or_else(String::new, |why| format!(": {why}"));
            rejected.push(Rejected::new(name, format!("node {node} cannot{why}")));
            continue;
        }
        let offered: Vec<NetworkAtomics> = ballots.iter().filter_map(theirs).collect();
        match atomics::decide(wanted, one_pe_each, &offered) {
            Err(why) => rejected.push(Rejected::new(name, why)),
            Ok(domain) if chosen.is_none() => chosen = Some((way.clone(), domain)),
            Ok(_) => rejected.push(Rejected::new(name, "not as good")),
        }
    }
    (chosen, rejected)
}

#[cfg(test)]
mod tests {
    use oxshmem_base::knobs::Settings;

    use oxshmem_transport::{Agreed, SECRET, loopback};

    use super::super::providers::PROVIDERS;
    use super::*;

    fn way(name: &str, atomics: NetworkAtomics) -> TransportWay {
        TransportWay { name: name.into(), atomics }
    }

    fn ballot(names: &[&str]) -> Ballot {
        let none = || NetworkAtomics::None("it has none".into());
        Ballot { ways: names.iter().map(|name| way(name, none())).collect(), rejected: Vec::new() }
    }

    /// The choice of nodes that live on machines of their own with a PE each.
    fn decided(ballots: Vec<Ballot>, atomics: Atomics, pes: usize) -> TransportDecision {
        let vote = |ballot| Vote { ballot, quarters: Quarters::here(&[0, 1], None) };
        // As they travel.
        let vote = |ballot| read::<Vote>(|| "a vote".into(), &written(&vote(ballot))).expect("a vote");
        let decision = decision(&ballots.into_iter().map(vote).collect::<Vec<_>>(), |_| pes, atomics);
        read(|| "a decision".into(), &written(&decision)).expect("a decision")
    }

    fn name(decision: &TransportDecision) -> Option<&str> {
        decision.way.as_ref().map(|(way, _)| way.name.as_str())
    }

    fn reasons(rejected: &[Rejected]) -> Vec<String> {
        rejected.iter().map(Rejected::to_string).collect()
    }

    fn asked(transport: &str) -> Result<Ballot, Error> {
        let settings = Settings { transport: transport.into(), ..Settings::default() };
        let asked = AskedTransport::read(&settings, PROVIDERS)?;
        Ok(super::ballot(PROVIDERS, &asked, &Participant::new(0, 2, &settings, &[0; SECRET])))
    }

    #[test]
    fn the_best_that_all_nodes_have_is_chosen() {
        let lacking = Ballot { rejected: vec![Rejected::new("ofi", "nothing")], ..ballot(&["ucx:rc", "tcp"]) };
        let ballots = vec![ballot(&["ofi:cxi", "ucx:rc", "tcp"]), lacking, ballot(&["tcp", "ucx:rc"])];
        let chosen = decided(ballots, Atomics::Auto, 2);
        assert_eq!(name(&chosen), Some("ucx:rc"));
        assert_eq!(reasons(&chosen.rejected), ["ofi:cxi (node 1 cannot: ofi (nothing))", "tcp (not as good)"]);
    }

    #[test]
    fn nothing_in_common_is_nothing() {
        let chosen = decided(vec![ballot(&["ofi:cxi"]), ballot(&["tcp"])], Atomics::Auto, 2);
        assert_eq!(name(&chosen), None);
        assert_eq!(reasons(&chosen.rejected), ["ofi:cxi (node 1 cannot)"]);
    }

    #[test]
    fn fault_W9_no_reason_marks_a_node_as_crowded() {
        let why = "first line, 1,\n=0-1,1, 3,\n+ucx\tcard";
        let own = |why: &str| Ballot { ways: vec![way("tcp", NetworkAtomics::None(why.into()))], rejected: Vec::new() };
        let nodes = || vec![own(why), own("it has none")];
        let of = |pes| decided(nodes(), Atomics::Auto, pes);
        assert_eq!((of(1).crowded, of(2).crowded), (vec![], vec![0, 1]));
        let (way, domain) = of(1).way.expect("both nodes have it");
        assert_eq!((way.name.as_str(), domain.network), ("tcp", false));
        assert_eq!(domain.to_string(), format!("the target's processor ({why})"));
    }

    #[test]
    fn a_vote_of_another_version_is_an_error_that_says_so() {
        let vote = written(&Vote { ballot: ballot(&["tcp"]), quarters: Quarters::here(&[0], None) });
        for garbage in [&vote[..vote.len() - 1], &[vote.as_slice(), b"x"].concat(), b"+tcp\tnone\n=1 0 boot\n"] {
            let error = read::<Vote>(|| "the vote of node 3".into(), garbage).err().expect("garbage").to_string();
            assert!(error.contains("the vote of node 3 cannot be read") && error.contains("one version"), "{error}");
        }
    }

    #[test]
    fn one_domain_is_decided_for_all_nodes() {
        let none = |why: &str| NetworkAtomics::None(why.into());
        let vote = |ways: &[(&str, NetworkAtomics)]| Ballot {
            ways: ways.iter().map(|(name, atomics)| way(name, atomics.clone())).collect(),
            rejected: Vec::new(),
        };
        let cards = || {
            let both = || vote(&[("ofi:cxi", NetworkAtomics::Card), ("tcp", none("of tcp"))]);
            vec![both(), both()]
        };
        let mixed = || vec![vote(&[("ofi:cxi", NetworkAtomics::Card)]), vote(&[("ofi:cxi", none("too old"))])];
        let software =
            || vec![vote(&[("ofi:tcp", NetworkAtomics::Software)]), vote(&[("ofi:tcp", NetworkAtomics::Software)])];
        let domain = |ballots, atomics, pes| decided(ballots, atomics, pes).way.map(|(_, domain)| domain.network);
        let cases: [(&dyn Fn() -> Vec<Ballot>, _, _, _); 3] = [
            (&cards, Some(false), Some(true), Some(true)),
            (&mixed, Some(false), Some(false), None),
            (&software, Some(false), Some(false), Some(true)),
        ];
        for (ballots, several, one, network) in cases {
            assert_eq!(domain(ballots(), Atomics::Auto, 2), several);
            assert_eq!(domain(ballots(), Atomics::Auto, 1), one);
            assert_eq!(domain(ballots(), Atomics::Network, 2), network);
            assert_eq!(domain(ballots(), Atomics::Processor, 1), Some(false));
        }
        // SHMEM_AMO=network: a transport that has such atomics is chosen, and the others are rejected with that reason.
        let decided = decided(cards(), Atomics::Network, 2);
        assert_eq!(name(&decided), Some("ofi:cxi"));
        assert_eq!(reasons(&decided.rejected), ["tcp (no atomics of the network: of tcp, on node 0)"]);
    }

    /// A further provider is one more row of the table.
    #[test]
    fn loopback_is_offered_and_chosen_like_any_other_provider() {
        let mut providers = PROVIDERS.to_vec();
        providers.push(&loopback::PROVIDER);
        let settings = Settings { transport: "loopback:3".into(), ..Settings::default() };
        let asked = AskedTransport::read(&settings, &providers).expect("it is in the table");
        let ballot = || super::ballot(&providers, &asked, &Participant::new(0, 2, &settings, &[0; SECRET]));
        let decision = decided(vec![ballot(), ballot()], Atomics::Auto, 2);
        assert_eq!(name(&decision), Some("loopback:3"));
        let (_, detail) = name(&decision).and_then(|name| name.split_once(':')).expect("a detail");
        let choice = Agreed { detail, ..Agreed::default() };
        let fabric = (loopback::PROVIDER.open)(&Participant::new(0, 2, &settings, &[0; SECRET]), &choice);
        assert_eq!(fabric.expect("it opens").describe(), "loopback: PE 0 of 2 in one process");
    }

    #[test]
    fn every_rejected_provider_has_a_reason() {
        for provider in PROVIDERS {
            let other = PROVIDERS.iter().find(|other| other.name != provider.name).map_or("shm", |other| other.name);
            let reasons = reasons(&asked(other).expect("a transport").rejected);
            let begin = format!("{} (SHMEM_TRANSPORT", provider.name);
            assert!(reasons.iter().any(|why| why.starts_with(&begin)), "{reasons:?}");
        }
        assert!(asked("auto").expect("a transport").ways.iter().any(|way| way.name == "tcp"));
        let reasons = reasons(&asked("tcp:fast").expect("a transport").rejected);
        assert!(reasons.iter().any(|why| why.starts_with("tcp:fast (tcp has no variants")), "{reasons:?}");
    }

    #[test]
    fn words_of_other_libraries_are_translated() {
        for provider in PROVIDERS {
            for (word, detail) in provider.elsewhere {
                let ours =
                    if detail.is_empty() { provider.name.to_owned() } else { format!("{}:{detail}", provider.name) };
                let error = asked(word).err().expect("no word of ours").to_string();
                assert!(error.contains(&format!("set SHMEM_TRANSPORT={ours} or")), "{error}");
            }
        }
        assert!(asked("vader").err().expect("no word of ours").to_string().contains("SHMEM_TRANSPORT=shm"));
    }

    #[test]
    fn a_slip_of_the_finger_is_an_error_that_names_what_was_meant() {
        let error = asked("tcpp").err().expect("a slip").to_string();
        assert!(
            error.contains("SHMEM_TRANSPORT=tcpp cannot be read") && error.contains("SHMEM_TRANSPORT=tcp"),
            "{error}"
        );
    }
}
