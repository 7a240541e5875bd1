//! The list of libfabric's endpoints here that serve: reliable datagram endpoints with messages and remote memory, of those that
//! the user has selected.
//!
//! How an endpoint is used follows from what its entry says of itself and never from its provider's name. Names decide only which of
//! several is the better one, and what a card does for it (`preference`); and the deprecated provider `sockets` is never used,
//! because it hangs.

use std::collections::BTreeSet;
use std::ffi::{CString, c_int};
use std::ptr;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;

use crate::delivery::{Delivery, EndpointWish, WISHES};
use crate::devices::slingshot;
use crate::info::Info;
use crate::library::{interface, library, meaning};
use crate::preference::EndpointKind;

/// The deprecated provider that is never used, because it hangs.
const SOCKETS: &str = "sockets";

/// The user's selection; a part that is not named is free.
#[derive(Clone, Default, Debug)]
pub(crate) struct Selection {
    /// `verbs;ofi_rxm`, `cxi`, ...: whole, or its first part.
    pub(crate) provider: Option<String>,
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

/// The kinds of endpoints that libfabric offers for `selection`, best first; or why there is none.
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

/// The answers of libfabric to our wishes, for the error if nothing fits.
#[derive(Default)]
struct ListedOffers {
    domains: BTreeSet<String>,
    providers: BTreeSet<String>,
    /// The error of the last question that libfabric has refused.
    refusal: Option<c_int>,
}

/// Everything that fits the selection, in libfabric's order, each with the first wish that it grants.
pub(crate) fn list(library: &'static Libfabric, selection: &Selection) -> Result<Vec<Info>, Error> {
    let mut found: Vec<Info> = Vec::new();
    let mut offers = ListedOffers::default();
    for wish in WISHES {
        let entries = match query(library, selection, wish) {
            Ok(entries) => entries,
            Err(code) => {
                offers.refusal = Some(code);
                continue;
            }
        };
        for info in entries {
            let same = |known: &Info| known.provider() == info.provider() && known.domain_name() == info.domain_name();
            // A read tells of the puts before it only where it stays behind them.
            let is_trusted = wish.delivery == Delivery::Complete || info.keeps_its_order();
            let suits = is_trusted && (!wish.only_software || info.is_software());
            offers.domains.insert(info.domain_name());
            offers.providers.insert(info.provider());
            if let Some(known) = found.iter_mut().find(|known| same(known)) {
                known.acknowledges |= info.acknowledges;
            } else if suits && fits(selection, &info) {
                found.push(info);
            }
        }
    }
    if found.is_empty() { Err(nothing_fits(library, selection, &offers)) } else { Ok(found) }
}

#[cold]
fn nothing_fits(library: &'static Libfabric, selection: &Selection, offers: &ListedOffers) -> Error {
    let wanted = [("provider", &selection.provider), ("fabric", &selection.fabric), ("domain", &selection.domain)];
    let wanted: Vec<String> =
        wanted.iter().filter_map(|(word, name)| Some(format!("{word} {}", name.as_ref()?))).collect();
    let wanted = if wanted.is_empty() { String::new() } else { format!(" with {}", wanted.join(", ")) };
    let what = if selection.atomics { "remote memory and its atomics" } else { "remote memory" };
    let error = Error::new(format!("libfabric offers no endpoint{wanted} for {what}"));
    let ListedOffers { domains: seen, providers, refusal } = offers;
    let hangs = |name: &String| core(name) == SOCKETS;
    let is_deprecated =
        selection.provider.as_ref().is_some_and(hangs) || (!providers.is_empty() && providers.iter().all(hangs));
    let is_elsewhere = !seen.is_empty()
        && selection.domain.as_ref().is_some_and(|names| domains(names).all(|name| !seen.contains(name)));
    let why = match *refusal {
        _ if is_deprecated => {
            format!("libfabric's provider {SOCKETS} is deprecated, and is never used because it hangs")
        }
        _ if is_elsewhere => {
            format!("the domains of its list are {}", seen.iter().cloned().collect::<Vec<String>>().join(", "))
        }
        None => "what its list has is of another kind".into(),
        Some(code) => meaning(library, code),
    };
    let fix: String = match slingshot() {
        _ if is_deprecated => {
            "let FI_PROVIDER and SHMEM_OFI_PROVIDER name another provider, for example tcp, or none; SHMEM_TRANSPORT=tcp \
             works without libfabric"
                .into()
        }
        Some(fix) => fix,
        None => "`fi_info -l` lists the providers that are here; SHMEM_TRANSPORT=tcp works without libfabric".into(),
    };
    error.because(why).fix(fix)
}

/// The domains of a list of the user's.
pub(crate) fn domains(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// The part of a provider's name that stands for the card or the sockets: `tcp` of `tcp;ofi_rxm`.
fn core(provider: &str) -> &str {
    provider.split(';').next().unwrap_or_default()
}

/// Names are compared here, because libfabric's own filter differs between versions. The name of a card's or a socket's
/// provider also stands for the layer that makes our kind of endpoint of it: `tcp` for `tcp;ofi_rxm`.
fn fits(selection: &Selection, info: &Info) -> bool {
    let provider = info.provider();
    let named = |wanted: &Option<String>, name: String| wanted.as_ref().is_none_or(|wanted| *wanted == name);
    let core = core(&provider);
    core != SOCKETS
        && selection.provider.as_ref().is_none_or(|wanted| *wanted == provider || *wanted == core)
        && named(&selection.fabric, info.place().0)
        && selection.domain.as_ref().is_none_or(|names| domains(names).any(|name| name == info.domain_name()))
}

/// One question to libfabric.
fn query(library: &'static Libfabric, selection: &Selection, wish: &EndpointWish) -> Result<Vec<Info>, c_int> {
    let EndpointWish { delivery, order, .. } = *wish;
    // SAFETY: the entry is null, which asks for an empty one.
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
        (*entry.tx_attr).op_flags = delivery.hint();
        if let Some(provider) = &provider {
            // Freed with the entry, by libfabric with `free`.
            (*entry.fabric_attr).prov_name = libc::strdup(provider.as_ptr());
        }
    }
    let (version, mut list) = (interface(library), ptr::null_mut());
    // SAFETY: the hints are an entry of libfabric's making; the list is freed below.
    let code = unsafe { (library.getinfo)(version, ptr::null(), ptr::null(), 0, hints.entry(), &raw mut list) };
    if code != 0 {
        return Err(code);
    }
    let mut found = Vec::new();
    let mut entry = list;
    while !entry.is_null() {
        // SAFETY: the entry is one of libfabric's list, which is freed below.
        if let Some(info) = unsafe { Info::copy(library, entry, delivery) } {
            // Puts and atomics say with each call when they are complete. A message need not be acknowledged.
            // SAFETY: libfabric's entries have all attributes, also those of the sending side, and the copy is ours.
            unsafe { (*(*info.entry()).tx_attr).op_flags &= !fi::FI_DELIVERY_COMPLETE };
            found.push(info);
        }
        // SAFETY: the entry is one of libfabric's list, which links it to the next one or to null.
        entry = unsafe { (*entry).next };
    }
    // SAFETY: the list that libfabric has just made.
    unsafe { (library.freeinfo)(list) };
    Ok(found)
}
