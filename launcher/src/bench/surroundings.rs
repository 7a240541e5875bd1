//! Where a campaign runs: what a reader has to know of the machine to believe the figures.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::info;

pub(crate) fn describe() -> Vec<(String, String)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let facts = info::facts();
    let fact = |part: &str, name: &str| match &facts[part][name] {
        serde_json::Value::Null => None,
        value => Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
    };
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name.to_owned()));
    let release = read("/etc/os-release");
    let system = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches('"').to_owned());
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").trim().to_owned();
    let load = read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned();
    let rows = [
        ("processor", model),
        (
            "processors",
            fact("machine", "processors")
                .map(|count| format!("{count} ({})", fact("machine", "processors_because").unwrap_or_default())),
        ),
        ("topology", fact("machine", "topology")),
        ("frequency governor", (!governor.is_empty()).then_some(governor)),
        ("memory", fact("machine", "memory").map(|free| format!("{free} free when the run began"))),
        ("network cards", fact("machine", "network_cards").filter(|cards| !cards.is_empty())),
        ("system", system),
        ("kernel", fact("machine", "kernel")),
        ("load when the run began", Some(load)),
        (
            "oxshmem",
            fact("oxshmem", "version")
                .map(|version| format!("{version}, {}", fact("oxshmem", "profile").unwrap_or_default())),
        ),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The name of the row that says how busy the processors were with other programs during the run.
pub(crate) const OTHERS: &str = "processors' time that other programs took";
/// The load of a processor from which on figures vary.
const BUSY: f64 = 0.3;

/// A note about a machine on which figures will vary.
pub(crate) fn note() -> Option<String> {
    let load: f64 = fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()?;
    let processors = oxshmem_os::cpus::usable();
    (load > BUSY * processors as f64).then(|| {
        format!("this machine is busy: its load is {load} on {processors} processors, and figures will vary with it")
    })
}

/// The time that processors have worked, in the kernel's ticks.
pub(crate) struct ProcessorTime {
    /// For all processes, idle time included.
    busy: u64,
    all: u64,
    /// For this process and its children that have ended.
    own: u64,
}

impl ProcessorTime {
    /// Since the machine and this process have started.
    pub(crate) fn so_far() -> ProcessorTime {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        ProcessorTime::of(&read("/proc/stat"), &read("/proc/self/stat"))
    }

    fn of(machine: &str, process: &str) -> ProcessorTime {
        let numbers = |text: &str| text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect::<Vec<u64>>();
        let line = numbers(machine.lines().next().and_then(|line| line.strip_prefix("cpu ")).unwrap_or_default());
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are among user.
        let all = line.iter().take(8).sum();
        let idle: u64 = line.iter().skip(3).take(2).sum();
        // The fields after the command's closing bracket begin with the third; the 14th to the 17th are times.
        let fields = numbers(process.rsplit(") ").next().unwrap_or_default());
        ProcessorTime { busy: all - idle, all, own: fields.iter().skip(11).take(4).sum() }
    }

    /// The share of all processors' time since then that was other programs', in percent.
    pub(crate) fn of_others(&self) -> Option<f64> {
        self.until(&ProcessorTime::so_far())
    }

    fn until(&self, now: &ProcessorTime) -> Option<f64> {
        let (busy, all) = (now.busy.checked_sub(self.busy)?, now.all.checked_sub(self.all)?);
        let others = busy.saturating_sub(now.own.checked_sub(self.own)?);
        (all > 0).then(|| 100.0 * others as f64 / all as f64)
    }
}

/// The rate of the fastest line out of this machine, in bytes a second.
pub(crate) fn line_rate() -> Option<f64> {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let gigabits = |text: String| text.split(' ').next()?.parse::<f64>().ok();
    let ports = entries("/sys/class/infiniband")
        .flat_map(|card| entries(&card.join("ports").to_string_lossy()).collect::<Vec<_>>());
    let cards =
        ports.filter_map(|port| gigabits(fs::read_to_string(port.join("rate")).ok()?)).map(|rate| rate * 1e9 / 8.0);
    let megabits = |text: String| text.trim().parse::<f64>().ok().filter(|rate| *rate > 0.0);
    let wires = entries("/sys/class/net")
        .filter_map(|wire| megabits(fs::read_to_string(wire.join("speed")).ok()?))
        .map(|rate| rate * 1e6 / 8.0);
    cards.chain(wires).max_by(f64::total_cmp)
}

/// The present time in UTC.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    utc(since)
}

/// Seconds since 1970 as a date and a time.
fn utc(seconds: u64) -> String {
    let (mut days, of_day) = (seconds / 86400, seconds % 86400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02} {:02}:{:02} UTC", month + 1, days + 1, of_day / 3600, of_day / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_827_696), "2000-02-29 12:34 UTC");
        assert_eq!(utc(4_102_444_799), "2099-12-31 23:59 UTC");
    }

    #[test]
    fn this_machine_is_described() {
        let rows = describe();
        for name in ["processors", "memory", "kernel", "oxshmem"] {
            assert!(rows.iter().any(|(known, value)| known == name && !value.is_empty()), "{name} in {rows:?}");
        }
    }

    #[test]
    fn the_time_of_others_is_what_we_did_not_take() {
        let process = |times: &str| format!("7 (a b) c) S 1 7 7 0 -1 0 0 0 0 0 {times} 20 0");
        let before = ProcessorTime::of("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1", &process("1 2 3 4"));
        let now = ProcessorTime::of("cpu  160 0 60 820 60 0 0 0 0 0\n", &process("2 3 13 24"));
        assert_eq!((before.busy, before.all, before.own), (150, 1000, 10));
        assert_eq!(before.until(&now), Some(38.0));
        assert_eq!(now.until(&before), None);
    }
}
