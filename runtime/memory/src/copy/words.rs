//! One word, loaded or stored by one instruction.
//!
//! Words are assembly for the same reasons as blocks. A side of a copy may be private memory that
//! is only borrowed for reading, of which no atomic of Rust may be made; and another thread may
//! access the same bytes as words of another size.

use std::arch::asm;

macro_rules! words {
    ($(
        $word:ty, $register:ty, $class:ident: $load:ident $load_x86:literal $load_arm:literal,
        $store:ident $store_x86:literal $store_arm:literal;
    )*) => {$(
        /// Loads a word, in one piece if it is aligned.
        ///
        /// # Safety
        /// `src` must be readable for the word's size.
        #[inline(always)]
        pub(super) unsafe fn $load(src: *const $word) -> $word {
            let word: $register;
            // SAFETY: the caller vouches that it is readable. Both kinds of processor load from any
            // address.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                asm!(
                    $load_x86, word = out(reg) word, src = in(reg) src,
                    options(nostack, preserves_flags, readonly)
                );
                #[cfg(target_arch = "aarch64")]
                asm!(
                    $load_arm, word = out(reg) word, src = in(reg) src,
                    options(nostack, preserves_flags, readonly)
                );
            }
            word as $word
        }

        /// Stores a word, in one piece if it is aligned.
        ///
        /// # Safety
        /// `dst` must be writable for the word's size.
        #[inline(always)]
        pub(super) unsafe fn $store(dst: *mut $word, word: $word) {
            // SAFETY: the caller vouches that it is writable; otherwise as above.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                asm!(
                    $store_x86, word = in($class) word, dst = in(reg) dst,
                    options(nostack, preserves_flags)
                );
                #[cfg(target_arch = "aarch64")]
                asm!(
                    $store_arm, word = in(reg) <$register>::from(word), dst = in(reg) dst,
                    options(nostack, preserves_flags)
                );
            }
        }
    )*};
}

words! {
    u8, u32, reg_byte:
        load_1 "movzx {word:e}, byte ptr [{src}]" "ldrb {word:w}, [{src}]",
        store_1 "mov byte ptr [{dst}], {word}" "strb {word:w}, [{dst}]";
    u16, u32, reg:
        load_2 "movzx {word:e}, word ptr [{src}]" "ldrh {word:w}, [{src}]",
        store_2 "mov word ptr [{dst}], {word:x}" "strh {word:w}, [{dst}]";
    u32, u32, reg:
        load_4 "mov {word:e}, dword ptr [{src}]" "ldr {word:w}, [{src}]",
        store_4 "mov dword ptr [{dst}], {word:e}" "str {word:w}, [{dst}]";
    u64, u64, reg:
        load_8 "mov {word}, qword ptr [{src}]" "ldr {word:x}, [{src}]",
        store_8 "mov qword ptr [{dst}], {word}" "str {word:x}, [{dst}]";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_its_own_bytes_and_no_others_wherever_it_is() {
        let bytes: [u8; 24] = std::array::from_fn(|i| (i as u8).wrapping_mul(37) ^ 0x80);
        for at in 0..16 {
            // SAFETY: 8 bytes follow each place, of both.
            unsafe {
                let from = bytes.as_ptr().add(at);
                assert_eq!(load_1(from).to_ne_bytes(), bytes[at..][..1]);
                assert_eq!(load_2(from.cast()).to_ne_bytes(), bytes[at..][..2]);
                assert_eq!(load_4(from.cast()).to_ne_bytes(), bytes[at..][..4]);
                assert_eq!(load_8(from.cast()).to_ne_bytes(), bytes[at..][..8]);
                for size in [1, 2, 4, 8] {
                    let mut to = [0; 24];
                    let there = to.as_mut_ptr().add(at);
                    match size {
                        1 => store_1(there, load_1(from)),
                        2 => store_2(there.cast(), load_2(from.cast())),
                        4 => store_4(there.cast(), load_4(from.cast())),
                        _ => store_8(there.cast(), load_8(from.cast())),
                    }
                    let mut expected = [0; 24];
                    expected[at..][..size].copy_from_slice(&bytes[at..][..size]);
                    assert_eq!(to, expected, "{size} bytes at {at}");
                }
            }
        }
    }
}
