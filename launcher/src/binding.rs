//! To what the PEs of a host are bound, and the map of it: `--bind`, `--map numa` and `--display map`.

use std::ffi::OsStr;

use oxshmem_base::Error;
use oxshmem_base::knobs::{self, Settings};
use oxshmem_os::cpus;
use oxshmem_topology::map::{self, Shown};
use oxshmem_topology::{Discovered, Map, PePlace, nic, picture, placement};

use crate::machine;
use crate::plan::{BindTo, Display, HostOrder, JobPlan};

/// The places of one host's PEs.
#[derive(Debug)]
pub(crate) struct Binding {
    seen: Discovered,
    places: Vec<PePlace>,
    /// Whether PEs are to be bound to them.
    binds: bool,
    cores: usize,
}

impl Binding {
    /// Places this many PEs of the plan, if the user wants them bound or shown. Settings that are not on the command
    /// line come from the PEs' environment.
    pub(crate) fn wanted(plan: &JobPlan, pes: usize) -> Result<Option<Binding>, Error> {
        let asked = is_asked(plan)?;
        if !asked && plan.display.is_none() {
            return Ok(None);
        }
        let settings = settings(plan)?;
        let bind = match plan.bind {
            Some(BindTo::None) => knobs::Bind::None,
            Some(BindTo::Core) => knobs::Bind::Core,
            Some(BindTo::Numa) => knobs::Bind::Numa,
            None => settings.bind,
        };
        let seen = machine::look(&settings.topology)?;
        // A description of another machine is only shown. Its processors bind no PE here.
        let here = seen.source.is_here();
        let allowed: Vec<u32> = if here {
            cpus::allowed().into_iter().map(|cpu| cpu as u32).collect()
        } else {
            seen.node.processors.iter().map(|processor| processor.cpu).collect()
        };
        let map = if plan.places.map == HostOrder::Numa { Map::Numa } else { Map::Block };
        let processors = placement::processors(&seen.node, &allowed, pes, bind, map);
        let mut places = placement::places(&seen.node, &processors);
        let wish = nic::Wish::of(&settings)?;
        // As the first PE of each node does it.
        for node in places.chunks_mut(pes.div_ceil(plan.nodes.max(1) as usize).max(1)) {
            nic::assign(&seen.node, node, &wish)?;
        }
        let cores = placement::cores(&seen.node, &allowed);
        Ok(Some(Binding { binds: asked && here, seen, places, cores }))
    }

    /// The processors to which the host's PE number `local` is to be bound.
    pub(crate) fn processors(&self, local: usize) -> Option<&[u32]> {
        self.binds.then(|| &self.places[local].cpus[..])
    }

    /// How many cores bound PEs have.
    pub(crate) fn cores(&self) -> Option<usize> {
        self.binds.then_some(self.cores)
    }

    /// The part of the display about the PEs with these numbers on the host of this name; an empty name is this host.
    /// PEs that count as several nodes are shown node by node.
    pub(crate) fn shown(&self, name: &str, pes: &[u32], nodes: u32, display: Display) -> String {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let source = self.seen.source.to_string();
        let host = match (name, self.seen.source.is_here()) {
            ("", true) => own.trim(),
            ("", false) => "another machine",
            (name, _) => name,
        };
        let shown = Shown { host, node: &self.seen.node, source: &source, pes, places: &self.places };
        match display {
            Display::Table if nodes > 1 => {
                let each = pes.len().div_ceil(nodes as usize);
                let blocks = pes.chunks(each).zip(self.places.chunks(each)).zip(0..);
                let table = |((pes, places), node)| {
                    map::text(&Shown { host: &format!("node {node} (--nodes) on {host}"), pes, places, ..shown })
                };
                blocks.map(table).collect()
            }
            Display::Table => map::text(&shown),
            Display::Picture => picture::svg(&shown),
        }
    }
}

/// Whether this tool is to bind the PEs.
fn is_asked(plan: &JobPlan) -> Result<bool, Error> {
    // With several nodes the first PE of each would choose for its own node alone, and all nodes would have the first cores.
    // PEs know no order of NUMA nodes.
    let decides_here = plan.nodes > 1 || plan.places.map == HostOrder::Numa;
    Ok(match plan.bind {
        Some(bind) => bind != BindTo::None,
        None if decides_here && plan.values("SHMEM_BIND").next().is_some() => settings(plan)?.bind != knobs::Bind::None,
        None => false,
    })
}

/// A note about an order of PEs that moves none of them.
pub(crate) fn note_of_unbound(plan: &JobPlan) -> Result<Option<&'static str>, Error> {
    let moves_none = plan.places.map == HostOrder::Numa && !is_asked(plan)?;
    Ok(moves_none.then_some("note: --map numa moves no PE without --bind core or --bind numa"))
}

/// The settings that the PEs will read.
fn settings(plan: &JobPlan) -> Result<Settings, Error> {
    let text = |part: &OsStr| part.to_string_lossy().into_owned();
    let named = plan.programs.first().map(|program| &program.variables[..]).unwrap_or_default();
    // Of a variable that is named twice the last word counts.
    let named = named.iter().rev().map(|(name, value)| (name.clone(), text(value)));
    let inherited = std::env::vars_os().map(|(name, value)| (text(&name), text(&value)));
    Settings::from_vars(named.chain(inherited)).map(|(settings, _)| settings)
}
