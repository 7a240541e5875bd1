//! `osh_info`: what is installed, how it is set up and what the machine offers.

use std::process::ExitCode;

use clap::Parser;
use oxshmem_launcher::{info, stdout, usage};

/// Shows the version, the environment variables with their present values, and the machine as oxshmem sees it.
#[derive(Parser)]
#[command(name = "osh_info", version)]
struct InfoOptions {
    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Accepted: everything is always shown
    #[arg(short, long, hide = true)]
    all: bool,
}

fn main() -> ExitCode {
    let options = InfoOptions::try_parse().unwrap_or_else(|error| std::process::exit(usage("osh_info", &error)));
    let facts = info::facts();
    let text = if options.json { format!("{facts:#}\n") } else { info::as_text(&facts) };
    stdout::print("osh_info", &text).map_or_else(ExitCode::from, |()| ExitCode::SUCCESS)
}
