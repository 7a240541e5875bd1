//! The choice of the provider that carries a job of several nodes. [`ballot`] compares what the nodes offer, and [`providers`]
//! lists all providers.

mod asked;
mod atomics;
mod ballot;
mod providers;

use oxshmem_base::Error;
use oxshmem_base::knobs::{Atomics, Settings};
use oxshmem_bootstrap::{Circle, Membership, wireup};
use oxshmem_transport::{Agreed, Fabric, Participant, Rejected, SECRET};

use crate::network::neighbours::Quarters;
use crate::start::placement;

use asked::AskedTransport;
use ballot::{TransportDecision, Vote};
use providers::PROVIDERS;

/// The PE that joins the network.
pub(crate) struct Joining<'j> {
    pub(crate) job: &'static Membership,
    pub(crate) settings: &'j Settings,
    /// A secret of the job's PEs: an identity and a key.
    pub(crate) secret: &'j [u8; SECRET],
    /// The machine and the processors of this node.
    pub(crate) quarters: &'j Quarters,
}

/// The fabric that was chosen, and why no other one.
pub(crate) struct ChosenTransport {
    pub(crate) fabric: Box<dyn Fabric>,
    pub(crate) rejected: Vec<String>,
    /// Whether PEs outnumber processors on this node's machine, with those of its other nodes.
    pub(crate) crowded: bool,
    /// Whether all nodes are this machine.
    pub(crate) one_host: bool,
    /// The device that does atomics, and why.
    pub(crate) atomics: String,
}

/// Checks `SHMEM_TRANSPORT` where there is nothing to choose.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    AskedTransport::read(settings, PROVIDERS).map(|_| ())
}

/// Agrees with the other nodes on a transport and opens it. Collective.
pub(crate) fn choose(joining: &Joining<'_>, epoch: u32, circle: &Circle) -> Result<ChosenTransport, Error> {
    let Joining { job, settings, secret, quarters } = *joining;
    let asked = AskedTransport::read(settings, PROVIDERS)?;
    let (cards, cards_each) = placement::cards();
    let reached = oxshmem_bootstrap::reached();
    let participant = Participant {
        node: job.node().index,
        cards: &cards,
        cards_each,
        reached,
        ..Participant::new(job.rank(), job.size(), settings, secret)
    };
    let mine = || {
        ballot::written(&Vote { ballot: ballot::ballot(PROVIDERS, &asked, &participant), quarters: quarters.clone() })
    };
    let decide = |votes: Vec<Vec<u8>>| {
        let vote = |(node, vote): (u32, &Vec<u8>)| ballot::read(|| format!("the vote of node {node}"), vote);
        let votes = (0..).zip(&votes).map(vote).collect::<Result<Vec<Vote>, Error>>()?;
        Ok(ballot::written(&ballot::decision(&votes, |node| job.places().pes_on(node), settings.atomics)))
    };
    let decided = wireup::agree(job, epoch, circle, mine, decide)?;
    let TransportDecision { way, rejected, crowded, one_host } =
        ballot::read(|| "the decision of PE 0".into(), &decided)?;
    let crowded = crowded.contains(&job.node().index);
    let rejected: Vec<String> = rejected.iter().map(Rejected::to_string).collect();
    let Some((way, domain)) = way else { return Err(no_way(settings, &asked, job.node().count, &rejected)) };
    let (name, detail) = way.name.split_once(':').unwrap_or((&way.name, ""));
    let provider = PROVIDERS.iter().find(|provider| provider.name == name).ok_or_else(|| {
        Error::new(format!("this PE does not know the transport {name}, which PE 0 has chosen"))
            .fix("run one version of oxshmem on all PEs")
    })?;
    let fabric = (provider.open)(&participant, &Agreed { detail, atomics: domain.network, one_host })?;
    Ok(ChosenTransport { fabric, rejected, crowded, one_host, atomics: domain.to_string() })
}

/// Nothing carries the job as the user wants it.
fn no_way(settings: &Settings, asked: &AskedTransport<'_>, nodes: u32, rejected: &[String]) -> Error {
    let transport = &settings.transport;
    let why = match (asked, rejected) {
        // The list would say of each provider that it is not shm.
        (AskedTransport::Nothing, _) => {
            "it is the memory that PEs of one node share, and reaches no other node".to_owned()
        }
        (_, []) => "no transport is there".to_owned(),
        (_, rejected) => rejected.join("; "),
    };
    match (settings.atomics, asked) {
        (Atomics::Network, AskedTransport::Best | AskedTransport::One(..)) => Error::new(format!(
            "SHMEM_AMO=network cannot be had: SHMEM_TRANSPORT={transport} offers no atomics of a network to {nodes} nodes"
        ))
        .because(why)
        .fix("leave SHMEM_AMO out, or name a transport that has atomics: SHMEM_TRANSPORT=ucx or ofi"),
        _ => Error::new(format!("SHMEM_TRANSPORT={transport} cannot carry a job of {nodes} nodes"))
            .because(why)
            .fix("set SHMEM_TRANSPORT=tcp or leave it out, or run all PEs on one node"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(transport: &str, atomics: Atomics, rejected: &[&str]) -> String {
        let settings = Settings { transport: transport.into(), atomics, ..Settings::default() };
        let asked = AskedTransport::read(&settings, PROVIDERS).expect("a transport");
        let rejected: Vec<String> = rejected.iter().map(|&why| why.into()).collect();
        no_way(&settings, &asked, 2, &rejected).to_string()
    }

    #[test]
    fn shared_memory_between_nodes_is_refused_with_one_reason() {
        for atomics in [Atomics::Auto, Atomics::Network] {
            let error = error("shm", atomics, &["ofi (SHMEM_TRANSPORT=shm)", "tcp (SHMEM_TRANSPORT=shm)"]);
            assert!(error.contains("SHMEM_TRANSPORT=shm cannot carry a job of 2 nodes"), "{error}");
            assert!(error.contains("memory that PEs of one node share") && !error.contains("tcp ("), "{error}");
        }
    }

    #[test]
    fn other_refusals_list_the_reason_of_each_transport() {
        let error = |atomics| error("auto", atomics, &["ofi (no card)", "tcp (no atomics)"]);
        assert!(error(Atomics::Auto).contains("ofi (no card); tcp (no atomics)"));
        assert!(error(Atomics::Network).contains("SHMEM_AMO=network cannot be had"));
    }
}
