//! The address of a PE: the provider it has opened, and for each rail its network card, its endpoint's address and the memory it
//! has registered there.

use oxshmem_base::Error;

use crate::windows::Window;

/// The most rails of a PE. Nodes have at most eight cards.
pub(crate) const MOST_RAILS: usize = 8;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PeAddress {
    pub(crate) provider: String,
    /// One at least.
    pub(crate) rails: Vec<RailAddress>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RailAddress {
    pub(crate) fabric: String,
    pub(crate) domain: String,
    /// The endpoint's address.
    pub(crate) name: Vec<u8>,
    pub(crate) windows: Vec<Window>,
}

const VERSION: u8 = 2;

impl PeAddress {
    /// As bytes: a version, then each part behind its length.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        let mut add = |part: &[u8]| {
            bytes.extend((part.len() as u16).to_le_bytes());
            bytes.extend(part);
        };
        add(self.provider.as_bytes());
        for rail in &self.rails {
            let windows: Vec<u8> = rail.windows.iter().flat_map(Window::encode).collect();
            [rail.fabric.as_bytes(), rail.domain.as_bytes(), &rail.name, &windows].into_iter().for_each(&mut add);
        }
        bytes
    }

    /// From the bytes that PE `pe` published.
    pub(crate) fn decode(pe: u32, bytes: &[u8]) -> Result<Self, Error> {
        Self::parse(bytes).ok_or_else(|| {
            Error::new(format!("the address of PE {pe} cannot be read"))
                .because(format!("it is {} bytes long and not of libfabric's kind", bytes.len()))
                .fix("start all PEs with the same version of oxshmem and the same SHMEM_TRANSPORT")
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (version, mut rest) = bytes.split_first()?;
        if *version != VERSION {
            return None;
        }
        let mut part = || {
            let (length, behind) = rest.split_first_chunk::<2>()?;
            let (part, behind) = behind.split_at_checked(u16::from_le_bytes(*length).into())?;
            rest = behind;
            Some(part.to_vec())
        };
        let text = |part: Vec<u8>| String::from_utf8(part).ok();
        let provider = text(part()?)?;
        let mut rails = Vec::new();
        while let Some(fabric) = part() {
            let (domain, name, windows) = (text(part()?)?, part()?, part()?);
            let windows = windows.chunks(Window::BYTES).map(Window::decode).collect::<Option<_>>()?;
            rails.push(RailAddress { fabric: text(fabric)?, domain, name, windows });
        }
        (rest.is_empty() && !rails.is_empty()).then_some(Self { provider, rails })
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_transport::{Region, RegionPiece};

    use super::*;

    #[test]
    fn an_address_survives_and_garbage_does_not() {
        let piece = RegionPiece { start: 4096, len: 1 << 40, address: 0x7f00_1234_0000, key: 77 };
        let window = Window { region: Region::Statics, piece };
        let rail = |domain: &str, windows| RailAddress {
            fabric: "192.0.2.0/24".into(),
            domain: domain.into(),
            name: vec![2, 0, 17, 92, 127, 0, 0, 1],
            windows,
        };
        let rails = vec![rail("eth0", vec![window]), rail("eth1", vec![window; 2]), rail("eth2", Vec::new())];
        let address = PeAddress { provider: "tcp;ofi_rxm".into(), rails };
        let bytes = address.encode();
        assert_eq!(PeAddress::decode(0, &bytes), Ok(address));
        for garbage in [&b""[..], b"\x02", &bytes[..4], &bytes[..bytes.len() - 1]] {
            assert!(PeAddress::decode(3, garbage).expect_err("garbage").what().contains("PE 3"));
        }
    }
}
