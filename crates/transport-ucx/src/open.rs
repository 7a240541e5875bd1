//! Puts the parts together.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_transport::{
    AmoDomain, Capabilities, Cards, Fabric, Features, Lane, LaneOptions, Region, Segment, software,
};
use parking_lot::Mutex;

use crate::card::Devices;
use crate::channel::COPIED;
use crate::handle::{Context, Worker};
use crate::lane::UcxLane;
use crate::letter::ASK;
use crate::net::Net;
use crate::service::on_ask;

/// How this PE takes part.
#[derive(Clone, Debug)]
pub struct Options {
    /// World number of this PE.
    pub me: u32,
    /// PEs of the job.
    pub pes: u32,
    /// UCX's transports, in the words of `UCX_TLS` (`SHMEM_TRANSPORT=ucx:...`); without it the environment or UCX decides.
    pub tls: Option<String>,
    /// The cards to use at once (`mlx5_0`), unless `UCX_NET_DEVICES` names others; without them UCX
    /// chooses among all that lead to other hosts.
    pub cards: Vec<String>,
    /// UCX does the job's atomics; otherwise the target's processor.
    pub atomics: bool,
}

/// Whether these transports of UCX, or any, could be used here. Nothing stays open.
pub fn probe(tls: Option<&str>) -> Result<(), Error> {
    Worker::new(Context::new(tls, Devices::with(&[]), 1, false)?).map(drop)
}

/// Whether UCX has atomics over these transports. It has them everywhere: what no transport does, it does itself.
pub fn atomics(tls: Option<&str>) -> Result<(), Error> {
    Worker::new(Context::new(tls, Devices::with(&[]), 1, true)?).map(drop)
}

/// Opens the provider: from now on peers can connect, and wait to be served until [`Fabric::connect`].
pub fn open(options: Options) -> Result<Box<dyn Fabric>, Error> {
    let Options { me, pes, tls, cards, atomics } = options;
    let context = Context::new(tls.as_deref(), Devices::with(&cards), pes, atomics)?;
    let service = Worker::new(context.clone())?;
    let net = Arc::new(Net::new(me, pes, context, atomics));
    // SAFETY: the net is shared by reference only, and takes the worker down before it goes (`Ucx::close`).
    unsafe { service.listen(ASK, Some(on_ask), Arc::as_ptr(&net).cast_mut().cast())? };
    *net.service.lock() = Some(service);
    let capabilities = Capabilities {
        features: Features::GROWS | Features::PINS,
        amo: if atomics { AmoDomain::Network } else { AmoDomain::Processor },
        inject: COPIED,
        signal: Some(usize::MAX),
    };
    software::fill(me, Box::new(Ucx { net, capabilities, tls, thread: Mutex::default() }), None)
}

struct Ucx {
    net: Arc<Net>,
    capabilities: Capabilities,
    tls: Option<String>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Fabric for Ucx {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.net.regions.register(region, segment)
    }

    fn card(&self) -> Vec<u8> {
        self.net.card()
    }

    fn connect(&self, cards: Box<dyn Cards>) -> Result<(), Error> {
        if self.net.cards.set(cards).is_err() {
            return Err(Error::new("UCX: the fabric is connected already"));
        }
        let net = self.net.clone();
        let thread = std::thread::Builder::new().name("oxshmem-ucx".into()).spawn(move || net.work());
        let thread = thread.map_err(|e| Error::new("UCX: the progress thread cannot be started").because(e))?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    fn lane(&self, _options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Ok(Box::new(UcxLane::new(self.net.clone())?))
    }

    fn progress(&self) -> usize {
        self.net.serve() + self.net.move_lanes().0
    }

    fn rest(&self, most: Duration) -> Option<usize> {
        Some(self.net.rest(most))
    }

    fn close(&self) {
        if self.net.closed.load(Ordering::Acquire) {
            return;
        }
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            self.net.part();
            self.net.closed.store(true, Ordering::Release);
            self.net.wake();
            // A panic of the thread has been printed already.
            let _ = thread.join();
        }
        self.net.closed.store(true, Ordering::Release);
        self.net.tear_down();
    }

    fn describe(&self) -> String {
        let tls = self.tls.clone().or_else(|| std::env::var("UCX_TLS").ok()).unwrap_or_else(|| "all".into());
        let (version, devices) = (self.net.context.version(), &self.net.context.devices);
        format!("ucx: UCX {version}, transports {tls}, devices {devices}")
    }
}

impl Drop for Ucx {
    fn drop(&mut self) {
        self.close();
    }
}
