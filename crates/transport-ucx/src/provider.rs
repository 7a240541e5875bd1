//! The offers of the provider, and how it opens.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_base::knobs::Atomics;
use oxshmem_transport::progress_thread::Drive;
use oxshmem_transport::{
    AddressBook, Agreed, AmoDomain, Capabilities, Fabric, Features, Grade, Lane, LaneOptions, NetworkAtomics, Offers,
    Participant, Provider, Region, Segment, TransportOffer, WantedTransport, software,
};

use crate::channel::COPIED;
use crate::devices::Devices;
use crate::lane::UcxLane;
use crate::net::Net;
use crate::objects::{UcxContext, Worker, version};
use crate::usable::usable_card;

/// UCX, offered unasked where there is an InfiniBand card that can be used. Elsewhere its TCP is no better than ours.
pub static PROVIDER: Provider = Provider { name: "ucx", elsewhere: ELSEWHERE, offers, open };

const ELSEWHERE: &[(&str, &str)] = &[
    ("verbs", ""),
    ("ib", ""),
    ("infiniband", ""),
    ("mlx5", ""),
    ("openib", ""),
    ("rc", "rc"),
    ("dc", "dc"),
    ("ud", "ud"),
];

fn offers(participant: &Participant<'_>, wanted: &WantedTransport<'_>) -> Offers {
    let card = usable_card();
    if let (false, Err(why)) = (wanted.named, &card) {
        return Offers::none("ucx", why);
    }
    let can_open = |atomics| {
        let context = UcxContext::new(wanted.detail, Devices::with(&[]), 1, atomics);
        context.and_then(Worker::new).map(drop).map_err(|error| error.in_one_line())
    };
    if let Err(why) = can_open(false) {
        return Offers::none("ucx", why);
    }
    let grade = if card.is_ok() { Grade::Card } else { Grade::Software };
    let atomics = match participant.settings.atomics {
        // UCX has them everywhere: its software does the atomics that no transport does.
        Atomics::Network => can_open(true).map_or_else(NetworkAtomics::None, |()| NetworkAtomics::Software),
        _ => NetworkAtomics::None("UCX does not tell whether a card does its own".into()),
    };
    Offers::one(TransportOffer { grade, detail: wanted.detail.unwrap_or_default().into(), atomics })
}

/// The detail names UCX's transports, in the words of `UCX_TLS`. Without it the environment or UCX decides.
fn open(participant: &Participant<'_>, choice: &Agreed<'_>) -> Result<Box<dyn Fabric>, Error> {
    let Participant { me, pes, settings, cards, .. } = *participant;
    let atomics = choice.atomics;
    let tls = Some(choice.detail.to_owned()).filter(|tls| !tls.is_empty());
    let cards = &cards[..cards.len().min(settings.rails.unwrap_or(1).into())];
    let context = UcxContext::new(tls.as_deref(), Devices::with(cards), pes, atomics)?;
    let net = Arc::new(Net::new(participant, context, atomics));
    net.open_service()?;
    let costly = if net.context.by_processors { Features::COSTLY_LOOKS } else { Features::empty() };
    let capabilities = Capabilities {
        features: Features::PINS | costly,
        amo: if atomics { AmoDomain::Network } else { AmoDomain::Processor },
        inject: COPIED,
        signal: Some(usize::MAX),
    };
    software::fill(me, participant.give_up(), Box::new(Ucx { net, capabilities, tls }), None)
}

struct Ucx {
    net: Arc<Net>,
    capabilities: Capabilities,
    tls: Option<String>,
}

impl Fabric for Ucx {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.net.regions.register(region, segment)
    }

    fn address(&self) -> Vec<u8> {
        self.net.address()
    }

    fn connect(&self, book: Box<dyn AddressBook>) -> Result<(), Error> {
        if self.net.peers.book.set(book).is_err() {
            return Err(Error::new("UCX: the fabric is connected already"));
        }
        Ok(())
    }

    fn drive(&self) -> Option<Arc<dyn Drive>> {
        Some(self.net.clone())
    }

    fn lane(&self, options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Ok(Box::new(UcxLane::new(self.net.clone(), options)?))
    }

    fn progress(&self) -> usize {
        self.net.look()
    }

    fn rest(&self, most: Duration) -> Option<usize> {
        Some(self.net.rest(most))
    }

    fn lost(&self) -> Option<Error> {
        self.net.losses.first().cloned()
    }

    fn leave(&self) {
        self.net.leave();
    }

    fn has_left(&self) -> bool {
        self.net.has_left()
    }

    fn close(&self) {
        if !self.net.closed.load(Ordering::Acquire) {
            self.net.tear_down();
        }
    }

    fn describe(&self) -> String {
        let tls = self.tls.clone().or_else(|| std::env::var("UCX_TLS").ok()).unwrap_or_else(|| "all".into());
        let UcxContext { ucx, devices, .. } = &*self.net.context;
        format!("ucx: UCX {}, transports {tls}, devices {devices}", version(ucx))
    }
}

impl Drop for Ucx {
    fn drop(&mut self) {
        self.close();
    }
}
