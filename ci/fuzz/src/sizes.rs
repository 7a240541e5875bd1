//! The size syntax: no text makes it panic, and what it displays it reads again, but for rounding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oxshmem_base::size;

fuzz_target!(|text: &str| {
    let Ok(bytes) = size::parse(text) else { return };
    let shown = size::display(bytes);
    // Half of the last digit that is shown: a twentieth of a unit, which is at most the number itself.
    if let Ok(again) = size::parse(&shown.replace(" B", "").replace(' ', "")) {
        assert!(again.abs_diff(bytes) <= bytes / 20 + 1, "{text}: {bytes} is shown as {shown}");
    }
});
