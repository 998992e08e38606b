//! The name of a phase as words: on the board of the PE that is in it, and in the head of a
//! recording.

/// The words of a name.
pub const NAME_WORDS: usize = 8;
/// The bytes of a name, at most.
pub const NAME_BYTES: usize = 55;

const _: () = assert!(NAME_BYTES < NAME_WORDS * 8 - 8);

/// A name as words: how many bytes, and these. A longer one is cut, at the end of a character.
///
/// ```
/// use oxshmem_progress::phase::{name_of_words, name_words};
///
/// assert_eq!(name_of_words(name_words("exchange")).as_deref(), Some("exchange"));
/// assert_eq!(name_of_words(name_words("")), None);
/// ```
pub fn name_words(name: &str) -> [u64; NAME_WORDS] {
    let mut len = name.len().min(NAME_BYTES);
    while !name.is_char_boundary(len) {
        len -= 1;
    }
    let mut bytes = [0; NAME_WORDS * 8];
    bytes[..8].copy_from_slice(&(len as u64).to_ne_bytes());
    bytes[8..8 + len].copy_from_slice(&name.as_bytes()[..len]);
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|i| u64::from_ne_bytes(words[i]))
}

/// The name that these words have. `None` if there is none.
pub fn name_of_words(words: [u64; NAME_WORDS]) -> Option<String> {
    let len = (words[0] as usize).min(NAME_BYTES);
    let bytes: Vec<u8> = words[1..].iter().flat_map(|word| word.to_ne_bytes()).take(len).collect();
    (len > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
