//! Pages of HTML as a browser shows them.

use std::path::Path;
use std::process::Command;

use crate::{Job, JobEnd};

/// Windows of a large screen, a small one and a telephone.
const WIDTHS: [u32; 3] = [1400, 800, 390];
/// An empty page in the smallest of them is a picture of some kilobytes.
const EMPTY: u64 = 30_000;

/// The browser.
pub const BROWSER: &str = "chromium";

/// Opens a page, and asserts that its scripts end without an error, that the page has all these parts then, and that it is not
/// empty in a window of any width. The browser's own files and the pictures lie beside the page.
#[track_caller]
pub fn shows(page: &Path, parts: &[&str]) {
    let folder = page.parent().expect("a page lies in a folder");
    let profile = format!("--user-data-dir={}", folder.join("browser").display());
    let shown = chromium(page, &["--dump-dom", &profile]);
    assert!(!shown.stderr.contains("CONSOLE"), "{shown}");
    for part in parts {
        assert!(shown.stdout.contains(part), "{part} is missing: {shown}");
    }
    for width in WIDTHS {
        let picture = folder.join(format!("{width}.png"));
        let (window, screenshot) =
            (format!("--window-size={width},2000"), format!("--screenshot={}", picture.display()));
        let shown = chromium(page, &[&window, &screenshot, &profile]);
        let bytes = std::fs::metadata(&picture).map_or(0, |file| file.len());
        assert!(bytes > EMPTY, "{width}: {bytes} bytes: {shown}");
    }
}

/// Runs Chromium on a page, and returns what it printed on both streams.
fn chromium(page: &Path, words: &[&str]) -> JobEnd {
    let mut command = Command::new(BROWSER);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"]);
    Job::by(command).run(Path::new(&format!("file://{}", page.display())), words).expect(0)
}
