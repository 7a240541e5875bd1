//! The members of a job: the state of each PE as far as it is known, its host, and the hosts that are not done.

use std::collections::BTreeSet;

use crate::link::frame::{HostPes, JobDescription, NO_HOST};

/// The state of a PE, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeState {
    /// It is to be started.
    Expected,
    Running {
        pid: u32,
    },
    /// It has ended, or never was.
    Ended {
        pid: Option<u32>,
    },
}

pub(super) struct Roster {
    pes: Vec<PeState>,
    /// Which host each PE is on, where there are several.
    host_of: Vec<u32>,
    hosts: Vec<HostPes>,
    /// How many PEs have not ended.
    left: usize,
    /// How many PEs could not be started, or are lost with their host.
    pub(super) given_up: usize,
    pub(super) hosts_left: BTreeSet<u32>,
    /// The PEs that have left the job before they ended.
    pub(super) finalized: BTreeSet<u32>,
}

impl Roster {
    pub(super) fn new(description: &JobDescription) -> Roster {
        let size = description.plan.size() as usize;
        let hosts = description.host_pes.clone();
        let mut host_of = vec![0; size];
        for host in &hosts {
            host.pes.iter().for_each(|&pe| host_of[pe as usize] = host.host);
        }
        let own = (!description.is_here()).then_some(NO_HOST);
        Roster {
            pes: vec![PeState::Expected; size],
            host_of,
            left: size,
            given_up: 0,
            hosts_left: hosts.iter().map(|host| host.host).chain(own).collect(),
            hosts,
            finalized: BTreeSet::new(),
        }
    }

    pub(super) fn size(&self) -> u32 {
        self.pes.len() as u32
    }

    /// Whether every PE has ended.
    pub(super) fn is_empty(&self) -> bool {
        self.left == 0
    }

    pub(super) fn state(&self, pe: u32) -> PeState {
        self.pes[pe as usize]
    }

    pub(super) fn started(&mut self, pe: u32, pid: u32) {
        self.pes[pe as usize] = PeState::Running { pid };
    }

    /// Notes that a PE has ended.
    pub(super) fn forget(&mut self, pe: u32) {
        let pe = &mut self.pes[pe as usize];
        let pid = match *pe {
            PeState::Expected => None,
            PeState::Running { pid } => Some(pid),
            PeState::Ended { .. } => return,
        };
        *pe = PeState::Ended { pid };
        self.left -= 1;
    }

    /// Notes that PEs are lost: no report of them will come.
    pub(super) fn give_up(&mut self, pes: impl IntoIterator<Item = u32>) {
        let before = self.left;
        pes.into_iter().for_each(|pe| self.forget(pe));
        self.given_up += before - self.left;
    }

    /// Whether no PE of these hosts has been started.
    pub(super) fn is_unstarted(&self, hosts: &[u32]) -> bool {
        let mut there = (0..self.size()).filter(|&pe| hosts.contains(&self.host_of[pe as usize]));
        there.all(|pe| self.state(pe) == PeState::Expected)
    }

    /// Notes that these hosts are lost, with every PE there. Returns the name of the first.
    pub(super) fn forget_hosts(&mut self, lost: &[u32]) -> String {
        let gone: Vec<u32> = (0..self.size()).filter(|&pe| lost.contains(&self.host_of[pe as usize])).collect();
        self.give_up(gone);
        self.hosts_left.retain(|host| !lost.contains(host));
        let first = self.hosts.iter().find(|one| Some(&one.host) == lost.first());
        first.map_or(String::new(), |one| one.name.clone())
    }

    pub(super) fn runs(&self, pe: u32) -> bool {
        matches!(self.state(pe), PeState::Running { .. })
    }

    pub(super) fn running(&self) -> usize {
        (0..self.size()).filter(|&pe| self.runs(pe)).count()
    }

    pub(super) fn first_ended(&self) -> Option<u32> {
        (0..self.size()).find(|&pe| matches!(self.state(pe), PeState::Ended { .. }))
    }

    pub(super) fn hosts_that_run(&self) -> BTreeSet<u32> {
        (0..self.size()).filter(|&pe| self.runs(pe)).map(|pe| self.host_of[pe as usize]).collect()
    }

    /// The host of a PE, if there is anything to tell apart.
    pub(super) fn host_name(&self, pe: u32) -> Option<&str> {
        let host = self.host_of[pe as usize];
        let found = self.hosts.iter().find(|one| one.host == host && !one.name.is_empty());
        found.map(|one| one.name.as_str())
    }

    /// Words before the name of a PE's host, and that name; nothing where there is one host.
    pub(super) fn placed(&self, pe: u32, words: &str) -> String {
        self.host_name(pe).map(|name| format!("{words}{name}")).unwrap_or_default()
    }

    pub(super) fn named(&self, pe: u32) -> String {
        let host = self.host_name(pe).map(|name| format!("{name}, ")).unwrap_or_default();
        match self.state(pe) {
            PeState::Running { pid } | PeState::Ended { pid: Some(pid) } => format!("PE {pe} ({host}pid {pid})"),
            PeState::Expected | PeState::Ended { pid: None } => format!("PE {pe} ({host}not started)"),
        }
    }
}
