//! What the variables of the memory-spaces proposal come to: which spaces a job has, how large
//! their heaps are, and which of them is the default.
//!
//! Where neither of the two enabling variables is set, the CPU space is enabled alone, as every
//! program expects that was written before there were spaces. Otherwise the text of the proposal
//! holds.

use std::sync::Arc;

use super::{DefaultSpace, PeRanges, Settings, fields::DEFAULT_SIZE};
use crate::{Error, Result, SpaceKind};

const ENABLE_CPU: &str = "SHMEM_ENABLE_CPU_SPACE";
const ENABLE_GPU: &str = "SHMEM_ENABLE_GPU_SPACE";

/// The heap of a space, before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapPlan {
    /// Its size on each PE.
    pub bytes: usize,
    /// The variable that makes it larger.
    pub setting: &'static str,
}

/// The spaces of a job.
///
/// ```
/// # use oxshmem_base::settings::*;
/// let mut settings = Settings::default();
/// let plan = SpacePlan::new(&settings, &[false; 4])?;
/// assert_eq!((plan.default, plan.gpu), (SpaceKind::Cpu, None));
///
/// settings.enable_gpu_space = Some("1".to_owned());
/// let plan = SpacePlan::new(&settings, &[true; 4])?; // four PEs with a device
/// assert_eq!((plan.default, plan.cpu), (SpaceKind::Gpu, None));
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpacePlan {
    /// The CPU space, if it is enabled.
    pub cpu: Option<HeapPlan>,
    /// The GPU space, if it is enabled and some PE has a device.
    pub gpu: Option<HeapPlan>,
    /// Which of them is the default one.
    pub default: SpaceKind,
    /// Which PEs have a device, by their numbers. None where there is no GPU space.
    pub gpu_pes: Arc<[bool]>,
}

impl SpacePlan {
    /// What `settings` come to where the PEs for which `devices` is true have a device. All PEs get
    /// the same.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] if no space is enabled, or none can be the default one.
    pub fn new(settings: &Settings, devices: &[bool]) -> Result<Self> {
        Self::explained(settings, devices, None)
    }

    /// The spaces of a job, with the reason why some PE has no device, for messages.
    pub fn explained(settings: &Settings, devices: &[bool], why: Option<&str>) -> Result<Self> {
        let (cpu, gpu) = settings.enabled_spaces();
        if !cpu && !gpu {
            return Err(Error::InvalidSetting {
                name: ENABLE_CPU,
                value: settings.enable_cpu_space.clone().unwrap_or_default(),
                reason: format!(
                    "both spaces are disabled on all {} PEs, as {ENABLE_GPU}={:?} too; set one of the two to 1, or unset both",
                    devices.len(),
                    settings.enable_gpu_space.as_deref().unwrap_or_default(),
                ),
            });
        }
        let without: Vec<usize> = (0..devices.len()).filter(|&pe| !gpu || !devices[pe]).collect();
        let default = match settings.default_space {
            DefaultSpace::Auto if cpu => SpaceKind::Cpu,
            DefaultSpace::Cpu if cpu => SpaceKind::Cpu,
            DefaultSpace::Cpu => {
                return Err(not_default("SHMEM_DEFAULT_SPACE", "CPU", &format!("{ENABLE_CPU} disables it")));
            }
            DefaultSpace::Gpu if !gpu => {
                let why = format!("{ENABLE_GPU} does not enable it");
                return Err(not_default("SHMEM_DEFAULT_SPACE", "GPU", &why));
            }
            DefaultSpace::Gpu if !without.is_empty() => {
                return Err(not_default("SHMEM_DEFAULT_SPACE", "GPU", &no_device(&without, settings, why)));
            }
            DefaultSpace::Auto if !without.is_empty() => {
                let value = settings.enable_gpu_space.as_deref().unwrap_or_default();
                let why = format!(
                    "{ENABLE_CPU} disables the CPU space, and {}",
                    no_device(&without, settings, why)
                );
                return Err(not_default(ENABLE_GPU, value, &why));
            }
            DefaultSpace::Auto | DefaultSpace::Gpu => SpaceKind::Gpu,
        };
        let heap = |kind, own: Option<usize>, own_setting| match own {
            Some(bytes) => HeapPlan { bytes, setting: own_setting },
            None if kind == default => {
                HeapPlan { bytes: settings.symmetric_size, setting: "SHMEM_SYMMETRIC_SIZE" }
            }
            None => HeapPlan { bytes: DEFAULT_SIZE, setting: own_setting },
        };
        let has_gpu = gpu && without.len() < devices.len();
        Ok(Self {
            cpu: cpu.then(|| heap(SpaceKind::Cpu, settings.cpu_symmetric_size, "SHMEM_CPU_SYMMETRIC_SIZE")),
            gpu: has_gpu
                .then(|| heap(SpaceKind::Gpu, settings.gpu_symmetric_size, "SHMEM_GPU_SYMMETRIC_SIZE")),
            default,
            gpu_pes: devices.iter().map(|&has| has_gpu && has).collect(),
        })
    }

    /// Bytes of device memory in each PE's heap.
    pub fn device_bytes(&self) -> usize {
        self.gpu.map_or(0, |heap| heap.bytes)
    }
}

impl Settings {
    /// Whether the CPU space and the GPU space are enabled.
    pub fn enabled_spaces(&self) -> (bool, bool) {
        let is_on = |value: &Option<String>| value.as_ref().is_some_and(|text| !text.is_empty());
        let unset = self.enable_cpu_space.is_none() && self.enable_gpu_space.is_none();
        (unset || is_on(&self.enable_cpu_space), is_on(&self.enable_gpu_space))
    }

    /// Which of `n_pes` PEs have an emulated device.
    pub fn devices(&self, n_pes: usize) -> Vec<bool> {
        let has = |pe| self.gpu_emulate_pes.as_ref().is_none_or(|pes| pes.contains(pe));
        (0..n_pes).map(|pe| self.gpu_emulate && has(pe)).collect()
    }
}

fn not_default(name: &'static str, value: &str, why: &str) -> Error {
    Error::InvalidSetting {
        name,
        value: value.to_owned(),
        reason: format!(
            "the {} space cannot be the default one: {why}",
            if name == ENABLE_GPU { "GPU" } else { value }
        ),
    }
}

fn no_device(without: &[usize], settings: &Settings, why: Option<&str>) -> String {
    let pes = PeRanges::of(without);
    let hint = match (settings.gpu_emulate, &settings.gpu_emulate_pes) {
        (false, _) => why.unwrap_or("none was looked for").to_owned(),
        (true, pes) => {
            let pes = pes.as_ref().map_or("all".to_owned(), ToString::to_string);
            format!("SHMEM_GPU_EMULATE_PES={pes}")
        }
    };
    format!("PEs {pes} have no device ({hint}), and the default space must be accessible to all PEs")
}
