//! A bar on the terminal that tells how far a campaign has come. Without a terminal there is none.

use std::io::{IsTerminal, Write};
use std::time::Instant;

const LENGTH: usize = 30;

pub(crate) struct ProgressBar {
    begun: Instant,
    done: usize,
    all: usize,
    shown: bool,
}

impl ProgressBar {
    /// A bar for this many steps.
    pub(crate) fn new(all: usize) -> Self {
        Self { begun: Instant::now(), done: 0, all: all.max(1), shown: std::io::stderr().is_terminal() }
    }

    pub(crate) fn step(&mut self, what: &str) {
        if self.shown {
            // A terminal that has gone needs no bar.
            let _ = write!(
                std::io::stderr(),
                "\r\x1b[K{}",
                bar(self.done, self.all, self.begun.elapsed().as_secs_f64(), what)
            );
        }
        self.done += 1;
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// The line: the bar, the share, what is under way, and how long the rest will take.
fn bar(done: usize, all: usize, seconds: f64, what: &str) -> String {
    let filled = LENGTH * done / all;
    let left = match done {
        0 => String::new(),
        done => format!(", {:.0} s left", seconds / done as f64 * (all - done) as f64),
    };
    format!("[{}{}] {:>3} %  {what}{left}", "#".repeat(filled), ".".repeat(LENGTH - filled), 100 * done / all)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_bar_grows_with_the_steps() {
        assert_eq!(super::bar(0, 10, 0.0, "a"), format!("[{}]   0 %  a", ".".repeat(30)));
        assert_eq!(super::bar(5, 10, 4.0, "b"), format!("[{}{}]  50 %  b, 4 s left", "#".repeat(15), ".".repeat(15)));
    }
}
