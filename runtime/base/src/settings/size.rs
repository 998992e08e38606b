//! Sizes in bytes as `OpenSHMEM 1.6 §8` writes them: `20m`, `3.1M`, `.5g`.
//!
//! The number is kept as decimal digits and rounded up once, at the end, because a binary floating
//! point value would move the ceiling for some inputs.

/// The least number of bytes that is at least what `text` says.
///
/// A size is an optional `+`, decimal digits with at most one point among, before or after them, an
/// optional exponent (`1e3`, `2.5E-1`, as in C), and an optional factor: `k`, `m`, `g` or `t`, of
/// either case, for 2^10, 2^20, 2^30 and 2^40. What follows the factor is ignored, so that `20kk`,
/// `20kB` and `20KiB` are all `20k`. White space around the whole is ignored, between number and
/// factor it is an error. Signs other than `+`, hexadecimal, `nan` and `inf` are errors, as are
/// sizes beyond `usize`.
pub(super) fn parse(text: &str) -> Result<usize, String> {
    let number = text.trim_ascii();
    if number.starts_with('-') {
        return Err("a size must not be negative".to_owned());
    }
    let number = number.strip_prefix('+').unwrap_or(number);
    let (decimal, rest) = Decimal::read(number).ok_or_else(malformed)?;
    let shift = match rest.as_bytes().first().map(u8::to_ascii_lowercase) {
        None => 0,
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(b't') => 40,
        Some(_) => return Err(malformed()),
    };
    decimal.scaled_up(shift).ok_or_else(|| format!("a size must be at most {} bytes", usize::MAX))
}

/// The shortest way to write `bytes` that `parse` reads back: `512M`, or plain digits.
pub fn show(bytes: usize) -> String {
    let factors = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
    match factors.into_iter().find(|&(shift, _)| bytes != 0 && bytes.trailing_zeros() >= shift) {
        Some((shift, suffix)) => format!("{}{suffix}", bytes >> shift),
        None => bytes.to_string(),
    }
}

fn malformed() -> String {
    "expected a number of bytes, with an optional factor k, m, g or t, such as 512M or 1.5g".to_owned()
}

/// The number 0.d₁d₂d₃… × 10^`point`, in decimal digits without leading zeros.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// Reads a number at the start of `text`. Returns it and what follows.
    fn read(text: &str) -> Option<(Self, &str)> {
        let (whole, rest) = split_digits(text);
        let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (exponent, rest) = read_exponent(rest);
        let all = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0');
        let digits: Vec<u8> = all.skip_while(|&digit| digit == 0).collect();
        let zeros = whole.len() + fraction.len() - digits.len();
        let point = (whole.len() as i64 - zeros as i64).saturating_add(exponent);
        Some((Self { digits, point }, rest))
    }

    /// The ceiling of this number × 2^`shift`, for a shift of at most 40, if it fits.
    fn scaled_up(&self, shift: u32) -> Option<usize> {
        // 2^40 < 10^13, and no usize has more than 20 digits: outside of these bounds the result is
        // known, and inside them an exponent cannot ask for a long row of zeros.
        match self.point {
            _ if self.digits.is_empty() => return Some(0),
            ..-12 => return Some(1),
            21.. => return None,
            _ => {}
        }
        let mut whole = 0u128;
        for place in 0..self.point {
            let digit = self.digits.get(place as usize).copied().unwrap_or(0);
            whole = whole * 10 + u128::from(digit);
        }
        let zeros = usize::try_from(-self.point).unwrap_or(0);
        let used = usize::try_from(self.point).unwrap_or(0).min(self.digits.len());
        let mut fraction = vec![0; zeros];
        fraction.extend_from_slice(&self.digits[used..]);
        // Doubling number and fraction together keeps every bit; 20 digits and 40 bits stay below
        // 2^128.
        for _ in 0..shift {
            whole = whole * 2 + u128::from(double(&mut fraction));
        }
        let partial = fraction.iter().any(|&digit| digit != 0);
        usize::try_from(whole + u128::from(partial)).ok()
    }
}

/// Splits `text` behind the decimal digits that it starts with.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Reads `e±digits` at the start of `text`. As for `strtod`, an `e` without digits is no exponent.
fn read_exponent(text: &str) -> (i64, &str) {
    let Some(body) = text.strip_prefix(['e', 'E']) else {
        return (0, text);
    };
    let negative = body.starts_with('-');
    let (digits, rest) = split_digits(body.strip_prefix(['+', '-']).unwrap_or(body));
    if digits.is_empty() {
        return (0, text);
    }
    // Saturating at a value far beyond any length of text keeps the sum with the point exact
    // enough.
    let magnitude = digits.bytes().fold(0i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(1 << 60)
    });
    (if negative { -magnitude } else { magnitude }, rest)
}

/// Doubles a decimal fraction in place. Returns what it carries into the integer: 0 or 1.
fn double(fraction: &mut [u8]) -> u8 {
    fraction.iter_mut().rev().fold(0, |carry, digit| {
        let doubled = *digit * 2 + carry;
        *digit = doubled % 10;
        doubled / 10
    })
}

#[cfg(all(test, not(oxshmem_loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The ceiling of `digits` / 10^`places` × 2^`shift`, by long division of one integer.
    fn model(digits: u128, places: u32, shift: u32) -> u128 {
        (digits << shift).div_ceil(10u128.pow(places))
    }

    #[test]
    fn the_examples_of_the_specification_hold() {
        assert_eq!(parse("20m"), Ok(20_971_520));
        assert_eq!(parse("3.1M"), Ok(3_250_586));
        assert_eq!(parse("20kk"), Ok(20 << 10));
        assert_eq!(parse(".5m"), parse("0.5m"));
        assert_eq!(parse(".5m"), Ok(512 << 10));
    }

    #[test]
    fn each_factor_counts_in_either_case() {
        for (shift, suffixes) in
            [(0, ["", ""]), (10, ["k", "K"]), (20, ["m", "M"]), (30, ["g", "G"]), (40, ["t", "T"])]
        {
            for suffix in suffixes {
                assert_eq!(parse(&format!("3{suffix}")), Ok(3 << shift), "3{suffix}");
            }
        }
    }

    #[test]
    fn a_fraction_of_a_byte_counts_as_a_byte() {
        for (text, bytes) in
            [("0.1", 1), ("1.0", 1), ("1.0000000000000000000000000001", 2), ("1e-400", 1), ("0.0", 0)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        let tiny = format!("0.{}1t", "0".repeat(10_000));
        assert_eq!(parse(&tiny), Ok(1));
    }

    #[test]
    fn a_point_may_open_or_end_the_number() {
        assert_eq!(parse("5."), Ok(5));
        assert_eq!(parse("5.k"), Ok(5 << 10));
        assert_eq!(parse(".25k"), Ok(256));
    }

    #[test]
    fn an_exponent_is_read_as_c_reads_it() {
        for (text, bytes) in [
            ("1e3", 1000),
            ("1E+3k", 1000 << 10),
            ("25e-1k", 2560),
            (".0001e4", 1),
            ("0e999999999999999999999", 0),
            ("000000000000000000000000000001e1", 10),
            ("100000000000000000000000000000e-29", 1),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["1e", "1ek", "1e+", "1e-m", "e3"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn white_space_counts_only_between_number_and_factor() {
        assert_eq!(parse(" \t20m\n"), Ok(20 << 20));
        assert_eq!(parse("7 "), Ok(7));
        assert!(parse("20 m").is_err());
    }

    #[test]
    fn what_is_no_size_is_an_error() {
        for text in [
            "",
            " ",
            ".",
            "+",
            "m",
            ".m",
            "abc",
            "12x3",
            "12,5",
            "1_000",
            "1.2.3",
            "-1",
            "-0",
            "-.5m",
            "+-1",
            "++1",
            "nan",
            "inf",
            "infinity",
            "0x10",
            "५",
            "1\u{212a}",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_size_beyond_usize_is_an_error_and_the_largest_is_not() {
        assert_eq!(parse("18446744073709551615"), Ok(usize::MAX));
        assert_eq!(parse("16777215.9999999t"), Ok(model(167_772_159_999_999, 7, 40) as usize));
        for text in [
            "18446744073709551616",
            "18446744073709551615.1",
            "16777216t",
            "1e20",
            "1e999999999999999999999t",
        ] {
            assert!(parse(text).is_err_and(|why| why.contains("at most")), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_with_the_largest_factor_that_is_exact() {
        for (bytes, text) in
            [(0, "0"), (1, "1"), (1024, "1K"), (1536, "1536"), (512 << 20, "512M"), (3 << 40, "3T")]
        {
            assert_eq!(show(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn no_text_near_a_number_makes_the_parser_panic(text in "[ +-]?[0-9.]{0,40}[eE]?[+-]?[0-9]{0,25}[kmgtKMGTx ]{0,2}") {
            let _ = parse(&text);
        }

        #[test]
        fn a_size_equals_the_exact_rational(whole in 0u64.., fraction in "[0-9]{0,9}", factor in 0usize..5) {
            let suffix = ["", "k", "m", "g", "t"][factor];
            let places = fraction.len() as u32;
            let digits = u128::from(whole) * 10u128.pow(places) + fraction.parse().unwrap_or(0);
            prop_assume!(digits.leading_zeros() > 40);
            let expected = model(digits, places, factor as u32 * 10);
            let found = parse(&format!("{whole}.{fraction}{suffix}"));
            prop_assert_eq!(found.ok(), usize::try_from(expected).ok());
        }

        #[test]
        fn an_exponent_moves_the_point(digits in 0u64..1_000_000_000, exponent in -12i32..=12) {
            let expected = if exponent < 0 {
                model(u128::from(digits), exponent.unsigned_abs(), 10)
            } else {
                model(u128::from(digits) * 10u128.pow(exponent as u32), 0, 10)
            };
            prop_assert_eq!(parse(&format!("{digits}e{exponent}k")).ok(), usize::try_from(expected).ok());
        }

        #[test]
        fn a_larger_number_is_no_smaller_size(a in 0u64..1 << 40, b in 0u64..1 << 40, places in 0usize..12, suffix in "[kmgt]?") {
            let write = |value: u64| {
                let digits = format!("{value:014}");
                let (whole, fraction) = digits.split_at(digits.len() - places);
                format!("{whole}.{fraction}{suffix}")
            };
            prop_assume!(a <= b);
            // Where the smaller overflows, the larger must too.
            let (low, high) = (parse(&write(a)).unwrap_or(usize::MAX), parse(&write(b)).unwrap_or(usize::MAX));
            prop_assert!(low <= high);
        }

        #[test]
        fn what_is_shown_reads_back(bytes in any::<usize>(), shift in 0u32..64) {
            let bytes = bytes << shift;
            prop_assert_eq!(parse(&show(bytes)), Ok(bytes));
        }
    }
}
