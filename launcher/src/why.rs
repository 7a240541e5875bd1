//! `oxshmem why`: who waits for whom in a running job.

use clap::Args;
use oxshmem_base::Error;
use oxshmem_flight::report::{self, Certainty};

use serde::Serialize;

use crate::ask::{self, JobView};

/// The job and how much of it.
#[derive(Args)]
pub struct WhyArgs {
    /// The process number of the job's oshrun [default: the only job there is]
    #[arg(value_name = "JOB")]
    job: Option<u32>,
    /// So many of the last calls of each PE, 32 at most
    #[arg(long, value_name = "N", default_value = "0")]
    calls: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer of `--json`.
#[derive(Serialize)]
struct ExplainedView {
    #[serde(flatten)]
    view: JobView,
    /// Why the waits do not end, in the sentences of the text.
    conclusions: Vec<String>,
}

impl ExplainedView {
    fn new(mut view: JobView) -> Self {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        view.hosts.iter_mut().filter(|host| host.is_empty()).for_each(|host| *host = own.trim().into());
        let text = report::conclusions(&view.witnesses, Certainty::Seen);
        Self { view, conclusions: text.lines().map(|line| line.trim().into()).collect() }
    }
}

impl WhyArgs {
    /// The picture.
    pub fn run(&self) -> Result<String, Error> {
        let mut view = ask::view(ask::meant(self.job)?)?;
        if self.json {
            return Ok(serde_json::to_string_pretty(&ExplainedView::new(view))
                .expect("numbers and words have a JSON form")
                + "\n");
        }
        let head = format!("job {}, {} PEs, {:.0} s: {}\n", view.job, view.pes, view.seconds, view.command);
        let text = head + &report::picture(&view.witnesses, view.pes, Certainty::Seen);
        view.witnesses.iter_mut().for_each(|one| one.calls.truncate(self.calls));
        Ok(text + &report::histories(&view.witnesses))
    }
}
