//! Registered memory: what this PE has registered, and what it knows of its peers'.
//!
//! A region that grows is registered piece by piece; a registration never moves. What a peer has registered since its
//! card was made is asked for when it is first needed.

use oxshmem_base::Error;
use oxshmem_transport::{OutOfRange, Region, Segment};

use crate::port::{Port, Registration};

/// One registration as peers see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) region: Region,
    /// The region's byte with which it begins.
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// What the network calls its first byte.
    pub(crate) address: u64,
    pub(crate) key: u64,
}

impl Window {
    pub(crate) const BYTES: usize = 1 + 4 * 8;

    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.region as u8;
        let numbers = [self.start, self.len, self.address, self.key];
        for (place, number) in bytes[1..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&region, numbers) = bytes.split_first().filter(|(_, numbers)| numbers.len() == 32)?;
        let number = |i: usize| u64::from_le_bytes(numbers[8 * i..][..8].try_into().expect("eight bytes"));
        let [start, len, address, key] = [0, 1, 2, 3].map(number);
        Some(Self { region: Region::try_from(region).ok()?, start, len, address, key })
    }

    /// How many bytes of it begin at `offset`.
    fn room(&self, region: Region, offset: u64) -> u64 {
        let inside = self.region == region && offset >= self.start && offset - self.start < self.len;
        if inside { self.len - (offset - self.start) } else { 0 }
    }
}

/// Where the network finds some bytes of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) address: u64,
    pub(crate) key: u64,
    /// How many bytes from there on are of one registration.
    pub(crate) room: u64,
}

/// The windows of one PE.
#[derive(Default, Debug)]
pub(crate) struct Windows(Vec<Window>);

impl Windows {
    pub(crate) const NONE: Self = Self(Vec::new());

    pub(crate) fn add(&mut self, window: Window) {
        if !self.0.contains(&window) {
            self.0.push(window);
        }
    }

    pub(crate) fn find(&self, region: Region, offset: u64) -> Option<Place> {
        self.0.iter().find_map(|window| match window.room(region, offset) {
            0 => None,
            room => Some(Place { address: window.address + (offset - window.start), key: window.key, room }),
        })
    }

    /// The window that holds a byte.
    pub(crate) fn around(&self, region: Region, offset: u64) -> Option<&Window> {
        self.0.iter().find(|window| window.room(region, offset) > 0)
    }

    pub(crate) fn all(&self) -> &[Window] {
        &self.0
    }

    /// How long the region is, as far as is known.
    pub(crate) fn len(&self, region: Region) -> u64 {
        let ends = self.0.iter().filter(|window| window.region == region).map(|window| window.start + window.len);
        ends.max().unwrap_or(0)
    }

    pub(crate) fn missing(&self, region: Region, offset: u64, bytes: usize) -> OutOfRange {
        OutOfRange { region, offset, bytes, registered: self.len(region) as usize }
    }
}

/// What this PE has registered.
#[derive(Default)]
pub(crate) struct Own {
    pub(crate) windows: Windows,
    /// Where each registration lies in this process.
    held: Vec<(usize, usize, Registration)>,
}

impl Own {
    /// Registers what of `segment` is not registered yet.
    pub(crate) fn register(&mut self, port: &mut Port, region: Region, segment: Segment) -> Result<(), Error> {
        let start = self.windows.len(region) as usize;
        if segment.len <= start {
            return Ok(());
        }
        let (base, len) = (segment.base.wrapping_add(start), segment.len - start);
        let registration = port.register(base, len)?;
        let Registration { key, address, .. } = registration;
        self.windows.add(Window { region, start: start as u64, len: len as u64, address, key });
        self.held.push((base.expose_provenance(), len, registration));
        Ok(())
    }

    /// What libfabric calls local memory that is registered as a whole.
    pub(crate) fn descriptor(&self, at: *const u8, n: usize) -> Option<*mut std::ffi::c_void> {
        let at = at.addr();
        let inside =
            |&&(base, len, _): &&(usize, usize, Registration)| at >= base && at - base < len && n <= len - (at - base);
        self.held.iter().find(inside).map(|(_, _, registration)| registration.desc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_in_the_window_that_holds_it() {
        let mut windows = Windows::default();
        let window = |start, len, address, key| Window { region: Region::Heap, start, len, address, key };
        windows.add(window(0, 100, 0, 1));
        windows.add(window(100, 50, 7000, 2));
        windows.add(window(100, 50, 7000, 2));
        assert_eq!(windows.all().len(), 2);
        let found = |offset| windows.find(Region::Heap, offset).map(|place| (place.address, place.key, place.room));
        assert_eq!(found(99), Some((99, 1, 1)));
        assert_eq!(found(100), Some((7000, 2, 50)));
        assert_eq!(found(149), Some((7049, 2, 1)));
        assert_eq!(found(150), None);
        assert_eq!(found(u64::MAX), None);
        assert!(windows.find(Region::Statics, 0).is_none());
        assert_eq!(windows.len(Region::Heap), 150);
        let sent = Window::decode(&windows.all()[1].encode());
        assert_eq!(sent, Some(windows.all()[1]));
    }
}
