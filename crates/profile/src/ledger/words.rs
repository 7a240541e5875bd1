//! The words of a ledger's file, and whether all of them are there.

use crate::layout::{self, MODULES, Table, head};

/// No ledger is longer: the ring of events has at most 2 GiB.
pub(super) const LONGEST: u64 = 3 << 30;

/// The words of a file.
pub(super) struct LedgerWords(Vec<u64>);

impl LedgerWords {
    pub(super) fn of(bytes: &[u8]) -> LedgerWords {
        LedgerWords(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect())
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn range(&self, start: usize, count: usize) -> &[u64] {
        self.0.get(start..start + count).unwrap_or(&[])
    }

    pub(super) fn at(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }

    pub(super) fn record(&self, table: Table, record: usize) -> &[u64] {
        self.range(table.at(record), table.width)
    }

    /// The bytes that the file should have, if it begins as a ledger and has fewer. A PE gives a ledger its whole length before it
    /// writes to it.
    pub(super) fn shortfall(&self) -> Option<u64> {
        let head = MODULES.start;
        if self.at(head::MAGIC) != layout::MAGIC {
            return None;
        }
        if self.0.len() < head {
            return Some(8 * head as u64);
        }
        // A length beyond the longest ledger is that of a damaged head, and no file reaches it.
        let (pes, room) = (self.at(head::PES).min(LONGEST) as usize, self.at(head::RING).min(LONGEST) as usize);
        let end = layout::events(pes, room).end();
        (self.0.len() < end).then_some(8 * end as u64)
    }

    /// The records of a table whose word `used` is not 0, with their numbers.
    pub(super) fn records(&self, table: Table, used: usize) -> impl Iterator<Item = (usize, &[u64])> {
        (0..table.records)
            .map(move |number| (number, self.record(table, number)))
            .filter(move |(_, record)| record.get(used).is_some_and(|word| *word != 0))
    }
}

/// The text that some words hold, up to the first zero.
pub(super) fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::super::read;
    use super::*;

    /// A ledger of a job of 2 PEs with room for 4 events.
    fn whole() -> Vec<u8> {
        let mut words = vec![0u64; layout::events(2, 4).end()];
        words[head::MAGIC] = layout::MAGIC;
        words[head::PES] = 2;
        words[head::RING] = 4;
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_ledger_that_is_cut_off_is_named_with_its_length() {
        let folder = TestFolder::new("cut-ledger");
        let read_back = |bytes: &[u8]| read(&folder.write("ledger", bytes));
        let whole = whole();
        assert_eq!(read_back(&whole).map(|ledger| ledger.map(|ledger| ledger.pes)), Ok(Some(2)));
        for bytes in [8, 300, 4096, 5000, whole.len() - 33, whole.len() - 1] {
            let error = read_back(&whole[..bytes]).map(|_| ()).expect_err("the file is too short").to_string();
            assert!(error.contains(&format!("{} is cut off", folder.join("ledger").display())), "{error}");
            assert!(error.contains(&format!("it has {bytes} of ")), "{error}");
        }
        for other in [&b"oxledg0"[..], &[7; 5000]] {
            assert!(read_back(other).is_err_and(|error| error.to_string().contains("is no record of a PE")));
        }
        let mut damaged = whole;
        damaged[8 * head::RING..][..8].fill(0xff);
        assert!(read_back(&damaged).is_err_and(|error| error.to_string().contains("is cut off")));
    }
}
