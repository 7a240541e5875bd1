//! Which transport carries a job of several nodes: what each could do here, what all nodes have in common, and why the
//! others were not chosen. A new transport is a new row of [`CANDIDATES`].

use std::fmt;
use std::time::Duration;

use oxshmem_base::knobs::{Atomics, Settings};
use oxshmem_base::{Error, names};
use oxshmem_bootstrap::{Circle, Job, wireup};
use oxshmem_transport::Fabric;
use oxshmem_transport_ofi::Selection;
use serde::{Deserialize, Serialize};

use crate::network::neighbours::{self, Quarters};
use crate::start::placement;

/// A transport that a user can name: `SHMEM_TRANSPORT=name` or `name:detail`.
struct Candidate {
    name: &'static str,
    /// Its offer on this node. It opens nothing that stays open.
    offers: fn(&Settings, &Wanted<'_>) -> Offers,
    /// Opens one of the offers.
    open: fn(&Joining<'_>, &Opening<'_>) -> Opened,
}

type Opened = Result<Box<dyn Fabric>, Error>;

/// All transports between nodes. Among equally good ways the earlier row wins.
const CANDIDATES: &[Candidate] = &[
    Candidate { name: "ofi", offers: ofi_offers, open: ofi_open },
    Candidate { name: "ucx", offers: ucx_offers, open: ucx_open },
    Candidate { name: "tcp", offers: tcp_offers, open: tcp_open },
];

/// The demands on a candidate.
struct Wanted<'w> {
    /// The user has named this candidate; otherwise it is asked because it may be the best.
    named: bool,
    /// The text behind the colon.
    detail: Option<&'w str>,
    /// How many PEs the job has.
    pes: u32,
    /// The wish about atomics: by the card, by the processor, or the better one.
    atomics: Atomics,
}

/// The offer of a candidate on one node.
#[derive(Default)]
struct Offers {
    ways: Vec<Offer>,
    /// The reasons against the parts that it does not offer.
    rejected: Vec<Rejected>,
}

impl Offers {
    /// None, for this reason.
    fn none(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { ways: Vec::new(), rejected: vec![Rejected::new(name, why)] }
    }
}

/// A way that was not taken, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Rejected {
    name: String,
    why: String,
}

impl Rejected {
    fn new(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { name: name.into(), why: why.into() }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.why)
    }
}

/// One of these ways: what stands behind the colon, and who would do atomics.
struct Offer {
    grade: Grade,
    detail: String,
    own: Own,
}

/// The atomics that a way has of its own.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Own {
    /// The card does them.
    Card,
    /// Software of the provider does them.
    Software,
    /// None that we could use, for this reason.
    None(String),
}

/// How good a way is: the first is for those who ask for it by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Grade {
    /// Software that others have written around sockets or shared memory.
    Software,
    /// The kernel's sockets, driven by ourselves.
    Sockets,
    /// A card, whose endpoints are made to look like ours by another layer.
    Layered,
    /// A card, driven by who knows it.
    Card,
}

/// The identity of a PE that joins the network.
pub(crate) struct Joining<'j> {
    pub(crate) job: &'static Job,
    pub(crate) settings: &'j Settings,
    /// The secrets of the job's PEs: an identity and a key.
    pub(crate) secret: &'j [u8; 48],
    /// Where this node lives.
    pub(crate) quarters: &'j Quarters,
}

/// The nodes' decision on the way that is opened.
struct Opening<'o> {
    /// The text behind the colon.
    detail: &'o str,
    /// Whether the network does atomics.
    atomics: bool,
    /// Whether all PEs are on one host.
    one_host: bool,
}

/// The choice, and the reasons against everything else.
pub(crate) struct Chosen {
    pub(crate) fabric: Box<dyn Fabric>,
    pub(crate) rejected: Vec<String>,
    /// Whether PEs outnumber processors on this node's machine, with those of its other nodes.
    pub(crate) crowded: bool,
    /// The place where atomics are done, and the reason.
    pub(crate) atomics: String,
}

/// Checks the user's word where there is nothing to choose.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    Asked::read(settings).map(|_| ())
}

/// The vote of one node, for PE 0.
#[derive(Serialize, Deserialize)]
struct Vote {
    ballot: Ballot,
    quarters: Quarters,
}

/// The verdict that PE 0 tells all.
#[derive(Serialize, Deserialize)]
struct Decision {
    /// `None`: nothing carries the job.
    way: Option<(Way, Domain)>,
    rejected: Vec<Rejected>,
    /// The nodes, by number, on whose machines PEs outnumber processors.
    crowded: Vec<u32>,
    /// Whether loopback leads from every node to every other one.
    one_host: bool,
}

/// A value as it travels between the nodes.
fn written(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("a vector takes any value")
}

/// The value that [`written`] wrote on another node.
fn read<'d, T: Deserialize<'d>>(what: impl FnOnce() -> String, bytes: &'d [u8]) -> Result<T, Error> {
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

/// Agrees with the other nodes on a transport and opens it. Collective.
pub(crate) fn choose(joining: &Joining<'_>, epoch: u32, circle: &Circle) -> Result<Chosen, Error> {
    let Joining { job, settings, quarters, .. } = *joining;
    let asked = Asked::read(settings)?;
    let atomics = settings.atomics;
    let mine = || written(&Vote { ballot: mine(settings, &asked, job.size()), quarters: quarters.clone() });
    let decide = |votes: Vec<Vec<u8>>| {
        let vote = |(node, vote): (u32, &Vec<u8>)| read(|| format!("what node {node} can do"), vote);
        let votes = (0..).zip(&votes).map(vote).collect::<Result<Vec<Vote>, Error>>()?;
        let pes = |node| job.places().members_of(node).len();
        Ok(written(&decision(&votes, pes, atomics)))
    };
    let decided = wireup::agree(job, epoch, circle, mine, decide)?;
    let Decision { way, rejected, crowded, one_host } = read(|| "what PE 0 has decided".into(), &decided)?;
    let crowded = crowded.contains(&job.node().index);
    let rejected: Vec<String> = rejected.iter().map(Rejected::to_string).collect();
    let Some((way, domain)) = way else { return Err(no_way(settings, job.node().count, &rejected)) };
    let (name, detail) = way.name.split_once(':').unwrap_or((&way.name, ""));
    let candidate = CANDIDATES.iter().find(|candidate| candidate.name == name);
    let candidate = candidate.ok_or_else(|| {
        Error::new(format!("this PE does not know the transport {name}, which PE 0 has chosen"))
            .fix("run one version of oxshmem on all PEs")
    })?;
    let fabric = (candidate.open)(joining, &Opening { detail, atomics: domain.network, one_host })?;
    Ok(Chosen { fabric, rejected, crowded, atomics: domain.to_string() })
}

/// The verdict of PE 0 on all votes, in the order of the nodes; `pes` says how many PEs a node has.
fn decision(votes: &[Vote], pes: impl Fn(u32) -> usize, atomics: Atomics) -> Decision {
    let nodes: Vec<(&Quarters, usize)> = (0..).zip(votes).map(|(node, vote)| (&vote.quarters, pes(node))).collect();
    let ballots: Vec<&Ballot> = votes.iter().map(|vote| &vote.ballot).collect();
    let alone = nodes.iter().all(|&(_, pes)| pes == 1);
    let (way, rejected) = agreed(&ballots, atomics, alone);
    let one_host = nodes.iter().all(|(quarters, _)| quarters.is_one_host(nodes[0].0));
    Decision { way, rejected, crowded: neighbours::crowded(&nodes), one_host }
}

/// Nothing carries the job as the user wants it.
fn no_way(settings: &Settings, nodes: u32, rejected: &[String]) -> Error {
    let transport = &settings.transport;
    let why = if rejected.is_empty() { "no transport is there".to_owned() } else { rejected.join("; ") };
    match settings.atomics {
        Atomics::Network => Error::new(format!(
            "SHMEM_AMO=network cannot be had: SHMEM_TRANSPORT={transport} offers no atomics of a network to {nodes} nodes"
        ))
        .because(why)
        .fix("leave SHMEM_AMO out, or name a transport that has atomics: SHMEM_TRANSPORT=ucx or ofi"),
        _ => Error::new(format!("SHMEM_TRANSPORT={transport} cannot carry a job of {nodes} nodes"))
            .because(why)
            .fix("set SHMEM_TRANSPORT=tcp or leave it out, or run all PEs on one node"),
    }
}

/// The user's word.
enum Asked<'s> {
    /// The best of all.
    Best,
    /// None between nodes.
    Nothing,
    /// This candidate.
    One(&'static Candidate, Option<&'s str>),
}

impl<'s> Asked<'s> {
    fn read(settings: &'s Settings) -> Result<Self, Error> {
        let text = settings.transport.as_str();
        let (name, detail) = text.split_once(':').map_or((text, None), |(name, detail)| (name, Some(detail)));
        let candidate = CANDIDATES.iter().find(|candidate| candidate.name.eq_ignore_ascii_case(name));
        match (candidate, detail) {
            (Some(candidate), detail) => Ok(Self::One(candidate, detail.filter(|detail| !detail.is_empty()))),
            (None, None) if name.eq_ignore_ascii_case("auto") => Ok(Self::Best),
            (None, None) if name.eq_ignore_ascii_case("shm") => Ok(Self::Nothing),
            _ => {
                let words = || ["auto", "shm"].into_iter().chain(CANDIDATES.iter().map(|candidate| candidate.name));
                let meant = names::nearest(&name.to_ascii_lowercase(), words()).unwrap_or("auto");
                Err(Error::new(format!("SHMEM_TRANSPORT={text} cannot be read"))
                    .because(format!("the transports are {}", words().collect::<Vec<_>>().join(", ")))
                    .fix(format!("set SHMEM_TRANSPORT={meant} or leave it out")))
            }
        }
    }
}

/// The ways that one node could take, best first.
#[derive(Default, Serialize, Deserialize)]
struct Ballot {
    ways: Vec<Way>,
    rejected: Vec<Rejected>,
}

/// A transport and its atomics.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Way {
    /// `name` or `name:detail`.
    name: String,
    own: Own,
}

/// The device that does atomics, and the reason.
#[derive(Debug, Serialize, Deserialize)]
struct Domain {
    network: bool,
    why: String,
}

impl Domain {
    fn new(network: bool, why: impl Into<String>) -> Self {
        Self { network, why: why.into() }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.network { "the network, on the node too" } else { "the target's processor" };
        write!(f, "{who} ({})", self.why)
    }
}

/// The votes of this node.
fn mine(settings: &Settings, asked: &Asked<'_>, pes: u32) -> Ballot {
    let mut ways: Vec<(Grade, Way)> = Vec::new();
    let mut rejected = Vec::new();
    for candidate in CANDIDATES {
        let wanted = match asked {
            Asked::Best => Wanted { named: false, detail: None, pes, atomics: settings.atomics },
            Asked::One(one, detail) if one.name == candidate.name => {
                Wanted { named: true, detail: *detail, pes, atomics: settings.atomics }
            }
            Asked::One(one, _) => {
                rejected.push(Rejected::new(candidate.name, format!("SHMEM_TRANSPORT names {}", one.name)));
                continue;
            }
            Asked::Nothing => {
                rejected.push(Rejected::new(candidate.name, "SHMEM_TRANSPORT=shm"));
                continue;
            }
        };
        let offers = (candidate.offers)(settings, &wanted);
        let name = |detail: String| match detail.as_str() {
            "" => candidate.name.to_owned(),
            _ => format!("{}:{detail}", candidate.name),
        };
        ways.extend(
            offers.ways.into_iter().map(|Offer { grade, detail, own }| (grade, Way { name: name(detail), own })),
        );
        rejected.extend(offers.rejected);
    }
    // Stable: rows keep their order.
    ways.sort_by_key(|(grade, _)| std::cmp::Reverse(*grade));
    Ballot { ways: ways.into_iter().map(|(_, way)| way).collect(), rejected }
}

/// The best way that all nodes have, by the taste of the first, with who does its atomics; and why not the others. `alone`
/// says that each node has one PE.
fn agreed(ballots: &[&Ballot], atomics: Atomics, alone: bool) -> (Option<(Way, Domain)>, Vec<Rejected>) {
    let Some((first, others)) = ballots.split_first() else { return (None, Vec::new()) };
    let (mut chosen, mut rejected) = (None, first.rejected.clone());
    for way in &first.ways {
        let name = &way.name;
        let theirs = |ballot: &&Ballot| ballot.ways.iter().find(|way| way.name == *name).map(|way| way.own.clone());
        let lacking = others.iter().position(|ballot| theirs(ballot).is_none());
        if let Some(other) = lacking {
            let node = other + 1;
            let candidate = |name: &str| name.split(':').next().map(String::from);
            let theirs = ballots[node].rejected.iter().find(|theirs| candidate(&theirs.name) == candidate(name));
            let why = theirs.map_or_else(String::new, |why| format!(": {why}"));
            rejected.push(Rejected::new(name, format!("node {node} cannot{why}")));
            continue;
        }
        let owns: Vec<Own> = ballots.iter().filter_map(theirs).collect();
        match domain(atomics, alone, &owns) {
            Err(why) => rejected.push(Rejected::new(name, why)),
            Ok(domain) if chosen.is_none() => chosen = Some((way.clone(), domain)),
            Ok(_) => rejected.push(Rejected::new(name, "not as good")),
        }
    }
    (chosen, rejected)
}

/// The place of the atomics of a job whose nodes have these of their own; or why what the user wants cannot be. On a node the
/// processor is a hundred times faster, so left alone only PEs that have none beside them use the card.
fn domain(atomics: Atomics, alone: bool, owns: &[Own]) -> Result<Domain, String> {
    let lacking = owns.iter().enumerate().find_map(|(node, own)| match own {
        Own::None(why) => Some((node, why)),
        _ => None,
    });
    let cards = owns.iter().all(|own| *own == Own::Card);
    match (atomics, lacking) {
        (Atomics::Processor, _) => Ok(Domain::new(false, "SHMEM_AMO=processor")),
        (Atomics::Network, None) => Ok(Domain::new(true, "SHMEM_AMO=network")),
        (Atomics::Network, Some((node, why))) => Err(format!("no atomics of the network: {why}, on node {node}")),
        (Atomics::Auto, Some((_, why))) => Ok(Domain::new(false, why)),
        (Atomics::Auto, None) if !cards => Ok(Domain::new(false, "the network's would be software, too")),
        (Atomics::Auto, None) if !alone => Ok(Domain::new(false, "which is faster on a node with several PEs")),
        (Atomics::Auto, None) => Ok(Domain::new(true, "by the cards, and each node has one PE")),
    }
}

fn ofi_selection(settings: &Settings, pes: u32, provider: Option<&str>) -> Selection {
    let provider = provider.map(String::from).or_else(|| settings.ofi_provider.clone());
    let (fabric, domain) = (settings.ofi_fabric.clone(), settings.ofi_domain.clone());
    let (nearest, cards_each) = placement::cards();
    let rails = settings.rails.map(usize::from);
    Selection { provider, fabric, domain, nearest, rails, cards_each, pes, atomics: false }
}

fn ofi_offers(settings: &Settings, wanted: &Wanted<'_>) -> Offers {
    let selection = ofi_selection(settings, wanted.pes, wanted.detail);
    let Selection { provider, fabric, domain, .. } = &selection;
    let asked_for = wanted.named || provider.is_some() || fabric.is_some() || domain.is_some();
    if !asked_for && !oxshmem_transport_ofi::has_device() {
        return Offers::none("ofi", "no card of a kind that libfabric drives is here");
    }
    let mut offers = Offers::default();
    let found = match oxshmem_transport_ofi::offers(&selection) {
        Ok(found) => found,
        Err(error) => return Offers::none("ofi", error.in_one_line()),
    };
    for offer in found {
        let grade = match (offer.card, offer.native) {
            _ if !offer.remote && selection.provider.is_none() => {
                offers.rejected.push(Rejected::new(format!("ofi:{}", offer.provider), "this host only"));
                continue;
            }
            (true, true) => Grade::Card,
            (true, false) => Grade::Layered,
            (false, _) if wanted.named => Grade::Software,
            (false, _) => {
                offers.rejected.push(Rejected::new(format!("ofi:{}", offer.provider), "software, no card"));
                continue;
            }
        };
        let own = ofi_atomics(settings, wanted, &offer);
        offers.ways.push(Offer { grade, detail: offer.provider, own });
    }
    offers
}

/// A layer above a card's provider makes atomics of messages. The provider is asked only where that can matter.
fn ofi_atomics(settings: &Settings, wanted: &Wanted<'_>, offer: &oxshmem_transport_ofi::Offer) -> Own {
    let by_card = offer.card && offer.native;
    match wanted.atomics {
        Atomics::Processor => return Own::None("SHMEM_AMO=processor".into()),
        Atomics::Auto if !by_card => return Own::Software,
        _ => {}
    }
    let selection = ofi_selection(settings, wanted.pes, Some(&offer.provider));
    match oxshmem_transport_ofi::atomics(&selection) {
        Ok(()) if by_card => Own::Card,
        Ok(()) => Own::Software,
        Err(error) => Own::None(error.in_one_line()),
    }
}

fn ofi_open(joining: &Joining<'_>, &Opening { detail: provider, atomics, .. }: &Opening<'_>) -> Opened {
    let Joining { job, settings, .. } = *joining;
    let selection = Selection { atomics, ..ofi_selection(settings, job.size(), Some(provider)) };
    oxshmem_transport_ofi::open(&oxshmem_transport_ofi::Options { me: job.rank(), pes: job.size(), selection })
}

fn tcp_offers(_settings: &Settings, wanted: &Wanted<'_>) -> Offers {
    match wanted.detail {
        None => {
            let own = Own::None("tcp has none of its own".into());
            Offers { ways: vec![Offer { grade: Grade::Sockets, detail: String::new(), own }], ..Offers::default() }
        }
        Some(detail) => {
            Offers::none(format!("tcp:{detail}"), "tcp has no variants; SHMEM_TCP_INTERFACE chooses an interface")
        }
    }
}

fn tcp_open(joining: &Joining<'_>, opening: &Opening<'_>) -> Opened {
    let Joining { job, settings, secret, .. } = *joining;
    let (id, key) = secret.split_at(16);
    let id = id.try_into().expect("sixteen bytes");
    let key = key.try_into().expect("thirty-two bytes");
    let mut options = oxshmem_transport_tcp::Options::new(job.rank(), job.size(), id, key);
    options.interface.clone_from(&settings.tcp_interface);
    options.hint = oxshmem_bootstrap::reached();
    options.one_host = opening.one_host;
    options.ports = settings.tcp_ports;
    options.rails = settings.rails.unwrap_or(1);
    options.encrypt = settings.tcp_encrypt;
    options.give_up = Duration::from_secs(settings.tcp_timeout);
    oxshmem_transport_tcp::open(options)
}

/// UCX is worth its while where there is an InfiniBand card that can be used; elsewhere its TCP is no better than ours.
fn ucx_offers(_settings: &Settings, wanted: &Wanted<'_>) -> Offers {
    let card = oxshmem_transport_ucx::usable_card();
    if let (false, Err(why)) = (wanted.named, &card) {
        return Offers::none("ucx", why);
    }
    match oxshmem_transport_ucx::probe(wanted.detail) {
        Ok(()) => {
            let grade = if card.is_ok() { Grade::Card } else { Grade::Software };
            let detail = wanted.detail.unwrap_or_default().to_owned();
            let own = match wanted.atomics {
                Atomics::Network => oxshmem_transport_ucx::atomics(wanted.detail)
                    .map_or_else(|error| Own::None(error.in_one_line()), |()| Own::Software),
                _ => Own::None("UCX does not tell whether a card does its own".into()),
            };
            Offers { ways: vec![Offer { grade, detail, own }], ..Offers::default() }
        }
        Err(error) => Offers::none("ucx", error.in_one_line()),
    }
}

fn ucx_open(joining: &Joining<'_>, &Opening { detail, atomics, .. }: &Opening<'_>) -> Opened {
    let Joining { job, settings, .. } = *joining;
    let tls = (!detail.is_empty()).then(|| detail.to_owned());
    let (mut cards, _) = placement::cards();
    cards.truncate(settings.rails.unwrap_or(1).into());
    oxshmem_transport_ucx::open(oxshmem_transport_ucx::Options { me: job.rank(), pes: job.size(), tls, cards, atomics })
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests {
    use super::*;

    fn way(name: &str, own: Own) -> Way {
        Way { name: name.into(), own }
    }

    fn ballot(names: &[&str]) -> Ballot {
        let none = || Own::None("it has none".into());
        Ballot { ways: names.iter().map(|name| way(name, none())).collect(), rejected: Vec::new() }
    }

    /// The choice of nodes that live on machines of their own with a PE each.
    fn decided(ballots: Vec<Ballot>, atomics: Atomics, pes: usize) -> Decision {
        let vote = |ballot| Vote { ballot, quarters: Quarters::here(&[0, 1], 2) };
        // As they travel.
        let vote = |ballot| read::<Vote>(|| "a vote".into(), &written(&vote(ballot))).expect("a vote");
        let decision = decision(&ballots.into_iter().map(vote).collect::<Vec<_>>(), |_| pes, atomics);
        read(|| "a decision".into(), &written(&decision)).expect("a decision")
    }

    fn name(decision: &Decision) -> Option<&str> {
        decision.way.as_ref().map(|(way, _)| way.name.as_str())
    }

    fn reasons(rejected: &[Rejected]) -> Vec<String> {
        rejected.iter().map(Rejected::to_string).collect()
    }

    fn asked(transport: &str) -> Result<Ballot, Error> {
        let settings = Settings { transport: transport.into(), ..Settings::default() };
        let asked = Asked::read(&settings)?;
        Ok(mine(&settings, &asked, 2))
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
        let own = |why: &str| Ballot { ways: vec![way("tcp", Own::None(why.into()))], rejected: Vec::new() };
        let nodes = || vec![own(why), own("it has none")];
        let of = |pes| decided(nodes(), Atomics::Auto, pes);
        assert_eq!((of(1).crowded, of(2).crowded), (vec![], vec![0, 1]));
        let (way, domain) = of(1).way.expect("both nodes have it");
        assert_eq!((way.name.as_str(), domain.network), ("tcp", false));
        assert_eq!(domain.to_string(), format!("the target's processor ({why})"));
    }

    #[test]
    fn a_vote_of_another_version_is_an_error_that_says_so() {
        let vote = written(&Vote { ballot: ballot(&["tcp"]), quarters: Quarters::here(&[0], 1) });
        for garbage in [&vote[..vote.len() - 1], &[vote.as_slice(), b"x"].concat(), b"+tcp\tnone\n=1 0 boot\n"] {
            let error = read::<Vote>(|| "what node 3 can do".into(), garbage).err().expect("garbage").to_string();
            assert!(error.contains("what node 3 can do cannot be read") && error.contains("one version"), "{error}");
        }
    }

    #[test]
    fn one_domain_is_decided_for_all_nodes() {
        let none = |why: &str| Own::None(why.into());
        let vote = |ways: &[(&str, Own)]| Ballot {
            ways: ways.iter().map(|(name, own)| way(name, own.clone())).collect(),
            rejected: Vec::new(),
        };
        let cards = || {
            let both = || vote(&[("ofi:cxi", Own::Card), ("tcp", none("of tcp"))]);
            vec![both(), both()]
        };
        let mixed = || vec![vote(&[("ofi:cxi", Own::Card)]), vote(&[("ofi:cxi", none("too old"))])];
        let software = || vec![vote(&[("ofi:tcp", Own::Software)]), vote(&[("ofi:tcp", Own::Software)])];
        let domain = |ballots, atomics, pes| decided(ballots, atomics, pes).way.map(|(_, domain)| domain.network);
        let cases: [(&dyn Fn() -> Vec<Ballot>, _, _, _); 3] = [
            (&cards, Some(false), Some(true), Some(true)),
            (&mixed, Some(false), Some(false), None),
            (&software, Some(false), Some(false), Some(true)),
        ];
        for (ballots, auto, alone, network) in cases {
            assert_eq!(domain(ballots(), Atomics::Auto, 2), auto);
            assert_eq!(domain(ballots(), Atomics::Auto, 1), alone);
            assert_eq!(domain(ballots(), Atomics::Network, 2), network);
            assert_eq!(domain(ballots(), Atomics::Processor, 1), Some(false));
        }
        // A user who insists gets a transport that has them, and learns why not the others.
        let decided = decided(cards(), Atomics::Network, 2);
        assert_eq!(name(&decided), Some("ofi:cxi"));
        assert_eq!(reasons(&decided.rejected), ["tcp (no atomics of the network: of tcp, on node 0)"]);
    }

    #[test]
    fn every_rejected_candidate_has_a_reason() {
        for candidate in CANDIDATES {
            let other = CANDIDATES.iter().find(|other| other.name != candidate.name).map_or("shm", |other| other.name);
            let reasons = reasons(&asked(other).expect("a transport").rejected);
            let begin = format!("{} (SHMEM_TRANSPORT", candidate.name);
            assert!(reasons.iter().any(|why| why.starts_with(&begin)), "{reasons:?}");
        }
        assert!(asked("auto").expect("a transport").ways.iter().any(|way| way.name == "tcp"));
        let reasons = reasons(&asked("tcp:fast").expect("a transport").rejected);
        assert!(reasons.iter().any(|why| why.starts_with("tcp:fast (tcp has no variants")), "{reasons:?}");
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
