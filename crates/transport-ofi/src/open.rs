//! Puts the parts together.

use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;
use oxshmem_transport::{
    AmoDomain, Capabilities, Cards, Fabric, Features, Lane, LaneOptions, Region, Segment, software,
};

use crate::amo::Mail;
use crate::card::{Card, RailCard};
use crate::device::{Chosen, Info, Selection, choose};
use crate::engine::Engine;
use crate::lane::OfiLane;
use crate::library::library;
use crate::operation::ROOM;
use crate::port::{Depth, Port};
use crate::progress::Net;
use crate::rails::Rails;
use crate::server::Server;

/// How this PE takes part.
#[derive(Clone, Debug)]
pub struct Options {
    /// World number of this PE.
    pub me: u32,
    /// PEs of the job.
    pub pes: u32,
    /// Which of libfabric's endpoints to use.
    pub selection: Selection,
}

/// Operations that are under way at once, and messages that may come at once; less where the endpoint allows less.
const DEPTH: Depth = Depth { issued: 512, receives: 128 };

/// The same on a further rail, which has long transfers only and no messages.
const FURTHER: Depth = Depth { issued: 64, receives: 0 };

/// Opens the provider: from now on peers can reach this PE, and wait to be served until [`Fabric::connect`].
pub fn open(options: &Options) -> Result<Box<dyn Fabric>, Error> {
    open_with(library(options.pes)?, options)
}

/// [`open`] with a library that need not be the real one.
pub(crate) fn open_with(library: &'static Libfabric, options: &Options) -> Result<Box<dyn Fabric>, Error> {
    let ofi = Ofi::open(library, options)?;
    let net = ofi.net.clone();
    software::fill(options.me, Box::new(ofi), Some(Box::new(Mail(net))))
}

impl Ofi {
    /// The provider itself, without what software above it fills in.
    pub(crate) fn open(library: &'static Libfabric, options: &Options) -> Result<Self, Error> {
        let net = Arc::new(Net::new(engines(library, options)?, options.selection.atomics));
        Ok(Self { capabilities: capabilities(&net), net, server: Server::default() })
    }
}

/// The engine of the first rail, with those of the others.
fn engines(library: &'static Libfabric, options: &Options) -> Result<Engine, Error> {
    let Chosen { first, further, mut missing } = choose(library, &options.selection)?;
    let mut engine = engine(first, DEPTH, options)?;
    if options.selection.atomics {
        engine.port.has_atomics()?;
    }
    let open = |info: Info| engine_or_why(info, options);
    let (opened, failed): (Vec<_>, Vec<_>) = further.into_iter().map(open).partition(Result::is_ok);
    missing.splice(..0, failed.into_iter().filter_map(Result::err));
    engine.further = Rails::new(opened.into_iter().flatten().collect(), missing);
    Ok(engine)
}

fn engine(info: Info, most: Depth, options: &Options) -> Result<Engine, Error> {
    let issued = most.issued.min(info.tx().size).max(2);
    let receives = most.receives.min(info.rx().size.max(1));
    let depth = Depth { issued, receives };
    Engine::new(Port::open(info, depth, options.pes)?, options.me, options.pes, depth)
}

/// A further rail, or why it cannot be had: the PE does without.
fn engine_or_why(info: Info, options: &Options) -> Result<Engine, String> {
    let name = info.domain_name();
    engine(info, FURTHER, options).map_err(|error| format!("{name} ({})", error.in_one_line()))
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
    server: Server,
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
        // Where atomics are letters, the software that reads them has the thread.
        if self.net.atomics { self.server.start(&self.net) } else { Ok(()) }
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

    fn close(&self) {
        self.server.stop();
        self.net.lock().part();
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
