//! Numbers with the units that suit them.

/// Three digits of a number.
pub fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        small if small < 9.995 => format!("{value:.2}"),
        medium if medium < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The value in the greatest of the units that it reaches.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // The last digit that is shown must not round up to the next unit.
    let fits = |(size, _): &&(f64, &str)| value.abs() >= size * 0.9995;
    let (size, unit) = units.iter().rev().find(fits).or(units.first()).copied().unwrap_or((1.0, ""));
    format!("{} {unit}", digits(value / size)).trim_end().to_owned()
}

/// A time.
pub fn time(nanoseconds: f64) -> String {
    scaled(nanoseconds, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")])
}

/// Bytes in a second, as networks count: in powers of ten.
pub fn bandwidth(bytes_per_second: f64) -> String {
    scaled(bytes_per_second, &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")])
}

/// Messages in a second.
pub fn rate(per_second: f64) -> String {
    scaled(per_second, &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")])
}

/// Bytes of a tebibyte.
const TEBI: f64 = 1099511627776.0;

/// The size of an array, in powers of two.
pub fn size(bytes: f64) -> String {
    scaled(bytes, &[(1.0, "B"), (1024.0, "KiB"), (1048576.0, "MiB"), (1073741824.0, "GiB"), (TEBI, "TiB")])
        .replace(".00", "")
}

/// The size of an array on an axis: a whole number, and one letter for the unit.
pub fn short_size(bytes: f64) -> String {
    match bytes {
        small if small < 1024.0 => format!("{small:.0}"),
        medium if medium < 1048576.0 => format!("{:.0}K", medium / 1024.0),
        large if large < 1073741824.0 => format!("{:.0}M", large / 1048576.0),
        huge if huge < TEBI => format!("{:.0}G", huge / 1073741824.0),
        most => format!("{:.0}T", most / TEBI),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_the_unit_that_suits_them() {
        assert_eq!(
            [time(2.5), time(999.4), time(999.9), time(12_345.0), time(3e9)],
            ["2.50 ns", "999 ns", "1.00 µs", "12.3 µs", "3.00 s"]
        );
        assert_eq!([bandwidth(12.5e9), bandwidth(3.0)], ["12.5 GB/s", "3.00 B/s"]);
        assert_eq!([rate(2.5e6), rate(0.5)], ["2.50 M/s", "0.50 /s"]);
        assert_eq!([size(8.0), size(4096.0), size(1.5 * 1048576.0)], ["8 B", "4 KiB", "1.50 MiB"]);
        assert_eq!([size(TEBI * 1024.0), size(TEBI / 2.0), short_size(TEBI)], ["1024 TiB", "512 GiB", "1T"]);
        assert_eq!([short_size(512.0), short_size(65536.0), short_size(4194304.0)], ["512", "64K", "4M"]);
    }
}
