//! The time that the provider adds to libfabric: an 8-byte put that the other side waits for, there and back, by bare
//! `fi_write` and by our lanes, alternately between the same two processes over the same libfabric provider.
//!
//! Bare comes twice: with a queue that can only be polled, and with one that has a descriptor to sleep on, as our lanes
//! need so that a PE that computes is served. What libfabric itself takes for the descriptor is the difference. A provider
//! without descriptors (shm) is measured polled only.
//!
//! `cargo run --release -p oxshmem-transport-ofi --example beside_libfabric [PROVIDER...]`; with `--json` it prints all measurements, as
//! `oxshmem-benches` reads them.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::suite::beside::{MeasuringPe, OWN};
use oxshmem_transport::suite::processes::OtherProcess;
use oxshmem_transport_ofi::PROVIDER;

/// Round trips of one measurement; the least of all counts, because nothing but disturbance makes them differ.
const ROUNDS: u32 = 200;
const TIMES: usize = 80;
/// The bound that the run shows to be kept.
const LIMIT: f64 = 1.15;

/// One-way times in nanoseconds: bare puts, polled and with a descriptor where there is one, and ours.
struct Sides {
    polled: Vec<f64>,
    slept: Option<Vec<f64>>,
    ours: Vec<f64>,
}

fn main() {
    let (options, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    if let ([option], [provider]) = (&options[..], &words[..])
        && option == "--second"
    {
        measure(provider, OtherProcess::starter());
        return;
    }
    let usual = ["shm", "tcp", "tcp;ofi_rxm"].map(String::from);
    let mut kept = true;
    for provider in if words.is_empty() { &usual[..] } else { &words } {
        let sides = measure(provider, OtherProcess::start(&["--second", provider]));
        if options.iter().any(|option| option == "--json") {
            print_lines(provider, &sides);
            continue;
        }
        let least = |values: &Vec<f64>| values.iter().copied().fold(f64::INFINITY, f64::min) / 1e3;
        let (bare, ours) = (least(&sides.polled), least(&sides.ours));
        kept &= ours / bare <= LIMIT;
        println!(
            "{provider:<14} bare {bare:8.2} us   oxshmem {ours:8.2} us   ratio {:.3} (limit {LIMIT})",
            ours / bare
        );
        if let Some(slept) = sides.slept.as_ref().map(least) {
            println!("{:<14} bare {slept:8.2} us with a queue to sleep on: ratio {:.3}", "", ours / slept);
        }
    }
    if !kept {
        println!("above the limit");
        std::process::exit(1);
    }
}

/// One line for each side, as `oxshmem-benches` reads them.
fn print_lines(provider: &str, Sides { polled, slept, ours }: &Sides) {
    for (beside, limit) in [("", Some(polled)), (", beside a queue to sleep on", slept.as_ref())] {
        let row = format!("put 8 B over libfabric's {provider}, one way{beside}");
        for (side, values) in limit.into_iter().flat_map(|limit| [("limit", limit), ("ours", ours)]) {
            println!("{{\"row\":{row:?},\"side\":\"{side}\",\"pe\":0,\"values\":{values:?}}}");
        }
    }
}

/// The part of one of the two processes.
fn measure(provider: &str, mut other: OtherProcess) -> Sides {
    let waits = [fi::FI_WAIT_NONE, fi::FI_WAIT_FD];
    let bare: Vec<_> = waits.into_iter().filter_map(|wait| Bare::open(provider, wait, &mut other)).collect();
    let mut ours = MeasuringPe::open(&PROVIDER, provider, OWN, &mut other);
    let mut sides = vec![Vec::new(); bare.len() + 1];
    let beside = || bare.iter().for_each(Bare::look);
    for _ in 0..TIMES {
        for (way, values) in sides.iter_mut().enumerate() {
            let time = match bare.get(way) {
                Some(it) => ours.one_way(ROUNDS, |_, turn| it.put(turn), |_| it.turn(), |_| it.look(), beside),
                None => ours.one_way_provided(ROUNDS, beside),
            };
            values.push(time.as_secs_f64() * 1e9);
        }
    }
    ours.close();
    other.end();
    let (ours, mut limits) = (sides.pop().expect("ours is the last"), sides.into_iter());
    Sides { polled: limits.next().expect("any queue can be polled"), slept: limits.next(), ours }
}

/// A program that needs nothing but this would use libfabric so.
struct Bare {
    words: Box<[AtomicU64; 2]>,
    ep: *mut fi::fid_ep,
    cq: *mut fi::fid_cq,
    desc: *mut c_void,
    peer: fi::fi_addr_t,
    address: u64,
    key: u64,
}

impl Bare {
    /// `None` if the provider has no such queue.
    fn open(provider: &str, wait: fi::fi_wait_obj, other: &mut OtherProcess) -> Option<Self> {
        let words = Box::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let library = Libfabric::open().expect("libfabric is here");
        let name = CString::new(provider).expect("a name");
        // SAFETY: as libfabric's manual shows it; everything stays open until the process ends.
        unsafe {
            let hints = (library.dupinfo)(ptr::null());
            (*hints).caps = fi::FI_MSG | fi::FI_RMA;
            (*(*hints).ep_attr).type_ = fi::FI_EP_RDM;
            (*(*hints).domain_attr).mr_mode =
                fi::FI_MR_LOCAL | fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY;
            (*(*hints).domain_attr).threading = fi::FI_THREAD_DOMAIN;
            (*(*hints).fabric_attr).prov_name = libc::strdup(name.as_ptr());
            let mut info = ptr::null_mut();
            let code = (library.getinfo)(fi::VERSION, ptr::null(), ptr::null(), 0, hints, &raw mut info);
            assert_eq!(code, 0, "libfabric has no {provider}");
            let (mut fabric, mut domain) = (ptr::null_mut(), ptr::null_mut());
            assert_eq!((library.fabric)((*info).fabric_attr, &raw mut fabric, ptr::null_mut()), 0);
            assert_eq!(fi_domain(fabric, info, &raw mut domain, ptr::null_mut()), 0);
            let (mut av, mut cq, mut ep) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            let mut attr: fi::fi_av_attr = std::mem::zeroed();
            attr.type_ = fi::FI_AV_TABLE;
            assert_eq!(fi_av_open(domain, &raw mut attr, &raw mut av, ptr::null_mut()), 0);
            let mut attr: fi::fi_cq_attr = std::mem::zeroed();
            attr.format = fi::FI_CQ_FORMAT_CONTEXT;
            attr.wait_obj = wait;
            if fi_cq_open(domain, &raw mut attr, &raw mut cq, ptr::null_mut()) != 0 {
                return None;
            }
            assert_eq!(fi_endpoint(domain, info, &raw mut ep, ptr::null_mut()), 0);
            assert_eq!(fi_bind(&raw mut (*ep).fid, &raw mut (*av).fid, 0), 0);
            assert_eq!(fi_bind(&raw mut (*ep).fid, &raw mut (*cq).fid, fi::FI_TRANSMIT | fi::FI_RECV), 0);
            assert_eq!(fi_enable(&raw mut (*ep).fid), 0);
            let iov = fi::iovec { iov_base: words.as_ptr().cast_mut().cast(), iov_len: 16 };
            let mut attr: fi::fi_mr_attr = std::mem::zeroed();
            attr.mr_iov = &raw const iov;
            attr.iov_count = 1;
            attr.access = fi::FI_READ | fi::FI_WRITE | fi::FI_REMOTE_READ | fi::FI_REMOTE_WRITE;
            attr.requested_key = 1;
            let mut mr = ptr::null_mut();
            assert_eq!(fi_mr_regattr(domain, &raw const attr, 0, &raw mut mr), 0);
            let mut bytes = vec![0u8; 256];
            let mut length = bytes.len();
            assert_eq!(fi_getname(ep, bytes.as_mut_ptr().cast(), &raw mut length), 0);
            bytes.truncate(length);
            let virtual_addresses = (*(*info).domain_attr).mr_mode & fi::FI_MR_VIRT_ADDR != 0;
            let base = if virtual_addresses { words.as_ptr().expose_provenance() as u64 } else { 0 };
            let theirs = other.swap(&[&base.to_le_bytes()[..], &fi_mr_key(mr).to_le_bytes(), &bytes].concat());
            let number = |at: usize| u64::from_le_bytes(theirs[at..at + 8].try_into().expect("eight bytes"));
            let mut peer = fi::FI_ADDR_UNSPEC;
            assert_eq!(fi_av_insert(av, theirs[16..].as_ptr().cast(), 1, &raw mut peer, 0, ptr::null_mut()), 1);
            Some(Self { words, ep, cq, desc: fi_mr_desc(mr), peer, address: number(0), key: number(8) })
        }
    }

    fn look(&self) {
        let mut entry = fi::fi_cq_entry { op_context: ptr::null_mut() };
        // SAFETY: the queue is open; one entry of its form.
        unsafe { fi_cq_read(self.cq, (&raw mut entry).cast(), 1) };
    }

    /// Writes the second word to the peer's first.
    fn put(&self, round: u64) {
        self.words[1].store(round, Ordering::Relaxed);
        let source = self.words[1].as_ptr().cast();
        // SAFETY: the words are registered, and the source is left alone until the peer has answered.
        while unsafe { fi_write(self.ep, source, 8, self.desc, self.peer, self.address, self.key, ptr::null_mut()) }
            != 0
        {
            self.look();
        }
    }

    fn turn(&self) -> u64 {
        self.words[0].load(Ordering::Acquire)
    }
}

/// An endpoint of shm leaves a file behind that a later process of the same number would stumble over.
impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: opened by `open`, and nobody uses it any more.
        unsafe { fi_close(&raw mut (*self.ep).fid) };
    }
}
