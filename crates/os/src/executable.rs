//! The program headers of the running executable.

use libc::{Elf64_Ehdr, Elf64_Phdr, PF_W, PT_GNU_RELRO, PT_INTERP, PT_LOAD, PT_NOTE};
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

/// The main executable as it is loaded.
pub(crate) struct Executable {
    /// The offset that the loader added to every address of the file.
    bias: usize,
    headers: &'static [Elf64_Phdr],
}

/// Addresses of writable static data, in whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writable {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// From here on the executable's file has nothing, the memory began as zero.
    pub(crate) file_end: usize,
    /// PF_R, PF_W, PF_X
    pub(crate) flags: u32,
}

/// The writable segments of an executable with one or two of them. The linker puts large initialised variables (`-mcmodel=medium`)
/// into a second one, and aligns it, so that nothing lies between the two for some pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WritableParts {
    low: Writable,
    high: Option<Writable>,
}

impl WritableParts {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Writable> {
        [&self.low].into_iter().chain(&self.high)
    }

    /// From the first part to the last one.
    pub(crate) fn extent(&self) -> std::ops::Range<usize> {
        self.low.start..self.high.unwrap_or(self.low).end
    }

    pub(crate) fn flags(&self) -> u32 {
        self.low.flags
    }
}

/// The longest gap that a linker leaves for the sake of alignment: the largest page of the processor that one asks for.
const LONGEST_GAP: usize = 2 << 20;

/// Why static data is not symmetric in a program with segments that lie apart.
pub const SEGMENTS_APART: &str = "the executable has several separate writable segments";

impl Executable {
    /// Reads what the loader knows; allocates nothing.
    pub(crate) fn this() -> Option<Executable> {
        unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
            // SAFETY: the loader passes a valid description, and `found` is the Option below. The headers of the main
            // executable stay mapped until the process ends.
            unsafe {
                let info = &*info;
                if !info.dlpi_phdr.is_null() {
                    let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
                    *found.cast() = Some(Executable { bias: info.dlpi_addr as usize, headers });
                }
            }
            1 // The first object is the executable; no need to see the others.
        }
        let mut found = None;
        // SAFETY: the callback treats the pointer as what it is, the Option on our stack.
        unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
        found
    }

    /// The offset that the loader added to every address of the file.
    pub(crate) fn bias(&self) -> usize {
        self.bias
    }

    pub(crate) fn headers(&self) -> &'static [Elf64_Phdr] {
        self.headers
    }

    /// Whether it names a loader; a fully static program does not.
    pub(crate) fn has_interpreter(&self) -> bool {
        self.headers.iter().any(|header| header.p_type == PT_INTERP)
    }

    /// Where its first segment begins.
    pub(crate) fn start(&self) -> Option<usize> {
        self.headers.iter().find(|header| header.p_type == PT_LOAD).map(|header| self.extent(header).start)
    }

    /// Whether a file has the same program headers.
    pub(crate) fn is_in(&self, file: &File) -> io::Result<bool> {
        let (mut place, mut count) = ([0; 8], [0; 2]);
        file.read_exact_at(&mut place, offset_of!(Elf64_Ehdr, e_phoff) as u64)?;
        file.read_exact_at(&mut count, offset_of!(Elf64_Ehdr, e_phnum) as u64)?;
        if usize::from(u16::from_ne_bytes(count)) != self.headers.len() {
            return Ok(false);
        }
        let own: Vec<u8> = self.headers.iter().flat_map(written).collect();
        let mut theirs = vec![0; own.len()];
        file.read_exact_at(&mut theirs, u64::from_ne_bytes(place))?;
        Ok(theirs == own)
    }

    /// The static data that stays writable while the program runs.
    pub(crate) fn writable(&self, page: usize) -> Result<WritableParts, &'static str> {
        let segments = self.headers.iter().filter(|h| h.p_type == PT_LOAD && h.p_flags & PF_W != 0);
        let parts = segments.map(|segment| self.without_relro(segment, page)).filter(|part| part.start < part.end);
        let joined = parts.map(|part| Ok(WritableParts { low: part, high: None })).reduce(|low, high| {
            let (low, high): (WritableParts, WritableParts) = (low?, high?);
            self.join(low, high.low).ok_or(SEGMENTS_APART)
        });
        joined.unwrap_or(Err("the executable has no static variables"))
    }

    /// Both together, if nothing lies between them, or can.
    fn join(&self, low: WritableParts, part: Writable) -> Option<WritableParts> {
        let last = low.high.unwrap_or(low.low);
        if last.flags != part.flags {
            return None;
        }
        if last.end == part.start {
            let both = Writable { start: last.start, ..part };
            return Some(match low.high {
                Some(_) => WritableParts { high: Some(both), ..low },
                None => WritableParts { low: both, high: None },
            });
        }
        let gap = last.end..part.start;
        let mut segments = self.headers.iter().filter(|h| h.p_type == PT_LOAD).map(|header| self.extent(header));
        let is_empty = !segments.any(|other| other.start < gap.end && gap.start < other.end);
        (low.high.is_none() && is_empty && gap.len() <= LONGEST_GAP)
            .then_some(WritableParts { high: Some(part), ..low })
    }

    /// The loader makes whole pages of RELRO read-only and leaves a page that it only begins on writable; so do we.
    fn without_relro(&self, segment: &Elf64_Phdr, page: usize) -> Writable {
        let memory = self.extent(segment);
        let relro = self.headers.iter().filter(|h| h.p_type == PT_GNU_RELRO).map(|h| self.extent(h));
        let start = relro
            .filter(|relro| relro.start < memory.end && memory.start < relro.end)
            .fold(memory.start, |start, relro| start.max(relro.end));
        Writable {
            start: start & !(page - 1),
            end: memory.end.next_multiple_of(page),
            file_end: (memory.start + segment.p_filesz as usize).next_multiple_of(page),
            flags: segment.p_flags,
        }
    }

    fn extent(&self, header: &Elf64_Phdr) -> std::ops::Range<usize> {
        let start = self.bias.wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    }

    /// The notes, each as its type, its owner's name and its contents.
    pub(crate) fn notes(&self) -> impl Iterator<Item = (u32, &'static [u8], &'static [u8])> {
        let notes = self.headers.iter().filter(|header| header.p_type == PT_NOTE);
        notes.flat_map(|header| {
            let extent = self.extent(header);
            // SAFETY: notes lie in a loaded, read-only part of the executable, which stays mapped.
            let bytes = unsafe { std::slice::from_raw_parts(extent.start as *const u8, extent.len()) };
            notes_in(bytes, (header.p_align as usize).max(4))
        })
    }
}

/// A header as it stands in a file.
fn written(header: &Elf64_Phdr) -> Vec<u8> {
    let Elf64_Phdr { p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align } = *header;
    let kind = [p_type, p_flags].into_iter().flat_map(u32::to_ne_bytes);
    let numbers = [p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align];
    kind.chain(numbers.into_iter().flat_map(u64::to_ne_bytes)).collect()
}

fn notes_in(mut bytes: &[u8], align: usize) -> impl Iterator<Item = (u32, &[u8], &[u8])> {
    std::iter::from_fn(move || {
        let number = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (name_len, content_len, kind) = (number(0)? as usize, number(4)? as usize, number(8)?);
        let content_at = (12 + name_len).next_multiple_of(align);
        let name = bytes.get(12..12 + name_len)?;
        let content = bytes.get(content_at..content_at.checked_add(content_len)?)?;
        bytes = bytes.get((content_at + content_len).next_multiple_of(align)..).unwrap_or_default();
        Some((kind, name, content))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(p_type: u32, p_flags: u32, p_vaddr: u64, p_filesz: u64, p_memsz: u64) -> Elf64_Phdr {
        Elf64_Phdr { p_type, p_flags, p_offset: 0, p_vaddr, p_paddr: p_vaddr, p_filesz, p_memsz, p_align: 0x1000 }
    }

    fn parts(headers: Vec<Elf64_Phdr>) -> Result<WritableParts, &'static str> {
        Executable { bias: 0x10_0000, headers: headers.leak() }.writable(0x1000)
    }

    fn writable(headers: Vec<Elf64_Phdr>) -> Result<Writable, &'static str> {
        let parts = parts(headers)?;
        assert_eq!(parts.high, None);
        Ok(parts.low)
    }

    const RW: u32 = libc::PF_R | PF_W;

    #[test]
    fn relro_is_left_out() {
        let text = header(PT_LOAD, libc::PF_R | libc::PF_X, 0, 0x800, 0x800);
        let data = header(PT_LOAD, RW, 0x2d80, 0x1300, 0x5000);
        let relro = header(PT_GNU_RELRO, libc::PF_R, 0x2d80, 0x1280, 0x1280);
        let found = Writable { start: 0x10_4000, end: 0x10_8000, file_end: 0x10_5000, flags: RW };
        assert_eq!(writable(vec![text, data, relro]), Ok(found));
        assert_eq!(writable(vec![text, data]), Ok(Writable { start: 0x10_2000, ..found }));
    }

    #[test]
    fn a_segment_of_nothing_but_relro_is_none() {
        let sealed = header(PT_LOAD, RW, 0x2000, 0x1000, 0x1000);
        let relro = header(PT_GNU_RELRO, libc::PF_R, 0x2000, 0x1000, 0x1000);
        let data = header(PT_LOAD, RW, 0x4010, 0x10, 0x20);
        let found = Writable { start: 0x10_4000, end: 0x10_5000, file_end: 0x10_5000, flags: RW };
        assert_eq!(writable(vec![sealed, data, relro]), Ok(found));
        assert!(writable(vec![sealed, relro]).is_err());
    }

    #[test]
    fn segments_are_joined_only_where_nothing_lies_between_them() {
        let low = header(PT_LOAD, RW, 0x2000, 0x800, 0x1000);
        let next = header(PT_LOAD, RW, 0x3000, 0, 0x1000);
        let far = header(PT_LOAD, RW, 0x9000, 0, 0x1000);
        let found = Writable { start: 0x10_2000, end: 0x10_4000, file_end: 0x10_3000, flags: RW };
        assert_eq!(writable(vec![low, next]), Ok(found));
        // As with -mcmodel=medium: the one of large initialised variables is aligned, and may lie behind one of large constants.
        let large = Writable { start: 0x10_9000, end: 0x10_a000, file_end: 0x10_9000, flags: RW };
        let apart = parts(vec![low, next, far]).expect("there is nothing between them");
        assert_eq!(apart.iter().copied().collect::<Vec<_>>(), [found, large]);
        assert_eq!(apart.extent(), found.start..large.end);
        let between = header(PT_LOAD, libc::PF_R, 0x5040, 0x1000, 0x1000);
        let beyond = header(PT_LOAD, RW, 0x40_9000, 0, 0x1000);
        let executed = header(PT_LOAD, RW | libc::PF_X, 0x9000, 0, 0x1000);
        let third = header(PT_LOAD, RW, 0xc000, 0, 0x1000);
        for others in [vec![between, far], vec![beyond], vec![executed], vec![far, third]] {
            assert_eq!(parts([vec![low], others].concat()), Err(SEGMENTS_APART));
        }
    }

    #[test]
    fn notes_are_walked_and_broken_ones_end_the_walk() {
        let mut bytes = Vec::new();
        for (name, content) in [(&b"GNU\0"[..], &[1u8, 2, 3][..]), (b"x\0", &[])] {
            let numbers = [name.len() as u32, content.len() as u32, 3];
            bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
            for part in [name, content] {
                bytes.extend(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
        }
        bytes.extend([255; 12]);
        let notes: Vec<_> = notes_in(&bytes, 4).collect();
        assert_eq!(notes, [(3, &b"GNU\0"[..], &[1u8, 2, 3][..]), (3, b"x\0", &[])]);
    }
}
