//! The steps of leaders and members, and what arrives.

use oxshmem_schedule::step::{Loc, Plan, PutSignal, Step};

use super::{
    FollowerState, LeaderStage, LeaderState, MOST, MemoryKind, MemoryUse, ModelCell, ModelMessage, ModelSignal,
    ModelValue, NodeState, TeamEvent, TeamHistory, TeamModel, WeakerCredits,
};

impl TeamModel {
    pub(in super::super) fn first(history: &TeamHistory) -> Self {
        assert!(history.nodes as usize * history.members as usize <= MOST, "more members than bits and cells");
        let followers = vec![FollowerState { exchange: 0, has_written: false }; history.members as usize - 1];
        let node = NodeState { followers, ..NodeState::default() };
        Self { nodes: vec![node; history.nodes as usize], messages: Vec::new() }
    }

    pub(in super::super) fn is_over(&self, history: &TeamHistory) -> bool {
        let over = |node: &NodeState| {
            history.is_over(node.leader.exchange)
                && node.followers.iter().all(|member| history.is_over(member.exchange))
        };
        self.messages.is_empty() && self.nodes.iter().all(over)
    }

    pub(in super::super) fn under_way(&self) -> usize {
        self.messages.len()
    }

    /// The steps that leaders and members can do.
    pub(in super::super) fn steps(&self, history: &TeamHistory) -> Vec<TeamEvent> {
        let leaders = (0..self.nodes.len()).filter(|&node| self.can_lead(history, node)).map(TeamEvent::Lead);
        let followers = self.nodes.iter().enumerate().flat_map(|(number, node)| {
            let can = |member: &FollowerState| {
                !history.is_over(member.exchange) && (!member.has_written || node.released > member.exchange)
            };
            node.followers
                .iter()
                .enumerate()
                .filter(move |(_, member)| can(member))
                .map(move |(member, _)| TeamEvent::Follow(number, member))
        });
        leaders.chain(followers).collect()
    }

    /// Every message can arrive.
    pub(in super::super) fn arrivals(&self) -> impl Iterator<Item = TeamEvent> + use<> {
        (0..self.messages.len()).map(TeamEvent::Arrive)
    }

    pub(in super::super) fn apply(&mut self, history: &TeamHistory, event: TeamEvent) -> Result<(), String> {
        match event {
            TeamEvent::Lead(node) => self.lead(history, node),
            TeamEvent::Follow(node, member) => self.follow(history, node, member),
            TeamEvent::Arrive(number) => {
                let message = self.messages.remove(number);
                self.arrive(history, message)
            }
        }
    }

    fn send(&mut self, message: ModelMessage) {
        let place = self.messages.partition_point(|other| *other <= message);
        self.messages.insert(place, message);
    }

    /// A member of a node writes its part of the exchange.
    fn write_part(&mut self, history: &TeamHistory, node: usize, member: usize, exchange: u8, what: MemoryUse) {
        let mut write = |kind, at, to| {
            let value = ModelValue { exchange: exchange + 1, of: history.bit(node, member), to };
            *self.nodes[node].at(history.cell(kind, exchange, at)) = value;
        };
        let members = history.members as usize;
        match what {
            MemoryUse::Inline | MemoryUse::Lines => write(MemoryKind::Lines, member, 0),
            // Sources are the members' own.
            MemoryUse::Scratch => {}
            MemoryUse::Gather => write(MemoryKind::Gather, node * members + member, 0),
            MemoryUse::Parts => {
                (0..history.nodes as usize).for_each(|to| write(MemoryKind::Outgoing, to * members + member, to as u8));
            }
        }
    }

    /// A member of a node takes the result of the exchange.
    fn take(&mut self, history: &TeamHistory, node: usize, exchange: u8, what: MemoryUse) -> Result<(), String> {
        let members = history.members as usize;
        let mut look = |kind, at, of, to| {
            let value = self.nodes[node].read(history.cell(kind, exchange, at), exchange, "a member")?;
            if (value.of, value.to) == (of, to) {
                Ok(())
            } else {
                Err(format!("node {node} has {value:?} in exchange {} and wants {of:b}", exchange + 1))
            }
        };
        match what {
            MemoryUse::Inline => look(MemoryKind::Lines, 0, history.everybody(), 0),
            MemoryUse::Scratch => look(MemoryKind::Gather, 0, history.everybody(), 0),
            MemoryUse::Gather | MemoryUse::Parts | MemoryUse::Lines => {
                let to = if what == MemoryUse::Parts { node as u8 } else { 0 };
                let of = |from: usize| history.bit(from / members, from % members);
                (0..members * history.nodes as usize).try_for_each(|from| look(MemoryKind::Gather, from, of(from), to))
            }
        }
    }

    fn follow(&mut self, history: &TeamHistory, node: usize, member: usize) -> Result<(), String> {
        let FollowerState { exchange, has_written } = self.nodes[node].followers[member];
        let what = history.what(exchange).expect("a member that is over does not step");
        if has_written {
            self.take(history, node, exchange, what)?;
            self.nodes[node].followers[member] = FollowerState { exchange: exchange + 1, has_written: false };
        } else {
            self.write_part(history, node, member + 1, exchange, what);
            self.nodes[node].followers[member].has_written = true;
            self.nodes[node].arrived += 1;
        }
        Ok(())
    }

    fn can_lead(&self, history: &TeamHistory, number: usize) -> bool {
        let node = &self.nodes[number];
        let LeaderState { exchange, stage, fetching, .. } = node.leader;
        let Some(what) = history.what(exchange) else { return false };
        match stage {
            LeaderStage::Lay | LeaderStage::Release => true,
            LeaderStage::Gather => {
                node.arrived as usize == node.followers.len() || history.rule == WeakerCredits::NobodyCounts
            }
            LeaderStage::Fetch => fetching == 0 || history.rule == WeakerCredits::GetsIncomplete,
            LeaderStage::Run(pc) => {
                let counted = node.counted[history.copy(MemoryKind::Counters, exchange + 1) as usize];
                match history.step(what, number, exchange, counted, pc) {
                    Step::Wait { word, .. } => {
                        let copy = history.copy(MemoryKind::Mailboxes, exchange + 1) as usize;
                        let mailbox = &node.mailboxes[copy][word as usize];
                        let whole = what != MemoryUse::Inline
                            || mailbox.second == exchange + 1
                            || history.rule == WeakerCredits::FirstWordOnly;
                        mailbox.head == exchange + 1 && whole
                    }
                    Step::WaitCount { total } => {
                        u64::from(node.counters[history.copy(MemoryKind::Counters, exchange + 1) as usize]) >= total
                    }
                    _ => true,
                }
            }
        }
    }

    fn lead(&mut self, history: &TeamHistory, number: usize) -> Result<(), String> {
        let LeaderState { exchange, stage, .. } = self.nodes[number].leader;
        let what = history.what(exchange).expect("a leader that is over does not step");
        let next = match stage {
            LeaderStage::Lay => {
                self.write_part(history, number, 0, exchange, what);
                LeaderStage::Gather
            }
            LeaderStage::Gather => {
                let node = &mut self.nodes[number];
                node.arrived = node.arrived.saturating_sub(node.followers.len() as u8);
                node.leader.copied = 0;
                if history.rule == WeakerCredits::ReleasedFirst {
                    node.released = exchange + 1;
                }
                self.begin_run(history, number, exchange, what)?;
                LeaderStage::Run(0)
            }
            LeaderStage::Run(pc) => self.run(history, number, exchange, what, pc)?,
            LeaderStage::Fetch => LeaderStage::Release,
            LeaderStage::Release => {
                if what == MemoryUse::Inline {
                    let sum = self.nodes[number].private;
                    *self.nodes[number].at(history.cell(MemoryKind::Lines, exchange, 0)) = sum;
                }
                self.nodes[number].released = exchange + 1;
                self.take(history, number, exchange, what)?;
                self.nodes[number].leader.exchange += 1;
                LeaderStage::Lay
            }
        };
        self.nodes[number].leader.stage = next;
        Ok(())
    }

    /// The leader reads what the members of its node have brought.
    fn begin_run(&mut self, history: &TeamHistory, number: usize, exchange: u8, what: MemoryUse) -> Result<(), String> {
        let members = history.members as usize;
        let node = &mut self.nodes[number];
        let mine = (0..members).map(|member| history.bit(number, member)).sum();
        let sum = ModelValue { exchange: exchange + 1, of: mine, to: 0 };
        match what {
            MemoryUse::Inline => {
                for member in 0..members {
                    let line = node.read(history.cell(MemoryKind::Lines, exchange, member), exchange, "a leader")?;
                    debug_assert_eq!(line.of, history.bit(number, member));
                }
                node.private = sum;
            }
            MemoryUse::Scratch => *node.at(history.cell(MemoryKind::Gather, exchange, 0)) = sum,
            MemoryUse::Lines => {
                for member in 0..members {
                    let line = node.read(history.cell(MemoryKind::Lines, exchange, member), exchange, "a leader")?;
                    *node.at(history.cell(MemoryKind::Gather, exchange, number * members + member)) = line;
                }
            }
            MemoryUse::Gather | MemoryUse::Parts => {}
        }
        Ok(())
    }

    /// A step of the leaders' schedule.
    fn run(
        &mut self,
        history: &TeamHistory,
        number: usize,
        exchange: u8,
        what: MemoryUse,
        pc: u8,
    ) -> Result<LeaderStage, String> {
        let counter = history.copy(MemoryKind::Counters, exchange + 1) as usize;
        let counted = self.nodes[number].counted[counter];
        let locate = |loc: Loc| history.locate(what, number, exchange, loc);
        match history.step(what, number, exchange, counted, pc) {
            Step::Done => {
                let schedule = history.schedule(what);
                let arrivals = schedule.arrivals(&Plan::new(history.nodes, 1), number as u32) as u8;
                self.nodes[number].counted[counter] += arrivals;
                if what == MemoryUse::Lines {
                    self.fetch(history, number, exchange);
                    return Ok(LeaderStage::Fetch);
                }
                return Ok(LeaderStage::Release);
            }
            Step::Put { to, from, into, len, signal } => {
                self.put(history, number, exchange, what, (to as usize, locate(from), into, len as u8, signal))?;
            }
            Step::Wait { word, .. } => {
                let copy = history.copy(MemoryKind::Mailboxes, exchange + 1) as usize;
                let mailbox = self.nodes[number].mailboxes[copy][word as usize];
                if what == MemoryUse::Inline {
                    let cell = history.cell(MemoryKind::Scratch, exchange, mailbox.at as usize);
                    *self.nodes[number].at(cell) = mailbox.content;
                }
            }
            Step::Reduce { into, left, right, stride, terms, .. } => {
                let node = &mut self.nodes[number];
                let mut sum = node.read(locate(left), exchange, "a leader")?;
                for term in 0..u64::from(terms) {
                    let operand = locate(Loc { at: right.at + term * stride, ..right });
                    sum.of |= node.read(operand, exchange, "a leader")?.of;
                }
                *node.at(locate(into)) = sum;
            }
            Step::Copy { into, from, len } if locate(into) != locate(from) => {
                for i in 0..len {
                    let (into, from) = (Loc { at: into.at + i, ..into }, Loc { at: from.at + i, ..from });
                    let node = &mut self.nodes[number];
                    *node.at(locate(into)) = node.read(locate(from), exchange, "a leader")?;
                }
            }
            Step::WaitCount { .. } | Step::Copy { .. } | Step::Skip => {}
            Step::Zero { .. } => unreachable!("none of these schedules stores zeros"),
        }
        Ok(LeaderStage::Run(pc + 1))
    }

    fn put(
        &mut self,
        history: &TeamHistory,
        number: usize,
        exchange: u8,
        what: MemoryUse,
        (to, from, into, length, signal): (usize, ModelCell, Loc, u8, PutSignal),
    ) -> Result<(), String> {
        let (copy, run, target) = (history.copy(MemoryKind::Mailboxes, exchange + 1), exchange + 1, to as u8);
        let signal = match signal {
            PutSignal::Set { word, .. } => ModelSignal::Set(word as u8),
            PutSignal::Count => ModelSignal::Count,
        };
        if length == 0 {
            self.send(ModelMessage::Signal { to: target, copy, run, signal });
            return Ok(());
        }
        let node = &mut self.nodes[number];
        if let (MemoryUse::Inline, ModelSignal::Set(word)) = (what, signal) {
            let content = node.read(from, exchange, "a leader")?;
            self.send(ModelMessage::Word { to: target, copy, word, run, second: None });
            self.send(ModelMessage::Word { to: target, copy, word, run, second: Some((content, into.at as u8)) });
            return Ok(());
        }
        let mut from = from;
        if what == MemoryUse::Scratch && history.rule != WeakerCredits::OperandNotKept {
            let kept = history.cell(MemoryKind::Copies, exchange, node.leader.copied as usize);
            *node.at(kept) = node.read(from, exchange, "a leader")?;
            node.leader.copied += 1;
            from = kept;
        }
        let there = history.locate(what, to, exchange, into);
        if history.rule == WeakerCredits::SignalFirst {
            self.send(ModelMessage::Signal { to: target, copy, run, signal });
        }
        let whole = self.sum(number, from, length);
        self.send(ModelMessage::Put {
            from: (number as u8, from),
            to: (target, there),
            length,
            exchange,
            whole,
            signal,
        });
        Ok(())
    }

    fn sum(&mut self, node: usize, from: ModelCell, length: u8) -> u32 {
        (0..length).map(|i| u32::from(self.nodes[node].at(from.behind(i)).of)).sum()
    }

    /// The leader begins to get the lines of other nodes' members.
    fn fetch(&mut self, history: &TeamHistory, number: usize, exchange: u8) {
        for from in (0..history.nodes as usize).filter(|&from| from != number) {
            for member in 0..history.members as usize {
                let line = history.cell(MemoryKind::Lines, exchange, member);
                self.nodes[number].leader.fetching += 1;
                self.send(ModelMessage::Get { by: number as u8, from: from as u8, line, exchange });
            }
        }
    }

    fn arrive(&mut self, history: &TeamHistory, message: ModelMessage) -> Result<(), String> {
        match message {
            ModelMessage::Put { from, to, length, exchange, whole, signal } => {
                if self.sum(from.0.into(), from.1, length) != whole {
                    return Err(format!("the network finds an operand of exchange {} changed", exchange + 1));
                }
                for i in 0..length {
                    let value = self.nodes[from.0 as usize].read(from.1.behind(i), exchange, "the network")?;
                    *self.nodes[to.0 as usize].at(to.1.behind(i)) = value;
                }
                if history.rule != WeakerCredits::SignalFirst {
                    let copy = history.copy(MemoryKind::Mailboxes, exchange + 1);
                    self.send(ModelMessage::Signal { to: to.0, copy, run: exchange + 1, signal });
                }
            }
            ModelMessage::Signal { to, copy, run, signal: ModelSignal::Set(word) } => {
                self.nodes[to as usize].mailboxes[copy as usize][word as usize].head = run;
            }
            ModelMessage::Signal { to, run, signal: ModelSignal::Count, .. } => {
                self.nodes[to as usize].counters[history.copy(MemoryKind::Counters, run) as usize] += 1;
            }
            ModelMessage::Word { to, copy, word, run, second } => {
                let mailbox = &mut self.nodes[to as usize].mailboxes[copy as usize][word as usize];
                match second {
                    None => mailbox.head = run,
                    Some((content, at)) => (mailbox.second, mailbox.content, mailbox.at) = (run, content, at),
                }
            }
            ModelMessage::Get { by, from, line, exchange } => {
                let value = self.nodes[from as usize].read(line, exchange, "a get")?;
                let at = from as usize * history.members as usize + line.at as usize;
                let node = &mut self.nodes[by as usize];
                *node.at(history.cell(MemoryKind::Gather, exchange, at)) = value;
                node.leader.fetching -= 1;
            }
        }
        Ok(())
    }
}
