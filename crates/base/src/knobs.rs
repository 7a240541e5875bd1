//! The environment variables of oxshmem. One table says what they are called, what they mean and how they are read;
//! the settings, the `SHMEM_INFO` listing, `osh_info`, the manual and the search for unknown names all come from it.

mod algorithms;
mod listing;
mod node_levels;
mod table;
mod warnings;

use crate::{Error, cut, names};
pub use listing::listing;
pub use node_levels::NodeLevels;
pub use table::{IGNORED, KnobSubject, SUBJECTS, active, all};
use warnings::{is_ours, letters_behind_a_size, unknown};

/// One environment variable.
pub struct Knob {
    /// The name the manual uses.
    pub name: &'static str,
    /// Other names that are read when `name` is not set: deprecated ones and those of other libraries.
    pub aliases: &'static [&'static str],
    /// The form of its value.
    pub value: Value,
    /// The value that changes nothing, or a word on how the value is chosen when the variable is not set.
    pub default: &'static str,
    /// Its effect, in one line.
    pub doc: &'static str,
    apply: fn(&mut Settings, &Reading<'_>) -> Result<(), Error>,
}

/// The form of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Set means on; empty, `0`, `n`, `no`, `f`, `false` and `off` mean off.
    Switch,
    /// A number of bytes, see [`crate::size`].
    Size,
    /// A whole number.
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Ports, from one to another.
    Ports,
    /// A word, or sizes of nested groups.
    Levels,
    /// A schedule of a collective: one of these names, or one with another number.
    Schedule(&'static [&'static str]),
    /// A path or a name.
    Text,
    /// A command that one of the tools runs; the library does not read it.
    Tool,
    /// Accepted so that scripts written for other libraries run; it has no effect.
    Ignored,
}

/// How a PE waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Spin if there are enough processors for all PEs, and yield otherwise.
    #[default]
    Auto,
    /// As `Auto` where each PE has a processor: spin, then yield and sleep.
    Spin,
    /// As `Auto` where PEs outnumber processors: yield, then sleep.
    Yield,
}

impl Wait {
    /// All of them.
    pub const ALL: [Wait; 3] = [Wait::Auto, Wait::Spin, Wait::Yield];
}

/// The device that does the atomics of a job of several nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomics {
    /// The network where each node has one PE and a card that does all of them, otherwise the processors.
    #[default]
    Auto,
    /// The processors of the targets.
    Processor,
    /// The network, also on a PE's own node.
    Network,
}

/// To what PEs are bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bind {
    /// To nothing: they stay where the system or a scheduler lets them run.
    #[default]
    None,
    /// Each to one core, all threads of it.
    Core,
    /// Each to the processors of one NUMA node.
    Numa,
}

/// How the PEs of a node are given network cards. All but `Near` are those of Cray's OpenSHMEM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NicPolicy {
    /// The nearest card; PEs with several equally near ones are spread over them.
    #[default]
    Near,
    /// Equal blocks of consecutive PEs, a card for each.
    Block,
    /// PE after PE takes the next card.
    RoundRobin,
    /// As `Near`, and a PE whose NUMA node is not certain is an error.
    Numa,
    /// As `SHMEM_OFI_NIC_MAPPING` says.
    User,
}

/// The treatment of a deadlock: a job whose waits nothing can end any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deadlock {
    /// It is reported, and the job goes on waiting.
    #[default]
    Report,
    /// It is reported, and the job ends.
    Abort,
    /// The library does not look for deadlocks.
    Off,
}

/// The meaning of the target sizes that a program gives to alltoallv.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetSizes {
    /// Only results: how many bytes came in.
    #[default]
    Results,
    /// Also the room there is; a block that does not fit ends the job.
    Abort,
    /// Also the room there is; a block that does not fit is cut.
    Truncate,
}

/// Which algorithm each collective uses; `auto` lets the library choose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the routines")]
pub struct Algorithms {
    pub barrier: String,
    pub broadcast: String,
    pub reduce: String,
    pub collect: String,
    pub fcollect: String,
    pub alltoall: String,
}

/// The values of all variables. Each field is described by its row in [`SUBJECTS`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "SUBJECTS documents every one")]
pub struct Settings {
    pub symmetric_size: Option<u64>,
    pub version: bool,
    pub info: bool,
    pub info_lists: bool,
    pub debug: bool,
    pub check: u8,
    pub huge_pages: bool,
    pub huge_page_size: Option<u64>,
    pub statics: bool,
    pub wait: Wait,
    pub singleton: bool,
    pub pmi: String,
    pub bind: Bind,
    pub topology: String,
    pub nic_policy: NicPolicy,
    pub nic_mapping: Option<String>,
    pub nic_count: Option<String>,
    pub max_contexts: Option<u64>,
    pub teams_max: Option<u64>,
    pub trap_on_abort: bool,
    pub backtrace: bool,
    pub recorder: bool,
    pub algorithms: Algorithms,
    pub transport: String,
    pub atomics: Atomics,
    pub node_levels: NodeLevels,
    pub tuning_file: Option<String>,
    pub alltoallv_target_sizes: TargetSizes,
    pub hang_seconds: u64,
    pub deadlock: Deadlock,
    pub ofi_provider: Option<String>,
    pub ofi_fabric: Option<String>,
    pub ofi_domain: Option<String>,
    /// The transport chooses the number if this is not set.
    pub rails: Option<u16>,
    pub tcp_interface: Option<String>,
    /// First and last port, both included.
    pub tcp_ports: Option<(u16, u16)>,
    pub tcp_encrypt: bool,
    pub peer_timeout: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let auto = || "auto".to_owned();
        Settings {
            symmetric_size: None,
            version: false,
            info: false,
            info_lists: false,
            debug: false,
            check: 1,
            huge_pages: false,
            huge_page_size: None,
            statics: true,
            wait: Wait::Auto,
            singleton: false,
            pmi: auto(),
            bind: Bind::None,
            topology: auto(),
            nic_policy: NicPolicy::Near,
            nic_mapping: None,
            nic_count: None,
            max_contexts: None,
            teams_max: None,
            trap_on_abort: false,
            backtrace: false,
            recorder: true,
            algorithms: Algorithms {
                barrier: auto(),
                broadcast: auto(),
                reduce: auto(),
                collect: auto(),
                fcollect: auto(),
                alltoall: auto(),
            },
            transport: auto(),
            atomics: Atomics::Auto,
            node_levels: NodeLevels::Auto,
            tuning_file: None,
            alltoallv_target_sizes: TargetSizes::Results,
            hang_seconds: 0,
            deadlock: Deadlock::Report,
            ofi_provider: None,
            ofi_fabric: None,
            ofi_domain: None,
            rails: None,
            tcp_interface: None,
            tcp_ports: None,
            tcp_encrypt: false,
            peer_timeout: 30,
        }
    }
}

impl Settings {
    /// Reads the environment of this process. The second part are warnings, to be printed once per job.
    pub fn from_env() -> Result<(Settings, Vec<String>), Error> {
        Settings::from_vars(environment())
    }

    /// Reads the variables among `vars` that are ours; a value that makes no sense is an error.
    pub fn from_vars(vars: impl Iterator<Item = (String, String)>) -> Result<(Settings, Vec<String>), Error> {
        let ours: Vec<_> = vars.filter(|(name, _)| is_ours(name)).collect();
        let mut settings = Settings::default();
        let mut warnings = Vec::new();
        for knob in all() {
            let is_set = |reading: &Reading<'_>| knob.is_set_by(reading.value);
            let mut readings = knob.names().filter_map(|name| reading(name, &ours)).filter(is_set);
            let Some(first) = readings.next() else { continue };
            (knob.apply)(&mut settings, &first)?;
            if table::FORMER.contains(&first.name) {
                warnings.push(format!("{} is called {} now; the former name still works", first.name, knob.name));
            }
            warnings.extend(letters_behind_a_size(&first).filter(|_| knob.value == Value::Size));
            for ignored in readings.filter(|other| other.value != first.value) {
                let value = cut(ignored.value);
                warnings.push(format!("{}={value} is ignored because {} is set too", ignored.name, first.name));
            }
        }
        warnings.extend(ours.iter().filter_map(|(name, _)| unknown(name)));
        Ok((settings, warnings))
    }
}

impl Knob {
    /// The name and then the aliases, in the order in which they are looked up.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// The name by which the environment of this process sets it, and the value.
    pub fn current(&self) -> Option<(&'static str, String)> {
        self.current_in(|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    }

    fn current_in(&self, value: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
        self.names().find_map(|name| Some((name, value(name).filter(|value| self.is_set_by(value))?)))
    }

    /// Whether a value sets it. `NAME=` in a script means that the variable is not set; for a switch it means off.
    fn is_set_by(&self, value: &str) -> bool {
        self.value == Value::Switch || !value.trim().is_empty()
    }

    /// The values that may stand behind the `=`.
    pub fn values(&self) -> String {
        match self.value {
            Value::Switch => "0 or 1".to_owned(),
            Value::Size => "a size like 512M".to_owned(),
            Value::Number => "a whole number".to_owned(),
            Value::Word(words) => words.join(", "),
            Value::Ports => "ports, like 41000-41999".to_owned(),
            Value::Levels => "auto, off, or sizes of groups, like 4,16,64".to_owned(),
            Value::Schedule(names) => algorithms::with_numbers(names),
            Value::Text => "a text".to_owned(),
            Value::Tool => "a command".to_owned(),
            Value::Ignored => "anything".to_owned(),
        }
    }
}

/// How a switch is read.
pub fn is_on(value: &str) -> bool {
    !["", "0", "n", "no", "f", "false", "off"].contains(&value.trim().to_ascii_lowercase().as_str())
}

fn environment() -> impl Iterator<Item = (String, String)> {
    let text = |part: std::ffi::OsString| part.to_string_lossy().into_owned();
    std::env::vars_os().map(move |(name, value)| (text(name), text(value)))
}

/// A variable as the environment has it.
struct Reading<'v> {
    name: &'v str,
    value: &'v str,
}

fn reading<'v>(name: &str, vars: &'v [(String, String)]) -> Option<Reading<'v>> {
    vars.iter().find(|(n, _)| n == name).map(|(name, value)| Reading { name, value })
}

impl Reading<'_> {
    fn switch(&self) -> bool {
        is_on(self.value)
    }

    fn size(&self) -> Result<u64, Error> {
        crate::size::parse(self.value).map_err(|error| {
            Error::new(format!("{}={} cannot be read", self.name, self.value))
                .because(error.reason().unwrap_or("it is no size"))
                .fix(format!("write a number and one of K, M, G, T, for example {}=512M", self.name))
        })
    }

    fn number(&self, most: u64) -> Result<u64, Error> {
        self.value.trim().parse().ok().filter(|&number| number <= most).ok_or_else(|| {
            Error::new(format!("{}={} cannot be read", self.name, self.value))
                .because(format!("it wants a whole number from 0 to {most}"))
                .fix(format!("set {} to such a number or unset it", self.name))
        })
    }

    /// The first and the last of a range of ports, or the only one; nothing means any.
    fn ports(&self) -> Result<Option<(u16, u16)>, Error> {
        let Some(text) = self.text() else { return Ok(None) };
        let (first, last) = text.split_once('-').unwrap_or((&text, &text));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let range = port(first).zip(port(last)).filter(|(first, last)| first <= last);
        range.map(Some).ok_or_else(|| {
            Error::new(format!("{}={} cannot be read", self.name, self.value))
                .because("it wants the first and the last of a range of ports, from 1 to 65535")
                .fix(format!("set for example {}=41000-41999", self.name))
        })
    }

    /// The place of the value in `words`.
    fn word(&self, words: &'static [&'static str]) -> Result<usize, Error> {
        let value = self.value.trim().to_ascii_lowercase();
        words.iter().position(|word| *word == value).ok_or_else(|| {
            let near = names::nearest(&value, words.iter().copied());
            let meant = near.map_or_else(|| " to one of these".to_owned(), |near| format!("={near}"));
            Error::new(format!("{}={} cannot be read", self.name, self.value))
                .because(format!("it wants one of {}", words.join(", ")))
                .fix(format!("set {}{meant}", self.name))
        })
    }

    /// An empty text counts as none.
    fn text(&self) -> Option<String> {
        Some(self.value.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn text_or_auto(&self) -> String {
        self.text().unwrap_or_else(|| "auto".to_owned())
    }
}

#[cfg(test)]
mod tests;
