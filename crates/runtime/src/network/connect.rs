//! Opens the network of a job, and closes it: the choice of a transport, the job's secret, what others may reach.

use std::sync::atomic::AtomicPtr;

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_bootstrap::{Circle, Membership, wireup};
use oxshmem_transport::{AddressBook, Region, SECRET, Segment};

use crate::collectives::between_nodes;
use crate::memory::direct::FAST;
use crate::memory::windows::Windows;
use crate::memory::{control, facts};
use crate::network::vote::{self, ChosenTransport, Joining};
use crate::network::{self, lane};
use crate::start::left_behind;
use crate::start::state::OtherCalls;
use crate::teams::context::ContextHandle;

/// Opens the fabric if the job has several nodes, and registers the caller's windows.
pub(crate) fn open(
    job: &'static Membership,
    epoch: u32,
    settings: &Settings,
    windows: &Windows,
    circle: &Circle,
) -> Result<(), Error> {
    vote::check(settings)?;
    if job.node().count < 2 {
        return Ok(());
    }
    if job.size() > between_nodes::MOST_PES || job.node().count > between_nodes::MOST_NODES {
        return Err(Error::new(format!(
            "the job has {} PEs on {} nodes, which are too many",
            job.size(),
            job.node().count
        ))
        .because(format!(
            "collectives between nodes serve at most {} PEs on {} nodes",
            between_nodes::MOST_PES,
            between_nodes::MOST_NODES
        ))
        .fix("run fewer PEs, and let each use several processors by threads"));
    }
    let secret = secret_of_one_program(job, epoch, circle)?;
    let joining = Joining { job, settings, secret: &secret, quarters: windows.quarters() };
    let ChosenTransport { fabric, rejected, crowded, one_host, atomics } = vote::choose(&joining, epoch, circle)?;
    // PEs that take turns never run side by side.
    windows.yield_if_crowded(crowded || fabric.turns().is_some());
    let (heap, committed) = FAST.heap.own();
    let (statics, statics_len) = FAST.statics.own();
    let segment = |base: usize, len: usize| Segment { base: base as *mut u8, len };
    // Memory that must have its pages is registered as it gets them.
    let heap_now = if network::pins(&*fabric) { committed } else { windows.heap_window() };
    fabric.register(Region::Heap, segment(heap, heap_now))?;
    fabric.register(Region::Statics, segment(statics, statics_len))?;
    fabric.register(Region::Control, segment(control::own(), control::REACHED))?;
    wireup::publish(job, epoch, circle, fabric.address())?;
    job.fence()?;
    fabric.connect(Box::new(Published(wireup::PublishedAddresses::new(job, epoch, circle)?)))?;
    tracing::debug!(fabric = fabric.describe(), "network");
    let rejected = if rejected.is_empty() { String::new() } else { format!("; rejected: {}", rejected.join(", ")) };
    // The identity, which is no secret. All PEs have the same one, and the next program of a script has another.
    let life = u64::from_le_bytes(*secret.first_chunk().expect("an identity is longer"));
    network::begin(fabric, life, crowded && one_host, format!("; atomics by {atomics}{rejected}"));
    Ok(())
}

/// Ends the fabric. All PEs have completed their operations.
pub(crate) fn close(others: OtherCalls) {
    let stays = others == OtherCalls::MayUseStatics || network::is_draining();
    let fabric = network::end();
    // SAFETY: null, or leaked from a box.
    if let (Some(closed), true) = (unsafe { fabric.as_ref() }, stays) {
        // It is closed, and threads in a call learn that; but it stays as long as they do, and so do its lanes.
        ContextHandle::default_context().leave_lane_behind();
        lane::leave_all();
        closed.close();
        let fabric = AtomicPtr::new(fabric);
        // SAFETY: leaked from a box, and no thread that could have found it is there any more.
        left_behind::leave(move || drop(unsafe { Box::from_raw(fabric.into_inner()) }));
    } else if !fabric.is_null() {
        lane::forget_all();
        // SAFETY: leaked from a box, and the standard allows no call that could still use it.
        let fabric = unsafe { Box::from_raw(fabric) };
        fabric.close();
    }
}

/// PE 0 publishes what all must know: the job's secret, an identity and a key of its own, and its program.
pub(crate) fn announce(job: &Membership, epoch: u32) -> Result<(), Error> {
    if job.node().count < 2 || job.rank() > 0 {
        return Ok(());
    }
    let mut secret = [0; SECRET];
    oxshmem_os::random::fill(&mut secret).map_err(|error| {
        Error::new("the system has no random numbers for the job's secret")
            .because(error)
            .fix("allow the system call getrandom, or give the container /dev/urandom")
    })?;
    wireup::announce(job, epoch, &[&secret, facts::this_program().as_bytes()].concat())
}

/// The words of PE 0: the secret. The leaders compare their programs with PE 0's; inside a node its leader has done so.
fn secret_of_one_program(job: &Membership, epoch: u32, circle: &Circle) -> Result<[u8; SECRET], Error> {
    let words = wireup::announced(job, epoch, circle)?;
    let Some((secret, first)) = words.split_first_chunk() else {
        return Err(Error::new("the job's secret has the wrong length").fix("run one version of oxshmem on all PEs"));
    };
    let (mine, first) = (facts::this_program(), String::from_utf8_lossy(first));
    let is_mine = facts::is_one_program(&first, &mine);
    if job.node().my_index > 0 || oxshmem_os::statics::region().is_err() || is_mine {
        return Ok(*secret);
    }
    Err(Error::new(format!("PE {} runs a different program than PE 0", job.rank()))
        .because(format!("PE {} is {mine}, PE 0 is {first}", job.rank()))
        .fix("start one program on all PEs, or set SHMEM_STATICS=0 if the programs share no static variables"))
}

/// Addresses come from the launcher's key-value space: those of all nodes at the start, or each when it is first needed.
struct Published(wireup::PublishedAddresses<'static>);

impl AddressBook for Published {
    fn address(&self, pe: u32) -> Result<Vec<u8>, Error> {
        self.0.of(pe)
    }
}
