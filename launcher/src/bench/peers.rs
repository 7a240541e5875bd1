//! The libraries that `--compare` knows: where they are installed, and how each is told which network carries its messages.

use std::path::{Path, PathBuf};

use oxshmem_base::Error;

use crate::machine::beside;

/// A library that is measured beside ours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PeerLibrary {
    pub(crate) kind: PeerKind,
    /// Where it is installed; otherwise it is looked for on `PATH`.
    prefix: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerKind {
    OpenMpi,
    Sandia,
    OsssUcx,
}

/// The carrier of messages between nodes, as `SHMEM_TRANSPORT` names it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MessageCarrier {
    /// Each library's own way over TCP.
    Tcp,
    /// libfabric's provider.
    Libfabric(String),
    /// UCX's transports.
    Ucx(String),
}

/// Words for a launcher, and variables of the job.
#[derive(Default)]
pub(crate) struct PeerSettings {
    pub(crate) words: Vec<String>,
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl PeerKind {
    const ALL: [Self; 3] = [Self::OpenMpi, Self::Sandia, Self::OsssUcx];

    /// Its word on the command line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Sandia => "sandia",
            Self::OsssUcx => "osss-ucx",
        }
    }

    /// Its name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI",
            Self::Sandia => "Sandia OpenSHMEM",
            Self::OsssUcx => "OSSS-UCX",
        }
    }

    /// The carrier of its messages and ours, where the user does not say.
    fn usual_carrier(self) -> MessageCarrier {
        match self {
            Self::OpenMpi => MessageCarrier::Tcp,
            Self::Sandia => MessageCarrier::Libfabric("tcp".into()),
            Self::OsssUcx => MessageCarrier::Ucx("tcp".into()),
        }
    }

    /// How it is told to use a carrier, on this machine's loopback device if the nodes are this machine's; `None`: it cannot.
    pub(crate) fn settings(self, carrier: &MessageCarrier, on_loopback: bool) -> Option<PeerSettings> {
        let mut settings = PeerSettings::default();
        let mut set = |name, value: &str| settings.variables.push((name, value.to_owned()));
        match (self, carrier) {
            (_, MessageCarrier::Ucx(tls)) => set("UCX_TLS", &format!("{tls},self")),
            (Self::OpenMpi, MessageCarrier::Tcp) => set("UCX_TLS", "tcp,self"),
            (Self::Sandia, MessageCarrier::Libfabric(provider)) => set("SHMEM_OFI_PROVIDER", provider),
            (Self::OpenMpi, MessageCarrier::Libfabric(_)) => {}
            (Self::Sandia | Self::OsssUcx, MessageCarrier::Tcp) | (Self::OsssUcx, MessageCarrier::Libfabric(_)) => {
                return None;
            }
        }
        if on_loopback {
            carrier.loopback().into_iter().for_each(|(name, value)| set(name, value));
        }
        if self == Self::OpenMpi {
            let carried: &[(&str, &str)] = match carrier {
                MessageCarrier::Tcp if on_loopback => {
                    &[("pml", "ob1"), ("btl", "tcp,self"), ("btl_tcp_if_include", "lo")]
                }
                MessageCarrier::Tcp => &[("pml", "ob1"), ("btl", "tcp,self")],
                // It takes UCX for cards alone unless it is told otherwise.
                MessageCarrier::Ucx(_) => &[("pml", "ucx"), ("pml_ucx_tls", "any"), ("pml_ucx_devices", "any")],
                MessageCarrier::Libfabric(provider) => {
                    &[("pml", "cm"), ("mtl", "ofi"), ("mtl_ofi_provider_include", provider)]
                }
            };
            // No memory of the node.
            for (name, value) in [("osc", "^rdma"), ("coll", "^sm")].iter().chain(carried) {
                settings.words.extend(["--mca", name, value].map(String::from));
            }
            // Its launcher hands on what it is asked to.
            for (name, _) in &settings.variables {
                settings.words.extend(["-x", name].map(String::from));
            }
        }
        Some(settings)
    }
}

impl MessageCarrier {
    /// The variables that keep its libraries on the loopback device.
    fn loopback(&self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Tcp => vec![("UCX_NET_DEVICES", "lo")],
            Self::Ucx(names) if names.split(',').any(|name| name == "tcp") => vec![("UCX_NET_DEVICES", "lo")],
            Self::Libfabric(provider) if provider == "tcp" => vec![("FI_TCP_IFACE", "lo")],
            Self::Ucx(_) | Self::Libfabric(_) => Vec::new(),
        }
    }

    /// How our own library is told, with the variables of the carrier's library.
    pub(crate) fn ours(&self, on_loopback: bool) -> Vec<(&'static str, String)> {
        let loopback = if on_loopback { self.loopback() } else { Vec::new() };
        let variables = loopback.into_iter().map(|(name, value)| (name, value.to_owned()));
        [("SHMEM_TRANSPORT", self.to_string())].into_iter().chain(variables).collect()
    }
}

impl std::fmt::Display for MessageCarrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp => f.write_str("tcp"),
            Self::Libfabric(provider) => write!(f, "ofi:{provider}"),
            Self::Ucx(tls) => write!(f, "ucx:{tls}"),
        }
    }
}

/// The carrier that `--over` names.
pub(crate) fn carrier(text: &str) -> Result<MessageCarrier, String> {
    match text.split_once(':') {
        None if text == "tcp" => Ok(MessageCarrier::Tcp),
        Some(("ofi", provider)) if !provider.is_empty() => Ok(MessageCarrier::Libfabric(provider.into())),
        Some(("ucx", tls)) if !tls.is_empty() => Ok(MessageCarrier::Ucx(tls.into())),
        _ => Err(format!("`{text}` is none of tcp, ofi:PROVIDER, ucx:TRANSPORTS")),
    }
}

/// A library of `--compare`: its word, and perhaps where it is installed.
pub(crate) fn peer(text: &str) -> Result<PeerLibrary, String> {
    let (word, prefix) = text.split_once('=').map_or((text, None), |(word, prefix)| (word, Some(prefix.into())));
    let words = PeerKind::ALL.map(PeerKind::word).join(", ");
    let kind = PeerKind::ALL.into_iter().find(|kind| kind.word() == word);
    let kind = kind.ok_or_else(|| format!("`{word}` is none of {words}, each perhaps with =PREFIX"))?;
    Ok(PeerLibrary { kind, prefix })
}

/// The carrier of our messages and those of all peers: the user's, otherwise the one that the peers usually take.
pub(crate) fn agreed(over: Option<&MessageCarrier>, peers: &[PeerLibrary]) -> Result<Option<MessageCarrier>, Error> {
    let carrier = over.cloned().or_else(|| peers.first().map(|peer| peer.kind.usual_carrier()));
    let other = peers.iter().find(|peer| over.is_none() && Some(peer.kind.usual_carrier()) != carrier);
    match (&carrier, other) {
        (Some(carrier), Some(other)) => Err(Error::new("--compare: these libraries do not use the same carrier")
            .because(format!(
                "{} usually takes {carrier}, {} {}",
                peers[0].kind.name(),
                other.kind.name(),
                other.kind.usual_carrier()
            ))
            .fix("name one for all: --over ofi:tcp, --over ucx:tcp")),
        _ => Ok(carrier),
    }
}

impl PeerLibrary {
    /// The folder of its tools.
    pub(crate) fn tools(&self) -> Result<PathBuf, Error> {
        let (word, name) = (self.kind.word(), self.kind.name());
        if let Some(prefix) = &self.prefix {
            let bin = prefix.join("bin");
            let missing = ["oshcc", "oshrun"].into_iter().find(|tool| !bin.join(tool).is_file());
            return missing.map_or(Ok(bin), |tool| {
                Err(Error::new(format!("--compare {word}={}: {name} is not there", prefix.display()))
                    .because(format!("there is no bin/{tool}"))
                    .fix("name the folder that has its bin/oshcc and bin/oshrun"))
            });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        // Only Open MPI has a tool with a name of its own.
        let has_it = |folder: &PathBuf| folder.join("oshmem_info").is_file() && !is_ours(&folder.join("oshmem_info"));
        let found = std::env::split_paths(&path).find(|folder| self.kind == PeerKind::OpenMpi && has_it(folder));
        found.ok_or_else(|| {
            let why = match self.kind {
                PeerKind::OpenMpi => "no folder of PATH has an oshmem_info that is not ours",
                _ => "its tools have the names of ours",
            };
            Error::new(format!("--compare {word}: {name} is not found")).because(why).fix(match self.kind {
                PeerKind::OpenMpi => {
                    "install it (Debian: apt install openmpi-bin libopenmpi-dev), or name its folder: openmpi=PREFIX"
                }
                _ => "name the folder in which it is installed: --compare LIBRARY=PREFIX",
            })
        })
    }

    /// The words behind its launcher, and the variables of its jobs.
    pub(crate) fn settings(&self, carrier: Option<&MessageCarrier>, on_loopback: bool) -> Result<PeerSettings, Error> {
        let Some(carrier) = carrier else { return Ok(PeerSettings::default()) };
        self.kind.settings(carrier, on_loopback).ok_or_else(|| {
            Error::new(format!("--over {carrier}: {} cannot use this carrier", self.kind.name()))
                .because("none of its variables or options chooses it")
                .fix(format!("leave --over out: its messages and ours go over {} then", self.kind.usual_carrier()))
        })
    }
}

/// Whether a tool belongs to this installation, perhaps by another name.
fn is_ours(tool: &Path) -> bool {
    let ours = beside("osh_info").ok().and_then(|tool| tool.canonicalize().ok());
    ours.is_some() && tool.canonicalize().ok() == ours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str) -> PeerLibrary {
        peer(text).expect("a library")
    }

    #[test]
    fn a_library_goes_by_its_word_and_perhaps_its_folder() {
        assert_eq!(known("openmpi"), PeerLibrary { kind: PeerKind::OpenMpi, prefix: None });
        assert_eq!(known("sandia=/opt/sos"), PeerLibrary { kind: PeerKind::Sandia, prefix: Some("/opt/sos".into()) });
        assert!(peer("mpich").is_err_and(|why| why.contains("openmpi, sandia, osss-ucx")));
        let nowhere = known("osss-ucx=/nowhere").tools().expect_err("nothing is there");
        assert!(nowhere.to_string().contains("bin/oshcc"), "{nowhere}");
        let unnamed = known("sandia").tools().expect_err("its tools have the names of ours");
        assert!(unnamed.to_string().contains("LIBRARY=PREFIX"), "{unnamed}");
    }

    #[test]
    fn all_libraries_of_a_run_use_one_carrier() {
        let (sandia, osss) = (known("sandia=/a"), known("osss-ucx=/b"));
        let carrier =
            |over, peers: &[PeerLibrary]| agreed(over, peers).map(|carrier| carrier.map(|carrier| carrier.to_string()));
        assert_eq!(carrier(None, std::slice::from_ref(&sandia)).ok().flatten().as_deref(), Some("ofi:tcp"));
        assert_eq!(carrier(None, std::slice::from_ref(&osss)).ok().flatten().as_deref(), Some("ucx:tcp"));
        assert!(carrier(None, &[sandia.clone(), osss.clone()]).is_err());
        let ucx = MessageCarrier::Ucx("tcp".into());
        assert_eq!(carrier(Some(&ucx), &[sandia, osss]).ok().flatten().as_deref(), Some("ucx:tcp"));
        assert!(carrier(None, &[]).is_ok_and(|none| none.is_none()));
    }

    #[test]
    fn each_library_is_told_of_the_carrier_in_its_own_words() {
        let told = |kind: PeerKind, text: &str| kind.settings(&carrier(text).expect("a carrier"), true);
        let variables = |kind, text| told(kind, text).expect("a way").variables;
        let pair = |name, value: &str| (name, value.to_owned());
        assert_eq!(
            variables(PeerKind::Sandia, "ofi:tcp"),
            [pair("SHMEM_OFI_PROVIDER", "tcp"), pair("FI_TCP_IFACE", "lo")]
        );
        assert_eq!(variables(PeerKind::Sandia, "ofi:shm"), [pair("SHMEM_OFI_PROVIDER", "shm")]);
        assert_eq!(
            variables(PeerKind::OsssUcx, "ucx:tcp"),
            [pair("UCX_TLS", "tcp,self"), pair("UCX_NET_DEVICES", "lo")]
        );
        assert!(told(PeerKind::OsssUcx, "ofi:tcp").is_none() && told(PeerKind::Sandia, "tcp").is_none());
        let words = told(PeerKind::OpenMpi, "tcp").expect("a way").words.join(" ");
        assert!(words.contains("--mca btl tcp,self") && words.contains("-x UCX_TLS"), "{words}");
        assert_eq!(
            MessageCarrier::Libfabric("tcp".into()).ours(true),
            [pair("SHMEM_TRANSPORT", "ofi:tcp"), pair("FI_TCP_IFACE", "lo")]
        );
        assert!(carrier("udp").is_err() && carrier("ofi:").is_err());
    }
}
