//! Numbers as bytes, and bytes as text.

/// Seven bits to a byte, the lowest first. The eighth bit says that there are more.
pub(super) fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Numbers near 0 are short, whatever their sign.
pub(super) fn put_signed(to: &mut Vec<u8>, value: i64) {
    put_varint(to, (value << 1 ^ value >> 63) as u64);
}

/// Bytes as text that stands in a page as it is.
pub(in crate::trace::report) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let place = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[place as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|it| base64(it.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn small_numbers_are_short() {
        let packed = |value| {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            bytes
        };
        assert_eq!(packed(0), [0]);
        assert_eq!(packed(300), [0xac, 2]);
        assert_eq!(packed(u64::MAX).len(), 10);
        let mut bytes = Vec::new();
        [-1, 1, -64, i64::MIN].into_iter().for_each(|value| put_signed(&mut bytes, value));
        assert_eq!(bytes[..3], [1, 2, 127]);
        assert_eq!(bytes.len(), 13);
    }
}
