//! The timeline, written at the end of a job.

use std::collections::HashMap;
use std::io::BufWriter;
use std::path::Path;

use oxshmem_base::Error;
use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::{totals, trace};

use super::places::ProgramPlaces;
use crate::results;

/// Writes the timeline, and says so in a sentence.
pub(crate) fn write(job: &RecordedJob, path: &Path) -> Result<String, Error> {
    let unwritable = results::unwritten(path, "make room, or choose another place for --trace");
    let mut places = ProgramPlaces::default();
    let mut names: HashMap<(usize, u32), String> = HashMap::new();
    for (index, ledger) in job.ledgers.iter().enumerate() {
        for (number, site) in &ledger.sites {
            names.insert((index, *number), places.name(&totals::place(ledger, site)));
        }
    }
    let mut file = BufWriter::new(results::create(path).map_err(unwritable)?);
    let counts =
        trace::write(job, &|ledger, site| names.get(&(ledger, site)).cloned(), &mut file).map_err(unwritable)?;
    file.into_inner().map_err(|error| unwritable(error.into_error()))?.finish().map_err(unwritable)?;
    let dropped = match counts.dropped {
        0 => String::new(),
        dropped => format!("; {dropped} earlier ones are dropped, --trace-events keeps more"),
    };
    let notes: String = job.missing.iter().map(|sentence| format!("; {sentence}")).collect();
    Ok(format!(
        "timeline of {} calls in {}: open it at ui.perfetto.dev or chrome://tracing{dropped}{notes}",
        counts.events,
        path.display()
    ))
}
