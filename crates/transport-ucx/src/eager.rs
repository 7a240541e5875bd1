//! One lane for eager messages.
//!
//! An eager message that is longer than a segment goes by as many lanes of its endpoint as the user has told UCX to use. A shorter one goes by the
//! first lane, and overtakes what the others carry of the messages before it. Unacknowledged messages rest on their order
//! (`channel::question`), so they go by one lane whatever the user has said.

use std::ffi::CStr;

/// UCX's setting for the number of lanes. All versions have it by this name.
pub(crate) const LANES: &CStr = c"MAX_EAGER_LANES";

/// The variables of it: the first name, and that of newer versions.
const VARIABLES: [&str; 2] = ["UCX_MAX_EAGER_LANES", "UCX_MAX_EAGER_RAILS"];

/// The words by which the user asks for more than one lane, if there are any.
pub(crate) fn asked_for(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let settings = VARIABLES.into_iter().filter_map(|name| Some((name, variable(name)?)));
    let mut more = settings.filter(|(_, value)| !matches!(value.trim(), "0" | "1"));
    more.next().map(|(name, value)| format!("{name}={value}"))
}

#[cfg(test)]
mod tests {
    use super::asked_for;

    #[test]
    fn more_lanes_are_asked_for_by_either_name() {
        let with = |set: &str, value: &str| asked_for(|name| (name == set).then(|| value.to_owned()));
        for name in ["UCX_MAX_EAGER_LANES", "UCX_MAX_EAGER_RAILS"] {
            assert_eq!(with(name, "2"), Some(format!("{name}=2")));
            assert_eq!(with(name, "inf"), Some(format!("{name}=inf")));
            assert_eq!(with(name, "1"), None);
        }
        assert_eq!(with("UCX_MAX_RNDV_RAILS", "2"), None);
    }
}
