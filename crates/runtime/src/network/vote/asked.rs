//! The transport that the user asks for (`SHMEM_TRANSPORT`).

use oxshmem_base::knobs::Settings;
use oxshmem_base::{Error, names};
use oxshmem_transport::Provider;

/// The user's choice of a transport.
pub(super) enum AskedTransport<'s> {
    /// The best one.
    Best,
    /// None between nodes.
    Nothing,
    /// This provider, and the detail behind its name.
    One(&'static Provider, Option<&'s str>),
}

impl<'s> AskedTransport<'s> {
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
                let near = || names::nearest(&name.to_ascii_lowercase(), words()).unwrap_or("auto").to_owned();
                let meant = elsewhere(name, providers).unwrap_or_else(near);
                Err(Error::new(format!("SHMEM_TRANSPORT={text} cannot be read"))
                    .because(format!("the transports are {}", words().collect::<Vec<_>>().join(", ")))
                    .fix(format!("set SHMEM_TRANSPORT={meant} or leave it out")))
            }
        }
    }
}

/// Words by which other libraries call the memory of a node.
const MEMORY: [&str; 6] = ["sm", "smp", "vader", "xpmem", "cma", "posix"];

/// Our word for another library's.
fn elsewhere(word: &str, providers: &[&'static Provider]) -> Option<String> {
    let is_it = |theirs: &str| theirs.eq_ignore_ascii_case(word);
    if MEMORY.into_iter().any(is_it) {
        return Some("shm".to_owned());
    }
    providers.iter().find_map(|provider| match provider.elsewhere.iter().find(|(theirs, _)| is_it(theirs))? {
        (_, "") => Some(provider.name.to_owned()),
        (_, detail) => Some(format!("{}:{detail}", provider.name)),
    })
}
