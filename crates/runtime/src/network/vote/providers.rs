//! All providers. This is the only file outside a provider's crate that names one.

use oxshmem_transport::Provider;

/// The providers between nodes. Among equally good offers the earlier row wins.
pub(super) const PROVIDERS: &[&Provider] = &[
    &oxshmem_transport_ofi::PROVIDER,
    &oxshmem_transport_ucx::PROVIDER,
    &oxshmem_transport_tcp::PROVIDER,
    &oxshmem_transport_sim::PROVIDER,
];
