//! Slurm's and Flux's short form of host names: `n[1-3,7],rack[0-1]n[01-02],login`.

/// More hosts than any machine has; a slip like `n[1-9999999999]` shall not fill the memory.
const MOST: usize = 1 << 20;
/// The longest name that a host can have.
const LONGEST: usize = 253;

/// The items between the commas that are not inside brackets.
pub(crate) fn items(text: &str) -> Result<Vec<&str>, String> {
    let (mut items, mut start, mut inside) = (Vec::new(), 0, false);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b']' if inside != (byte == b']') => return Err(format!("the brackets of `{text}` do not match")),
            b'[' | b']' => inside = !inside,
            b',' if !inside => {
                items.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    if inside {
        Err(format!("the brackets of `{text}` do not match"))
    } else {
        Ok(items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect())
    }
}

/// All names that a list means, in its order; of several brackets in a name the last one runs fastest.
pub(crate) fn expand(text: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for item in items(text)? {
        let mut prefixes = vec![String::new()];
        let mut rest = item;
        while let Some((head, after)) = rest.split_once('[') {
            let (ranges, tail) = after.split_once(']').ok_or_else(|| format!("`{item}` lacks a closing bracket"))?;
            let numbers = numbers(ranges)?;
            if prefixes.len().saturating_mul(numbers.len()) + names.len() > MOST {
                return Err(format!("`{item}` means more than {MOST} hosts"));
            }
            let joined = |prefix: &String| numbers.iter().map(|number| format!("{prefix}{head}{number}")).collect();
            prefixes = prefixes.iter().flat_map::<Vec<String>, _>(joined).collect();
            rest = tail;
        }
        names.extend(prefixes.into_iter().map(|prefix| prefix + rest));
    }
    Ok(names)
}

/// `1-3,07`: the numbers as texts, zeros in front kept.
fn numbers(ranges: &str) -> Result<Vec<String>, String> {
    let number = |text: &str| {
        if text.len() > LONGEST {
            Err(format!("{} characters in brackets are more than the name of any host has", text.len()))
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"))
        } else {
            Err(format!("`{text}` is not a number"))
        }
    };
    let mut found = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to, width) = (number(first)?, number(last)?, first.len());
        if from > to {
            return Err(format!("the range {range} runs backwards"));
        }
        if (to - from) as usize >= MOST - found.len().min(MOST) {
            return Err(format!("the range {range} means more than {MOST} hosts"));
        }
        found.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(found)
}

/// `2(x3),1`: what Slurm says about hosts in order, a number above 0 for each.
pub(crate) fn counts(text: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for item in text.split(',') {
        let (count, times) = match item.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse::<usize>().ok()?),
            None => (item, 1),
        };
        if counts.len() + times > MOST {
            return None;
        }
        let count = count.trim().parse::<u32>().ok().filter(|&count| count > 0)?;
        counts.extend(std::iter::repeat_n(count, times));
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_host_for_no_task_is_no_count() {
        assert_eq!(counts("2(x3),1"), Some(vec![2, 2, 2, 1]));
        assert!(["0", "2,0(x3)", "0(x2)"].into_iter().all(|text| counts(text).is_none()));
    }

    #[test]
    fn lists_that_slurm_writes() {
        for (text, names) in [
            ("login", "login"),
            ("n1,n2", "n1 n2"),
            ("n[1-3,7]", "n1 n2 n3 n7"),
            ("n[08-11]", "n08 n09 n10 n11"),
            ("rack[0-1]n[1-2]-ib", "rack0n1-ib rack0n2-ib rack1n1-ib rack1n2-ib"),
            ("a[1],b[2-3],c", "a1 b2 b3 c"),
        ] {
            assert_eq!(expand(text).unwrap().join(" "), names, "{text}");
        }
        assert_eq!(counts("2(x3),1"), Some(vec![2, 2, 2, 1]));
        assert_eq!(counts("16"), Some(vec![16]));
        for bad in ["n[", "n]", "n[[1]]", "n[1-]", "n[a]", "n[2-1]", "n[0-99999999]", "n[+1]", "[0-9999][0-9999]"] {
            assert!(expand(bad).is_err(), "{bad}");
        }
        let long = expand(&format!("n[{}1]", "0".repeat(1 << 16)));
        assert!(long.expect_err("no host has this name").starts_with("65537 characters"));
        assert_eq!((counts("2(x"), counts("x"), counts("1(x99999999)")), (None, None, None));
    }

    /// The short form of names `prefix` + number of this width, as a scheduler writes it.
    fn folded(prefix: &str, width: usize, numbers: &[u32]) -> String {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for &number in numbers {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        let text = |&(first, last): &(u32, u32)| {
            if first == last { format!("{first:0width$}") } else { format!("{first:0width$}-{last:0width$}") }
        };
        format!("{prefix}[{}]", ranges.iter().map(text).collect::<Vec<_>>().join(","))
    }

    proptest! {
        #[test]
        fn what_is_folded_unfolds(
            prefix in "[a-z]{1,8}-?",
            width in 1usize..6,
            numbers in proptest::collection::btree_set(0u32..2000, 1..200),
        ) {
            let numbers: Vec<u32> = numbers.into_iter().collect();
            let names: Vec<String> = numbers.iter().map(|number| format!("{prefix}{number:0width$}")).collect();
            prop_assert_eq!(expand(&folded(&prefix, width, &numbers)).unwrap(), names);
        }

        #[test]
        fn any_text_is_judged(text in "[a-z0-9\\[\\],:(x)-]{0,40}") {
            if let Ok(names) = expand(&text) {
                prop_assert!(names.iter().all(|name| !name.contains(['[', ']', ','])));
            }
            let _ = counts(&text);
        }
    }
}
