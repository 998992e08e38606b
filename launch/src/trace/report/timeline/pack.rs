//! Numbers as bytes.

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

#[cfg(test)]
mod tests {
    use super::*;

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
