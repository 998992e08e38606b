//! Which PEs have a device, and what makes it.
//!
//! All PEs of a job come to the same answer: each says which devices it sees, and a host whose PEs
//! do not see the same ones has none, since they could not reach each other's memory.

use std::sync::Arc;

use oxshmem_base::{
    Result,
    settings::{Settings, SpacePlan},
    sync::lock,
};
use oxshmem_job::Bootstrap;
use oxshmem_memory::HostMap;
use oxshmem_progress::helper_waker::HelperWaker;

use super::{AnyDevice, Description, Made, emulated::Emulated};

/// Which PEs of a job have a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Devices {
    /// By their numbers.
    pub(crate) has: Vec<bool>,
    /// Why the others have none, as far as that is known: of each host the first PE's reason.
    pub(crate) why: Option<String>,
}

/// What a PE says of its devices: their names, or why there are none.
type Seen = std::result::Result<Vec<String>, String>;

impl Devices {
    /// Finds out. Collective over all PEs, whose settings are the same.
    pub(crate) async fn find(bootstrap: &dyn Bootstrap, settings: &Settings) -> Result<Self> {
        let placement = bootstrap.placement();
        let (_, gpu) = settings.enabled_spaces();
        if settings.gpu_emulate || !gpu {
            return Ok(Self { has: settings.devices(placement.n_pes), why: None });
        }
        let all = bootstrap.exchange(encode(see())).await?;
        Ok(Self::of(&all, |pe| placement.hosts.host_of(pe)))
    }

    /// What comes of what all PEs see.
    fn of(all: &[Vec<u8>], host_of: impl Fn(usize) -> usize) -> Self {
        let seen: Vec<Seen> = all.iter().map(|bytes| decode(bytes)).collect();
        let mut devices = Self { has: vec![false; seen.len()], why: None };
        for pe in 0..seen.len() {
            let odd = (0..seen.len()).find(|&other| host_of(other) == host_of(pe) && seen[other] != seen[pe]);
            let verdict = match (&seen[pe], odd) {
                (Ok(_), None) => Ok(()),
                (Err(why), _) => Err(why.clone()),
                (Ok(_), Some(other)) => Err(match &seen[other] {
                    Err(why) => format!("PE {other} of the same host has none: {why}"),
                    Ok(_) => format!(
                        "PE {other} of the same host sees other devices; let all PEs of a host see the same ones \
                         (CUDA_VISIBLE_DEVICES), and each takes its own"
                    ),
                }),
            };
            devices.has[pe] = verdict.is_ok();
            if let (Err(why), None) = (verdict, &devices.why) {
                devices.why = Some(format!("PE {pe}: {why}"));
            }
        }
        devices
    }
}

fn encode(seen: Seen) -> Vec<u8> {
    match seen {
        Ok(names) => format!("+{}", names.join(" ")).into_bytes(),
        Err(why) => format!("-{why}").into_bytes(),
    }
}

fn decode(bytes: &[u8]) -> Seen {
    let text = String::from_utf8_lossy(bytes);
    match text.strip_prefix('+') {
        Some(names) => Ok(names.split_whitespace().map(str::to_owned).collect()),
        None => Err(text.trim_start_matches('-').to_owned()),
    }
}

/// The devices that this process sees, or why there are none.
///
/// # Errors
/// A reason.
pub fn found() -> std::result::Result<Vec<Description>, String> {
    #[cfg(feature = "cuda")]
    return super::cuda::found();
    #[cfg(not(feature = "cuda"))]
    return Err(WITHOUT.to_owned());
}

/// The devices that this process sees.
fn see() -> Seen {
    #[cfg(feature = "cuda")]
    return super::cuda::visible();
    #[cfg(not(feature = "cuda"))]
    return Err(WITHOUT.to_owned());
}

/// Why there is none.
#[cfg(not(feature = "cuda"))]
const WITHOUT: &str = "this oxshmem was built without CUDA (its feature cuda)";

/// What devices are made of.
pub(crate) struct Parts<'a> {
    pub(crate) bootstrap: &'a Arc<dyn Bootstrap>,
    pub(crate) settings: &'a Settings,
    pub(crate) spaces: &'a SpacePlan,
    /// Host memory of all PEs of this host.
    pub(crate) host: &'a Arc<HostMap>,
    /// Where in it there is room for as many bytes as a device has.
    pub(crate) at: usize,
    pub(crate) made: &'a Made,
    /// What wakes the helper that polls it.
    pub(crate) helper_waker: &'a Arc<HelperWaker>,
}

/// The device of this PE, if it has one. Collective over all PEs.
pub(crate) async fn make(parts: Parts<'_>) -> Result<Option<AnyDevice>> {
    let Parts { bootstrap, settings, spaces, host, at, made, helper_waker } = parts;
    let Some(heap) = spaces.gpu else { return Ok(None) };
    let has = spaces.gpu_pes[bootstrap.placement().pe];
    if settings.gpu_emulate {
        if !has {
            return Ok(None);
        }
        let mut made = lock(made);
        if made.is_none() {
            let emulated = Emulated::new(host, at, heap.bytes, settings.gpu_emulate_latency, helper_waker)?;
            *made = Some(Arc::new(emulated));
        }
        return Ok(made.clone());
    }
    #[cfg(feature = "cuda")]
    return super::cuda::join(bootstrap, settings, heap.bytes, has, host, (made, helper_waker)).await;
    #[cfg(not(feature = "cuda"))]
    unreachable!("without CUDA there is no device");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seen: &[Seen], hosts: &[usize]) -> Devices {
        let all: Vec<Vec<u8>> = seen.iter().cloned().map(encode).collect();
        Devices::of(&all, |pe| hosts[pe])
    }

    #[test]
    fn a_host_has_devices_if_all_of_its_pes_see_the_same() {
        let [a, b]: [Seen; 2] = [Ok(vec!["a".into(), "b".into()]), Ok(vec!["b".into(), "a".into()])];
        let none: Seen = Err("no driver".into());
        let devices = of(&[a.clone(), a.clone(), b.clone(), b.clone()], &[0, 0, 1, 1]);
        assert_eq!(devices, Devices { has: vec![true; 4], why: None });

        let devices = of(&[a.clone(), none.clone(), a.clone()], &[0, 1, 0]);
        assert_eq!(devices, Devices { has: vec![true, false, true], why: Some("PE 1: no driver".into()) });

        let devices = of(&[a.clone(), b, none.clone(), a], &[0, 0, 1, 1]);
        assert_eq!(devices.has, [false; 4]);
        let why = devices.why.unwrap();
        assert!(why.starts_with("PE 0: PE 1 of the same host sees other devices"), "{why}");

        assert_eq!(of(&[none.clone(), none], &[0, 0]).has, [false; 2]);
    }
}
