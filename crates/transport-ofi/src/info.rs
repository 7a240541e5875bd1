//! An entry of libfabric's list: what one endpoint demands and promises.

use std::ffi::{CStr, c_char, c_int};
use std::net::IpAddr;
use std::ptr::NonNull;

use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;

use crate::delivery::Delivery;
use crate::preference::EndpointKind;

/// libfabric's number for the protocol of `ofi_rxd`, its layer over datagrams. That layer promises orders and keeps none. Where the
/// window to a peer is full, operations wait for room. When there is room for a get among them, those behind it go on waiting, and the next
/// one that is issued goes at once, before them (libfabric 1.17: of two puts of a word behind a get, the first was there in the end).
const RXD: u32 = 12;

/// An entry of libfabric's list that is ours.
pub(crate) struct Info {
    pub(crate) library: &'static Libfabric,
    entry: NonNull<fi::fi_info>,
    /// When the endpoint completes an operation.
    pub(crate) delivery: Delivery,
    /// It completes single operations when their effect can be seen, if it is asked to, whatever `delivery` is.
    pub(crate) acknowledges: bool,
}

// SAFETY: the entry is plain memory, which nobody but its `Info` has.
unsafe impl Send for Info {}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: libfabric has made the entry for us, and nobody else frees it.
        unsafe { (self.library.freeinfo)(self.entry.as_ptr()) };
    }
}

impl Info {
    /// A copy of one entry of a list.
    ///
    /// # Safety
    /// `entry` is null or an entry that libfabric made.
    pub(crate) unsafe fn copy(
        library: &'static Libfabric,
        entry: *const fi::fi_info,
        delivery: Delivery,
    ) -> Option<Self> {
        // SAFETY: the entry is null, which makes an empty one, or an entry of libfabric's, by the caller's promise.
        let copy = unsafe { (library.dupinfo)(entry) };
        let acknowledges = delivery == Delivery::Complete;
        NonNull::new(copy).map(|entry| Self { library, entry, delivery, acknowledges })
    }

    pub(crate) fn entry(&self) -> *mut fi::fi_info {
        self.entry.as_ptr()
    }

    pub(crate) fn get(&self) -> &fi::fi_info {
        // SAFETY: the entry is ours while `self` lives.
        unsafe { self.entry.as_ref() }
    }

    pub(crate) fn tx(&self) -> &fi::fi_tx_attr {
        // SAFETY: libfabric's entries have all attributes.
        unsafe { &*self.get().tx_attr }
    }

    pub(crate) fn rx(&self) -> &fi::fi_rx_attr {
        // SAFETY: libfabric's entries have all attributes, also those of the receiving side.
        unsafe { &*self.get().rx_attr }
    }

    pub(crate) fn ep(&self) -> &fi::fi_ep_attr {
        // SAFETY: libfabric's entries have all attributes, also those of the endpoint.
        unsafe { &*self.get().ep_attr }
    }

    pub(crate) fn domain(&self) -> &fi::fi_domain_attr {
        // SAFETY: libfabric's entries have all attributes, also those of the domain.
        unsafe { &*self.get().domain_attr }
    }

    pub(crate) fn fabric(&self) -> &fi::fi_fabric_attr {
        // SAFETY: libfabric's entries have all attributes, also those of the fabric.
        unsafe { &*self.get().fabric_attr }
    }

    pub(crate) fn provider(&self) -> String {
        text(self.fabric().prov_name)
    }

    pub(crate) fn domain_name(&self) -> String {
        text(self.domain().name)
    }

    /// The kernel's name for its card, to which its domain's may add a word (EFA's `-rdm`). An entry that does not know its card has its
    /// domain's.
    pub(crate) fn card_name(&self) -> String {
        // SAFETY: the card's attributes are null or parts of the entry, which lives as long as `self`.
        let device = unsafe { self.get().nic.as_ref().and_then(|nic| nic.device_attr.as_ref()) };
        let name = device.map(|device| text(device.name)).filter(|name| !name.is_empty());
        name.unwrap_or_else(|| self.domain_name())
    }

    /// Its fabric and its domain.
    pub(crate) fn place(&self) -> (String, String) {
        (text(self.fabric().name), self.domain_name())
    }

    /// It reaches this host only: fabrics of sockets are named by their network.
    pub(crate) fn is_loopback(&self) -> bool {
        let (fabric, _) = self.place();
        let address = fabric.split('/').next().and_then(|address| address.parse::<IpAddr>().ok());
        address.is_some_and(|address| address.is_loopback())
    }

    /// Bits a second, if the entry knows its card.
    pub(crate) fn speed(&self) -> Option<usize> {
        // SAFETY: the card's attributes are null or parts of the entry, which lives as long as `self`.
        unsafe { Some(self.get().nic.as_ref()?.link_attr.as_ref()?.speed) }
    }

    /// The target's processor takes part in every operation.
    pub(crate) fn is_software(&self) -> bool {
        self.domain().data_progress == fi::FI_PROGRESS_MANUAL && !wants_pages(self.domain().mr_mode)
    }

    /// The longest operation. A put that is to be read back is no longer than those behind which a read takes effect, if the entry says how
    /// long these are.
    pub(crate) fn longest(&self) -> usize {
        let fi::fi_ep_attr { max_msg_size: most, max_order_raw_size: read_behind, .. } = *self.ep();
        if self.delivery == Delivery::ReadBack && read_behind > 0 { most.min(read_behind) } else { most }
    }

    /// The orders that it promises are kept. See [`RXD`].
    pub(crate) fn keeps_its_order(&self) -> bool {
        self.ep().protocol != RXD
    }

    /// Puts to one PE take effect in the order in which they were issued.
    pub(crate) fn orders_puts(&self) -> bool {
        let both = self.tx().msg_order & self.rx().msg_order;
        self.keeps_its_order() && both & fi::FI_ORDER_WAW != 0 && self.ep().max_order_waw_size >= self.ep().max_msg_size
    }

    /// Puts and atomics to one PE take effect in the order in which they were issued. An atomic writes, and may read: two that are under
    /// way may both do so.
    pub(crate) fn orders_atomics(&self) -> bool {
        let (both, wanted) =
            (self.tx().msg_order & self.rx().msg_order, fi::FI_ORDER_RAR | fi::FI_ORDER_RAW | fi::FI_ORDER_WAR);
        let longest = self.ep().max_order_raw_size.min(self.ep().max_order_war_size);
        both & wanted == wanted && longest >= self.ep().max_msg_size && self.orders_puts()
    }

    /// A message arrives after the puts before it have taken effect, and messages stay in order.
    pub(crate) fn orders_messages(&self) -> bool {
        let (both, wanted) = (self.tx().msg_order & self.rx().msg_order, fi::FI_ORDER_SAW | fi::FI_ORDER_SAS);
        both & wanted == wanted && self.orders_puts()
    }

    pub(crate) fn endpoint(&self) -> EndpointKind {
        // An entry that says nothing of either reaches all PEs.
        let reach = (self.get().caps | self.domain().caps) & (fi::FI_REMOTE_COMM | fi::FI_LOCAL_COMM);
        EndpointKind::of(self.provider(), wants_pages(self.domain().mr_mode), reach != fi::FI_LOCAL_COMM)
    }

    /// A speed and a network, if the entry knows its card.
    pub(crate) fn link(&self) -> Option<String> {
        // SAFETY: the card's attributes are null or parts of the entry, which lives as long as `self`.
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
    // SAFETY: libfabric's entries have strings that end in a zero byte.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

/// Whether the card itself reads and writes memory, whose pages have to be there.
fn wants_pages(mr_mode: c_int) -> bool {
    mr_mode & (fi::FI_MR_ALLOCATED | fi::FI_MR_ENDPOINT) != 0
}
