//! What libfabric offers here, and which of it serves: reliable datagram endpoints with messages and remote memory.
//!
//! How an endpoint is used follows from what its entry says of itself and never from its provider's name. Names decide
//! only which of several is the better one ([`STANDING`]), and the deprecated provider `sockets` is never used, because it
//! hangs.

use std::ffi::{CStr, CString, c_char, c_int};
use std::net::IpAddr;
use std::path::Path;
use std::ptr::{self, NonNull};

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;
use oxshmem_os::interfaces;

use crate::library::{library, meaning};

/// As many rails as a PE may have. Nodes have at most eight cards.
pub(crate) const MOST_RAILS: usize = 8;

/// What the user wants; what is not named is free.
#[derive(Clone, Default, Debug)]
pub(crate) struct Selection {
    /// `verbs;ofi_rxm`, `cxi`, ...: whole, or its first part.
    pub(crate) provider: Option<String>,
    /// The fabric.
    pub(crate) fabric: Option<String>,
    /// The domain: a card, an interface; or several, separated by commas, for rails in this order.
    pub(crate) domain: Option<String>,
    /// The cards from the nearest one on, used in this order if they are there.
    pub(crate) nearest: Vec<String>,
    /// Over how many cards long transfers are spread; without it over as many as `cards_each` says, if they are cards.
    pub(crate) rails: Option<usize>,
    /// How many of the node's cards are this PE's, if they are shared evenly.
    pub(crate) cards_each: usize,
    /// Number of PEs of the job.
    pub(crate) pes: u32,
    /// The endpoint is to do atomics.
    pub(crate) atomics: bool,
}

/// A kind of endpoint that could carry the job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EndpointKind {
    /// The provider's full name.
    pub(crate) provider: String,
    /// The domain it would use.
    pub(crate) domain: String,
    /// A card does the work: it wants memory that is really there. The others are software on this machine's processors.
    pub(crate) card: bool,
    /// It reaches other hosts.
    pub(crate) remote: bool,
    /// The provider drives the card itself; otherwise one provider makes our kind of endpoint of another's.
    pub(crate) native: bool,
}

/// What libfabric offers of what `selection` wants, best first; or why there is nothing.
pub(crate) fn endpoints(selection: &Selection) -> Result<Vec<EndpointKind>, Error> {
    let mut endpoints: Vec<EndpointKind> = Vec::new();
    for info in list(library(selection.pes)?, selection)? {
        let endpoint = info.endpoint();
        if endpoints.iter().all(|known| known.provider != endpoint.provider) {
            endpoints.push(endpoint);
        }
    }
    endpoints.sort_by_key(EndpointKind::order);
    Ok(endpoints)
}

/// Whether the kernel shows a device of a kind that libfabric drives. To ask libfabric itself takes a quarter of a second,
/// because it opens the libraries of all cards. Providers without such a device are software.
pub(crate) fn has_device() -> bool {
    has_device_below(Path::new("/sys/class"))
}

/// Classes of the kernel's devices: cards for verbs, which EFA, Omni-Path and usNIC are too, and Slingshot. Omni-Path
/// without its verbs has a class of its own.
const CLASSES: &[&str] = &["infiniband", "cxi", "hfi1"];

fn has_device_below(classes: &Path) -> bool {
    let has_entry =
        |class: &&str| std::fs::read_dir(classes.join(class)).is_ok_and(|mut entries| entries.next().is_some());
    CLASSES.iter().any(has_entry)
}

/// Providers from the fastest to the slowest, by the names of those that drive the network: networks made for this first,
/// then sockets. One that nobody has heard of stands where the empty name is. (`net` is what libfabric 1.16 and 1.17 call
/// endpoints of their own over sockets; a put takes milliseconds there, so the layered `tcp` goes before it.)
const STANDING: &[&str] = &["cxi", "verbs", "efa", "psm3", "opx", "psm2", "usnic", "", "tcp", "udp", "net", "sockets"];

impl EndpointKind {
    /// The lesser, the better: what reaches other hosts, by the standing of its provider; a card before software and the
    /// provider's own endpoints before those of a layer above.
    fn order(&self) -> (bool, usize, bool, bool) {
        let core = self.provider.split(';').next().unwrap_or_default();
        let place = |name| STANDING.iter().position(|&known| known == name);
        let standing = place(core).or_else(|| place("")).unwrap_or(0);
        (!self.remote, standing, !self.card, !self.native)
    }
}

/// Does the card itself do what we need of memory at rest: it reads and writes pages that have to be there.
fn wants_pages(mr_mode: c_int) -> bool {
    mr_mode & (fi::FI_MR_ALLOCATED | fi::FI_MR_ENDPOINT) != 0
}

/// When an operation of ours is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivery {
    /// When its effect can be seen at the target.
    Complete,
    /// When the target's card has it: a read behind it makes sure.
    ReadBack,
}

/// An entry of libfabric's list that is ours.
pub(crate) struct Info {
    pub(crate) library: &'static Libfabric,
    entry: NonNull<fi::fi_info>,
    pub(crate) delivery: Delivery,
}

// SAFETY: the entry is plain memory of ours alone.
unsafe impl Send for Info {}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: made by libfabric for us, freed once.
        unsafe { (self.library.freeinfo)(self.entry.as_ptr()) };
    }
}

impl Info {
    /// A copy of one entry of a list.
    ///
    /// # Safety
    /// `entry` is null or an entry that libfabric made.
    unsafe fn copy(library: &'static Libfabric, entry: *const fi::fi_info, delivery: Delivery) -> Option<Self> {
        // SAFETY: the caller's promise; null makes an empty entry.
        let copy = unsafe { (library.dupinfo)(entry) };
        NonNull::new(copy).map(|entry| Self { library, entry, delivery })
    }

    pub(crate) fn entry(&self) -> *mut fi::fi_info {
        self.entry.as_ptr()
    }

    pub(crate) fn get(&self) -> &fi::fi_info {
        // SAFETY: ours while `self` lives.
        unsafe { self.entry.as_ref() }
    }

    pub(crate) fn tx(&self) -> &fi::fi_tx_attr {
        // SAFETY: libfabric's entries have all attributes.
        unsafe { &*self.get().tx_attr }
    }

    pub(crate) fn rx(&self) -> &fi::fi_rx_attr {
        // SAFETY: as above.
        unsafe { &*self.get().rx_attr }
    }

    pub(crate) fn ep(&self) -> &fi::fi_ep_attr {
        // SAFETY: as above.
        unsafe { &*self.get().ep_attr }
    }

    pub(crate) fn domain(&self) -> &fi::fi_domain_attr {
        // SAFETY: as above.
        unsafe { &*self.get().domain_attr }
    }

    pub(crate) fn fabric(&self) -> &fi::fi_fabric_attr {
        // SAFETY: as above.
        unsafe { &*self.get().fabric_attr }
    }

    pub(crate) fn provider(&self) -> String {
        text(self.fabric().prov_name)
    }

    pub(crate) fn domain_name(&self) -> String {
        text(self.domain().name)
    }

    /// Its fabric and its domain.
    pub(crate) fn place(&self) -> (String, String) {
        (text(self.fabric().name), self.domain_name())
    }

    /// It reaches this host only: fabrics of sockets are named by their network.
    fn is_loopback(&self) -> bool {
        let (fabric, _) = self.place();
        let address = fabric.split('/').next().and_then(|address| address.parse::<IpAddr>().ok());
        address.is_some_and(|address| address.is_loopback())
    }

    /// Bits a second, if the entry knows its card.
    fn speed(&self) -> Option<usize> {
        // SAFETY: null or part of the entry, as its members are.
        unsafe { Some(self.get().nic.as_ref()?.link_attr.as_ref()?.speed) }
    }

    /// The target's processor takes part in every operation.
    fn is_software(&self) -> bool {
        self.domain().data_progress == fi::FI_PROGRESS_MANUAL && !wants_pages(self.domain().mr_mode)
    }

    /// Puts to one PE take effect in the order in which they were issued.
    pub(crate) fn orders_puts(&self) -> bool {
        let both = self.tx().msg_order & self.rx().msg_order;
        both & fi::FI_ORDER_WAW != 0 && self.ep().max_order_waw_size >= self.ep().max_msg_size
    }

    /// Puts and atomics to one PE take effect in the order in which they were issued. An atomic writes, and may read.
    pub(crate) fn orders_atomics(&self) -> bool {
        let (both, wanted) = (self.tx().msg_order & self.rx().msg_order, fi::FI_ORDER_RAW | fi::FI_ORDER_WAR);
        let longest = self.ep().max_order_raw_size.min(self.ep().max_order_war_size);
        both & wanted == wanted && longest >= self.ep().max_msg_size && self.orders_puts()
    }

    /// A message arrives after the puts before it have taken effect, and messages stay in order.
    pub(crate) fn orders_messages(&self) -> bool {
        let (both, wanted) = (self.tx().msg_order & self.rx().msg_order, fi::FI_ORDER_SAW | fi::FI_ORDER_SAS);
        both & wanted == wanted && self.orders_puts()
    }

    /// Why another entry is no rail beside this one.
    fn unlike(&self, other: &Info, selection: &Selection) -> Option<Unlike> {
        if self.provider() != other.provider() || self.domain_name() == other.domain_name() {
            return Some(Unlike::Other);
        }
        let named = selection.domain.is_some();
        let because = |why: String| Some(Unlike::Because(why));
        if self.delivery != other.delivery {
            return because("it completes puts in another way".into());
        }
        // Long transfers end with their slowest piece.
        let speeds = self.speed().zip(other.speed()).filter(|(mine, theirs)| mine != theirs);
        match speeds.filter(|_| !named && selection.rails.is_none()) {
            Some((mine, theirs)) => because(format!("its link has {theirs} bits a second and not {mine}")),
            None if other.is_loopback() && !named => Some(Unlike::Other),
            None => None,
        }
    }

    pub(crate) fn endpoint(&self) -> EndpointKind {
        let provider = self.provider();
        // Who says nothing of either reaches everybody.
        let reach = (self.get().caps | self.domain().caps) & (fi::FI_REMOTE_COMM | fi::FI_LOCAL_COMM);
        let remote = reach != fi::FI_LOCAL_COMM;
        let card = wants_pages(self.domain().mr_mode) && remote;
        EndpointKind { native: !provider.contains(';'), provider, domain: self.domain_name(), card, remote }
    }

    /// A speed and a network, if the entry knows its card.
    pub(crate) fn link(&self) -> Option<String> {
        // SAFETY: null or part of the entry, as its members are.
        let link = unsafe { self.get().nic.as_ref()?.link_attr.as_ref()? };
        let network = text(link.network_type);
        let speed = format!("{} Gb/s", link.speed / 1_000_000_000);
        (link.speed >= 1_000_000_000).then(|| format!("{network} {speed}").trim().to_owned())
    }
}

fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: a string of an entry that libfabric made.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

/// Why an entry is no rail beside another.
enum Unlike {
    /// It is something else altogether.
    Other,
    Because(String),
}

/// What we would like of an endpoint's ordering and completions, the best first. The first wish is for endpoints whose
/// target's software would have to acknowledge every put; a card does that by itself.
const WISHES: &[(Delivery, u64)] = &[
    (Delivery::ReadBack, fi::FI_ORDER_RAW | fi::FI_ORDER_WAW | fi::FI_ORDER_SAW | fi::FI_ORDER_SAS),
    (Delivery::Complete, fi::FI_ORDER_WAW | fi::FI_ORDER_SAW | fi::FI_ORDER_SAS),
    (Delivery::Complete, 0),
    (Delivery::ReadBack, fi::FI_ORDER_RAW | fi::FI_ORDER_WAW | fi::FI_ORDER_SAW | fi::FI_ORDER_SAS),
    (Delivery::ReadBack, fi::FI_ORDER_RAW),
];

/// Everything that fits the selection, in libfabric's order, each with the first wish that it grants.
fn list(library: &'static Libfabric, selection: &Selection) -> Result<Vec<Info>, Error> {
    let mut found: Vec<Info> = Vec::new();
    let mut refusal = 0;
    for (i, &(delivery, order)) in WISHES.iter().enumerate() {
        match query(library, selection, delivery, order) {
            Ok(entries) => {
                for info in entries {
                    let same =
                        |known: &Info| known.provider() == info.provider() && known.domain_name() == info.domain_name();
                    let suits = i > 0 || info.is_software();
                    if suits && !found.iter().any(same) && fits(selection, &info) {
                        found.push(info);
                    }
                }
            }
            Err(error) => refusal = error,
        }
    }
    if found.is_empty() {
        let wanted = [("provider", &selection.provider), ("fabric", &selection.fabric), ("domain", &selection.domain)];
        let wanted: Vec<String> =
            wanted.iter().filter_map(|(word, name)| Some(format!("{word} {}", name.as_ref()?))).collect();
        let wanted = if wanted.is_empty() { String::new() } else { format!(" with {}", wanted.join(", ")) };
        let what = if selection.atomics { "remote memory and its atomics" } else { "remote memory" };
        let error = Error::new(format!("libfabric offers no endpoint{wanted} for {what}"));
        let why = match refusal {
            0 => "what its list has is of another kind".into(),
            code => meaning(library, code),
        };
        return Err(error.because(why).fix(slingshot().unwrap_or_else(|| {
            "`fi_info -l` lists the providers that are here; SHMEM_TRANSPORT=tcp works without libfabric".into()
        })));
    }
    Ok(found)
}

/// What a PE opens.
pub(crate) struct Chosen {
    pub(crate) first: Info,
    /// For its further rails.
    pub(crate) further: Vec<Info>,
    /// Cards that were wanted as rails and do not serve, with reasons.
    pub(crate) missing: Vec<String>,
}

/// The entries to use: of the nearest card that is among them, and as many further ones as are wanted, of the same kind.
/// Among interfaces those come first that lead out of the host.
pub(crate) fn choose(library: &'static Libfabric, selection: &Selection) -> Result<Chosen, Error> {
    let mut found = list(library, selection)?;
    let named: Vec<&str> = selection.domain.iter().flat_map(|names| domains(names)).collect();
    let order = match named[..] {
        [_, _, ..] => named,
        _ => selection.nearest.iter().map(String::as_str).collect(),
    };
    let place = |info: &Info| order.iter().position(|name| info.domain_name() == *name).unwrap_or(order.len());
    let leading_out = interfaces::leading_out();
    // Stable: libfabric's order otherwise.
    found.sort_by_key(|info| (place(info), info.endpoint().order(), !leading_out.contains(&info.domain_name())));
    let first = found.remove(0);
    let usual = if first.endpoint().card { selection.cards_each } else { 1 };
    let wanted = selection.rails.unwrap_or(usual).clamp(1, MOST_RAILS);
    let (mut further, mut missing) = (Vec::new(), Vec::new());
    found.sort_by_key(place);
    for info in found {
        if further.len() + 1 == wanted {
            break;
        }
        match first.unlike(&info, selection) {
            None => further.push(info),
            Some(Unlike::Other) => {}
            Some(Unlike::Because(why)) => missing.push(format!("{} ({why})", info.domain_name())),
        }
    }
    if let Some(asked) = selection.rails.filter(|&asked| asked > 1 + further.len() + missing.len()) {
        let more = asked - 1 - further.len() - missing.len();
        missing.push(format!("{more} more that SHMEM_RAILS={asked} asks for"));
    }
    Ok(Chosen { first, further, missing })
}

/// The domains of a list of the user's.
fn domains(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// Names are compared here, because libfabric's own filter differs between versions. The name of a card's or a socket's
/// provider also stands for the layer that makes our kind of endpoint of it: `tcp` for `tcp;ofi_rxm`.
fn fits(selection: &Selection, info: &Info) -> bool {
    let provider = info.provider();
    let named = |wanted: &Option<String>, name: String| wanted.as_ref().is_none_or(|wanted| *wanted == name);
    let core = provider.split(';').next().unwrap_or_default();
    // The deprecated one hangs.
    core != "sockets"
        && selection.provider.as_ref().is_none_or(|wanted| *wanted == provider || *wanted == core)
        && named(&selection.fabric, text(info.fabric().name))
        && selection.domain.as_ref().is_none_or(|names| domains(names).any(|name| name == info.domain_name()))
}

/// One question to libfabric.
fn query(
    library: &'static Libfabric,
    selection: &Selection,
    delivery: Delivery,
    order: u64,
) -> Result<Vec<Info>, c_int> {
    // SAFETY: null asks for an empty entry.
    let hints = unsafe { Info::copy(library, ptr::null(), delivery) }.ok_or(-fi::FI_ENOMEM)?;
    let provider = selection.provider.as_deref().and_then(|name| CString::new(name).ok());
    // SAFETY: an empty entry of ours has all attributes.
    unsafe {
        let entry = &mut *hints.entry();
        entry.caps = fi::FI_MSG | fi::FI_RMA | if selection.atomics { fi::FI_ATOMIC } else { 0 };
        entry.mode = fi::FI_CONTEXT | fi::FI_CONTEXT2;
        (*entry.ep_attr).type_ = fi::FI_EP_RDM;
        let domain = &mut *entry.domain_attr;
        domain.mr_mode =
            fi::FI_MR_LOCAL | fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY | fi::FI_MR_ENDPOINT;
        domain.threading = fi::FI_THREAD_DOMAIN;
        domain.resource_mgmt = fi::FI_RM_ENABLED;
        (*entry.tx_attr).msg_order = order;
        (*entry.rx_attr).msg_order = order;
        (*entry.tx_attr).op_flags = match delivery {
            Delivery::Complete => fi::FI_DELIVERY_COMPLETE,
            Delivery::ReadBack => 0,
        };
        if let Some(provider) = &provider {
            // Freed with the entry, by libfabric with `free`.
            (*entry.fabric_attr).prov_name = libc::strdup(provider.as_ptr());
        }
    }
    let mut list = ptr::null_mut();
    // SAFETY: the hints are an entry of libfabric's making; the list is freed below.
    let code = unsafe { (library.getinfo)(fi::VERSION, ptr::null(), ptr::null(), 0, hints.entry(), &raw mut list) };
    if code != 0 {
        return Err(code);
    }
    let mut found = Vec::new();
    let mut entry = list;
    while !entry.is_null() {
        // SAFETY: an entry of libfabric's list.
        found.extend(unsafe { Info::copy(library, entry, delivery) });
        // SAFETY: as above.
        entry = unsafe { (*entry).next };
    }
    // SAFETY: the list that libfabric has just made.
    unsafe { (library.freeinfo)(list) };
    Ok(found)
}

/// A machine with Slingshot cards lets a job use them only if its launcher has asked for it; the variables tell.
fn slingshot() -> Option<String> {
    let card = std::fs::read_dir("/sys/class/cxi").ok()?.next()?.ok()?.file_name();
    let missing: Vec<&str> = ["SLINGSHOT_VNIS", "SLINGSHOT_SVC_IDS", "SLINGSHOT_DEVICES"]
        .into_iter()
        .filter(|name| std::env::var_os(name).is_none())
        .collect();
    let card = card.to_string_lossy().into_owned();
    Some(if missing.is_empty() {
        format!("this node has the Slingshot card {card} and the job has a VNI: look whether `fi_info -p cxi` finds it")
    } else {
        format!(
            "this node has the Slingshot card {card}, but the job has no VNI ({} not set): start it with \
             `srun --network=job_vni,def_tles=0` or `mpiexec --single-node-vni`",
            missing.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(non_snake_case, reason = "tests carry the number of the fault")]
    fn fault_P2_devices_are_found_without_libfabric() {
        let classes = std::env::temp_dir().join(format!("oxshmem-ofi-classes-{}", std::process::id()));
        assert!(!has_device_below(&classes));
        // A class without a device: the module is loaded and there is no card.
        std::fs::create_dir_all(classes.join("infiniband")).expect("a folder");
        std::fs::create_dir_all(classes.join("net/eth0")).expect("a folder");
        assert!(!has_device_below(&classes));
        for device in ["infiniband/efa_0", "cxi/cxi0"] {
            std::fs::create_dir_all(classes.join(device)).expect("a folder");
            assert!(has_device_below(&classes), "{device}");
            std::fs::remove_dir(classes.join(device)).expect("it was there");
        }
        std::fs::remove_dir_all(&classes).expect("it was there");
    }

    #[test]
    fn networks_made_for_this_go_before_sockets_and_the_slow_ones_last() {
        let offer = |provider: &str, card, remote| EndpointKind {
            provider: provider.into(),
            domain: String::new(),
            card,
            remote,
            native: !provider.contains(';'),
        };
        let mut offers = vec![
            offer("shm", false, false),
            offer("net", false, true),
            offer("udp;ofi_rxd", false, true),
            offer("tcp;ofi_rxm", false, true),
            offer("tcp", false, true),
            offer("pigeon", true, true),
            offer("psm3", false, true),
            offer("verbs;ofi_rxm", true, true),
            offer("verbs", true, true),
            offer("efa", true, true),
            offer("cxi", true, true),
        ];
        offers.sort_by_key(EndpointKind::order);
        let names: Vec<&str> = offers.iter().map(|offer| offer.provider.as_str()).collect();
        let wanted = [
            "cxi",
            "verbs",
            "verbs;ofi_rxm",
            "efa",
            "psm3",
            "pigeon",
            "tcp",
            "tcp;ofi_rxm",
            "udp;ofi_rxd",
            "net",
            "shm",
        ];
        assert_eq!(names, wanted);
    }
}
