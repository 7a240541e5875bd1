//! The end of a call on a member: whether each element of dest is what the call was to make of the operands, and whether the member may
//! leave.

use super::{LineMachine, NodeCall, NodePlan};
use crate::algorithm::{Collective, OperatorLaw};
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
        let size = self.case.shape.size();
        let operand = |member| ProofValue::operand(member, element(plan, at));
        let wanted = match call.wanted {
            Collective::Broadcast => operand(call.root),
            _ => (1..size).fold(operand(0), |left, member| left.with(operand(member))),
        };
        let same = match (call.wanted, found, wanted) {
            (
                Collective::Reduce(OperatorLaw::Idempotent | OperatorLaw::Exact),
                ProofValue::Operands { element, of, repeated, .. },
                ProofValue::Operands { element: element2, of: of2, .. },
            ) => {
                let forgiven = call.wanted == Collective::Reduce(OperatorLaw::Idempotent);
                element == element2 && of == of2 && (forgiven || !repeated)
            }
            _ => found == wanted,
        };
        if same {
            return Ok(());
        }
        let index = self.pes[p].call + 1;
        // All operands are there, once each, and it is not the fold in team order.
        let all = matches!((found, wanted), (ProofValue::Operands { element: e, of: o, .. }, ProofValue::Operands { element, of, .. })
            if (e, o) == (element, of));
        Err(if all {
            fault!(Association, "call {index}: PE {p} of {size} associates element {at} its own way")
        } else {
            fault!(Result, "call {index}, PE {p} of {size}: element {at} is {found:x?}, not {wanted:x?}")
        })
    }
}

/// The name of an element of the sources of a call.
pub(super) fn element(plan: &NodePlan, at: u64) -> u64 {
    plan.turn.call << 32 | at
}
