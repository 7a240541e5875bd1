//! The end of a call on a member: whether each element of dest is what the call was to make of the operands, and whether the member may
//! leave.

use super::{LineMachine, NodeCall, NodePlan};
use crate::algorithm::{Collective, OperatorLaw};
use crate::prove::expect::{element, is_right};
use crate::prove::memory::ProofValue;
use crate::prove::{Fault, fault};
use crate::step::Traffic;

impl LineMachine<'_> {
    /// The user reads dest, and may write it from now on.
    pub(super) fn leave(&mut self, p: usize) -> Result<(), Fault> {
        let (index, plan) = (self.pes[p].call, self.plans[self.pes[p].call]);
        let call = &self.case.calls[index];
        for at in 0..if call.wanted == Collective::Sync { 0 } else { plan.count } {
            let found = self.load(p, crate::node::dest(p as u32, 0), at)?;
            self.check(p, call, &plan, at, found)?;
            self.store(p, crate::node::dest(p as u32, 0), at, ProofValue::Undefined)?;
        }
        let pe = &self.pes[p];
        let unknown = |q: &usize| self.pes[*q].entries[index] == 0 || pe.clock[*q] < self.pes[*q].entries[index];
        if call.protocol.traffic() == Traffic::Synchronising
            && let Some(q) = (0..self.pes.len()).find(unknown)
        {
            return Err(fault!(Early, "PE {p} leaves call {} without a sign of PE {q}", index + 1));
        }
        let pe = &mut self.pes[p];
        (pe.call, pe.pc, pe.entered) = (index + 1, 0, false);
        Ok(())
    }

    /// Element `at` of dest, as PE `p` leaves the call.
    fn check(&self, p: usize, call: &NodeCall, plan: &NodePlan, at: u64, found: ProofValue) -> Result<(), Fault> {
        let (size, index, element) = (self.case.shape.size(), self.pes[p].call + 1, element(plan.turn.call, at));
        let members = if call.wanted == Collective::Broadcast { call.root..call.root + 1 } else { 0..size };
        let mask = members.clone().fold(0, |mask, member| mask | 1 << member);
        if !is_right(call.wanted, found, element, mask) {
            return Err(fault!(
                Result,
                "call {index}, PE {p} of {size}: element {at} is {found:x?}, not that of PEs {mask:#x}"
            ));
        }
        let in_order = members.map(|member| ProofValue::operand(member, element)).reduce(ProofValue::with);
        if call.wanted == Collective::Reduce(OperatorLaw::FixedTree) && Some(found) != in_order {
            return Err(fault!(Association, "call {index}: PE {p} of {size} associates element {at} its own way"));
        }
        Ok(())
    }
}
