//! Descriptions of machines: how many cores share what, and what it costs to move a line and bytes between them.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How far apart two members are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineDistance {
    /// On one core.
    Core = 0,
    /// On cores that share a cache.
    Cache = 1,
    /// In one NUMA node.
    Numa = 2,
    /// On one socket.
    Socket = 3,
    /// On two sockets.
    Node = 4,
}

/// A machine. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeMachine {
    /// Its description.
    pub name: String,
    /// Sockets.
    pub sockets: u32,
    /// NUMA nodes of a socket.
    pub numa: u32,
    /// Caches of a NUMA node that several cores share.
    pub caches: u32,
    /// Cores of a cache.
    pub cores: u32,
    /// Hardware threads of a core.
    pub threads: u32,
    /// From a store to the sight of a reader who polls the line, by distance.
    pub line: [f64; 5],
    /// The part of that in which the store claims the line from the reader, 0 to 1; the reader's fetch is the rest.
    pub claim: f64,
    /// The time of a call beside its lines: its instructions, as a member that is alone in its team finds them.
    pub call: f64,
    /// A load or a store that finds its line, and the time from one load that does not to the next.
    pub hit: f64,
    /// A byte that a core copies, by distance.
    pub byte: [f64; 5],
    /// A byte on the boundary of a NUMA node and of a socket, in one direction.
    pub boundary: [f64; 2],
}

/// The descriptions that come with oxshmem, by name.
pub const MACHINES: [(&str, &str); 5] = [
    ("epyc-7742", include_str!("../machines/epyc-7742.txt")),
    ("epyc-9654", include_str!("../machines/epyc-9654.txt")),
    ("xeon-8480", include_str!("../machines/xeon-8480.txt")),
    ("grace", include_str!("../machines/grace.txt")),
    ("two-cores", include_str!("../machines/two-cores.txt")),
];

/// A description that cannot be read: the line's number and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineMistake {
    /// The line, from 1; 0 if something is missing.
    pub line: usize,
    /// The mistake.
    pub why: String,
}

/// The words of a description and how many numbers follow each.
const WORDS: [(&str, usize); 11] = [
    ("sockets", 1),
    ("numa", 1),
    ("caches", 1),
    ("cores", 1),
    ("threads", 1),
    ("line", 5),
    ("claim", 1),
    ("call", 1),
    ("hit", 1),
    ("byte", 5),
    ("boundary", 2),
];

/// The most hardware threads of a machine. Its cores are counted in 32 bits.
const MOST_THREADS: u64 = 1 << 20;

impl NodeMachine {
    /// Reads a description: `name` and a text, or one of the words and its numbers, a line each; `#` begins a remark.
    pub fn read(text: &str) -> Result<Self, MachineMistake> {
        let mut name = None;
        let mut values: [Option<Vec<f64>>; WORDS.len()] = [const { None }; WORDS.len()];
        for (line, content) in (1..).zip(text.lines()) {
            let mistake = |why: String| MachineMistake { line, why };
            let content = content.split('#').next().unwrap_or_default().trim();
            let (word, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
            match word {
                "" => continue,
                "name" => name = Some(rest.trim().to_string()),
                _ => {
                    let place = WORDS.iter().position(|(known, _)| *known == word);
                    let place = place.ok_or_else(|| mistake(format!("`{word}` is no word of a description")))?;
                    let numbers: Option<Vec<f64>> = rest.split_whitespace().map(|number| number.parse().ok()).collect();
                    let numbers =
                        numbers.filter(|n| n.len() == WORDS[place].1 && n.iter().all(|n| (0.0..1e9).contains(n)));
                    let wanted = WORDS[place].1;
                    values[place] = Some(numbers.ok_or_else(|| {
                        mistake(format!("`{word}` wants {wanted} numbers from 0, not `{}`", rest.trim()))
                    })?);
                }
            }
        }
        let missing = |word: &str| MachineMistake { line: 0, why: format!("`{word}` is missing") };
        let numbers = |word: &str| {
            let place = WORDS.iter().position(|(known, _)| *known == word).expect("one of the words");
            values[place].clone().ok_or_else(|| missing(word))
        };
        let count = |word: &str| match numbers(word)?[0] {
            count if (1.0..=4096.0).contains(&count) && count == f64::from(count as u32) => Ok(count as u32),
            count => {
                Err(MachineMistake { line: 0, why: format!("`{word}` is {count}, not a whole number from 1 to 4096") })
            }
        };
        let five = |word: &str| numbers(word).map(|n| core::array::from_fn(|i| n[i]));
        let counts = ["sockets", "numa", "caches", "cores", "threads"];
        let all = counts.into_iter().try_fold(1_u64, |all, word| count(word).map(|count| all * u64::from(count)))?;
        if all > MOST_THREADS {
            let why = format!("a machine of {all} hardware threads, and {MOST_THREADS} can be described");
            return Err(MachineMistake { line: 0, why });
        }
        Ok(Self {
            name: name.ok_or_else(|| missing("name"))?,
            sockets: count("sockets")?,
            numa: count("numa")?,
            caches: count("caches")?,
            cores: count("cores")?,
            threads: count("threads")?,
            line: five("line")?,
            claim: numbers("claim")?[0].min(1.0),
            call: numbers("call")?[0],
            hit: numbers("hit")?[0],
            byte: five("byte")?,
            boundary: [numbers("boundary")?[0], numbers("boundary")?[1]],
        })
    }

    /// The description that [`Self::read`] reads.
    pub fn write(&self) -> String {
        let five = |n: &[f64; 5]| n.map(|n| format!("{n}")).join(" ");
        let Self { name, sockets, numa, caches, cores, threads, line, claim, call, hit, byte, boundary } = self;
        format!(
            "name {name}\nsockets {sockets}\nnuma {numa}\ncaches {caches}\ncores {cores}\nthreads {threads}\nline {}\n\
             claim {claim}\ncall {call}\nhit {hit}\nbyte {}\nboundary {} {}\n",
            five(line),
            five(byte),
            boundary[0],
            boundary[1]
        )
    }

    /// Cores of the machine.
    pub fn all_cores(&self) -> u32 {
        self.sockets * self.numa * self.caches * self.cores
    }

    /// The most members that have a hardware thread each.
    pub fn most(&self) -> u32 {
        self.all_cores() * self.threads
    }

    /// The cores of `size` members: spread over the machine, neighbours beside each other, as `--bind core` does it.
    pub fn seats(&self, size: u32) -> Vec<u32> {
        let cores = self.all_cores();
        (0..size)
            .map(
                |pe| {
                    if size <= cores { (u64::from(pe) * u64::from(cores) / u64::from(size)) as u32 } else { pe % cores }
                },
            )
            .collect()
    }

    /// The cache, NUMA node and socket of a core.
    pub fn domains(&self, core: u32) -> [u32; 3] {
        let cache = core / self.cores;
        [cache, cache / self.caches, cache / self.caches / self.numa]
    }

    /// How far apart two cores are.
    pub fn distance(&self, a: u32, b: u32) -> LineDistance {
        let ([cache, numa, socket], [cache2, numa2, socket2]) = (self.domains(a), self.domains(b));
        if a == b {
            LineDistance::Core
        } else if cache == cache2 {
            LineDistance::Cache
        } else if numa == numa2 {
            LineDistance::Numa
        } else if socket == socket2 {
            LineDistance::Socket
        } else {
            LineDistance::Node
        }
    }

    /// One line: what it is made of.
    pub fn describe(&self) -> String {
        let Self { name, sockets, numa, caches, cores, threads, line: [l0, l1, l2, l3, l4], claim, .. } = self;
        format!(
            "{name}: {sockets} sockets x {numa} NUMA nodes x {caches} caches x {cores} cores x {threads} threads; a line \
             {l0}/{l1}/{l2}/{l3}/{l4} ns by distance (core/cache/NUMA node/socket/node), {claim} of it to claim"
        )
    }
}
