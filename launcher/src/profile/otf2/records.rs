//! The bytes of an archive: numbers without their leading zeros, records, and chunks of a fixed size.

/// The number that stands for nothing.
pub(super) const UNDEFINED: u64 = u64::MAX;
/// Bytes of a chunk of events; the last one of a file is as long as it has to be.
const EVENTS_CHUNK: u64 = 1 << 20;
/// The least bytes of a chunk of definitions.
pub(super) const DEFINITIONS_CHUNK: u64 = 4 << 20;

/// Marks between records.
mod mark {
    pub(super) const FILE_END: u8 = 1;
    pub(super) const CHUNK_END: u8 = 2;
    pub(super) const CHUNK: u8 = 3;
    pub(super) const TIME: u8 = 5;
}
/// Numbers that are written whole have the lowest byte first.
const LITTLE_ENDIAN: u8 = 0x42;
/// Bytes at the beginning of a chunk: mark, order of bytes, numbers of its first and its last event.
const HEADER: usize = 18;
const TIME_BYTES: usize = 9;

/// The body of a record.
#[derive(Default)]
pub(super) struct Body(Vec<u8>);

impl Body {
    /// A number: how many bytes it has, and these.
    pub(super) fn number(mut self, value: u64) -> Self {
        let bytes = value.to_le_bytes();
        let length = 8 - value.leading_zeros() as usize / 8;
        match value {
            UNDEFINED => self.0.push(0xff),
            _ => {
                self.0.push(length as u8);
                self.0.extend(&bytes[..length]);
            }
        }
        self
    }

    pub(super) fn byte(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(super) fn text(mut self, text: &str) -> Self {
        self.0.extend(text.bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    /// A record of this kind, which tells its length.
    pub(super) fn record(self, kind: u8) -> Body {
        let mut bytes = vec![kind];
        match u8::try_from(self.0.len()) {
            Ok(length) if length < 0xff => bytes.push(length),
            _ => {
                bytes.push(0xff);
                bytes.extend((self.0.len() as u64).to_le_bytes());
            }
        }
        bytes.extend(self.0);
        Body(bytes)
    }
}

/// A file of records.
pub(super) struct Chunks {
    bytes: Vec<u8>,
    /// The most bytes of a chunk.
    size: usize,
    /// Where the present one begins.
    start: usize,
    count: u64,
    time: Option<u64>,
}

impl Chunks {
    fn begin(size: usize) -> Self {
        let mut chunks = Self { bytes: Vec::new(), size, start: 0, count: 0, time: None };
        chunks.open();
        chunks
    }

    pub(super) fn events() -> Self {
        Self::begin(EVENTS_CHUNK as usize)
    }

    /// Of definitions: one chunk, however long.
    pub(super) fn definitions() -> Self {
        Self::begin(usize::MAX)
    }

    fn open(&mut self) {
        self.start = self.bytes.len();
        self.bytes.extend([mark::CHUNK, LITTLE_ENDIAN]);
        self.bytes.extend((self.count + 1).to_le_bytes());
        self.bytes.extend([0; 8]);
        // Each chunk can be read by itself.
        self.time = None;
    }

    /// Writes the number of the last event into the chunk's header.
    fn close(&mut self) {
        let at = self.start + HEADER - 8;
        self.bytes[at..at + 8].copy_from_slice(&self.count.to_le_bytes());
    }

    pub(super) fn definition(&mut self, record: &Body) {
        self.bytes.extend(&record.0);
    }

    /// An event at a time, which no earlier one follows.
    pub(super) fn event(&mut self, time: u64, record: Body) {
        // Room for the marks at the end of a file.
        if self.bytes.len() - self.start + TIME_BYTES + record.0.len() + 2 > self.size {
            self.close();
            self.bytes.resize(self.start + self.size, 0);
            self.open();
        }
        if self.time != Some(time) {
            self.bytes.push(mark::TIME);
            self.bytes.extend(time.to_le_bytes());
            self.time = Some(time);
        }
        self.bytes.extend(&record.0);
        self.count += 1;
    }

    /// The file, and how many events it has.
    pub(super) fn finish(mut self) -> (Vec<u8>, u64) {
        self.close();
        self.bytes.extend([mark::CHUNK_END, mark::FILE_END]);
        (self.bytes, self.count)
    }
}

/// The file that says how the others are to be read.
pub(super) fn anchor(locations: u64, definitions: u64, definitions_chunk: u64) -> Vec<u8> {
    let mut bytes = vec![mark::CHUNK, LITTLE_ENDIAN];
    bytes.extend(b"OTF2\0");
    // The versions of the format and of the library that it is written like; files in a folder, without compression.
    bytes.extend([3, 2, 3, 0, 2]);
    bytes.extend(EVENTS_CHUNK.to_le_bytes());
    bytes.extend(definitions_chunk.to_le_bytes());
    bytes.extend([1, 1]);
    bytes.extend(locations.to_le_bytes());
    bytes.extend(definitions.to_le_bytes());
    // The machine is not named; who wrote it, and of what.
    bytes.push(0);
    bytes.extend(concat!("oxshmem ", env!("CARGO_PKG_VERSION"), "\0").bytes());
    bytes.push(0);
    // No properties.
    bytes.extend([0; 4]);
    // The number of the archive, which tells it from others of the same program. Ours are not compared.
    bytes.extend([0; 8]);
    // No snapshots and no thumbnails.
    bytes.extend([0; 8]);
    bytes.extend([mark::CHUNK_END, mark::FILE_END]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lose_their_leading_zeros() {
        let bytes = |value| Body::default().number(value).0;
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(255), [1, 255]);
        assert_eq!(bytes(299), [2, 0x2b, 1]);
        assert_eq!(bytes(UNDEFINED), [0xff]);
        assert_eq!(bytes(1 << 63), [8, 0, 0, 0, 0, 0, 0, 0, 0x80]);
    }

    #[test]
    fn a_full_chunk_is_padded_and_the_next_one_begins_with_its_own_time() {
        let mut file = Chunks::events();
        for time in 0..100_000 {
            file.event(time, Body::default().byte(0x0c).number(0));
            file.event(time, Body::default().byte(0x0d).number(0));
        }
        let (bytes, count) = file.finish();
        assert_eq!(count, 200_000);
        let chunk = &bytes[EVENTS_CHUNK as usize..];
        let first = u64::from_le_bytes(chunk[2..10].try_into().expect("eight bytes"));
        assert_eq!((chunk[0], chunk[1], chunk[HEADER]), (mark::CHUNK, LITTLE_ENDIAN, mark::TIME));
        assert_eq!(bytes[10..18], (first - 1).to_le_bytes());
        assert_eq!(chunk[10..18], 200_000_u64.to_le_bytes());
    }
}
