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
use crate::card::Card;
use crate::device::{Selection, choose};
use crate::engine::Engine;
use crate::lane::OfiLane;
use crate::library::library;
use crate::operation::ROOM;
use crate::port::{Depth, Port};
use crate::progress::Net;

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

/// Opens the provider: from now on peers can reach this PE, and wait to be served until [`Fabric::connect`].
pub fn open(options: &Options) -> Result<Box<dyn Fabric>, Error> {
    open_with(library(options.pes)?, options)
}

/// [`open`] with a library that need not be the real one.
pub(crate) fn open_with(library: &'static Libfabric, options: &Options) -> Result<Box<dyn Fabric>, Error> {
    let info = choose(library, &options.selection)?;
    let depth =
        Depth { issued: DEPTH.issued.min(info.tx().size).max(2), receives: DEPTH.receives.min(info.rx().size).max(1) };
    let port = Port::open(info, depth, options.pes)?;
    let engine = Engine::new(port, options.me, options.pes, depth.issued, depth.receives)?;
    let net = Arc::new(Net::new(engine));
    let ofi = Ofi { capabilities: capabilities(&net), net: net.clone() };
    software::fill(Box::new(ofi), Some(Box::new(Mail(net))))
}

fn capabilities(net: &Net) -> Capabilities {
    let mode = net.lock().port.mr_mode();
    let mut features = Features::GROWS;
    features.set(Features::ORDERED, net.ordered);
    features.set(Features::PINS, mode & fi::FI_MR_ALLOCATED != 0);
    Capabilities { features, amo: AmoDomain::None, inject: ROOM, longest: usize::MAX }
}

struct Ofi {
    net: Arc<Net>,
    capabilities: Capabilities,
}

impl Fabric for Ofi {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.net.memory.register(region, segment)?;
        self.net.lock().register(region, segment)
    }

    fn card(&self) -> Vec<u8> {
        let engine = self.net.lock();
        let provider = engine.port.info.provider();
        Card { provider, name: engine.port.name.clone(), windows: engine.windows().all().to_vec() }.encode()
    }

    fn connect(&self, cards: Box<dyn Cards>) -> Result<(), Error> {
        self.net.lock().cards = Some(cards);
        Ok(())
    }

    fn lane(&self, _options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Ok(Box::new(OfiLane::new(self.net.clone())))
    }

    fn progress(&self) -> usize {
        self.net.drain()
    }

    fn rest(&self, most: Duration) -> Option<usize> {
        self.net.doze(most)
    }

    fn lost(&self) -> Option<Error> {
        self.net.failure()
    }

    fn close(&self) {
        self.net.lock().part();
    }

    fn describe(&self) -> String {
        let engine = self.net.lock();
        let info = &engine.port.info;
        let link = info.link().map_or_else(String::new, |link| format!(", {link}"));
        let order = if self.net.ordered { "puts in order" } else { "puts in any order" };
        format!("ofi: {} on {}{link}, {order}", info.provider(), info.domain_name())
    }
}
