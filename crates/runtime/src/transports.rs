//! Which transport carries a job of several nodes: what each could do here, what all nodes have in common, and why the
//! others were not chosen. A new transport is a new row of [`CANDIDATES`].

use std::fmt;
use std::time::Duration;

use oxshmem_base::knobs::{Atomics, Settings};
use oxshmem_base::{Error, names};
use oxshmem_bootstrap::{Circle, Job, wireup};
use oxshmem_transport::Fabric;
use oxshmem_transport_ofi::Selection;

use crate::neighbours::{self, Quarters};
use crate::placement;

/// A transport that a user can name: `SHMEM_TRANSPORT=name` or `name:detail`.
struct Candidate {
    name: &'static str,
    /// What it could do on this node. It opens nothing that stays open.
    offers: fn(&Settings, &Wanted<'_>) -> Offers,
    /// Opens one of the offers.
    open: fn(&Joining<'_>, &str, network_atomics: bool) -> Opened,
}

type Opened = Result<Box<dyn Fabric>, Error>;

/// All transports between nodes. Among equally good ways the earlier row wins.
const CANDIDATES: &[Candidate] = &[
    Candidate { name: "ofi", offers: ofi_offers, open: ofi_open },
    Candidate { name: "ucx", offers: ucx_offers, open: ucx_open },
    Candidate { name: "tcp", offers: tcp_offers, open: tcp_open },
];

/// What is wanted of a candidate.
struct Wanted<'w> {
    /// The user has named this candidate; otherwise it is asked because it may be the best.
    named: bool,
    /// What stands behind the colon.
    detail: Option<&'w str>,
    /// How many PEs the job has.
    pes: u32,
    /// Who is to do atomics.
    atomics: Atomics,
}

/// What a candidate could do on one node.
#[derive(Default)]
struct Offers {
    ways: Vec<Offer>,
    /// What it could not do, with reasons.
    rejected: Vec<String>,
}

/// One of these ways: what stands behind the colon, and who would do atomics.
struct Offer {
    grade: Grade,
    detail: String,
    own: Own,
}

/// What atomics a way has of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Own {
    /// The card does them.
    Card,
    /// Software of the provider does them.
    Software,
    /// None that we could use, for this reason.
    None(String),
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card => f.write_str("card"),
            Self::Software => f.write_str("software"),
            Self::None(why) => write!(f, "none {}", why.replace('\n', " ")),
        }
    }
}

impl Own {
    fn read(text: &str) -> Self {
        match text {
            "card" => Self::Card,
            "software" => Self::Software,
            _ => Self::None(text.strip_prefix("none ").unwrap_or_default().into()),
        }
    }
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

/// Who joins the network.
pub(crate) struct Joining<'j> {
    pub(crate) job: &'static Job,
    pub(crate) settings: &'j Settings,
    /// What the job's PEs know and nobody else: an identity and a key.
    pub(crate) secret: &'j [u8; 48],
    /// Where this node lives.
    pub(crate) quarters: &'j Quarters,
}

/// What was chosen, and why nothing else.
pub(crate) struct Chosen {
    pub(crate) fabric: Box<dyn Fabric>,
    pub(crate) rejected: Vec<String>,
    /// Whether PEs outnumber processors on this node's machine, with those of its other nodes.
    pub(crate) crowded: bool,
    /// Who does atomics, and why.
    pub(crate) atomics: String,
}

/// Checks the user's word where there is nothing to choose.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    Asked::read(settings).map(|_| ())
}

/// Agrees with the other nodes on a transport and opens it. Collective.
pub(crate) fn choose(joining: &Joining<'_>, epoch: u32, circle: &Circle) -> Result<Chosen, Error> {
    let Joining { job, settings, quarters, .. } = *joining;
    let asked = Asked::read(settings)?;
    let atomics = settings.atomics;
    let mine = || format!("{}{quarters}", mine(settings, &asked, job.size())).into_bytes();
    let decide = |votes: Vec<Vec<u8>>| {
        let read = |(node, said): (u32, Vec<u8>)| {
            let said = String::from_utf8_lossy(&said).into_owned();
            (Ballot::read(&said), (Quarters::read(&said), job.places().members_of(node).len()))
        };
        let (ballots, nodes): (Vec<Ballot>, Vec<_>) = (0..).zip(votes).map(read).unzip();
        let verdict = neighbours::verdict(&neighbours::crowded(&nodes));
        let alone = nodes.iter().all(|&(_, pes)| pes == 1);
        format!("{}{verdict}", agreed(&ballots, atomics, alone)).into_bytes()
    };
    let decided = wireup::agree(job, epoch, circle, mine, decide)?;
    let decided = String::from_utf8_lossy(&decided);
    let crowded = neighbours::is_named(&decided, job.node().index);
    let Ballot { ways, rejected, domain } = Ballot::read(&decided);
    let Some(way) = ways.first() else { return Err(no_way(settings, job.node().count, &rejected)) };
    let (name, detail) = way.name.split_once(':').unwrap_or((&way.name, ""));
    let candidate = CANDIDATES.iter().find(|candidate| candidate.name == name);
    let candidate = candidate.ok_or_else(|| {
        Error::new(format!("this PE does not know the transport {name}, which PE 0 has chosen"))
            .fix("run one version of oxshmem on all PEs")
    })?;
    let Domain { network, who } = domain;
    Ok(Chosen { fabric: (candidate.open)(joining, detail, network)?, rejected, crowded, atomics: who })
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
    /// Whatever is best.
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

/// What one node could do, best first, as it travels between the nodes: a line each. Also what they have agreed on.
#[derive(Default)]
struct Ballot {
    ways: Vec<Way>,
    rejected: Vec<String>,
    /// Only in an agreement.
    domain: Domain,
}

/// A transport and its atomics.
#[derive(Clone, Debug)]
struct Way {
    name: String,
    own: Own,
}

/// Who does atomics, in words with the reason.
#[derive(Default, Debug)]
struct Domain {
    network: bool,
    who: String,
}

impl Domain {
    const NETWORK: &str = "the network, on the node too";
    const PROCESSOR: &str = "the target's processor";

    fn new(network: bool, why: &str) -> Self {
        let who = if network { Self::NETWORK } else { Self::PROCESSOR };
        Self { network, who: format!("{who} ({why})") }
    }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ways.iter().try_for_each(|Way { name, own }| writeln!(f, "+{name}\t{own}"))?;
        self.rejected.iter().try_for_each(|why| writeln!(f, "-{}", why.replace('\n', " ")))?;
        if self.domain.who.is_empty() { Ok(()) } else { writeln!(f, "={}", self.domain.who) }
    }
}

impl Ballot {
    fn read(text: &str) -> Self {
        let lines = |sign| text.lines().filter_map(move |line| line.strip_prefix(sign));
        let way = |line: &str| {
            let (name, own) = line.split_once('\t').unwrap_or((line, ""));
            Way { name: name.into(), own: Own::read(own) }
        };
        let who = lines('=').next().unwrap_or_default().to_owned();
        let domain = Domain { network: who.starts_with(Domain::NETWORK), who };
        Self { ways: lines('+').map(way).collect(), rejected: lines('-').map(String::from).collect(), domain }
    }
}

/// What this node could do.
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
                rejected.push(format!("{} (SHMEM_TRANSPORT names {})", candidate.name, one.name));
                continue;
            }
            Asked::Nothing => {
                rejected.push(format!("{} (SHMEM_TRANSPORT=shm)", candidate.name));
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
    Ballot { ways: ways.into_iter().map(|(_, way)| way).collect(), rejected, ..Ballot::default() }
}

/// The best way that all nodes have, by the taste of the first, and why not the others; and who does its atomics. `alone`
/// says that each node has one PE.
fn agreed(ballots: &[Ballot], atomics: Atomics, alone: bool) -> Ballot {
    let Some((first, others)) = ballots.split_first() else { return Ballot::default() };
    let mut outcome = Ballot { rejected: first.rejected.clone(), ..Ballot::default() };
    for way in &first.ways {
        let name = &way.name;
        let theirs = |ballot: &Ballot| ballot.ways.iter().find(|way| way.name == *name).map(|way| way.own.clone());
        let lacking = others.iter().position(|ballot| theirs(ballot).is_none());
        if let Some(other) = lacking {
            let node = other + 1;
            let candidate = name.split(':').next().unwrap_or(name);
            let theirs = ballots[node].rejected.iter().find(|why| why.starts_with(candidate));
            let why = theirs.map_or_else(String::new, |why| format!(": {why}"));
            outcome.rejected.push(format!("{name} (node {node} cannot{why})"));
            continue;
        }
        let owns: Vec<Own> = ballots.iter().filter_map(theirs).collect();
        match domain(atomics, alone, &owns) {
            Err(why) => outcome.rejected.push(format!("{name} ({why})")),
            Ok(domain) if outcome.ways.is_empty() => {
                outcome.ways.push(way.clone());
                outcome.domain = domain;
            }
            Ok(_) => outcome.rejected.push(format!("{name} (not as good)")),
        }
    }
    outcome
}

/// Who does the atomics of a job whose nodes have these of their own; or why what the user wants cannot be. On a node the
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
    let mut offers = Offers::default();
    let found = match oxshmem_transport_ofi::offers(&selection) {
        Ok(found) => found,
        Err(error) => {
            offers.rejected.push(format!("ofi ({})", error.in_one_line()));
            return offers;
        }
    };
    for offer in found {
        let grade = match (offer.card, offer.native) {
            _ if !offer.remote && selection.provider.is_none() => {
                offers.rejected.push(format!("ofi:{} (this host only)", offer.provider));
                continue;
            }
            (true, true) => Grade::Card,
            (true, false) => Grade::Layered,
            (false, _) if wanted.named => Grade::Software,
            (false, _) => {
                offers.rejected.push(format!("ofi:{} (software, no card)", offer.provider));
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

fn ofi_open(joining: &Joining<'_>, provider: &str, atomics: bool) -> Opened {
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
        Some(detail) => Offers {
            rejected: vec![format!("tcp:{detail} (tcp has no variants; SHMEM_TCP_INTERFACE chooses an interface)")],
            ..Offers::default()
        },
    }
}

fn tcp_open(joining: &Joining<'_>, _detail: &str, _atomics: bool) -> Opened {
    let Joining { job, settings, secret, .. } = *joining;
    let (id, key) = secret.split_at(16);
    let id = id.try_into().expect("sixteen bytes");
    let key = key.try_into().expect("thirty-two bytes");
    let mut options = oxshmem_transport_tcp::Options::new(job.rank(), job.size(), id, key);
    options.interface.clone_from(&settings.tcp_interface);
    options.hint = oxshmem_bootstrap::reached();
    options.ports = settings.tcp_ports;
    options.rails = settings.rails.unwrap_or(1);
    options.encrypt = settings.tcp_encrypt;
    options.give_up = Duration::from_secs(settings.tcp_timeout);
    oxshmem_transport_tcp::open(options)
}

/// UCX is worth its while where there is an InfiniBand card that can be used; elsewhere its TCP is no better than ours.
fn ucx_offers(_settings: &Settings, wanted: &Wanted<'_>) -> Offers {
    let rejected = |why: String| Offers { rejected: vec![format!("ucx ({why})")], ..Offers::default() };
    let card = oxshmem_transport_ucx::usable_card();
    if let (false, Err(why)) = (wanted.named, &card) {
        return rejected(why.clone());
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
        Err(error) => rejected(error.in_one_line()),
    }
}

fn ucx_open(joining: &Joining<'_>, detail: &str, atomics: bool) -> Opened {
    let Joining { job, settings, .. } = *joining;
    let tls = (!detail.is_empty()).then(|| detail.to_owned());
    let (mut cards, _) = placement::cards();
    cards.truncate(settings.rails.unwrap_or(1).into());
    oxshmem_transport_ucx::open(oxshmem_transport_ucx::Options { me: job.rank(), pes: job.size(), tls, cards, atomics })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballot(text: &str) -> Ballot {
        Ballot::read(&text.replace(' ', "\n"))
    }

    fn names(ballot: &Ballot) -> Vec<&str> {
        ballot.ways.iter().map(|way| way.name.as_str()).collect()
    }

    fn asked(transport: &str) -> Result<String, Error> {
        let settings = Settings { transport: transport.into(), ..Settings::default() };
        let asked = Asked::read(&settings)?;
        Ok(mine(&settings, &asked, 2).to_string())
    }

    #[test]
    fn the_best_that_all_nodes_have_is_chosen() {
        let ballots = [ballot("+ofi:cxi +ucx:rc +tcp"), ballot("+ucx:rc +tcp -ofi(nothing)"), ballot("+tcp +ucx:rc")];
        let chosen = agreed(&ballots, Atomics::Auto, false);
        assert_eq!(names(&chosen), ["ucx:rc"]);
        assert_eq!(chosen.rejected, ["ofi:cxi (node 1 cannot: ofi(nothing))", "tcp (not as good)"]);
    }

    #[test]
    fn nothing_in_common_is_nothing() {
        let chosen = agreed(&[ballot("+ofi:cxi"), ballot("+tcp")], Atomics::Auto, false);
        assert_eq!(names(&chosen), [""; 0]);
        assert_eq!(chosen.rejected, ["ofi:cxi (node 1 cannot)"]);
    }

    #[test]
    fn one_domain_is_decided_for_all_nodes() {
        let vote = |words: &[(&str, &str)]| {
            Ballot::read(&words.iter().map(|(name, own)| format!("+{name}\t{own}\n")).collect::<String>())
        };
        let cards = || {
            vec![
                vote(&[("ofi:cxi", "card"), ("tcp", "none of tcp")]),
                vote(&[("ofi:cxi", "card"), ("tcp", "none of tcp")]),
            ]
        };
        let mixed = || vec![vote(&[("ofi:cxi", "card")]), vote(&[("ofi:cxi", "none too old")])];
        let software = || vec![vote(&[("ofi:tcp", "software")]), vote(&[("ofi:tcp", "software")])];
        let domain = |ballots: Vec<Ballot>, atomics, alone| {
            // As it travels.
            let decided = Ballot::read(&agreed(&ballots, atomics, alone).to_string());
            (!decided.ways.is_empty()).then_some(decided.domain.network)
        };
        let cases: [(&dyn Fn() -> Vec<Ballot>, _, _, _); 3] = [
            (&cards, Some(false), Some(true), Some(true)),
            (&mixed, Some(false), Some(false), None),
            (&software, Some(false), Some(false), Some(true)),
        ];
        for (ballots, auto, alone, network) in cases {
            assert_eq!(domain(ballots(), Atomics::Auto, false), auto);
            assert_eq!(domain(ballots(), Atomics::Auto, true), alone);
            assert_eq!(domain(ballots(), Atomics::Network, false), network);
            assert_eq!(domain(ballots(), Atomics::Processor, true), Some(false));
        }
        // Who insists gets a transport that has them, and learns why not the others.
        let decided = agreed(&cards(), Atomics::Network, false);
        assert_eq!(names(&decided), ["ofi:cxi"]);
        assert_eq!(decided.rejected, ["tcp (no atomics of the network: of tcp, on node 0)"]);
    }

    #[test]
    fn every_rejected_candidate_has_a_reason() {
        for candidate in CANDIDATES {
            let other = CANDIDATES.iter().find(|other| other.name != candidate.name).map_or("shm", |other| other.name);
            let words = asked(other).expect("a transport");
            assert!(words.contains(&format!("-{} (SHMEM_TRANSPORT", candidate.name)), "{words}");
        }
        assert!(asked("auto").expect("a transport").contains("+tcp\t"));
        assert!(asked("tcp:fast").expect("a transport").contains("-tcp:fast (tcp has no variants"));
    }

    #[test]
    fn a_slip_of_the_finger_is_an_error_that_names_what_was_meant() {
        let error = asked("tcpp").expect_err("a slip").to_string();
        assert!(
            error.contains("SHMEM_TRANSPORT=tcpp cannot be read") && error.contains("SHMEM_TRANSPORT=tcp"),
            "{error}"
        );
    }
}
