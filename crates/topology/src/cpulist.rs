//! Lists of numbers as the kernel writes them: `0-3,8`.

use std::collections::BTreeSet;

/// The numbers of a list, ascending. What cannot be read is left out: the kernel writes no such thing.
pub fn parse(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    };
    let numbers: BTreeSet<u32> = text.trim().split(',').filter_map(range).flatten().collect();
    numbers.into_iter().collect()
}

/// Numbers as a list, ascending.
pub fn written(numbers: &[u32]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let run = |run: &[u32]| match run {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(u32::to_string).collect(),
    };
    numbers.chunk_by(|one, next| one + 1 == *next).map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (text, numbers) in
            [("0", vec![0]), ("0-3,8", vec![0, 1, 2, 3, 8]), ("", vec![]), ("1,3,5-6", vec![1, 3, 5, 6])]
        {
            assert_eq!(parse(text), numbers);
            assert_eq!(written(&numbers), text);
        }
        assert_eq!(parse("4-5,0-1,5\n"), [0, 1, 4, 5]);
        assert_eq!(parse("a,2,3-"), [2]);
        // As a machine with two threads a core numbers them.
        assert_eq!(written(&[0, 4, 1, 5]), "0-1,4-5");
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read(numbers in proptest::collection::btree_set(0_u32..5000, 0..200)) {
            let numbers: Vec<u32> = numbers.into_iter().collect();
            assert_eq!(parse(&written(&numbers)), numbers);
        }
    }
}
