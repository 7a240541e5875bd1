//! The operations of one lane, and how each takes effect: in order, or as an adversary throws its dice.

use std::ops::Range;
use std::sync::Arc;

use oxshmem_base::chance::Dice;

use crate::loopback::card::CardObject;
use crate::loopback::job::LoopbackJob;
use crate::{Account, Amo, OutOfRange, Remote, Width, deliver_old};

/// The operations of one lane that have not taken effect.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) pending: Vec<PendingEffect>,
    issued: u64,
    pub(super) era: u64,
    pub(super) dice: Option<Dice>,
    pub(super) account: Arc<Account>,
}

pub(super) struct PendingEffect {
    number: u64,
    /// Counts the lane's fences.
    era: u64,
    pe: u32,
    /// Operations that must take effect before.
    after: Range<u64>,
    effect: Effect,
}

pub(super) enum Effect {
    Put {
        to: Remote,
        source: Source,
        start: usize,
        n: usize,
    },
    Get {
        dest: *mut u8,
        from: Remote,
        n: usize,
    },
    /// One that the target's card does ends with a [`Effect::WriteBack`].
    Amo {
        to: Remote,
        width: Width,
        amo: Amo,
        old: *mut u8,
        by_card: bool,
    },
    WriteBack {
        pe: u32,
        object: CardObject,
    },
}

pub(super) enum Source {
    Copied(Arc<[u8]>),
    Borrowed(*const u8),
}

// SAFETY: the pointers are the buffers of a lane's caller, who keeps them valid until completion on whatever thread.
unsafe impl Send for Effect {}

impl Queue {
    pub(super) fn new(dice: Option<Dice>, account: Arc<Account>) -> Self {
        Self { dice, account, ..Self::default() }
    }

    pub(super) fn push(&mut self, pe: u32, after: Range<u64>, effect: Effect) {
        self.account.issue(1);
        self.pending.push(PendingEffect { number: self.issued, era: self.era, pe, after, effect });
        self.issued += 1;
    }

    /// A put, which the adversary may tear into two unless it is a word. Returns the numbers of the parts.
    pub(super) fn put(&mut self, to: Remote, source: Source, n: usize) -> Range<u64> {
        let first = self.issued;
        let tear = n > 8 && self.dice.as_mut().is_some_and(|dice| dice.one_in(2));
        let cut = if tear { 1 + self.dice.as_mut().map_or(0, |dice| dice.below(n - 1)) } else { n };
        if tear {
            let rest = match &source {
                Source::Copied(bytes) => Source::Copied(bytes.clone()),
                Source::Borrowed(at) => Source::Borrowed(*at),
            };
            self.push(to.pe, 0..0, Effect::Put { to, source: rest, start: cut, n: n - cut });
        }
        self.push(to.pe, 0..0, Effect::Put { to, source, start: 0, n: cut });
        first..self.issued
    }

    /// Lets one operation take effect, or a few.
    pub(super) fn deliver(&mut self, job: &LoopbackJob) -> usize {
        let many = self.dice.as_mut().map_or(1, |dice| 1 + dice.below(4)).min(self.pending.len());
        for _ in 0..many {
            let start = self.dice.as_mut().map_or(0, |dice| dice.below(self.pending.len()));
            let count = self.pending.len();
            let next = (0..count).map(|i| (start + i) % count).find(|&i| self.may_go(i)).expect("the oldest may go");
            let PendingEffect { number, era, pe, effect, .. } = self.pending.swap_remove(next);
            match take_effect(job, effect) {
                // It keeps its place in the order until it is over.
                Ok(Some(rest)) => self.pending.push(PendingEffect { number, era, pe, after: 0..0, effect: rest }),
                Ok(None) => self.account.complete(1),
                Err(wrong) => {
                    self.account.fail(wrong.error(pe));
                    self.account.complete(1);
                }
            }
        }
        many
    }

    fn may_go(&self, i: usize) -> bool {
        let this = &self.pending[i];
        !self
            .pending
            .iter()
            .any(|other| (other.pe == this.pe && other.era < this.era) || this.after.contains(&other.number))
    }
}

/// Makes an effect happen, or its first part; then returns the rest of it.
fn take_effect(job: &LoopbackJob, effect: Effect) -> Result<Option<Effect>, OutOfRange> {
    let memory = |pe: u32| &job.memories[pe as usize];
    let card = |pe: u32| job.cards[pe as usize].lock();
    match effect {
        Effect::Put { to, source, start, n } => {
            let from = match &source {
                Source::Copied(bytes) => bytes[start..].as_ptr(),
                Source::Borrowed(at) => at.wrapping_add(start),
            };
            let (mut card, at) = (card(to.pe), to.offset + start as u64);
            // SAFETY: the source is ours or, while the operation is pending, kept by the caller of `put_nbi`.
            unsafe { memory(to.pe).put(to.region, at, from, n)? };
            card.look_again(memory(to.pe), to.region, at, n);
        }
        // SAFETY: the caller of `get_nbi` keeps the destination while the operation is pending.
        Effect::Get { dest, from, n } => unsafe { memory(from.pe).get(dest, from.region, from.offset, n)? },
        Effect::Amo { to, width, amo, old, by_card } => {
            let object = if by_card { Some(CardObject::of(to, width)?) } else { None };
            let value = match object {
                Some(object) => card(to.pe).update(memory(to.pe), object, amo)?,
                None => memory(to.pe).amo(to.region, to.offset, width, amo)?,
            };
            // SAFETY: the caller of `amo` keeps `old` while the operation is pending.
            unsafe { deliver_old(old, width, value) };
            return Ok(object.map(|object| Effect::WriteBack { pe: to.pe, object }));
        }
        Effect::WriteBack { pe, object } => card(pe).write_back(memory(pe), object),
    }
    Ok(None)
}
