//! What symmetric memory is in.

use oxshmem_base::settings::SpaceKind;

use crate::device::AnyDevice;

/// What symmetric memory is in. It decides the way there: processors load and store host memory,
/// and the device does what is done with its own.
#[derive(Clone, Debug)]
pub enum Domain {
    /// Host memory.
    Host,
    /// Memory of devices, and the device of the PE whose handle it is.
    Device(AnyDevice),
}

impl Domain {
    /// Whether it is device memory.
    #[inline(always)]
    pub fn is_device(&self) -> bool {
        matches!(self, Self::Device(_))
    }

    /// The space that has its heap there.
    pub fn space(&self) -> SpaceKind {
        match self {
            Self::Host => SpaceKind::Cpu,
            Self::Device(_) => SpaceKind::Gpu,
        }
    }
}
