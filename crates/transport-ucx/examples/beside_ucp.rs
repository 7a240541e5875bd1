//! The provider beside bare `ucp_*` calls on the same transport, in one run between two processes of this host.
//!
//! Every round measures bare and provided in turn, so that what else runs on the machine disturbs both; the best round
//! counts. Run it with `cargo run --release -p oxshmem-transport-ucx --example beside_ucp [UCX_TLS]` (tcp); with `--json` it prints
//! all rounds, as `oxshmem-benches` reads them.

use std::io::{BufRead, BufReader, Write};
use std::mem::MaybeUninit;
use std::process::{Child, Command, Stdio};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxshmem_base::knobs::Settings;
use oxshmem_transport::suite::processes::{hex, unhex};
use oxshmem_transport::suite::{AllAddresses, issue};
use oxshmem_transport::{Agreed, Fabric, Lane, LaneOptions, Participant, Region, Remote, Segment};
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
    let mut pe = Pe::new(u32::from(words.len() > 1), tls);
    let rounds: Vec<Round> = (0..ROUNDS).map(|_| pe.round()).collect();
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
    pe.end();
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

/// Words of each PE: how often the other one has met, its turn; then data.
const MET: usize = 0;
const TURN: usize = 8;
const DATA: usize = 4096;

struct Pe {
    me: u32,
    bare: Bare,
    lane: Option<Box<dyn Lane>>,
    fabric: Box<dyn Fabric>,
    words: Vec<AtomicU64>,
    meetings: u64,
    turns: u64,
    second: Option<Child>,
}

impl Pe {
    /// PE 0 starts PE 1; they tell each other through pipes where they are.
    fn new(me: u32, tls: &str) -> Self {
        let words: Vec<_> = (0..(DATA + MIB) / 8).map(|_| AtomicU64::new(0)).collect();
        let settings = Settings::default();
        let choice = Agreed { detail: tls, ..Agreed::default() };
        let fabric = (PROVIDER.open)(&Participant::new(me, 2, &settings, &[0; 48]), &choice);
        let fabric = fabric.unwrap_or_else(|error| panic!("{error}"));
        let segment = Segment { base: words.as_ptr().cast_mut().cast(), len: words.len() * 8 };
        fabric.register(Region::Heap, segment).expect("it registers");
        let (mut bare, told) = Bare::new(tls, segment);
        let mine: String = [fabric.address()].iter().chain(&told).map(|bytes| format!("{}\n", hex(bytes))).collect();
        let (second, theirs) = if me == 0 {
            let program = std::env::current_exe().expect("a path");
            let mut command = Command::new(program);
            command.args([tls, "second"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut second = command.spawn().expect("it starts");
            second.stdin.take().expect("piped").write_all(mine.as_bytes()).expect("it reads");
            let theirs = lines(BufReader::new(second.stdout.take().expect("piped")));
            (Some(second), theirs)
        } else {
            print!("{mine}");
            (None, lines(std::io::stdin().lock()))
        };
        let mut addresses = vec![theirs[0].clone()];
        addresses.insert(me as usize, fabric.address());
        fabric.connect(Box::new(AllAddresses(addresses))).expect("it connects");
        let lane = fabric.lane(LaneOptions::default()).expect("there are lanes");
        bare.connect(&theirs[1..]);
        Self { me, bare, lane: Some(lane), fabric, words, meetings: 0, turns: 0, second }
    }

    fn word(&self, offset: usize) -> u64 {
        self.words[offset / 8].load(Ordering::Acquire)
    }

    fn lane(&self) -> &dyn Lane {
        &**self.lane.as_ref().expect("until the end")
    }

    fn there(&self, offset: usize) -> Remote {
        Remote { pe: 1 - self.me, region: Region::Heap, offset: offset as u64 }
    }

    fn put(&mut self, offset: usize, value: u64) {
        let to = self.there(offset);
        // SAFETY: the source is a number of this frame, which `put` has used when it returns.
        issue(&*self.fabric, self.lane(), |lane| unsafe { lane.put(to, (&raw const value).cast(), 8) });
    }

    fn progress(&mut self) {
        self.fabric.progress();
    }

    fn quiet(&mut self) {
        while self.lane().outstanding() > 0 {
            self.lane().progress().expect("nothing fails");
        }
    }

    fn bare_put(&mut self, offset: usize, value: u64) {
        self.bare.put(offset, (&raw const value).cast(), 8);
    }

    fn bare_progress(&mut self) {
        self.bare.progress();
    }

    fn put_and_quiet(&mut self) {
        self.put(DATA, 1);
        self.quiet();
    }

    fn bare_put_and_flush(&mut self) {
        self.bare_put(DATA, 1);
        self.bare.flush();
    }

    fn block<const N: usize>(&mut self) {
        let (to, source) = (self.there(DATA), self.words[DATA / 8..].as_ptr().cast());
        // SAFETY: the words live as long as this PE.
        issue(&*self.fabric, self.lane(), |lane| unsafe { lane.put_nbi(to, source, N) });
        self.quiet();
    }

    fn bare_block<const N: usize>(&mut self) {
        self.bare.put(DATA, self.words[DATA / 8..].as_ptr().cast(), N);
        self.bare.flush();
    }

    /// Both are here; each serves the other meanwhile, bare and provided.
    fn meet(&mut self) {
        self.meetings += 1;
        let count = self.meetings;
        self.put(MET, count);
        self.quiet();
        while self.word(MET) < count {
            self.progress();
            self.bare_progress();
        }
    }

    fn one_way(&mut self, put: fn(&mut Self, usize, u64), progress: fn(&mut Self)) -> Duration {
        self.meet();
        let start = Instant::now();
        for _ in 0..TURNS {
            self.turns += 1;
            let turn = self.turns;
            if self.me == 0 {
                put(self, TURN, turn);
            }
            while self.word(TURN) < turn {
                progress(self);
            }
            if self.me == 1 {
                put(self, TURN, turn);
            }
        }
        start.elapsed() / (2 * TURNS)
    }

    /// PE 0 does something many times while PE 1 waits and serves.
    fn repeat(&mut self, times: u32, act: fn(&mut Self)) -> Duration {
        self.meet();
        let start = Instant::now();
        if self.me == 0 {
            (0..times).for_each(|_| act(self));
        }
        let elapsed = start.elapsed() / times;
        self.meet();
        elapsed
    }

    fn round(&mut self) -> Round {
        [
            self.one_way(Pe::bare_put, Pe::bare_progress),
            self.one_way(Pe::put, Pe::progress),
            self.repeat(TURNS, Pe::bare_put_and_flush),
            self.repeat(TURNS, Pe::put_and_quiet),
            self.repeat(200, Pe::bare_block::<{ 32 * KIB }>),
            self.repeat(200, Pe::block::<{ 32 * KIB }>),
            self.repeat(50, Pe::bare_block::<{ 256 * KIB }>),
            self.repeat(50, Pe::block::<{ 256 * KIB }>),
            self.repeat(20, Pe::bare_block::<MIB>),
            self.repeat(20, Pe::block::<MIB>),
        ]
    }

    fn end(mut self) {
        self.meet();
        self.lane = None;
        self.fabric.close();
        if let Some(mut second) = self.second {
            assert!(second.wait().expect("it ends").success());
        }
    }
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
    /// Also what the other PE has to know: the worker's address, the memory's key and address.
    fn new(tls: &str, segment: Segment) -> (Self, [Vec<u8>; 3]) {
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
            address: segment.base.cast(),
            length: segment.len,
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
            let at = (segment.base.addr() as u64).to_le_bytes().to_vec();
            let bare = Self { ucx, worker, endpoint: ptr::null_mut(), key: ptr::null_mut(), address: 0 };
            (bare, [address, key, at])
        }
    }

    fn connect(&mut self, told: &[Vec<u8>]) {
        let params = sys::ucp_ep_params_t {
            field_mask: sys::UCP_EP_PARAM_FIELD_REMOTE_ADDRESS.into(),
            address: told[0].as_ptr().cast(),
            ..blank()
        };
        // SAFETY: what the other PE's worker has told.
        unsafe {
            well((self.ucx.ep_create)(self.worker, &params, &mut self.endpoint));
            well((self.ucx.ep_rkey_unpack)(self.endpoint, told[1].as_ptr().cast(), &mut self.key));
        }
        self.address = u64::from_le_bytes(told[2][..].try_into().expect("eight bytes"));
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

fn lines(from: impl BufRead) -> Vec<Vec<u8>> {
    from.lines().take(4).map(|line| unhex(&line.expect("text"))).collect()
}
