//! Which transport carries a job of several nodes: what each could do here, what all nodes have in common, and why the
//! others were not chosen. A new transport is a new row of [`CANDIDATES`].

use std::fmt;
use std::path::Path;
use std::time::Duration;

use oxshmem_base::knobs::Settings;
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
    open: fn(&Joining<'_>, &str) -> Opened,
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
}

/// What a candidate could do on one node.
#[derive(Default)]
struct Offers {
    ways: Vec<(Grade, String)>,
    /// What it could not do, with reasons.
    rejected: Vec<String>,
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
}

/// Checks the user's word where there is nothing to choose.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    Asked::read(settings).map(|_| ())
}

/// Agrees with the other nodes on a transport and opens it. Collective.
pub(crate) fn choose(joining: &Joining<'_>, epoch: u32, circle: &Circle) -> Result<Chosen, Error> {
    let Joining { job, settings, quarters, .. } = *joining;
    let asked = Asked::read(settings)?;
    let mine = || format!("{}{quarters}", mine(settings, &asked, job.size())).into_bytes();
    let decide = |votes: Vec<Vec<u8>>| {
        let read = |(node, said): (u32, Vec<u8>)| {
            let said = String::from_utf8_lossy(&said).into_owned();
            (Ballot::read(&said), (Quarters::read(&said), job.places().members_of(node).len()))
        };
        let (ballots, nodes): (Vec<Ballot>, Vec<_>) = (0..).zip(votes).map(read).unzip();
        let verdict = neighbours::verdict(&neighbours::crowded(&nodes));
        format!("{}{verdict}", agreed(&ballots)).into_bytes()
    };
    let decided = wireup::agree(job, epoch, circle, mine, decide)?;
    let decided = String::from_utf8_lossy(&decided);
    let crowded = neighbours::is_named(&decided, job.node().index);
    let Ballot { ways, rejected } = Ballot::read(&decided);
    let Some(way) = ways.first() else {
        let why = if rejected.is_empty() { "no transport is there".to_owned() } else { rejected.join("; ") };
        return Err(Error::new(format!(
            "SHMEM_TRANSPORT={} cannot carry a job of {} nodes",
            settings.transport,
            job.node().count
        ))
        .because(why)
        .fix("set SHMEM_TRANSPORT=tcp or leave it out, or run all PEs on one node"));
    };
    let (name, detail) = way.split_once(':').unwrap_or((way, ""));
    let candidate = CANDIDATES.iter().find(|candidate| candidate.name == name);
    let candidate = candidate.ok_or_else(|| {
        Error::new(format!("this PE does not know the transport {name}, which PE 0 has chosen"))
            .fix("run one version of oxshmem on all PEs")
    })?;
    Ok(Chosen { fabric: (candidate.open)(joining, detail)?, rejected, crowded })
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

/// What one node could do, best first, as it travels between the nodes: a line each.
struct Ballot {
    ways: Vec<String>,
    rejected: Vec<String>,
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ways.iter().try_for_each(|way| writeln!(f, "+{way}"))?;
        self.rejected.iter().try_for_each(|why| writeln!(f, "-{}", why.replace('\n', " ")))
    }
}

impl Ballot {
    fn read(text: &str) -> Self {
        let lines = |sign| text.lines().filter_map(move |line| line.strip_prefix(sign)).map(String::from).collect();
        Self { ways: lines('+'), rejected: lines('-') }
    }
}

/// What this node could do.
fn mine(settings: &Settings, asked: &Asked<'_>, pes: u32) -> Ballot {
    let mut ways: Vec<(Grade, String)> = Vec::new();
    let mut rejected = Vec::new();
    for candidate in CANDIDATES {
        let wanted = match asked {
            Asked::Best => Wanted { named: false, detail: None, pes },
            Asked::One(one, detail) if one.name == candidate.name => Wanted { named: true, detail: *detail, pes },
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
        ways.extend(offers.ways.into_iter().map(|(grade, detail)| (grade, name(detail))));
        rejected.extend(offers.rejected);
    }
    // Stable: rows keep their order.
    ways.sort_by_key(|(grade, _)| std::cmp::Reverse(*grade));
    Ballot { ways: ways.into_iter().map(|(_, way)| way).collect(), rejected }
}

/// The best way that all nodes have, by the taste of the first, and why not the others.
fn agreed(ballots: &[Ballot]) -> Ballot {
    let Some((first, others)) = ballots.split_first() else { return Ballot { ways: vec![], rejected: vec![] } };
    let mut outcome = Ballot { ways: Vec::new(), rejected: first.rejected.clone() };
    for way in &first.ways {
        match others.iter().position(|ballot| !ballot.ways.contains(way)) {
            Some(other) => {
                let node = other + 1;
                let name = way.split(':').next().unwrap_or(way);
                let theirs = ballots[node].rejected.iter().find(|why| why.starts_with(name));
                let why = theirs.map_or_else(String::new, |why| format!(": {why}"));
                outcome.rejected.push(format!("{way} (node {node} cannot{why})"));
            }
            None if outcome.ways.is_empty() => outcome.ways.push(way.clone()),
            None => outcome.rejected.push(format!("{way} (not as good)")),
        }
    }
    outcome
}

fn ofi_selection(settings: &Settings, pes: u32, provider: Option<&str>) -> Selection {
    let provider = provider.map(String::from).or_else(|| settings.ofi_provider.clone());
    let (fabric, domain) = (settings.ofi_fabric.clone(), settings.ofi_domain.clone());
    Selection {
        provider,
        fabric,
        domain,
        nearest: placement::preferred_device().into_iter().collect(),
        rails: None,
        cards_each: 1,
        pes,
    }
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
        match (offer.card, offer.native) {
            _ if !offer.remote && selection.provider.is_none() => {
                offers.rejected.push(format!("ofi:{} (this host only)", offer.provider));
            }
            (true, true) => offers.ways.push((Grade::Card, offer.provider)),
            (true, false) => offers.ways.push((Grade::Layered, offer.provider)),
            (false, _) if wanted.named => offers.ways.push((Grade::Software, offer.provider)),
            (false, _) => offers.rejected.push(format!("ofi:{} (software, no card)", offer.provider)),
        }
    }
    offers
}

fn ofi_open(joining: &Joining<'_>, provider: &str) -> Opened {
    let Joining { job, settings, .. } = *joining;
    let selection = ofi_selection(settings, job.size(), Some(provider));
    oxshmem_transport_ofi::open(&oxshmem_transport_ofi::Options { me: job.rank(), pes: job.size(), selection })
}

fn tcp_offers(_settings: &Settings, wanted: &Wanted<'_>) -> Offers {
    match wanted.detail {
        None => Offers { ways: vec![(Grade::Sockets, String::new())], ..Offers::default() },
        Some(detail) => Offers {
            rejected: vec![format!("tcp:{detail} (tcp has no variants; SHMEM_TCP_INTERFACE chooses an interface)")],
            ..Offers::default()
        },
    }
}

fn tcp_open(joining: &Joining<'_>, _detail: &str) -> Opened {
    let Joining { job, settings, secret, .. } = *joining;
    let (id, key) = secret.split_at(16);
    let id = id.try_into().expect("sixteen bytes");
    let key = key.try_into().expect("thirty-two bytes");
    let mut options = oxshmem_transport_tcp::Options::new(job.rank(), job.size(), id, key);
    options.interface.clone_from(&settings.tcp_interface);
    options.hint = oxshmem_bootstrap::reached();
    options.ports = settings.tcp_ports;
    options.rails = settings.tcp_rails;
    options.encrypt = settings.tcp_encrypt;
    options.give_up = Duration::from_secs(settings.tcp_timeout);
    oxshmem_transport_tcp::open(options)
}

/// UCX is worth its while where there is an InfiniBand card; elsewhere its TCP is no better than ours.
fn ucx_offers(_settings: &Settings, wanted: &Wanted<'_>) -> Offers {
    let rejected = |why: String| Offers { rejected: vec![format!("ucx ({why})")], ..Offers::default() };
    let card = infiniband_card();
    if !wanted.named && card.is_none() {
        return rejected("no InfiniBand card is active here".into());
    }
    match oxshmem_transport_ucx::probe(wanted.detail) {
        Ok(()) => {
            let grade = if card.is_some() { Grade::Card } else { Grade::Software };
            Offers { ways: vec![(grade, wanted.detail.unwrap_or_default().to_owned())], ..Offers::default() }
        }
        Err(error) => rejected(error.in_one_line()),
    }
}

/// A card of the verbs family with an active port.
fn infiniband_card() -> Option<String> {
    let ports = |card: &Path| std::fs::read_dir(card.join("ports")).into_iter().flatten().flatten();
    let active = |port: &Path| std::fs::read_to_string(port.join("state")).is_ok_and(|state| state.contains("ACTIVE"));
    let mut cards = std::fs::read_dir("/sys/class/infiniband").ok()?.flatten();
    let card = cards.find(|card| ports(&card.path()).any(|port| active(&port.path())))?;
    Some(card.file_name().to_string_lossy().into_owned())
}

fn ucx_open(joining: &Joining<'_>, detail: &str) -> Opened {
    let Joining { job, .. } = *joining;
    let tls = (!detail.is_empty()).then(|| detail.to_owned());
    let card = placement::preferred_device();
    oxshmem_transport_ucx::open(oxshmem_transport_ucx::Options { me: job.rank(), pes: job.size(), tls, card })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballot(text: &str) -> Ballot {
        Ballot::read(&text.replace(' ', "\n"))
    }

    fn asked(transport: &str) -> Result<String, Error> {
        let settings = Settings { transport: transport.into(), ..Settings::default() };
        let asked = Asked::read(&settings)?;
        Ok(mine(&settings, &asked, 2).to_string())
    }

    #[test]
    fn the_best_that_all_nodes_have_is_chosen() {
        let chosen =
            agreed(&[ballot("+ofi:cxi +ucx:rc +tcp"), ballot("+ucx:rc +tcp -ofi(nothing)"), ballot("+tcp +ucx:rc")]);
        assert_eq!(chosen.ways, ["ucx:rc"]);
        assert_eq!(chosen.rejected, ["ofi:cxi (node 1 cannot: ofi(nothing))", "tcp (not as good)"]);
    }

    #[test]
    fn nothing_in_common_is_nothing() {
        let chosen = agreed(&[ballot("+ofi:cxi"), ballot("+tcp")]);
        assert_eq!(chosen.ways, [""; 0]);
        assert_eq!(chosen.rejected, ["ofi:cxi (node 1 cannot)"]);
    }

    #[test]
    fn every_rejected_candidate_has_a_reason() {
        for candidate in CANDIDATES {
            let other = CANDIDATES.iter().find(|other| other.name != candidate.name).map_or("shm", |other| other.name);
            let words = asked(other).expect("a transport");
            assert!(words.contains(&format!("-{} (SHMEM_TRANSPORT", candidate.name)), "{words}");
        }
        assert!(asked("auto").expect("a transport").contains("+tcp\n"));
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
