//! What copies need to know about the processor. Nothing else in this package asks which one it is.

use std::sync::OnceLock;

/// Which way to copy is best at which length on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    loop_to: usize,
    string_to: usize,
}

impl Processor {
    /// One of which nothing is known: the C library copies everything that is not short.
    pub(super) const UNKNOWN: Self = Self { loop_to: 0, string_to: 0 };

    /// One with AVX. Some C libraries leave most of these lengths to the string instruction, which
    /// takes a while to start, and long if source and destination lie as
    /// [`is_slow_for_string`](super::is_slow_for_string) says.
    #[cfg(any(test, target_arch = "x86_64"))]
    pub(super) const WITH_AVX: Self = Self { loop_to: 256 << 10, string_to: 0 };

    /// AMD's Zen 5. Its string instruction writes whole lines without fetching them first from the
    /// core that has read them. That takes a third to a half of the time of a loop.
    #[cfg(any(test, target_arch = "x86_64"))]
    pub(super) const ZEN_5: Self = Self { loop_to: 4 << 10, string_to: 8 << 20 };

    /// The processor that this runs on.
    ///
    /// ```
    /// use oxshmem_memory::copy::Processor;
    ///
    /// println!("a loop copies up to {} bytes", Processor::this().loop_to());
    /// ```
    #[inline]
    pub fn this() -> &'static Self {
        static THIS: OnceLock<Processor> = OnceLock::new();
        THIS.get_or_init(Self::find)
    }

    /// Up to this many bytes are copied by a loop over vector registers. 0 if the processor has
    /// none that are wide enough.
    #[inline(always)]
    pub fn loop_to(&self) -> usize {
        self.loop_to
    }

    /// Up to this many bytes are copied by the string instruction, if they are too long for the
    /// loop. What is longer than both is left to the C library.
    #[inline(always)]
    pub fn string_to(&self) -> usize {
        self.string_to
    }

    #[cfg(target_arch = "x86_64")]
    fn find() -> Self {
        use std::arch::x86_64::__cpuid;
        if !std::arch::is_x86_feature_detected!("avx") {
            return Self::UNKNOWN;
        }
        // Safe to call in newer compilers only.
        #[allow(unused_unsafe)]
        // SAFETY: every x86-64 processor has the instruction.
        let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
        let vendor = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        Self::with_avx(vendor.as_flattened(), (version >> 8 & 0xf) + (version >> 20 & 0xff))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn find() -> Self {
        Self::UNKNOWN
    }

    /// A processor with AVX, of a family of a vendor.
    #[cfg(any(test, target_arch = "x86_64"))]
    fn with_avx(vendor: &[u8], family: u32) -> Self {
        match (vendor, family) {
            (b"AuthenticAMD", 0x1a..) => Self::ZEN_5,
            _ => Self::WITH_AVX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_was_not_measured_is_an_ordinary_one() {
        assert_eq!(Processor::with_avx(b"AuthenticAMD", 0x1a), Processor::ZEN_5);
        for (vendor, family) in [(b"AuthenticAMD", 0x19), (b"GenuineIntel", 6), (b"GenuineIntel", 0x1a)] {
            assert_eq!(Processor::with_avx(vendor, family), Processor::WITH_AVX);
        }
    }

    #[test]
    fn what_is_found_is_one_of_those_that_are_known() {
        let known = [Processor::UNKNOWN, Processor::WITH_AVX, Processor::ZEN_5];
        assert!(known.contains(Processor::this()));
    }
}
