//! The provider beside bare `ucp_*` calls on the same transport, in one run between two processes of this host.
//!
//! Every round measures bare and provided in turn, so that what else runs on the machine disturbs both; the best round
//! counts. Run it with `cargo run --release -p oxshmem-transport-ucx --example beside_ucp [UCX_TLS]` (tcp); with `--json` it prints
//! all rounds, as `oxshmem-benches` reads them.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use oxshmem_transport::suite::beside::{MeasuringPe, TURN};
use oxshmem_transport::suite::processes::OtherProcess;
use oxshmem_transport_ucx::PROVIDER;
use oxshmem_ucx_sys as sys;
use oxshmem_ucx_sys::inline::{self, Started};

const ROUNDS: usize = 15;
const TURNS: u32 = 1_000;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The measurements; bare and provided follow each other in every round.
const NAMES: [&str; 5] =
    ["put 8 B", "put 8 B and quiet", "put 32 KiB and quiet", "put 256 KiB and quiet", "put 1 MiB and quiet"];
/// The times of one round.
type Round = [Duration; 2 * NAMES.len()];

fn main() {
    let (options, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with('-'));
    let tls = words.first().map_or("tcp", String::as_str);
    let mut other = if words.len() > 1 { OtherProcess::starter() } else { OtherProcess::start(&[tls, "second"]) };
    let mut pe = MeasuringPe::open(&PROVIDER, tls, DATA + MIB, &mut other);
    let bare = Bare::new(tls, &pe.words, &mut other);
    let rounds: Vec<Round> = (0..ROUNDS).map(|_| round(&mut pe, &bare)).collect();
    if pe.me == 0 && options.iter().any(|word| word == "--json") {
        print_lines(tls, &rounds);
    } else if pe.me == 0 {
        println!("over {tls}");
        for (i, name) in NAMES.iter().enumerate() {
            let best = |i: usize| rounds.iter().map(|round| round[i].as_secs_f64() * 1e6).fold(f64::MAX, f64::min);
            let (bare, ours) = (best(2 * i), best(2 * i + 1));
            println!("{name:<24} bare {bare:>9.2} us   oxshmem {ours:>9.2} us   {:.2} of bare", ours / bare);
        }
    }
    pe.close();
    other.end();
}

/// One line for each side of each row.
fn print_lines(tls: &str, rounds: &[Round]) {
    for (i, name) in NAMES.iter().enumerate() {
        let way = if i == 0 { ", one way" } else { "" };
        for (side, at) in [("limit", 2 * i), ("ours", 2 * i + 1)] {
            let values: Vec<u128> = rounds.iter().map(|round| round[at].as_nanos()).collect();
            let row = format!("{name} over UCX's {}{way}", tls.to_uppercase());
            println!("{{\"row\":{row:?},\"side\":\"{side}\",\"pe\":0,\"values\":{values:?}}}");
        }
    }
}

/// Where data begin in the memory of a PE.
const DATA: usize = 4096;

/// Measures all of it, bare and provided.
fn round(pe: &mut MeasuringPe, bare: &Bare) -> Round {
    let word = |offset: usize, value: u64| bare.put(offset, (&raw const value).cast(), 8);
    let serve = || bare.progress();
    let bare_way = pe.one_way(TURNS, |_, turn| word(TURN, turn), |pe| pe.word(TURN), |_| bare.progress(), serve);
    let way = pe.one_way_provided(TURNS, serve);
    let bare_word = |_: &MeasuringPe| {
        word(DATA, 1);
        bare.flush();
    };
    let provided_word = |pe: &MeasuringPe| {
        pe.put(DATA, 1);
        pe.quiet();
    };
    let [bare_quiet, quiet] = [pe.repeat(TURNS, bare_word, serve), pe.repeat(TURNS, provided_word, serve)];
    let bare_block = |pe: &MeasuringPe, n: usize| {
        bare.put(DATA, pe.words[DATA / 8..].as_ptr().cast(), n);
        bare.flush();
    };
    let block = |pe: &MeasuringPe, n: usize| {
        let (to, source) = (pe.there(DATA), pe.words[DATA / 8..].as_ptr().cast());
        // SAFETY: the words live as long as this PE.
        pe.issue(|lane| unsafe { lane.put_nbi(to, source, n) });
        pe.quiet();
    };
    let mut blocks = |times: u32, n: usize| {
        [pe.repeat(times, |pe| bare_block(pe, n), serve), pe.repeat(times, |pe| block(pe, n), serve)]
    };
    let [short, long, longest] = [(200, 32 * KIB), (50, 256 * KIB), (20, MIB)].map(|(times, n)| blocks(times, n));
    [bare_way, way, bare_quiet, quiet, short[0], short[1], long[0], long[1], longest[0], longest[1]]
}

/// The least that `ucp_*` needs for puts: a context, a worker, an endpoint and a key.
struct Bare {
    ucx: &'static sys::Ucx,
    worker: sys::ucp_worker_h,
    endpoint: sys::ucp_ep_h,
    key: sys::ucp_rkey_h,
    address: u64,
}

impl Bare {
    /// Reaches the other PE's memory. The PEs tell each other the worker's address, and the memory's key and address.
    fn new(tls: &str, words: &[AtomicU64], other: &mut OtherProcess) -> Self {
        let ucx = sys::Ucx::open().unwrap_or_else(|missing| panic!("{missing}"));
        let tls = std::ffi::CString::new(tls).expect("a word");
        let (mut config, mut context, mut worker, mut memory) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let params = sys::ucp_params_t {
            field_mask: sys::UCP_PARAM_FIELD_FEATURES.into(),
            features: sys::UCP_FEATURE_RMA.into(),
            ..blank()
        };
        let map = sys::ucp_mem_map_params_t {
            field_mask: (sys::UCP_MEM_MAP_PARAM_FIELD_ADDRESS | sys::UCP_MEM_MAP_PARAM_FIELD_LENGTH).into(),
            address: words.as_ptr().cast_mut().cast(),
            length: size_of_val(words),
            ..blank()
        };
        let mut attr = sys::ucp_worker_attr_t { field_mask: sys::UCP_WORKER_ATTR_FIELD_ADDRESS.into(), ..blank() };
        let (mut packed, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the calls of UCX's manual in their order, on one thread, with places for all results; the memory lives
        // until the process ends.
        unsafe {
            well((ucx.config_read)(ptr::null(), ptr::null(), &mut config));
            well((ucx.config_modify)(config, c"TLS".as_ptr(), tls.as_ptr()));
            well(inline::ucp_init(ucx, &params, config, &mut context));
            well((ucx.worker_create)(context, &blank(), &mut worker));
            well((ucx.mem_map)(context, &map, &mut memory));
            well((ucx.worker_query)(worker, &mut attr));
            well((ucx.rkey_pack)(context, memory, &mut packed, &mut size));
            let address = std::slice::from_raw_parts(attr.address.cast::<u8>(), attr.address_length).to_vec();
            let key = std::slice::from_raw_parts(packed.cast::<u8>(), size).to_vec();
            let at = (words.as_ptr().addr() as u64).to_le_bytes();
            let [their_address, their_key, at] = [&address[..], &key, &at].map(|mine| other.swap(mine));
            let params = sys::ucp_ep_params_t {
                field_mask: sys::UCP_EP_PARAM_FIELD_REMOTE_ADDRESS.into(),
                address: their_address.as_ptr().cast(),
                ..blank()
            };
            let (mut endpoint, mut key) = (ptr::null_mut(), ptr::null_mut());
            well((ucx.ep_create)(worker, &params, &mut endpoint));
            well((ucx.ep_rkey_unpack)(endpoint, their_key.as_ptr().cast(), &mut key));
            Self { ucx, worker, endpoint, key, address: u64::from_le_bytes(at[..].try_into().expect("eight bytes")) }
        }
    }

    /// Returns when the source may be reused, as a put does. A flush that comes earlier takes longer.
    fn put(&self, offset: usize, source: *const u8, n: usize) {
        let (to, param) = (self.address + offset as u64, blank());
        // SAFETY: the other PE's memory is that long; sources live until the flush.
        let started = inline::started(unsafe { (self.ucx.put)(self.endpoint, source.cast(), n, to, self.key, &param) });
        self.finish(started);
    }

    fn flush(&self) {
        // SAFETY: a worker of this thread.
        self.finish(inline::started(unsafe { (self.ucx.worker_flush)(self.worker, &blank()) }));
    }

    fn finish(&self, started: Started) {
        match started {
            Started::Done => {}
            // SAFETY: a request under way, freed once.
            Started::Request(request) => unsafe {
                while (self.ucx.request_check_status)(request) == sys::UCS_INPROGRESS {
                    self.progress();
                }
                (self.ucx.request_free)(request);
            },
            Started::Failed(status) => well(status),
        }
    }

    fn progress(&self) {
        // SAFETY: a worker of this thread.
        unsafe { (self.ucx.worker_progress)(self.worker) };
    }
}

fn well(status: sys::ucs_status_t) {
    assert_eq!(status, sys::UCS_OK, "a call of UCX has failed");
}

/// All-zero, for structs of UCX that say by a mask which of their members count.
fn blank<T>() -> T {
    // SAFETY: used for UCX's C structs only, which are numbers and pointers; zero is a value of each.
    unsafe { MaybeUninit::zeroed().assume_init() }
}
