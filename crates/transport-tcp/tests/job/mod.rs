//! PEs over TCP.
#![allow(dead_code, reason = "every test program uses its part")]

use oxshmem_base::knobs::Settings;
use oxshmem_transport::suite::MemoryPe;
use oxshmem_transport::{Agreed, Fabric, Participant};
use oxshmem_transport_tcp::PROVIDER;

/// The secret of the job: its identity, then its key.
pub(crate) const SECRET: [u8; 48] = *b"a job of a test.and a key that nobody else has..";

/// PEs 0 and 1, connected, and their addresses.
pub(crate) fn connected() -> ([MemoryPe; 2], Vec<Vec<u8>>) {
    let mut pair = pair(|_| {});
    let addresses: Vec<_> = pair.iter().map(|pe| pe.fabric.address()).collect();
    pair.iter_mut().for_each(|pe| pe.connect(addresses.clone()));
    (pair, addresses)
}

/// PEs 0 and 1, not connected yet.
pub(crate) fn pair(change: impl Fn(&mut Settings)) -> [MemoryPe; 2] {
    let mut settings = Settings::default();
    change(&mut settings);
    [0, 1].map(|me| one_of_two(me, &settings, &SECRET))
}

/// PE `me` of the job of two that knows this secret.
pub(crate) fn one_of_two(me: u32, settings: &Settings, secret: &[u8; 48]) -> MemoryPe {
    MemoryPe::over(open(me, 2, settings, secret))
}

pub(crate) fn open(me: u32, pes: u32, settings: &Settings, secret: &[u8; 48]) -> Box<dyn Fabric> {
    (PROVIDER.open)(&Participant::new(me, pes, settings, secret), &Agreed::default()).expect("TCP opens")
}

/// The port on which a PE listens.
pub(crate) fn port(pe: &MemoryPe) -> u16 {
    let address = String::from_utf8(pe.fabric.address()).expect("an address is text");
    address.split_whitespace().nth(1).and_then(|port| port.parse().ok()).expect("an address begins with name and port")
}

/// The address of a PE, with another port.
pub(crate) fn address_at(pe: &MemoryPe, other: u16) -> Vec<u8> {
    let address = String::from_utf8(pe.fabric.address()).expect("an address is text");
    address.replacen(&port(pe).to_string(), &other.to_string(), 1).into_bytes()
}
