//! The address of a PE: which host it is on, and where it listens.

use oxshmem_base::Error;

use crate::interfaces::Address;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PeAddress {
    pub(crate) port: u16,
    /// The name of its host.
    pub(crate) name: String,
    /// The mark that tells its network stack from others.
    pub(crate) host: String,
    pub(crate) addresses: Vec<Address>,
}

const VERSION: &str = "oxtcp1";

impl PeAddress {
    /// As bytes: words in lines, so that a person can read it in a trace.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let addresses = self.addresses.iter().map(|a| format!("\n{} {}", a.ip, a.interface)).collect::<String>();
        format!("{VERSION} {} {}\n{}{addresses}", self.port, self.name, self.host).into_bytes()
    }

    /// From the bytes that PE `pe` published.
    pub(crate) fn decode(pe: u32, bytes: &[u8]) -> Result<Self, Error> {
        let parsed = std::str::from_utf8(bytes).ok().and_then(|text| {
            let mut lines = text.lines();
            let (port, name) = lines.next()?.strip_prefix(VERSION)?.trim_start().split_once(' ')?;
            let port = port.parse().ok()?;
            let host = lines.next()?.to_owned();
            let address = |line: &str| {
                let (ip, interface) = line.split_once(' ')?;
                Some(Address { ip: ip.parse().ok()?, interface: interface.into() })
            };
            let addresses = lines.map(address).collect::<Option<_>>()?;
            Some(Self { port, name: name.into(), host, addresses })
        });
        parsed.ok_or_else(|| {
            Error::new(format!("the address of PE {pe} cannot be read"))
                .because(format!("it is {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(80)])))
                .fix("start all PEs with the same version of oxshmem and the same SHMEM_TRANSPORT")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_and_garbage_does_not() {
        let address = |ip: &str| Address { ip: ip.parse().expect("an address"), interface: "eth0".into() };
        let addresses = ["10.0.0.1", "2001:db8::1"].map(address).to_vec();
        let pe = PeAddress { port: 4711, name: "n4".into(), host: "boot net:[1]".into(), addresses };
        assert_eq!(PeAddress::decode(0, &pe.encode()), Ok(pe.clone()));
        for garbage in [
            &b""[..],
            b"oxtcp1",
            b"oxtcp1 99999 n\nx",
            b"oxtcp1 5 n\nx\nnot an address",
            b"oxtcp1 5 n\nx\n10.0.0.1",
            b"oxtcp1 5\nx\n10.0.0.1 eth0",
            b"\xFF\xFE",
        ] {
            assert!(PeAddress::decode(3, garbage).expect_err("garbage").what().contains("PE 3"));
        }
    }
}
