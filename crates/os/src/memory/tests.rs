use super::*;

fn memory(len: u64) -> SharedMemory {
    SharedMemory::create(c"memory test", len, Pages::Small).expect("a memory file")
}

fn backed(memory: &SharedMemory) -> u64 {
    // SAFETY: all zeros is a value of this plain C struct, and it is ours to write.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        syscall!(fstat(memory.fd().as_raw_fd(), &mut status)).expect("our descriptor");
        status.st_blocks as u64 * 512
    }
}

#[test]
fn where_memory_files_must_not_be_executed_they_cannot_be() {
    let null = || OwnedFd::from(fs::File::open("/dev/null").expect("a device"));
    let is_asked = |flags: MemfdFlags| flags.contains(MemfdFlags::NOEXEC_SEAL);
    for refusal in [Errno::ACCESS, Errno::INVAL] {
        create_allowed(|more| if is_asked(more) { Ok(null()) } else { Err(refusal) }).expect("it is asked again");
        // An older kernel.
        create_allowed(|more| if is_asked(more) { Err(refusal) } else { Ok(null()) }).expect("it is not asked");
    }
    let error = create_allowed(|_| Err(Errno::MFILE)).expect_err("no descriptor is left");
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
}

#[test]
fn a_limit_of_the_size_of_files_is_an_error_and_no_signal() {
    assert!(within_limit(4096, None).is_ok() && within_limit(4096, Some(4096)).is_ok());
    let error = within_limit(4097, Some(4096)).expect_err("the limit is lower").to_string();
    assert!(error.contains("a file may have 4 KiB (ulimit -f)"), "{error}");
}

#[test]
fn two_mappings_of_one_file_are_the_same_memory() {
    let page = page_size();
    let memory = memory(4 * page as u64);
    let received = memory.fd().try_clone_to_owned().and_then(SharedMemory::from_fd).expect("a memory file");
    assert_eq!(received.len(), memory.len());
    let mut range = AddressRange::reserve(8 * page, page).expect("addresses");
    range.map(0, &memory, page as u64, 2 * page).expect("mapped");
    range.map(4 * page, &received, 2 * page as u64, page).expect("mapped");
    let (here, there) = (range.base().wrapping_add(page + 3), range.base().wrapping_add(4 * page + 3));
    // SAFETY: both addresses are mapped above.
    unsafe {
        here.write_volatile(42);
        assert_eq!(there.read_volatile(), 42);
    }
}

#[test]
fn a_file_costs_nothing_until_it_is_committed_and_again_after_release() {
    let memory = memory(1 << 40);
    assert_eq!(backed(&memory), 0);
    memory.commit(1 << 30, 100 << 20).expect("100 MiB");
    assert_eq!(backed(&memory), 100 << 20);
    memory.commit(1 << 30, 0).expect("nothing to do");
    memory.release(1 << 30, 60 << 20).expect("released");
    assert_eq!((backed(&memory), memory.len()), (40 << 20, 1 << 40));
}

#[test]
fn a_descriptor_that_has_become_that_of_another_file_changes_nothing_there() {
    let (ours, other) = (memory(1 << 20), memory(1 << 20));
    other.commit(0, 1 << 20).expect("1 MiB");
    let number = ours.fd().as_raw_fd();
    // SAFETY: both numbers are open, and the one that changes is this test's.
    assert_eq!(unsafe { libc::dup2(other.fd().as_raw_fd(), number) }, number);
    assert!(!ours.is_there() && other.is_there());
    assert!(ours.commit(0, 1).is_err() && ours.release(0, 1 << 20).is_err());
    assert_eq!(backed(&other), 1 << 20);
    drop(ours);
    // SAFETY: the number is this test's alone, and still open.
    assert_eq!(unsafe { libc::close(number) }, 0);
}

#[test]
fn pages_are_provided_where_the_addresses_begin_in_the_middle_of_one() {
    let page = page_size();
    let memory = memory(4 * page as u64);
    let mut range = AddressRange::reserve(4 * page, page).expect("addresses");
    range.map(0, &memory, 0, 4 * page).expect("mapped");
    let base = range.base().addr();
    populate(base, 1);
    if backed(&memory) != page as u64 {
        return println!("SKIPPED: this kernel does not provide single pages before they are touched");
    }
    populate(base + page + 64, page);
    assert_eq!(backed(&memory), 3 * page as u64);
}

#[test]
fn pieces_become_so_small_that_signals_hinder_nobody() {
    let (mut tried, mut backed) = (0, 0);
    // A signal comes in the time of two mebibytes.
    let backing = in_pieces(4096, 4096 + (300 << 20), |start, len| {
        tried += 1;
        assert!(tried < 1000 && start == 4096 + backed, "{tried} tries for {backed} bytes");
        if len >= 2 << 20 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        backed += len;
        Ok(())
    });
    assert_eq!((backing.map_err(|error| error.kind()), backed), (Ok(()), 300 << 20));
    let full = in_pieces(0, 1, |_, _| Err(io::ErrorKind::StorageFull.into()));
    assert_eq!(full.map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
}

#[test]
fn shortage_and_nonsense_are_errors() {
    let memory = memory(1 << 20);
    assert!(memory.commit(1 << 20, 1).is_err());
    assert!(memory.commit(u64::MAX, 2).is_err());
    assert!(memory.release(u64::MAX, 1).is_err());
    assert!(SharedMemory::create(c"", u64::MAX, Pages::Small).is_err());
    assert!(SharedMemory::create(c"", 4096, Pages::Huge(3)).is_err());
    assert!(AddressRange::reserve(usize::MAX, 1).is_err());
    assert!(AddressRange::reserve(usize::MAX - page_size() + 1, 1 << 40).is_err());
    assert!(AddressRange::reserve(0, 1).is_err());
    assert!(AddressRange::reserve(1, 3 << 20).is_err());
    let mut range = AddressRange::reserve(page_size(), 1).expect("addresses");
    assert!(range.map(page_size(), &memory, 0, 1).is_err());
    assert!(range.map(usize::MAX, &memory, 0, 2).is_err());
    assert!(range.map(0, &memory, u64::MAX, 1).is_err());
}

#[test]
fn reservations_are_aligned_exact_and_go_away() {
    for shift in [0, 12, 21, 30, 38] {
        let range = AddressRange::reserve((1 << 22) + 1, 1 << shift).expect("addresses");
        assert_eq!(range.base().addr() % (1 << shift), 0);
        assert_eq!(range.len(), (1 << 22) + page_size());
        // Large alignments lie where other threads of the tests seldom map something meanwhile.
        if shift >= 30 {
            let base = range.base().addr();
            assert!(is_mapped(base));
            drop(range);
            assert!(!is_mapped(base));
        }
    }
}

/// Whether something is mapped there. The kernel may show neighbours as one line.
fn is_mapped(address: usize) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").expect("our own");
    let number = |digits| usize::from_str_radix(digits, 16).ok();
    let mut ranges = maps.lines().filter_map(|line| line.split(' ').next()?.split_once('-'));
    ranges
        .any(|(start, end)| number(start).zip(number(end)).is_some_and(|(start, end)| (start..end).contains(&address)))
}

#[test]
fn aligned_reservations_find_places_beside_each_other() {
    const SIZE: usize = 1 << 34;
    let ranges: Vec<AddressRange> = (0..4).map(|_| AddressRange::reserve(SIZE, SIZE).expect("addresses")).collect();
    let mut bases: Vec<usize> = ranges.iter().map(|range| range.base().addr()).collect();
    assert!(bases.iter().all(|base| base.is_multiple_of(SIZE)), "{bases:x?}");
    bases.sort_unstable();
    assert!(bases.is_sorted_by(|one, next| one + SIZE <= *next), "{bases:x?}");
}

#[test]
fn huge_pages_work_where_the_system_has_some() {
    let Some(size) = huge_page_size() else {
        return println!("SKIPPED: the kernel has no huge pages");
    };
    let free = free_huge_pages(size);
    let memory = SharedMemory::create(c"huge", 2 * size, Pages::Huge(size));
    if free == 0 {
        println!("SKIPPED the use of huge pages: none are free");
        assert!(memory.and_then(|memory| memory.commit(0, size)).is_err());
        return;
    }
    let memory = memory.expect("a file of huge pages");
    memory.commit(0, size).expect("one is free");
    let mut range = AddressRange::reserve(size as usize, size as usize).expect("addresses");
    range.map(0, &memory, 0, size as usize).expect("mapped");
    // SAFETY: mapped and committed above.
    unsafe { range.base().write_volatile(1) };
}

#[test]
fn a_leaked_range_stays() {
    let memory = memory(page_size() as u64);
    let mut range = AddressRange::reserve(page_size(), 1).expect("addresses");
    range.map(0, &memory, 0, page_size()).expect("mapped");
    let base = range.leak();
    // SAFETY: a leaked range stays mapped.
    assert_eq!(unsafe { base.read_volatile() }, 0);
}

#[test]
fn memory_comes_from_the_numa_node_that_was_asked_for() {
    let file = SharedMemory::create(c"numa", 1 << 16, Pages::Small).unwrap();
    let mut range = AddressRange::reserve(1 << 16, page_size()).unwrap();
    range.map(0, &file, 0, 1 << 16).unwrap();
    if let Err(error) = range.prefer_numa(0, 1 << 16, 0) {
        return oxshmem_test_folder::not_run(format_args!("this system has no memory policies ({error})"));
    }
    assert_eq!(numa_of(range.base()), None, "nothing is behind it yet");
    file.commit(0, 1 << 16).unwrap();
    // SAFETY: the range is ours and mapped.
    unsafe { range.base().wrapping_add(5000).write_volatile(1) };
    // Where the kernel knows only one node it is node 0, and where it knows more node 0 is the one that was asked for.
    assert_eq!(numa_of(range.base().wrapping_add(5000)), Some(0));
    assert!(range.prefer_numa(0, 1 << 17, 0).is_err() && range.prefer_numa(0, 1 << 16, 9999).is_err());
}
