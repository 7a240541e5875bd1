//! A provider's export: one [`Provider`], which lists its offers on a node and opens one of them.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use serde::{Deserialize, Serialize};

use crate::Fabric;

/// Opens what all nodes have agreed on.
pub type Open = fn(&Participant<'_>, &Agreed<'_>) -> Result<Box<dyn Fabric>, Error>;

/// Carries operations to PEs of other nodes. Each provider's crate has one of these, named `PROVIDER`.
pub struct Provider {
    /// The name by which a user selects it: `SHMEM_TRANSPORT=name` or `name:detail`.
    pub name: &'static str,
    /// Words by which other libraries call it, each with the detail that means the same (empty for none). A user who says one
    /// is told ours.
    pub elsewhere: &'static [(&'static str, &'static str)],
    /// Says what it could do on this node. Nothing stays open.
    pub offers: fn(&Participant<'_>, &WantedTransport<'_>) -> Offers,
    /// Opens one of the offers. From then on peers can reach this PE; they are served from [`Fabric::connect`] on.
    pub open: Open,
}

/// Bytes of the secret of a job's PEs: 16 that identify the job, and a key of 32.
pub const SECRET: usize = 48;

/// The PE that takes part in a job, and what it knows before it has a network.
#[derive(Clone, Copy)]
pub struct Participant<'p> {
    /// World number of this PE.
    pub me: u32,
    /// Number of PEs of the job.
    pub pes: u32,
    /// The node of this PE: PEs of one node reach each other's memory without a provider.
    pub node: u32,
    /// The user's variables.
    pub settings: &'p Settings,
    /// The secret of the job's PEs.
    pub secret: &'p [u8; SECRET],
    /// The network cards of the node, from the nearest one on, by the names that fabric libraries know.
    pub cards: &'p [String],
    /// How many of these cards carry the PE's long transfers unless the user says otherwise.
    pub cards_each: usize,
    /// The address by which the launcher reached this node.
    pub reached: Option<IpAddr>,
}

impl<'p> Participant<'p> {
    /// A PE on a node of its own that knows neither cards nor a launcher.
    pub fn new(me: u32, pes: u32, settings: &'p Settings, secret: &'p [u8; SECRET]) -> Self {
        Self { me, pes, node: me, settings, secret, cards: &[], cards_each: 1, reached: None }
    }

    /// The time after which a silent peer is given up.
    pub fn give_up(&self) -> Duration {
        Duration::from_secs(self.settings.peer_timeout)
    }
}

/// The question to a provider.
#[derive(Clone, Copy, Default)]
pub struct WantedTransport<'w> {
    /// The user has named this provider. Otherwise it is asked because it may be the best one.
    pub named: bool,
    /// The text behind the colon of `SHMEM_TRANSPORT=name:detail`.
    pub detail: Option<&'w str>,
}

/// The offer that the job's nodes have agreed on.
#[derive(Clone, Copy, Default)]
pub struct Agreed<'c> {
    /// The offer's detail.
    pub detail: &'c str,
    /// Whether the network does the job's atomics.
    pub atomics: bool,
    /// Whether all PEs are on one host.
    pub one_host: bool,
}

/// The ways in which a provider could serve one node.
#[derive(Default, Debug)]
pub struct Offers {
    /// Ways to carry the job.
    pub ways: Vec<TransportOffer>,
    /// Ways that it rejects here, with reasons.
    pub rejected: Vec<Rejected>,
}

impl Offers {
    /// One offer.
    pub fn one(offer: TransportOffer) -> Self {
        Self { ways: vec![offer], rejected: Vec::new() }
    }

    /// No offer, for this reason.
    pub fn none(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { ways: Vec::new(), rejected: vec![Rejected::new(name, why)] }
    }
}

/// A way to carry the job.
#[derive(Debug)]
pub struct TransportOffer {
    /// How good it is.
    pub grade: Grade,
    /// The text that distinguishes it from the provider's other offers; empty if there can be one only.
    pub detail: String,
    /// The device that would do atomics in the network.
    pub atomics: NetworkAtomics,
}

/// The device that does atomics which a job leaves to the network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NetworkAtomics {
    /// The card.
    Card,
    /// Software of the provider.
    Software,
    /// None that could be used, for this reason.
    None(String),
}

/// How good an offer is, from the worst to the best. The first is only for users who ask for it by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// A library's software over sockets or shared memory.
    Software,
    /// The kernel's sockets, driven by the provider itself.
    Sockets,
    /// A card, behind a layer that makes its endpoints look like the ones that the provider needs.
    Layered,
    /// A card, driven by its own software.
    Card,
}

/// A way that was not taken, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rejected {
    /// `name` or `name:detail`.
    pub name: String,
    /// The reason.
    pub why: String,
}

impl Rejected {
    /// `name` was not taken because of `why`.
    pub fn new(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { name: name.into(), why: why.into() }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.why)
    }
}
