//! From facts to verdicts. Everything is a pure function.

use std::collections::BTreeSet;

use oxshmem_base::size;

use super::facts::{CardPort, Facts};
use super::finding::Diagnosis;
use crate::verdict::counted_as;
use crate::wrapper::modules;

/// Cards pin memory; a job that may lock less than this soon gets no further registration.
const LEAST_LOCKABLE: u64 = 1 << 30;
/// A PE needs a descriptor for each peer of its node while the node meets, and one for each peer over TCP.
const LEAST_FILES: u64 = 4096;
/// Addresses that one PE needs of its node for another one besides the heap, and those that a program needs for itself.
const ADDRESSES: (u64, u64) = (8 << 30, 1 << 30);
/// Jobs with less memory than this have hardly any heap.
const LEAST_MEMORY: u64 = 512 << 20;
/// A PE is a process, and may have a thread for progress.
const LEAST_PROCESSES: u64 = 64;
/// The size that Docker gives `/dev/shm`.
const SMALL_SHM: u64 = 64 << 20;
/// Clocks that differ by more make traces and logs of several hosts misleading.
const CLOCK_OFFSET_NS: i64 = 100_000_000;

pub(crate) fn host(facts: &Facts) -> Vec<Diagnosis> {
    let checks = [
        ("memory", memory(facts)),
        ("shared memory", shared_memory(facts)),
        ("locked memory", locked(facts)),
        ("open files", files(facts)),
        ("addresses", addresses(facts)),
        ("processors", processors(facts)),
        ("topology", numa(facts)),
        ("huge pages", huge_pages(facts)),
        ("/dev/shm", dev_shm(facts)),
        ("ptrace", ptrace(facts)),
        ("interfaces", interfaces(facts)),
        ("ports", port(facts)),
        ("launcher", launcher(facts)),
        ("tools", tools(facts)),
        ("load", load(facts)),
        ("processes", processes(facts)),
    ];
    let fortran = fortran(facts).map(|verdict| ("Fortran", verdict));
    let cards = facts.cards.iter().map(|card| ("cards", one_card(card)));
    let without_card = || ("cards", Diagnosis::note("none of a fabric; jobs of several hosts take TCP"));
    let without_card = (!facts.has_card()).then(without_card);
    let libraries = facts.libraries.iter().map(|(name, file)| ("libraries", library(facts, name, file.as_deref())));
    let all = checks.into_iter().chain(fortran).chain(cards).chain(without_card).chain(libraries);
    all.map(|(check, verdict)| verdict.of(&facts.host, check)).collect()
}

fn memory(facts: &Facts) -> Diagnosis {
    let (free, limited_by) = &facts.memory;
    let verdict = format!("{} free", size::display(*free));
    if *free < LEAST_MEMORY {
        Diagnosis::warning(verdict)
            .because(format!("{limited_by} leaves no more"))
            .fix("give the job's control group or container more memory, or run fewer PEs here")
    } else {
        Diagnosis::good(format!("{verdict}, by {limited_by}"))
    }
}

fn shared_memory(facts: &Facts) -> Diagnosis {
    match &facts.no_shared_memory {
        None => Diagnosis::good("anonymous memory files work (memfd_create)"),
        Some(why) => Diagnosis::fault("cannot be made")
            .because(why)
            .fix("allow memfd_create and fallocate in the container's seccomp profile"),
    }
}

fn locked(facts: &Facts) -> Diagnosis {
    let limit = facts.lockable.map_or_else(|| "unlimited".to_owned(), size::display);
    match facts.lockable {
        Some(bytes) if bytes < LEAST_LOCKABLE && facts.has_card() => Diagnosis::warning(format!(
            "a process may lock {limit}"
        ))
        .because("cards pin the symmetric heap, and the limit of locked memory (ulimit -l) counts it")
        .fix(
            "put `* soft memlock unlimited` and `* hard memlock unlimited` into /etc/security/limits.conf, and\n\
                      LimitMEMLOCK=infinity into the unit of sshd or slurmd; then log in again",
        ),
        _ => Diagnosis::good(format!("limit: {limit}")),
    }
}

fn files(facts: &Facts) -> Diagnosis {
    let limit = match facts.open_files {
        u64::MAX => "unlimited".to_owned(),
        files => files.to_string(),
    };
    if facts.open_files < LEAST_FILES {
        Diagnosis::warning(format!("limit: {limit}"))
            .because("a PE has a connection to each peer of other nodes that it talks to, and may not raise the limit further")
            .fix(format!(
                "put `* hard nofile {LEAST_FILES}` into /etc/security/limits.conf and log in again; in a container\n\
                 docker run --ulimit nofile={LEAST_FILES}"
            ))
    } else {
        Diagnosis::good(format!("limit: {limit}"))
    }
}

fn addresses(facts: &Facts) -> Diagnosis {
    let Some(limit) = facts.addresses else {
        return Diagnosis::good("no limit");
    };
    let pes = limit.saturating_sub(ADDRESSES.1) / ADDRESSES.0;
    Diagnosis::warning(format!("a process may have {} of them", size::display(limit)))
        .because(format!(
            "a PE maps the windows of all PEs of its node, 8 GiB of addresses for each besides its heap: at most {pes} PEs start here"
        ))
        .fix("run `ulimit -v unlimited` before the job, or ask the scheduler for more (h_vmem, vmem): addresses cost no memory")
}

fn processors(facts: &Facts) -> Diagnosis {
    let (usable, allowed) = facts.processors;
    if usable < allowed {
        Diagnosis::warning(format!("{usable} of {allowed}"))
            .because("a control group's quota stops processes that use more")
            .fix(format!("run at most {usable} PEs here, or raise cpu.max of the group"))
    } else {
        Diagnosis::good(format!("{usable}"))
    }
}

fn numa(facts: &Facts) -> Diagnosis {
    let seen = facts.topology.clone().unwrap_or_else(|| "the machine tells nothing".into());
    if facts.numa_balancing {
        Diagnosis::warning(seen)
            .because("the kernel moves pages between NUMA nodes (kernel.numa_balancing=1), which disturbs bound PEs")
            .fix("sysctl kernel.numa_balancing=0")
    } else {
        Diagnosis::note(seen)
    }
}

fn huge_pages(facts: &Facts) -> Diagnosis {
    let verdict = match facts.huge_pages {
        None => "the kernel has none".to_owned(),
        Some((bytes, 0)) => format!(
            "none of {} is free; SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES would use small ones",
            size::display(bytes)
        ),
        Some((bytes, free)) => format!("{free} of {} are free", size::display(bytes)),
    };
    Diagnosis::note(verdict)
}

fn dev_shm(facts: &Facts) -> Diagnosis {
    let others = "oxshmem does not use it, but UCX and libfabric may";
    match facts.dev_shm {
        Some(bytes) if bytes <= SMALL_SHM && facts.has_card() => {
            Diagnosis::warning(size::display(bytes)).because(others).fix("docker run --shm-size=2g ...")
        }
        Some(bytes) => Diagnosis::note(format!("{}; {others}", size::display(bytes))),
        None => Diagnosis::note(format!("none; {others}")),
    }
}

fn ptrace(facts: &Facts) -> Diagnosis {
    let scope =
        facts.ptrace_scope.map_or_else(|| "no Yama".to_owned(), |scope| format!("kernel.yama.ptrace_scope={scope}"));
    Diagnosis::note(format!("{scope}; oxshmem does not need it, debuggers do"))
}

fn interfaces(facts: &Facts) -> Diagnosis {
    if facts.interfaces.is_empty() {
        Diagnosis::note("none on hardware, as in a container; TCP takes those that are up")
    } else {
        Diagnosis::good(format!("other hosts are reached by {}", facts.interfaces.join(", ")))
    }
}

fn port(facts: &Facts) -> Diagnosis {
    match &facts.no_port {
        None => Diagnosis::good("a TCP port can be opened"),
        Some(why) => Diagnosis::fault("no TCP port can be opened")
            .because(why)
            .fix("free ports (ss -tan), or name a range that is open: SHMEM_TCP_PORTS=41000-41999"),
    }
}

fn tools(facts: &Facts) -> Diagnosis {
    if facts.other_tools.is_empty() {
        Diagnosis::good("no other oshrun, oshcc or oshfort stands before ours in PATH")
    } else {
        Diagnosis::warning(format!("a shell finds {}", facts.other_tools.join(", ")))
            .because("they belong to another library or installation, and a program has to be started by the oshrun of its library")
            .fix("put the bin folder of this installation first in PATH, or call its tools by their paths")
    }
}

fn load(facts: &Facts) -> Diagnosis {
    // The load is that of the whole machine, wherever this process may run.
    let online = facts.online_processors;
    let verdict = format!("{:.1} on {}", facts.load, counted_as(online, "processor"));
    if facts.load > online as f64 / 2.0 {
        Diagnosis::warning(verdict)
            .because("other programs take processors, and PEs that wait for each other are as slow as the slowest one")
            .fix("wait until these programs end (`top` shows them), or start fewer PEs; measurements made now are not reliable")
    } else {
        Diagnosis::good(verdict)
    }
}

fn processes(facts: &Facts) -> Diagnosis {
    match &facts.processes {
        None => Diagnosis::good("no control group limits them"),
        Some((left, limit, file)) if *left < LEAST_PROCESSES => {
            Diagnosis::warning(format!("{left} of {limit} are left"))
                .because(format!(
                    "the control group or container has a limit ({file}), and each PE is a process with threads"
                ))
                .fix("raise it: docker run --pids-limit, TasksMax= of a unit, or pids.max")
        }
        Some((left, limit, _)) => Diagnosis::good(format!("{left} of {limit} are left")),
    }
}

/// Whether the Fortran modules are there; `None` where no compiler could make them.
fn fortran(facts: &Facts) -> Option<Diagnosis> {
    let folder = facts.missing_modules.as_ref()?;
    Some(
        Diagnosis::warning(format!("the modules in {folder} are not compiled"))
            .because("gfortran was not there when oxshmem was installed")
            .fix(format!("run `oshfort {}` as the owner of the installation", modules::OPTION)),
    )
}

fn launcher(facts: &Facts) -> Diagnosis {
    let verdict = if facts.launcher.is_empty() {
        "no scheduler around; oshrun starts jobs itself".to_owned()
    } else {
        format!("within a scheduler or launcher ({})", facts.launcher.join(", "))
    };
    Diagnosis::note(verdict)
}

fn one_card(card: &CardPort) -> Diagnosis {
    let CardPort { name, state, link, rate, roce_addresses } = card;
    let told = format!("{name}: {rate}, {link}, {state}");
    if !state.contains("ACTIVE") {
        return Diagnosis::warning(told).because("the link is not up, so no transport takes this port").fix(format!(
            "connect the cable, or start the subnet manager (opensm); then look at `ibstat {}`",
            name.split(':').next().unwrap_or(name)
        ));
    }
    if link == "Ethernet" && *roce_addresses == 0 {
        return Diagnosis::warning(told)
            .because("it has no address of RoCE version 2, without which other hosts cannot reach it")
            .fix("give its interface an IP address, and look at /sys/class/infiniband/*/ports/*/gid_attrs/types");
    }
    Diagnosis::good(told)
}

fn library(facts: &Facts, name: &str, file: Option<&str>) -> Diagnosis {
    let package = match name {
        "libfabric" => "libfabric1",
        "UCX" => "libucx0",
        "PMIx" => "libpmix2",
        _ => "libhwloc15",
    };
    match file {
        Some(file) => Diagnosis::good(format!("{name}: {file}")),
        None if facts.has_card() && matches!(name, "libfabric" | "UCX") => {
            Diagnosis::warning(format!("{name} is not found by the loader"))
                .because("there is a card that it may drive")
                .fix(format!(
                    "apt install {package} (or the module of your site), or add its folder to LD_LIBRARY_PATH"
                ))
        }
        None => Diagnosis::note(format!("{name} is not there, and nothing here needs it")),
    }
}

/// Whether all hosts have the build of the first one.
pub(crate) fn builds(all: &[Facts]) -> Option<Diagnosis> {
    let first = all.first()?;
    let others = || all.iter().filter(|facts| facts.build != first.build);
    let hosts: Vec<&str> = others().map(|facts| facts.host.as_str()).collect();
    Some(if hosts.is_empty() {
        Diagnosis::good(first.build.clone()).of("all hosts", "build")
    } else {
        let builds: BTreeSet<&str> = others().map(|facts| facts.build.as_str()).collect();
        let builds = Vec::from_iter(builds).join(" or ");
        Diagnosis::fault("another build of oxshmem")
            .because(format!("{} has {}, and not {builds}", first.host, first.build))
            .fix("install the same build on all hosts, or name the place of the right one: oshrun --remote-prefix DIR")
            .of(&hosts.join(", "), "build")
    })
}

/// How much another host's clock is ahead, when its answer came between two readings of our own.
pub(crate) fn clock(host: &str, before: u64, theirs: u64, after: u64) -> Diagnosis {
    let middle = before / 2 + after / 2;
    let (ahead, uncertain) = (theirs as i64 - middle as i64, (after - before) as i64 / 2);
    let ms = |nanoseconds: i64| nanoseconds as f64 / 1e6;
    let verdict = format!("{:+.1} ms beside ours, known to {:.1} ms", ms(ahead), ms(uncertain));
    let judged = if ahead.abs() > CLOCK_OFFSET_NS + uncertain {
        Diagnosis::warning(verdict)
            .because("times of output and logs from several hosts cannot be compared; jobs do not depend on it")
            .fix("start chronyd or systemd-timesyncd on all hosts")
    } else {
        Diagnosis::good(verdict)
    };
    judged.of(host, "clock")
}

#[cfg(test)]
mod tests;
