//! How `oshrun` tells PEs of other hosts that a PE has ended without finalize: by values that a PE can ask for at any time.

/// The key under which it says so of PE `pe`, or of any PE.
pub fn key(pe: Option<u32>) -> String {
    pe.map_or_else(|| "ended".into(), |pe| format!("ended.{pe}"))
}

/// The values that say it of PE `pe`.
pub fn values(pe: u32) -> Vec<(String, String)> {
    // An empty value in one piece (see `published`).
    [Some(pe), None].map(|pe| (key(pe), "1.".into())).into()
}
