//! The output of `osh_info`: the version, the environment variables and the machine as oxshmem sees it.

use oxshmem_base::knobs::{self, Algorithms, Settings};
use oxshmem_base::{Error, size};
use oxshmem_os::{Pages, SharedMemory, cpus, limits, memory};
use oxshmem_schedule::algorithm::names::FAMILIES;
use oxshmem_schedule::choose;
use oxshmem_topology::{Discovered, discover};
use serde_json::{Value, json};

use crate::explain;

/// The programs that start PEs, as they are found in PATH, and how they reach us.
const LAUNCHERS: [(&str, &str); 6] = [
    ("oshrun", "our own"),
    ("mpiexec.hydra", "PMI-1"),
    ("srun", "PMI-1 with --mpi=pmi2"),
    ("flux", "PMI-1 with -o pmi=simple"),
    ("mpirun", "PMI-1 if it is Hydra's, PMIx if it is Open MPI's"),
    ("prterun", "PMIx"),
];

/// Everything, in named parts.
pub fn facts() -> Value {
    json!({ "oxshmem": build(), "machine": machine(), "limits": limits_of_process(), "libraries": libraries(),
        "launchers": launchers(), "variables": variables() })
}

/// The same for a reader.
pub fn as_text(facts: &Value) -> String {
    let mut text = String::new();
    for (part, title) in [
        ("oxshmem", "oxshmem"),
        ("machine", "This machine"),
        ("limits", "Limits of this process (ulimit)"),
        ("libraries", "Libraries that are used where they are there"),
        ("launchers", "Launchers in PATH"),
    ] {
        text += &format!("{title}\n");
        for (name, value) in facts[part].as_object().into_iter().flatten() {
            text += &format!("  {:<20} {}\n", name.replace('_', " "), plain(value));
        }
        text.push('\n');
    }
    text += "Environment variables\n";
    for knob in facts["variables"].as_array().into_iter().flatten() {
        let value = match &knob["set_by"] {
            Value::Null => format!("default: {}", plain(&knob["default"])),
            name => format!("set: {}={}", plain(name), plain(&knob["value"])),
        };
        let value = match &knob["refused"] {
            Value::Null => value,
            why => format!("{value}, which ends every job: {}", plain(why)),
        };
        text += &format!("  {:<40} {} [{value}]\n", plain(&knob["name"]), plain(&knob["meaning"]));
    }
    text
}

fn build() -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "specification": "OpenSHMEM 1.6",
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        "commit": option_env!("OXSHMEM_COMMIT").unwrap_or("unknown: not built by cargo xtask"),
        "compiler": option_env!("OXSHMEM_COMPILER").unwrap_or("unknown: not built by cargo xtask"),
        "installed_in": installed_in(),
        "profile": if cfg!(debug_assertions) { "development" } else { "release" },
    })
}

fn installed_in() -> Option<String> {
    let tool = std::env::current_exe().ok()?.canonicalize().ok()?;
    Some(tool.parent()?.parent()?.display().to_string())
}

/// The limits of this process that jobs meet, as the kernel tells them.
fn limits_of_process() -> Value {
    let table = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let soft = |name: &str| {
        let rest = table.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    json!({
        "locked_memory": soft("Max locked memory"),
        "open_files": soft("Max open files"),
        "processes": soft("Max processes"),
        "address_space": soft("Max address space"),
        "core_file": soft("Max core file size"),
    })
}

/// Libraries that are opened at run time: the files that the loader finds, and their versions.
fn libraries() -> Value {
    let found = crate::doctor::library_versions();
    found.into_iter().map(|(name, told)| (name, json!(told))).collect::<serde_json::Map<_, _>>().into()
}

fn machine() -> Value {
    let (allowed, usable) = (cpus::allowed(), cpus::usable());
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let why = if usable < allowed.len() {
        "a control group's processor quota".to_string()
    } else {
        format!("those this process may run on, of {} online", online.trim())
    };
    let tightest = limits::tightest();
    let huge = memory::huge_page_size();
    let memfd = SharedMemory::create(c"osh_info", 1 << 16, Pages::Small).and_then(|file| file.commit(0, 1 << 16));
    let seen = discover("auto").ok();
    let cards =
        |seen: &Discovered| seen.node.nics.iter().map(|nic| nic.describe(&seen.node)).collect::<Vec<_>>().join(", ");
    json!({
        "topology": seen.as_ref().map(|seen| format!("{} (by {})", seen.node.describe(), seen.source)),
        "network_cards": seen.as_ref().map(cards),
        "processors": usable,
        "processors_because": why,
        "memory": size::display(tightest.free),
        "memory_bytes": tightest.free,
        "memory_because": tightest.limited_by,
        "huge_pages": huge.map_or("none".into(), |size| {
            format!("{} free of {}", memory::free_huge_pages(size), size::display(size))
        }),
        "shared_memory": memfd.map_or_else(|error| format!("not available: {error}"), |()| "available (memfd_create)".into()),
        "kernel": std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
    })
}

fn launchers() -> Value {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    LAUNCHERS
        .iter()
        .filter_map(|(name, way)| Some((name.to_string(), json!(format!("{} ({way})", find(name)?.display())))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn variables() -> Value {
    knobs::all()
        .map(|knob| {
            let current = knob.current();
            let refused = current.as_ref().and_then(|(name, value)| refusal(name, value));
            let (set_by, value) = current.unzip();
            json!({
                "name": knob.name, "aliases": knob.aliases, "values": knob.values(), "default": knob.default,
                "meaning": knob.doc, "set_by": set_by, "value": value, "refused": refused,
            })
        })
        .collect()
}

/// Why a job refuses this value of a variable.
fn refusal(name: &str, value: &str) -> Option<String> {
    let error = match Settings::from_vars(std::iter::once((name.to_owned(), value.to_owned()))) {
        Ok((settings, _)) => unknown_algorithm(&settings).or_else(|| unusable_table(&settings))?,
        Err(error) => error,
    };
    Some(error.reason().unwrap_or(error.what()).to_owned())
}

/// The error about the first name that is none of an algorithm. The library finds it when it makes its choice.
fn unknown_algorithm(settings: &Settings) -> Option<Error> {
    FAMILIES.iter().zip(settings.algorithms.by_family()).find_map(|((family, collectives), name)| {
        let possible = choose::prefer(&mut Vec::new(), collectives, name).err()?;
        Some(Algorithms::unknown(family, name, &possible))
    })
}

/// The error about a table that cannot be used. The library reads it when it makes its choice.
fn unusable_table(settings: &Settings) -> Option<Error> {
    explain::rows_of(settings.tuning_file.as_ref()?).err()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_ends_jobs_is_told() {
        assert_eq!(refusal("SHMEM_CHECK", "2"), None);
        assert!(
            refusal("SHMEM_CHECK", "9").is_some_and(|why| why.contains("0 to 3")),
            "{:?}",
            refusal("SHMEM_CHECK", "9")
        );
        for (family, name, is_possible) in [
            ("BCAST", "tree-3", true),
            ("BCAST", "tree-16", false),
            ("BCAST", "chain-1", true),
            ("REDUCE", "butterfly-8", true),
            ("REDUCE", "butterfly-9", false),
            ("BARRIER", "dissemination-64", true),
            ("BARRIER", "dissemination-65", false),
        ] {
            let refusal = refusal(&format!("SHMEM_{family}_ALGORITHM"), name);
            assert_eq!(refusal.is_none(), is_possible, "{name}");
            assert!(
                refusal.is_none_or(|why| why.contains(&format!("number of a {}: 2", name.split('-').next().unwrap())))
            );
        }
        assert!(refusal("SHMEM_BCAST_ALGO", "ring").is_some_and(|why| why.contains("scatter-gather")));
        assert!(refusal("SHMEM_TUNING", "/nowhere/table").is_some() && refusal("SHMEM_TUNING", "/dev/null").is_some());
        let variable = json!({ "name": "V", "meaning": "M", "set_by": "V", "value": "9", "refused": "it wants 0" });
        let text = as_text(&json!({ "variables": [variable] }));
        assert!(text.contains("[set: V=9, which ends every job: it wants 0]"), "{text}");
    }

    #[test]
    fn every_launcher_that_is_listed_starts_jobs() {
        assert!(LAUNCHERS.iter().all(|(name, way)| !way.contains("not") && (*name == "oshrun" || way.contains("PMI"))));
    }

    #[test]
    fn every_fact_is_told_in_both_forms() {
        let facts = facts();
        let text = as_text(&facts);
        assert_eq!(facts["variables"].as_array().unwrap().len(), knobs::all().count());
        assert!(facts["machine"]["processors"].as_u64().unwrap() >= 1);
        assert!(facts["machine"]["memory_bytes"].as_u64().unwrap() > 1 << 20);
        for word in [
            "open files",
            "libfabric",
            "commit",
            "SHMEM_SYMMETRIC_SIZE",
            "OpenSHMEM 1.6",
            "memfd_create",
            env!("CARGO_PKG_VERSION"),
        ] {
            assert!(text.contains(word), "{word} is missing in\n{text}");
        }
    }
}
