//! Registered memory as peers see it, and as it travels to them. Memory that a peer has registered since its address was made is
//! asked for when it is first needed.

use oxshmem_transport::{Region, RegionPiece, RegionPieces};

/// The registered memory of one PE, by keys.
pub(crate) type Windows = RegionPieces<u64>;

/// One registration as it travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) region: Region,
    pub(crate) piece: RegionPiece<u64>,
}

impl Window {
    pub(crate) const BYTES: usize = 1 + 4 * 8;

    pub(crate) fn all(windows: &Windows) -> Vec<Self> {
        windows.all().map(|(region, &piece)| Self { region, piece }).collect()
    }

    /// The registration that holds a byte.
    pub(crate) fn around(windows: &Windows, region: Region, offset: u64) -> Option<Self> {
        windows.around(region, offset).map(|&piece| Self { region, piece })
    }

    /// Adds it to what is known of its PE, unless it is known already.
    pub(crate) fn add_to(self, windows: &mut Windows) {
        if !windows.of(self.region).contains(&self.piece) {
            windows.add(self.region, self.piece);
        }
    }

    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.region as u8;
        let RegionPiece { start, len, address, key } = self.piece;
        for (place, number) in bytes[1..].chunks_exact_mut(8).zip([start, len, address, key]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&region, numbers) = bytes.split_first().filter(|(_, numbers)| numbers.len() == 32)?;
        let number = |i: usize| u64::from_le_bytes(numbers[8 * i..][..8].try_into().expect("eight bytes"));
        let [start, len, address, key] = [0, 1, 2, 3].map(number);
        Some(Self { region: Region::try_from(region).ok()?, piece: RegionPiece { start, len, address, key } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_survives_its_journey_and_is_known_once() {
        let piece = RegionPiece { start: 100, len: 50, address: 7000, key: u64::MAX };
        let window = Window { region: Region::Statics, piece };
        assert_eq!(Window::decode(&window.encode()), Some(window));
        assert_eq!(Window::decode(&window.encode()[1..]), None);
        let mut windows = Windows::default();
        window.add_to(&mut windows);
        window.add_to(&mut windows);
        assert_eq!(Window::all(&windows), [window]);
        assert_eq!(Window::around(&windows, Region::Statics, 149), Some(window));
        assert_eq!(Window::around(&windows, Region::Statics, 99), None);
    }
}
