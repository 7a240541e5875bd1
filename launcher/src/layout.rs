//! Where the PEs of a job run: the plan, the hosts that were named or granted, and what travels to them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use oxshmem_base::Error;
use oxshmem_bootstrap::{OUR_JOBS, process_mapping, process_mapping_of};

use crate::hosts::allocation::{self, Allocation};
use crate::hosts::placement::{self, Room};
use crate::hosts::{self, HostEntry, is_here, is_this_machine};
use crate::link::frame::{FAN_OUT, HostPes, JobDescription, NO_HOST};
use crate::plan::JobPlan;
use crate::prepare::{self, Prepared};
use crate::program::Unusable;
use crate::remote::words_for;
use crate::verdict::{counted, counted_as};
use crate::wrapper::quoted;
use crate::{binding, say, stdout};

/// The job of a plan, with its PEs on their hosts.
pub(crate) fn laid_out(plan: &JobPlan, mark: String) -> Result<Rc<JobDescription>, Unusable> {
    let shell_was_named = plan.places.launch_agent.is_some();
    let mut plan = plan.clone();
    let (hosts, shell) = hosts_of(&plan).map_err(usage)?;
    plan.places.launch_agent = plan.places.launch_agent.or(shell);
    let rooms: Vec<Room> = hosts.iter().map(|(_, room)| *room).collect();
    if plan.places.size_is_open && !hosts.is_empty() {
        plan.programs[0].count = placement::natural_size(&rooms, plan.places.per_host);
    }
    let mut plan = plan.with_named_pes().map_err(usage)?;
    let size = plan.size();
    if let Some(note) = binding::note_of_unbound(&plan).map_err(usage)? {
        say(note);
    }
    if hosts.is_empty() {
        let nodes =
            here(size, plan.nodes, plan.places.per_host.filter(|_| !plan.places.oversubscribe)).map_err(usage)?;
        if nodes != plan.nodes {
            let (pes, made) = (counted(size as usize), counted_as(nodes as usize, "node"));
            let make = if size == 1 { "makes" } else { "make" };
            say(&format!("note: {pes} in equal blocks {make} {made}, not {}", plan.nodes));
        }
        let mapping = Some(process_mapping(size, size.div_ceil(plan.nodes.max(1))));
        let host = HostPes { host: 0, name: String::new(), pes: (0..size).collect() };
        return Ok(Rc::new(description(plan, mark, mapping, vec![host])));
    }
    let places = &plan.places;
    let nodes = placement::place(&rooms, size, places.per_host, places.map).map_err(usage)?;
    let mut host_pes = host_pes(&hosts, &nodes);
    // A host that waits and gets nothing to do would wait for ever.
    let idle = hosts.iter().find(|(name, _)| !host_pes.iter().any(|host| host.name == *name));
    if let (Some((name, _)), Some(_)) = (idle, plan.places.waiting.as_ref().filter(|waiting| waiting.meets)) {
        return Err(usage(
            Error::new(format!("--meet: host {name} waits, and gets none of {}", counted(size as usize)))
                .fix("run at least one PE on each host, for example with -N 1, or name fewer hosts"),
        ));
    }
    let mapping = process_mapping_of(&numbered(&host_pes, size));
    if host_pes.len() > FAN_OUT {
        // To an agent of another host `localhost` is that host. The first hosts are started from here.
        host_pes.sort_by_cached_key(|host| (!is_here(&host.name), !is_this_machine(&host.name)));
    }
    match &mut host_pes[..] {
        // Where the user has named a remote shell it is used for every host, be it this one.
        [only] if !shell_was_named && is_here(&only.name) => (only.host, only.name) = (0, String::new()),
        _ => plan.export(),
    }
    Ok(Rc::new(description(plan, mark, mapping, host_pes)))
}

/// `--display`: the map of this machine; other hosts tell theirs before they start PEs. Returns an exit status if the job
/// is not to go on.
pub(crate) fn map(description: &Rc<JobDescription>) -> Result<Option<i32>, Unusable> {
    if !description.is_here() {
        return Ok(None);
    }
    let prepared = Prepared::new(description, true)?;
    Ok(match stdout::print("oshrun", &prepared.map().unwrap_or_default()) {
        Ok(()) => prepared.is_only_shown().then_some(0),
        Err(status) => Some(i32::from(status)),
    })
}

/// `--dry-run`: hosts, how they are reached, PEs and what they run. Returns the exit status.
pub(crate) fn show(description: &Rc<JobDescription>) -> Result<i32, Unusable> {
    if description.is_here() {
        let prepared = Prepared::new(description, true)?;
        prepared.notes.iter().for_each(|note| say(note));
        return Ok(shown(|output| prepared.show(output)));
    }
    let program_numbers = prepare::program_numbers(&description.plan);
    let commands = description.host_pes.iter().map(|host| words_for(description, host, NO_HOST));
    let commands: Vec<_> = commands.collect::<Result<_, _>>().map_err(|why| usage(Error::new(why)))?;
    Ok(shown(|output| {
        for (host, words) in description.host_pes.iter().zip(commands) {
            let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
            writeln!(output, "host {}: {}", host.name, words.join(" "))?;
            let place = format!(" on {}", host.name);
            for &pe in &host.pes {
                let number = program_numbers[pe as usize] as usize;
                let file = Path::new(&description.plan.programs[number].command[0]);
                prepare::show_pe(output, description, pe, number, file, &place)?;
            }
        }
        Ok(())
    }))
}

/// Prints what would be started. Returns the exit status.
fn shown(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> i32 {
    stdout::print_with("oshrun", write).map_or_else(i32::from, |()| 0)
}

/// How many nodes PEs of this machine make in equal blocks, where the user wants `wanted`. `-N` limits the PEs of each.
fn here(size: u32, wanted: u32, per_host: Option<u32>) -> Result<u32, Error> {
    let block = size.div_ceil(wanted.max(1)).max(1);
    match per_host {
        Some(each) if block > each => {
            let (what, count) = if wanted > 1 { ("nodes", wanted) } else { ("host", 1) };
            Err(Error::new(format!("{size} PEs do not fit on {count} {what} with -N {each}"))
                .because(format!("{count} x {each} = {}", u64::from(each) * u64::from(count)))
                .fix("name more hosts with -H, or a larger -N, or add --oversubscribe"))
        }
        _ => Ok(size.div_ceil(block)),
    }
}

/// The hosts and the scheduler's own way to start something there.
type Hosts = (Vec<(String, Room)>, Option<String>);

/// The hosts that were named or granted. None: this machine alone.
fn hosts_of(plan: &JobPlan) -> Result<Hosts, Error> {
    let granted = match plan.nodes {
        1 if !plan.places.only_here => allocation::found(|name| std::env::var(name).ok()),
        _ => Ok(None),
    };
    let Some(named) = &plan.places.hosts else {
        let Some(Allocation { mut hosts, shell, notes }) = granted? else { return Ok((Vec::new(), None)) };
        notes.iter().for_each(|note| say(note));
        if plan.places.oversubscribe {
            hosts.iter_mut().for_each(|(_, room)| room.most = None);
        }
        return Ok((hosts, shell.map(String::from)));
    };
    // An allocation that cannot be read does not matter if the user names the hosts.
    let granted = granted
        .ok()
        .flatten()
        .filter(|granted| named.iter().all(|host| granted.hosts.iter().any(|(name, _)| *name == host.name)));
    let room = |host: &HostEntry| (host.name.clone(), Room { slots: host.slots, most: None });
    let by_place = |shell: &&str| !shell.contains("{index}");
    let shell = granted.and_then(|granted| granted.shell).filter(by_place).map(String::from);
    let named = match plan.places.launch_agent {
        None => {
            if let Some(note) = hosts::note_of_domains(named) {
                say(&note);
            }
            hosts::together_here(named)
        }
        // The user's own remote shell knows which of its names mean one machine.
        Some(_) => named.clone(),
    };
    Ok((named.iter().map(room).collect(), shell))
}

fn host_pes(hosts: &[(String, Room)], nodes: &[u32]) -> Vec<HostPes> {
    let mut host_pes: Vec<HostPes> =
        hosts.iter().zip(0..).map(|((name, _), host)| HostPes { host, name: name.clone(), pes: Vec::new() }).collect();
    for (&node, pe) in nodes.iter().zip(0..) {
        host_pes[node as usize].pes.push(pe);
    }
    host_pes.retain(|host| !host.pes.is_empty());
    host_pes
}

/// The node of every PE, in the order of the hosts that have any.
fn numbered(host_pes: &[HostPes], size: u32) -> Vec<u32> {
    let mut nodes = vec![0; size as usize];
    for (host, node) in host_pes.iter().zip(0..) {
        host.pes.iter().for_each(|&pe| nodes[pe as usize] = node);
    }
    nodes
}

fn description(plan: JobPlan, mark: String, mapping: Option<String>, host_pes: Vec<HostPes>) -> JobDescription {
    let folder = current_folder().into_os_string();
    let space = format!("{OUR_JOBS}{}", std::process::id());
    JobDescription { plan, mark, space, mapping, folder, path: std::env::var_os("PATH"), host_pes }
}

/// The current directory. One that is deleted has `(deleted)` behind its name: PEs of this machine have none either, and agents say that they
/// cannot go there.
fn current_folder() -> PathBuf {
    let here = std::env::current_dir().or_else(|_| std::fs::read_link("/proc/self/cwd"));
    here.unwrap_or_default()
}

/// A wrong command line.
fn usage(error: Error) -> Unusable {
    (2, error)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn pes_of_this_machine_fit_or_are_refused() {
        for ((size, wanted, per_host), nodes) in
            [((4, 2, None), 2), ((5, 2, None), 2), ((2, 4, None), 2), ((5, 4, None), 3), ((4, 1, Some(4)), 1)]
        {
            assert_eq!(here(size, wanted, per_host), Ok(nodes), "{size} {wanted}");
        }
        let told = here(5, 1, Some(2)).expect_err("5 are more than 2").to_string();
        assert!(told.contains("5 PEs do not fit on 1 host with -N 2") && told.contains("1 x 2 = 2"), "{told}");
        assert_eq!(here(6, 3, Some(2)), Ok(3));
        assert!(here(7, 3, Some(2)).is_err());
    }

    #[test]
    fn places_that_nobody_counted_are_no_more_than_a_job_can_have() {
        for line in ["-N 4000000000 ./a", "-H a:4000000000 ./a", "-H a:600001,b:600000 ./a", "-H a,b -N 700000 ./a"] {
            let plan = JobPlan::from_arguments(line.split(' ').map(OsString::from).collect());
            let Err((status, error)) = laid_out(&plan.expect("it is well formed"), "mark".into()) else {
                panic!("{line} is laid out")
            };
            assert!(status == 2 && error.to_string().contains("a job has 1 to 1200000"), "{line}: {error}");
        }
    }

    #[test]
    fn no_agent_starts_the_launchers_own_host() {
        let words = ["-H", "far[1-40],localhost,far41,me@localhost", "-N", "1", "./a"].map(OsString::from).to_vec();
        let plan = JobPlan::from_arguments(words).expect("the words are well formed");
        let description = laid_out(&plan, "mark".into()).expect("there is room for all");
        let hosts: Vec<(&str, u32, &[u32])> =
            description.host_pes.iter().map(|host| (&host.name[..], host.host, &host.pes[..])).collect();
        assert_eq!(hosts[0], ("localhost", 40, &[40][..]), "it keeps its number and its PE");
        assert_eq!(hosts[1], ("me@localhost", 42, &[42][..]), "another user's shell is started here, too");
        assert_eq!(hosts[2], ("far1", 0, &[0][..]));
        assert_eq!((hosts.len(), hosts[42]), (43, ("far41", 41, &[41][..])));
    }

    #[test]
    fn an_agent_takes_no_host_below_it_for_its_own() {
        let words = ["-H", "far[1-40]", "-N", "1", "./a"].map(OsString::from).to_vec();
        let plan = JobPlan::from_arguments(words).expect("the words are well formed");
        let description = laid_out(&plan, "mark".into()).expect("there is room for all");
        // A name that means the machine where the words are made, as `n1.b.org` does on `n1.a.org`.
        let own = HostPes { host: 7, name: "localhost".into(), pes: vec![7] };
        let [by_launcher, by_agent] =
            [NO_HOST, 3].map(|starter| words_for(&description, &own, starter).expect("the shell is well formed"));
        assert_eq!((by_launcher.len(), &by_launcher[1][..]), (2, "--agent"));
        assert!(by_agent[0] == "ssh" && by_agent.contains(&own.name), "{by_agent:?}");
    }
}
