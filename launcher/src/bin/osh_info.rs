//! `osh_info`: what is installed, how it is set up and what the machine offers.

use std::io::Write;

use clap::Parser;
use oxshmem_launcher::{info, usage};

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

fn main() {
    let options = InfoOptions::try_parse().unwrap_or_else(|error| std::process::exit(usage("osh_info", &error)));
    let facts = info::facts();
    let text = if options.json { format!("{facts:#}\n") } else { info::as_text(&facts) };
    // A reader that closes early (head, less) is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
