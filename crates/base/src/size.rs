//! Sizes as people write them: the syntax of `SHMEM_SYMMETRIC_SIZE`, read and written.

use crate::Error;

/// Reads a size: a decimal number, whole or not, with an optional exponent, then an optional binary suffix `k`, `m`,
/// `g` or `t` of either case. What follows the suffix letter is ignored (`20MB` is `20m`), broken bytes are rounded up.
///
/// The arithmetic is exact, so that `0.1k` is 103 bytes on every machine.
pub fn parse(text: &str) -> Result<u64, Error> {
    let invalid = |why: &str| {
        Error::new(format!("`{text}` is not a size"))
            .because(why)
            .fix("write a number and one of K, M, G, T, for example 512M or 1.5G")
    };
    let (number, rest) = Decimal::read(text.trim()).ok_or_else(|| invalid("it does not begin with a number"))?;
    let power_of_two = match rest.bytes().next().map(|letter| letter.to_ascii_lowercase()) {
        None => 0,
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(b't') => 40,
        Some(_) => {
            return Err(invalid("the number is followed by something else than K, M, G or T"));
        }
    };
    if number.negative && number.digits != 0 {
        return Err(invalid("it is negative"));
    }
    number.scaled(power_of_two).ok_or_else(|| invalid("it is larger than 64 bits can count"))
}

/// The letters that [`parse`] ignores behind the suffix, unless they spell the unit out (`20MB`, `20MiB`).
pub fn ignored(text: &str) -> Option<&str> {
    let (_, suffix) = Decimal::read(text.trim())?;
    let rest = suffix.get(1..)?;
    (!["", "b", "ib"].contains(&rest.to_ascii_lowercase().as_str())).then_some(rest)
}

/// Writes a size the way people read it: three or four digits at most, rounded to the nearest tenth.
pub fn display(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    // Half of a tenth below 1024 already shows as 1024.0, which is 1 of the next unit.
    let unit = |power: u32| ((u128::from(bytes) * 10) + (1u128 << (power - 1))) >> power;
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (tenths, name) = (1..)
        .zip(units)
        .map(|(i, name)| (unit(10 * i), name))
        .find(|&(tenths, _)| tenths < 10240)
        .expect("2^64 bytes are 16 EiB");
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        tenth => format!("{}.{tenth} {name}", tenths / 10),
    }
}

/// A number of bytes with its noun, exactly: `1 byte`, `40 bytes`.
pub fn counted(bytes: u64) -> String {
    format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" })
}

/// Writes a size as a value that [`parse`] reads again: exactly, and in the largest unit that allows it.
pub fn setting(bytes: u64) -> String {
    let units = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
    let unit = units.iter().find(|(power, _)| bytes > 0 && bytes.trailing_zeros() >= *power);
    unit.map_or_else(|| bytes.to_string(), |(power, letter)| format!("{}{letter}", bytes >> power))
}

/// `digits * 10^exponent`
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i64,
}

/// Digits that count: 10^25 times the largest suffix still fits 128 bits.
const MOST_DIGITS: u128 = 10u128.pow(25);

impl Decimal {
    /// The number at the start of `text` and what follows it.
    fn read(text: &str) -> Option<(Decimal, &str)> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let mut number = Decimal { negative: text.starts_with('-'), digits: 0, exponent: 0 };
        let mut rest = number.take_digits(unsigned, false);
        let mut digits = unsigned.len() - rest.len();
        if let Some(fraction) = rest.strip_prefix('.') {
            rest = number.take_digits(fraction, true);
            digits += fraction.len() - rest.len();
        }
        let rest = number.take_exponent(rest);
        (digits > 0).then_some((number, rest))
    }

    fn take_digits<'t>(&mut self, text: &'t str, broken: bool) -> &'t str {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut dropped = false;
        for digit in text[..end].bytes().map(|c| u128::from(c - b'0')) {
            if self.digits < MOST_DIGITS / 10 {
                self.digits = self.digits * 10 + digit;
                self.exponent -= i64::from(broken);
            } else {
                dropped |= digit != 0;
                self.exponent += i64::from(!broken);
            }
        }
        // Rounding up keeps the promise "at least that size".
        self.digits += u128::from(dropped);
        &text[end..]
    }

    /// An `e` without digits behind it is no exponent; the caller then finds it where a suffix should be.
    fn take_exponent<'t>(&mut self, text: &'t str) -> &'t str {
        let Some(after) = text.strip_prefix(['e', 'E']) else {
            return text;
        };
        let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
        let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
        if end == 0 {
            return text;
        }
        // Exponents beyond every size differ in nothing.
        let exponent = unsigned[..end].parse().unwrap_or(1_000_000i64).min(1_000_000);
        self.exponent += if after.starts_with('-') { -exponent } else { exponent };
        &unsigned[end..]
    }

    /// The number times `2^power_of_two`, rounded up.
    fn scaled(&self, power_of_two: u32) -> Option<u64> {
        let scaled = self.digits << power_of_two;
        if scaled == 0 {
            return Some(0);
        }
        let ten_to_the = u32::try_from(self.exponent.unsigned_abs()).ok().and_then(|e| 10u128.checked_pow(e));
        let bytes = match ten_to_the {
            Some(factor) if self.exponent >= 0 => scaled.checked_mul(factor)?,
            Some(divisor) => scaled.div_ceil(divisor),
            None if self.exponent < 0 => 1,
            None => return None,
        };
        u64::try_from(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_standard() {
        for (text, bytes) in [
            ("20m", 20 << 20),
            ("20MB", 20 << 20),
            ("20Mxyz", 20 << 20),
            (".5m", 512 << 10),
            ("0.5M", 512 << 10),
            ("3.1M", 3_250_586),
            ("0", 0),
            ("-0", 0),
            ("0.0g", 0),
            ("1", 1),
            ("+7", 7),
            ("5.", 5),
            (" 1G ", 1 << 30),
            ("2T", 2 << 40),
            ("1.5k", 1536),
            ("0.1k", 103),
            ("1e3", 1000),
            ("1E-1k", 103),
            ("1e-400", 1),
            ("0e999999999999999999999", 0),
            ("0.00000000000000000000000000000000001", 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        for text in [
            "",
            " ",
            "m",
            ".",
            ".m",
            "-1",
            "-1g",
            "--1",
            "nan",
            "inf",
            "-inf",
            "infinity",
            "1x",
            "1 G",
            "0x10",
            "1e",
            "1ex",
            "18446744073709551616",
            "16777216T",
            "1e30",
            "1e999999999999",
            "zwölf",
            "1ß",
            "1.2.3",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains("because") && error.contains("to fix"), "{error}");
        }
    }

    #[test]
    fn what_spells_no_unit_is_told() {
        for text in ["20", "20m", "20MB", "20MiB", " 1g ", "1.5Gib", "lots"] {
            assert_eq!(ignored(text), None, "{text}");
        }
        assert_eq!((ignored("1GG"), ignored("20Mxyz")), (Some("G"), Some("xyz")));
    }

    #[test]
    fn sizes_are_written_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (3 << 29, "1.5 GiB"),
            ((1 << 20) - 1, "1 MiB"),
            (64 << 20, "64 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(display(bytes), text);
        }
    }

    #[test]
    fn sizes_are_written_as_settings_and_counted() {
        let settings = [0, 3 << 20, 1_000_000 << 30, 1 << 40, 1025, 5 << 10].map(setting);
        assert_eq!(settings, ["0", "3M", "1000000G", "1T", "1025", "5K"]);
        assert_eq!([0, 1, 40].map(counted), ["0 bytes", "1 byte", "40 bytes"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 8 } else { 512 }, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whole_numbers_are_read_exactly(number: u64) {
            prop_assert_eq!(parse(&number.to_string()), Ok(number));
        }

        #[test]
        fn broken_numbers_are_rounded_up(whole in 0u64..1 << 20, thousandths in 0u64..1000, suffix in 0usize..4) {
            let unit = 1024u128.pow(suffix as u32 + 1);
            let exact = (u128::from(whole * 1000 + thousandths) * unit).div_ceil(1000);
            let text = format!("{whole}.{thousandths:03}{}", ["k", "M", "g", "T"][suffix]);
            prop_assert_eq!(parse(&text), Ok(exact as u64));
        }

        #[test]
        fn no_text_panics_and_no_digit_is_lost(text in if cfg!(miri) { "[a-z0-9.e+ -]{0,9}" } else { ".{0,40}" }, digits in "[0-9]{30,60}", power in 0i32..70) {
            let _ = parse(&text);
            let number = format!("{digits}e-{power}");
            let near: f64 = number.parse().expect("a number");
            if near < 1e18 {
                let read = parse(&number).expect("fits") as f64;
                prop_assert!(read >= near * 0.999_999 && read <= near * 1.000_001 + 1.0, "{} {}", read, near);
            }
        }

        #[test]
        fn what_is_written_reads_back_within_a_tenth(bytes: u64) {
            let text = display(bytes);
            let (number, unit) = text.split_once(' ').expect("number and unit");
            // P and E are written but are no suffixes of the standard.
            if !unit.starts_with(['P', 'E', 'B']) {
                let read = parse(&format!("{number}{unit}")).expect("what we wrote");
                prop_assert!(read.abs_diff(bytes) <= bytes / 20);
            }
        }
    }
}
