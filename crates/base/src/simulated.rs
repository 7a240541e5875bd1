//! The words by which a run over the simulated network is chosen, which the launcher and the network both read.

/// The names of the strategies.
pub const STRATEGIES: [&str; 6] = ["lazy", "eager", "random", "priority", "starved-pe", "starved-pair"];

/// The remedy for a word that is none.
pub const ADVICE: &str =
    "write sim, sim:SEED, or sim:STRATEGY:SEED with one of lazy, eager, random, priority, starved-pe, starved-pair";

/// The strategy, if one is named, and the seed of `[STRATEGY][:SEED]`; nothing if it is neither.
///
/// ```
/// use oxshmem_base::simulated::strategy_and_seed;
/// assert_eq!(strategy_and_seed("lazy:7"), Some((Some("lazy"), 7)));
/// assert_eq!(strategy_and_seed("7"), Some((None, 7)));
/// assert_eq!(strategy_and_seed("foo"), None);
/// ```
pub fn strategy_and_seed(text: &str) -> Option<(Option<&'static str>, u64)> {
    let (name, seed) = match text.split_once(':') {
        Some((name, seed)) => (name, seed.parse().ok()?),
        None => match text.parse() {
            Ok(seed) => ("", seed),
            Err(_) => (text, 1),
        },
    };
    let named = STRATEGIES.into_iter().find(|known| *known == name);
    if name.is_empty() || named.is_some() { Some((named, seed)) } else { None }
}
