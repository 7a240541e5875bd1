//! The option that tells the language of files (`-x`). Intel's compilers tell a processor in the same way.

use std::ffi::OsString;

/// Languages up to the first hyphen, as in `c++-header` and `f95-cpp-input`. Nothing stands for one in the next argument.
const LANGUAGES: [&str; 15] =
    ["", "c", "c++", "cpp", "objective", "assembler", "f77", "f95", "ada", "d", "go", "cuda", "hip", "cl", "none"];

/// Whether the argument tells the language of the files behind it, as `-x f77` and `-xc` do; `-xhost` and `-xCORE-AVX2` tell a processor,
/// in lower case too.
pub(super) fn are_named_by(argument: &OsString) -> bool {
    let value = argument.to_str().and_then(|text| text.strip_prefix("-x"));
    value.is_some_and(|value| LANGUAGES.contains(&value.split('-').next().unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_no_language() {
        for language in ["", "f77", "f95-cpp-input", "c", "c++-header", "objective-c++", "assembler-with-cpp"] {
            assert!(are_named_by(&format!("-x{language}").into()), "{language}");
        }
        for processor in ["Host", "host", "CORE-AVX2", "core-avx2", "common-avx512", "sse4.2"] {
            assert!(!are_named_by(&format!("-x{processor}").into()), "{processor}");
        }
    }
}
