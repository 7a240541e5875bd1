//! Loopback as a provider like any other.

use std::sync::{Arc, Weak};

use oxshmem_base::Error;
use parking_lot::Mutex;

use super::job::LoopbackJob;
use super::{Loopback, Options};
use crate::{
    Agreed, AmoDomain, Fabric, Grade, NetworkAtomics, Offers, Participant, Provider, SECRET, TransportOffer,
    WantedTransport, software,
};

/// PEs that are threads of one process. A number as detail is the seed of an adversary.
pub static PROVIDER: Provider = Provider { name: "loopback", elsewhere: &[], offers, open };

fn offers(_participant: &Participant<'_>, wanted: &WantedTransport<'_>) -> Offers {
    if !wanted.named {
        return Offers::none("loopback", "its PEs are threads of one process");
    }
    match seed(wanted.detail.unwrap_or_default()) {
        Ok(_) => {
            let detail = wanted.detail.unwrap_or_default().into();
            Offers::one(TransportOffer { grade: Grade::Software, detail, atomics: NetworkAtomics::Software })
        }
        Err(error) => Offers::none("loopback", error.in_one_line()),
    }
}

fn open(participant: &Participant<'_>, choice: &Agreed<'_>) -> Result<Box<dyn Fabric>, Error> {
    let amo = if choice.atomics { AmoDomain::Network } else { AmoDomain::Processor };
    let options = Options { adversary: seed(choice.detail)?, amo, ..Options::default() };
    let Participant { me, pes, .. } = *participant;
    software::fill(
        me,
        participant.give_up(),
        Box::new(Loopback::new(me, job_of(participant.secret, pes), options)),
        None,
    )
}

/// The job that has this secret, which its first PE makes.
fn job_of(secret: &[u8; SECRET], pes: u32) -> Arc<LoopbackJob> {
    static JOBS: Mutex<Vec<([u8; SECRET], Weak<LoopbackJob>)>> = Mutex::new(Vec::new());
    let mut jobs = JOBS.lock();
    jobs.retain(|(_, job)| job.strong_count() > 0);
    let known = jobs.iter().find(|(known, _)| known == secret).and_then(|(_, job)| job.upgrade());
    known.unwrap_or_else(|| {
        let job = Arc::new(LoopbackJob::new(pes));
        jobs.push((*secret, Arc::downgrade(&job)));
        job
    })
}

fn seed(detail: &str) -> Result<Option<u64>, Error> {
    if detail.is_empty() {
        return Ok(None);
    }
    detail.parse().map(Some).map_err(|error| {
        Error::new(format!("loopback:{detail} cannot be read")).because(error).fix("name the seed of an adversary")
    })
}
