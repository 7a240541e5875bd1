//! A fabric that is closed and stays, because callers may be late. It is alone in its process: its descriptors are counted.

mod job;

use std::fs;
use std::thread;
use std::time::Duration;

use job::{SECRET, open};
use oxshmem_base::knobs::Settings;
use oxshmem_transport::suite::MemoryPe;
use oxshmem_transport::{Region, Remote};

/// The files of all descriptors of this process.
fn descriptors() -> Vec<String> {
    let files: Vec<_> =
        fs::read_dir("/proc/self/fd").expect("a list").map(|file| file.expect("a file").path()).collect();
    // The descriptor of the listing is gone.
    let targets = files.into_iter().filter_map(|file| fs::read_link(file).ok());
    let mut targets: Vec<_> = targets.map(|target| target.display().to_string()).collect();
    targets.sort_unstable();
    targets
}

#[test]
fn late_callers_find_no_descriptor_and_leave_none() {
    let before = descriptors();
    let mut pes = [0, 1, 2].map(|me| MemoryPe::over(open(me, 3, &Settings::default(), &SECRET)));
    let addresses: Vec<_> = pes.iter().map(|pe| pe.fabric.address()).collect();
    pes.iter_mut().for_each(|pe| pe.connect(addresses.clone()));
    pes[0].work(1, 1).expect("both are there");
    thread::scope(|scope| pes.iter().for_each(|pe| drop(scope.spawn(|| pe.fabric.close()))));
    assert_eq!(descriptors(), before);
    let source = [1_u64; 4];
    // A peer that was reached, and one that was not.
    for pe in [1, 2] {
        let to = Remote { pe, region: Region::Heap, offset: 0 };
        // SAFETY: the lane copies the source.
        pes[0].issue(|lane| unsafe { lane.put(to, source.as_ptr().cast(), size_of_val(&source)) });
    }
    for pe in &pes {
        assert!(pe.fabric.progress() == 0 && pe.fabric.rest(Duration::ZERO) == Some(0));
    }
    let error = pes[0].lane().progress().expect_err("the peer has been left");
    assert!(error.to_string().contains("PE 1"), "{error}");
    assert_eq!(descriptors(), before);
}
