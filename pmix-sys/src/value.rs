//! Making and reading the structures that PMIx's calls take and give: what its headers define as
//! macros.
//!
//! Structures made here borrow: PMIx copies what it is passed, so they only have to live as long as
//! the call. A value that `PMIx_Get` gives is the caller's to free, and becomes a [`Value`], which
//! does that.

use std::{
    ffi::{CStr, c_char},
    fmt,
    ptr::NonNull,
};

use crate::{
    PMIX_BOOL, PMIX_BYTE_OBJECT, PMIX_INFO_REQD, PMIX_INT, PMIX_PROC_RANK, PMIX_SIZE, PMIX_STRING, PMIX_UINT,
    PMIX_UINT8, PMIX_UINT16, PMIX_UINT32, PMIX_UINT64, Pmix, pmix_byte_object, pmix_data_type_t, pmix_info,
    pmix_proc, pmix_rank_t, pmix_value, pmix_value_data,
};

impl pmix_proc {
    /// A process: the namespace is its job.
    ///
    /// # Panics
    /// If the name is longer than `PMIX_MAX_NSLEN`.
    pub fn new(nspace: &CStr, rank: pmix_rank_t) -> Self {
        let mut new = Self { rank, ..Default::default() };
        copy_name(&mut new.nspace, nspace);
        new
    }

    /// Another process of the same job, or with `PMIX_RANK_WILDCARD` the job itself.
    pub fn with_rank(&self, rank: pmix_rank_t) -> Self {
        Self { rank, ..*self }
    }

    /// The name of the job. PMIx always ends it with a zero; without one it is empty.
    pub fn nspace(&self) -> &CStr {
        CStr::from_bytes_until_nul(bytes_of(&self.nspace)).unwrap_or_default()
    }
}

impl pmix_value {
    fn with(type_: pmix_data_type_t, fill: impl FnOnce(&mut pmix_value_data)) -> Self {
        let mut value = Self { type_, ..Default::default() };
        fill(&mut value.data);
        value
    }

    /// A byte object that points to `bytes`.
    pub fn bytes(bytes: &[u8]) -> Self {
        let object = pmix_byte_object { bytes: bytes.as_ptr().cast_mut().cast(), size: bytes.len() };
        Self::with(PMIX_BYTE_OBJECT, |data| data.bo = object)
    }

    /// A string that points to `text`.
    pub fn string(text: &CStr) -> Self {
        Self::with(PMIX_STRING, |data| data.string = text.as_ptr().cast_mut())
    }

    /// A truth value.
    pub fn flag(flag: bool) -> Self {
        Self::with(PMIX_BOOL, |data| data.flag = flag)
    }

    /// A number of type `int`, such as that of `PMIX_TIMEOUT`.
    pub fn int(number: i32) -> Self {
        Self::with(PMIX_INT, |data| data.integer = number)
    }

    /// A number of type `uint32_t`.
    pub fn uint32(number: u32) -> Self {
        Self::with(PMIX_UINT32, |data| data.uint32 = number)
    }
}

impl pmix_info {
    /// A directive for a call, such as `PMIX_COLLECT_DATA`. It borrows what `value` does.
    ///
    /// # Panics
    /// If the key is longer than `PMIX_MAX_KEYLEN`.
    pub fn new(key: &CStr, value: pmix_value) -> Self {
        let mut info = Self { value, ..Default::default() };
        copy_name(&mut info.key, key);
        info
    }

    /// A directive that a call must know: it fails otherwise.
    pub fn required(key: &CStr, value: pmix_value) -> Self {
        Self { flags: PMIX_INFO_REQD, ..Self::new(key, value) }
    }

    /// Its key. PMIx always ends it with a zero; without one it is empty.
    pub fn key(&self) -> &CStr {
        CStr::from_bytes_until_nul(bytes_of(&self.key)).unwrap_or_default()
    }
}

/// A value that PMIx gave and that is freed when this is dropped.
pub struct Value<'a> {
    pmix: &'a Pmix,
    raw: NonNull<pmix_value>,
}

impl<'a> Value<'a> {
    /// Takes a value that `PMIx_Get` stored. Without one there is nothing to take.
    ///
    /// # Safety
    /// It must be null, or a value that the caller has to free and that nobody else uses.
    pub unsafe fn from_raw(pmix: &'a Pmix, raw: *mut pmix_value) -> Option<Self> {
        Some(Self { pmix, raw: NonNull::new(raw)? })
    }

    /// Its type, by which PMIx says what is in it.
    pub fn data_type(&self) -> pmix_data_type_t {
        self.value().type_
    }

    /// The bytes, if it is a byte object.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        // SAFETY: its type says that this is in it.
        let object = unsafe { self.data(PMIX_BYTE_OBJECT)?.bo };
        if object.bytes.is_null() {
            return Some(&[]);
        }
        // SAFETY: PMIx gave this many bytes, and they live until the value is freed.
        Some(unsafe { std::slice::from_raw_parts(object.bytes.cast(), object.size) })
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&CStr> {
        // SAFETY: its type says that this is in it.
        let text = unsafe { self.data(PMIX_STRING)?.string };
        // SAFETY: PMIx gave a string, and it lives until the value is freed.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
    }

    /// The truth value, if it is one.
    pub fn as_flag(&self) -> Option<bool> {
        // SAFETY: its type says that this is in it; one byte of it is read, which may have any
        // value.
        Some(unsafe { self.data(PMIX_BOOL)?.byte } != 0)
    }

    /// The number, if it is an unsigned one or a rank. Which type a key has differs between
    /// launchers.
    pub fn as_unsigned(&self) -> Option<u64> {
        let data = &self.value().data;
        // SAFETY: its type says what is in it.
        unsafe {
            match self.data_type() {
                PMIX_UINT8 => Some(data.uint8.into()),
                PMIX_UINT16 => Some(data.uint16.into()),
                PMIX_UINT32 => Some(data.uint32.into()),
                PMIX_UINT => Some(data.uint.into()),
                PMIX_PROC_RANK => Some(data.rank.into()),
                PMIX_UINT64 => Some(data.uint64),
                PMIX_SIZE => Some(data.size as u64),
                _ => None,
            }
        }
    }

    fn data(&self, type_: pmix_data_type_t) -> Option<&pmix_value_data> {
        let value = self.value();
        (value.type_ == type_).then_some(&value.data)
    }

    fn value(&self) -> &pmix_value {
        // SAFETY: it is a value that only this uses, until it is dropped.
        unsafe { self.raw.as_ref() }
    }
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        let raw = self.raw.as_ptr();
        // SAFETY: it is ours, and not used after this. PMIx takes its memory from malloc, and asks
        // its callers to use free.
        unsafe {
            match (self.pmix.PMIx_Value_destruct, (*raw).type_) {
                (Some(destruct), _) => destruct(raw),
                (None, PMIX_STRING) => libc::free((*raw).data.string.cast()),
                (None, PMIX_BYTE_OBJECT) => libc::free((*raw).data.bo.bytes.cast()),
                // Old versions offer no function, and this loses what other types point to.
                (None, _) => {}
            }
            libc::free(raw.cast());
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.as_str() {
            return write!(f, "{text:?}");
        }
        if let Some(number) = self.as_unsigned() {
            return write!(f, "{number}");
        }
        if let Some(bytes) = self.as_bytes() {
            return write!(f, "{} bytes", bytes.len());
        }
        match self.as_flag() {
            Some(flag) => write!(f, "{flag}"),
            None => write!(f, "of type {}", self.data_type()),
        }
    }
}

fn copy_name<const N: usize>(to: &mut [c_char; N], name: &CStr) {
    let bytes = name.to_bytes();
    assert!(bytes.len() < N, "{} bytes are too long for a name of PMIx", bytes.len());
    for (to, from) in to.iter_mut().zip(bytes) {
        *to = *from as c_char;
    }
}

fn bytes_of<const N: usize>(name: &[c_char; N]) -> &[u8; N] {
    // SAFETY: a char of C is a byte.
    unsafe { &*std::ptr::from_ref(name).cast() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PMIX_COLLECT_DATA;

    #[test]
    fn a_process_is_a_name_and_a_rank() {
        let process = pmix_proc::new(c"job.1", 3);
        assert_eq!((process.nspace(), process.rank), (c"job.1", 3));
        let other = process.with_rank(4);
        assert_eq!((other.nspace(), other.rank), (c"job.1", 4));
        let full = pmix_proc { nspace: [1; 256], rank: 0 };
        assert_eq!(full.nspace(), c"");
    }

    #[test]
    #[should_panic = "too long for a name"]
    fn a_name_that_does_not_fit_is_refused() {
        let name = std::ffi::CString::new(vec![b'x'; 256]).expect("there is no zero in it");
        pmix_proc::new(&name, 0);
    }

    #[test]
    fn a_directive_is_a_key_and_a_value() {
        let info = pmix_info::new(PMIX_COLLECT_DATA, pmix_value::flag(true));
        assert_eq!((info.key(), info.flags, info.value.type_), (PMIX_COLLECT_DATA, 0, PMIX_BOOL));
        // SAFETY: its type says that this is in it.
        assert!(unsafe { info.value.data.flag });
        let info = pmix_info::required(c"some.key", pmix_value::int(-7));
        assert_eq!((info.flags, info.value.type_), (PMIX_INFO_REQD, PMIX_INT));
        // SAFETY: its type says that this is in it.
        assert_eq!(unsafe { info.value.data.integer }, -7);
    }
}
