//! The offers of the provider, and how it opens.

use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_base::knobs::Atomics;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;
use oxshmem_transport::driver::Drive;
use oxshmem_transport::{
    Agreed, AmoDomain, Capabilities, Cards, Fabric, Features, Grade, Lane, LaneOptions, NetworkAtomics, Offer, Offers,
    Participant, Provider, Region, Rejected, Segment, Wanted, software,
};

use crate::amo::Mail;
use crate::atomic;
use crate::card::{Card, RailCard};
use crate::device::{self, Chosen, EndpointKind, Info, Selection, choose};
use crate::engine::Engine;
use crate::lane::OfiLane;
use crate::library::library;
use crate::operation::ROOM;
use crate::port::{Depth, Port};
use crate::progress::Net;
use crate::rails::Rails;

/// libfabric's endpoints, of which those of cards are offered unasked.
pub static PROVIDER: Provider = Provider { name: "ofi", offers, open };

fn offers(participant: &Participant<'_>, wanted: &Wanted<'_>) -> Offers {
    let selection = selection(participant, wanted.detail);
    let Selection { provider, fabric, domain, .. } = &selection;
    let asked_for = wanted.named || provider.is_some() || fabric.is_some() || domain.is_some();
    if !asked_for && !device::has_device() {
        return Offers::none("ofi", "no card of a kind that libfabric drives is here");
    }
    let mut offers = Offers::default();
    let found = match device::endpoints(&selection) {
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
                offers.rejected.push(rejected("software, no card"));
                continue;
            }
        };
        let atomics = atomics(participant, &endpoint);
        offers.ways.push(Offer { grade, detail: endpoint.provider, atomics });
    }
    offers
}

/// A layer above a card's provider makes atomics of messages. The endpoint is asked only where that can matter.
fn atomics(participant: &Participant<'_>, endpoint: &EndpointKind) -> NetworkAtomics {
    let by_card = endpoint.card && endpoint.native;
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

/// Operations that are under way at once, and messages that may come at once; less where the endpoint allows less.
const DEPTH: Depth = Depth { issued: 512, receives: 128 };

/// The same on a further rail, which has long transfers only and no messages.
const FURTHER: Depth = Depth { issued: 64, receives: 0 };

/// Opens the endpoint of a library that need not be the real one.
pub(crate) fn open_with(
    library: &'static Libfabric,
    me: u32,
    give_up: Duration,
    selection: &Selection,
) -> Result<Box<dyn Fabric>, Error> {
    let ofi = Ofi::open(library, me, give_up, selection)?;
    let net = ofi.net.clone();
    software::fill(me, give_up, Box::new(ofi), Some(Box::new(Mail(net))))
}

impl Ofi {
    /// The provider itself, without what software above it fills in.
    pub(crate) fn open(
        library: &'static Libfabric,
        me: u32,
        give_up: Duration,
        selection: &Selection,
    ) -> Result<Self, Error> {
        let mut engine = engines(library, me, selection)?;
        engine.give_up = give_up;
        let net = Arc::new(Net::new(engine, selection.atomics));
        Ok(Self { capabilities: capabilities(&net), net })
    }
}

/// The engine of the first rail, with those of the others.
fn engines(library: &'static Libfabric, me: u32, selection: &Selection) -> Result<Engine, Error> {
    let Chosen { first, further, mut missing } = choose(library, selection)?;
    let mut engine = engine(first, DEPTH, me, selection.pes)?;
    if selection.atomics {
        engine.port.has_atomics()?;
    }
    let open = |info: Info| engine_or_why(info, me, selection.pes);
    let (opened, failed): (Vec<_>, Vec<_>) = further.into_iter().map(open).partition(Result::is_ok);
    missing.splice(..0, failed.into_iter().filter_map(Result::err));
    engine.further = Rails::new(opened.into_iter().flatten().collect(), missing);
    Ok(engine)
}

fn engine(info: Info, most: Depth, me: u32, pes: u32) -> Result<Engine, Error> {
    let issued = most.issued.min(info.tx().size).max(2);
    let receives = most.receives.min(info.rx().size.max(1));
    let depth = Depth { issued, receives };
    Engine::new(Port::open(info, depth, pes)?, me, pes, depth)
}

/// A further rail, or why it cannot be had: the PE does without.
fn engine_or_why(info: Info, me: u32, pes: u32) -> Result<Engine, String> {
    let name = info.domain_name();
    engine(info, FURTHER, me, pes).map_err(|error| format!("{name} ({})", error.in_one_line()))
}

fn capabilities(net: &Net) -> Capabilities {
    let mode = net.lock().port.mr_mode();
    let mut features = Features::GROWS;
    features.set(Features::ORDERED, if net.atomics { net.atomics_ordered } else { net.ordered });
    features.set(Features::PINS, mode & fi::FI_MR_ALLOCATED != 0);
    let amo = if net.atomics { AmoDomain::Network } else { AmoDomain::None };
    Capabilities { features, amo, inject: ROOM, signal: None }
}

pub(crate) struct Ofi {
    net: Arc<Net>,
    capabilities: Capabilities,
}

impl Fabric for Ofi {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.net.lock().register(region, segment)
    }

    fn card(&self) -> Vec<u8> {
        let engine = self.net.lock();
        let rail = |engine: &Engine| {
            let (fabric, domain) = engine.port.info.place();
            RailCard { fabric, domain, name: engine.port.name.clone(), windows: engine.windows().all().to_vec() }
        };
        let rails = std::iter::once(&*engine).chain(engine.further.all()).map(rail).collect();
        Card { provider: engine.port.info.provider(), rails }.encode()
    }

    fn connect(&self, cards: Box<dyn Cards>) -> Result<(), Error> {
        self.net.lock().cards = Some(cards);
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
        // The last messages of peers are acknowledged by the endpoint when it is looked after.
        for _ in 0..100 {
            self.net.drain();
        }
    }

    fn describe(&self) -> String {
        let engine = self.net.lock();
        let info = &engine.port.info;
        let link = info.link().map_or_else(String::new, |link| format!(", {link}"));
        let order = if self.net.ordered { "puts in order" } else { "puts in any order" };
        let cards: Vec<String> =
            std::iter::once(&*engine).chain(engine.further.all()).map(|rail| rail.port.info.domain_name()).collect();
        let missing = match engine.further.missing() {
            [] => String::new(),
            reasons => format!(", without {}", reasons.join(", ")),
        };
        format!("ofi: {} on {}{link}, {order}{missing}", info.provider(), cards.join(" and "))
    }
}
