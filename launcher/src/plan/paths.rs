//! Paths on their way to agents. A path need not be text, so it travels as bytes: serde refuses a `PathBuf` that is none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(in crate::plan) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_os_str().serialize(serializer)
}

pub(in crate::plan) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    OsString::deserialize(deserializer).map(PathBuf::from)
}

/// The same for a path that may be left out.
pub(in crate::plan) mod optional {
    use super::*;

    pub(in crate::plan) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Path::as_os_str).serialize(serializer)
    }

    pub(in crate::plan) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<OsString>::deserialize(deserializer)?.map(PathBuf::from))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;
    use crate::link::frame::{Frames, encode};
    use crate::plan::JobPlan;

    #[test]
    fn paths_that_are_no_text_travel_to_agents() {
        let odd = |name: &[u8]| OsString::from_vec(name.to_vec());
        let words: Vec<OsString> = vec![
            "--wdir".into(),
            odd(b"/w\xff"),
            "--output-dir".into(),
            odd(b"/o\xff"),
            "--trace".into(),
            odd(b"/t\xff"),
            "--remote-prefix".into(),
            odd(b"/p\xff"),
            "./a".into(),
        ];
        let plan = JobPlan::from_arguments(words).expect("the command line is well formed");
        let mut frames = Frames::default();
        frames.feed(&encode(&plan));
        let there: JobPlan = frames.next().expect("the frame is whole").expect("it can be read");
        assert_eq!(there.programs[0].wdir, Some(odd(b"/w\xff").into()));
        assert_eq!(there.output_dir, Some(odd(b"/o\xff").into()));
        assert_eq!(there.places.remote_prefix, Some(odd(b"/p\xff").into()));
        assert_eq!(there.recording, plan.recording);
    }
}
