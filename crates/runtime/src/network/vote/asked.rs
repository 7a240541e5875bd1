//! The transport that the user asks for (`SHMEM_TRANSPORT`).

use oxshmem_base::knobs::Settings;
use oxshmem_base::{Error, names};
use oxshmem_transport::Provider;

/// The user's choice of a transport.
pub(super) enum Asked<'s> {
    /// The best one.
    Best,
    /// None between nodes.
    Nothing,
    /// This provider, and the detail behind its name.
    One(&'static Provider, Option<&'s str>),
}

impl<'s> Asked<'s> {
    pub(super) fn read(settings: &'s Settings, providers: &[&'static Provider]) -> Result<Self, Error> {
        let text = settings.transport.as_str();
        let (name, detail) = text.split_once(':').map_or((text, None), |(name, detail)| (name, Some(detail)));
        let provider = providers.iter().find(|provider| provider.name.eq_ignore_ascii_case(name));
        match (provider, detail) {
            (Some(provider), detail) => Ok(Self::One(provider, detail.filter(|detail| !detail.is_empty()))),
            (None, None) if name.eq_ignore_ascii_case("auto") => Ok(Self::Best),
            (None, None) if name.eq_ignore_ascii_case("shm") => Ok(Self::Nothing),
            _ => {
                let words = || ["auto", "shm"].into_iter().chain(providers.iter().map(|provider| provider.name));
                let meant = names::nearest(&name.to_ascii_lowercase(), words()).unwrap_or("auto");
                Err(Error::new(format!("SHMEM_TRANSPORT={text} cannot be read"))
                    .because(format!("the transports are {}", words().collect::<Vec<_>>().join(", ")))
                    .fix(format!("set SHMEM_TRANSPORT={meant} or leave it out")))
            }
        }
    }
}
