//! The offers of the provider, and how it opens.

use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_base::knobs::Atomics;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;
use oxshmem_os::{descriptors, signals};
use oxshmem_transport::progress_thread::Drive;
use oxshmem_transport::{
    AddressBook, Agreed, AmoDomain, Capabilities, Fabric, Features, Grade, Lane, LaneOptions, NetworkAtomics, Offers,
    Participant, Provider, Region, Rejected, Segment, TransportOffer, WantedTransport, software,
};

use crate::address::{PeAddress, RailAddress};
use crate::amo::OfiMessages;
use crate::atomic;
use crate::devices::has_device;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::info::Info;
use crate::lane::OfiLane;
use crate::library::library;
use crate::list::{Selection, endpoints};
use crate::objects::{Depth, Objects};
use crate::preference::EndpointKind;
use crate::progress::Net;
use crate::rails::{ChosenEntries, choose};
use crate::room::ROOM;
use crate::windows::Window;

/// libfabric's endpoints, of which those of cards are offered unasked.
pub static PROVIDER: Provider = Provider { name: "ofi", elsewhere: ELSEWHERE, offers, open };

const ELSEWHERE: &[(&str, &str)] = &[
    ("libfabric", ""),
    ("fabric", ""),
    ("cxi", "cxi"),
    ("slingshot", "cxi"),
    ("efa", "efa"),
    ("opx", "opx"),
    ("psm2", "psm2"),
    ("psm3", "psm3"),
];

fn offers(participant: &Participant<'_>, wanted: &WantedTransport<'_>) -> Offers {
    let selection = selection(participant, wanted.detail);
    let Selection { provider, fabric, domain, .. } = &selection;
    let asked_for = wanted.named || provider.is_some() || fabric.is_some() || domain.is_some();
    if !asked_for && !has_device() {
        return Offers::none("ofi", "no card of a kind that libfabric drives is here");
    }
    let mut offers = Offers::default();
    let found = match endpoints(&selection) {
        Ok(found) => found,
        Err(error) => return Offers::none("ofi", error.in_one_line()),
    };
    for endpoint in found {
        let rejected = |why| Rejected::new(format!("ofi:{}", endpoint.provider), why);
        let grade = match (endpoint.card, endpoint.native) {
            _ if !endpoint.remote && selection.provider.is_none() => {
                offers.rejected.push(rejected("this host only"));
                continue;
            }
            (true, true) => Grade::Card,
            (true, false) => Grade::Layered,
            (false, _) if wanted.named => Grade::Software,
            (false, _) => {
                // Omni-Path's own providers are among these: they drive a card, and the processor moves the data.
                offers.rejected.push(rejected("only by name: no card moves its data"));
                continue;
            }
        };
        let atomics = atomics(participant, &endpoint);
        offers.ways.push(TransportOffer { grade, detail: endpoint.provider, atomics });
    }
    offers
}

/// The device that would do the job's atomics. The endpoint is asked only where that can matter.
fn atomics(participant: &Participant<'_>, endpoint: &EndpointKind) -> NetworkAtomics {
    let by_card = endpoint.atomics_are_a_cards();
    match participant.settings.atomics {
        Atomics::Processor => return NetworkAtomics::None("SHMEM_AMO=processor".into()),
        Atomics::Auto if !by_card => return NetworkAtomics::Software,
        _ => {}
    }
    match atomic::available(&selection(participant, Some(&endpoint.provider))) {
        Ok(()) if by_card => NetworkAtomics::Card,
        Ok(()) => NetworkAtomics::Software,
        Err(error) => NetworkAtomics::None(error.in_one_line()),
    }
}

/// The user's selection; `provider` stands before the variable.
fn selection(participant: &Participant<'_>, provider: Option<&str>) -> Selection {
    let Participant { pes, settings, cards, cards_each, .. } = *participant;
    Selection {
        provider: provider.map(String::from).or_else(|| settings.ofi_provider.clone()),
        fabric: settings.ofi_fabric.clone(),
        domain: settings.ofi_domain.clone(),
        nearest: cards.to_vec(),
        rails: settings.rails.map(usize::from),
        cards_each,
        pes,
        atomics: false,
    }
}

fn open(participant: &Participant<'_>, choice: &Agreed<'_>) -> Result<Box<dyn Fabric>, Error> {
    let provider = Some(choice.detail).filter(|detail| !detail.is_empty());
    let selection = Selection { atomics: choice.atomics, ..selection(participant, provider) };
    open_with(library(participant.pes)?, participant.me, participant.give_up(), &selection)
}

/// Operations that are under way at once, as many more for PEs that have few of them, and messages that may come at once; less where the
/// endpoint allows less.
const DEPTH: Depth = Depth { issued: 512, kept: 32, receives: 128 };

/// The same on a further rail, which has long transfers only and no messages.
const FURTHER: Depth = Depth { issued: 64, kept: 0, receives: 0 };

/// Connections of sockets for each PE: two that connect to each other at once may make one each.
const CONNECTIONS_EACH: u64 = 2;
/// Descriptors that are no connections: those of the program, of the node's PEs, and of libfabric.
const OTHER_FILES: u64 = 200;

/// Opens the endpoint of a library that need not be the real one.
pub(crate) fn open_with(
    library: &'static Libfabric,
    me: u32,
    give_up: Duration,
    selection: &Selection,
) -> Result<Box<dyn Fabric>, Error> {
    let ofi = Ofi::open(library, me, give_up, selection)?;
    let net = ofi.net.clone();
    software::fill(me, give_up, Box::new(ofi), Some(Box::new(OfiMessages(net))))
}

impl Ofi {
    /// The provider itself, without what software above it fills in.
    pub(crate) fn open(
        library: &'static Libfabric,
        me: u32,
        give_up: Duration,
        selection: &Selection,
    ) -> Result<Self, Error> {
        let engine = engine(library, me, give_up, selection)?;
        let net = Arc::new(Net::new(engine, selection.atomics));
        if !net.card
            && let Err(error) = descriptors::make_room(CONNECTIONS_EACH * u64::from(selection.pes) + OTHER_FILES)
        {
            tracing::warn!(%error, "the limit of open files cannot be raised");
        }
        Ok(Self { capabilities: capabilities(&net), net })
    }
}

/// The endpoints of all rails.
fn engine(library: &'static Libfabric, me: u32, give_up: Duration, selection: &Selection) -> Result<Engine, Error> {
    let ChosenEntries { first, further, missing } = choose(library, selection)?;
    let first = endpoint(first, DEPTH, selection.pes)?;
    if selection.atomics {
        first.objects.has_atomics()?;
    }
    let mut engine = Engine::new(first, me, give_up);
    for info in further {
        let name = info.domain_name();
        match endpoint(info, FURTHER, selection.pes) {
            Ok(mut rail) => {
                rail.losses = engine.first.losses.clone();
                engine.further.push(rail);
            }
            // The PE does without it.
            Err(error) => engine.missing.push(format!("{name} ({})", error.in_one_line())),
        }
    }
    engine.missing.extend(missing);
    Ok(engine)
}

fn endpoint(info: Info, most: Depth, pes: u32) -> Result<Endpoint, Error> {
    let kept = most.kept.min(info.tx().size / 8);
    let issued = most.issued.min(info.tx().size - kept).max(2);
    let receives = most.receives.min(info.rx().size.max(1));
    let depth = Depth { issued, kept, receives };
    // Some providers have threads of their own.
    let objects = signals::keeping_signals_from_helpers(|| Objects::open(info, depth, pes))?;
    Endpoint::new(objects, pes, depth)
}

fn capabilities(net: &Net) -> Capabilities {
    let mode = net.lock().first.objects.mr_mode();
    let mut features = Features::empty();
    features.set(Features::ORDERED, if net.atomics { net.atomics_ordered } else { net.ordered });
    features.set(Features::PINS, mode & fi::FI_MR_ALLOCATED != 0);
    let amo = if net.atomics { AmoDomain::Network } else { AmoDomain::None };
    Capabilities { features, amo, inject: ROOM, signal: None }
}

pub(crate) struct Ofi {
    pub(crate) net: Arc<Net>,
    capabilities: Capabilities,
}

impl Fabric for Ofi {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.net.lock().register(region, segment)
    }

    fn address(&self) -> Vec<u8> {
        let engine = self.net.lock();
        let rail = |rail: &Endpoint| {
            let (fabric, domain) = rail.objects.info.place();
            RailAddress { fabric, domain, name: rail.objects.name.clone(), windows: Window::all(rail.windows()) }
        };
        PeAddress { provider: engine.first.objects.info.provider(), rails: engine.rails().map(rail).collect() }.encode()
    }

    fn connect(&self, book: Box<dyn AddressBook>) -> Result<(), Error> {
        self.net.lock().book = Some(book);
        Ok(())
    }

    fn drive(&self) -> Option<Arc<dyn Drive>> {
        Some(self.net.clone())
    }

    fn lane(&self, _options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Ok(Box::new(OfiLane::new(self.net.clone())))
    }

    fn progress(&self) -> usize {
        self.net.drain()
    }

    fn rest(&self, most: Duration) -> Option<usize> {
        Some(self.net.doze(most))
    }

    fn lost(&self) -> Option<Error> {
        self.net.failure()
    }

    fn leave(&self) {
        self.net.lock().leave();
    }

    fn has_left(&self) -> bool {
        self.net.lock().has_left()
    }

    fn close(&self) {
        // The endpoint acknowledges the last messages of peers when it makes progress.
        for _ in 0..100 {
            self.net.drain();
        }
    }

    fn describe(&self) -> String {
        let engine = self.net.lock();
        let info = &engine.first.objects.info;
        let link = info.link().map_or_else(String::new, |link| format!(", {link}"));
        let order = if self.net.ordered { "puts in order" } else { "puts in any order" };
        let cards: Vec<String> = engine.rails().map(|rail| rail.objects.info.domain_name()).collect();
        let missing = match &engine.missing[..] {
            [] => String::new(),
            reasons => format!(", without {}", reasons.join(", ")),
        };
        format!("ofi: {} on {}{link}, {order}{missing}", info.provider(), cards.join(" and "))
    }
}
