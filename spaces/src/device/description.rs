//! Descriptions of real devices, for people.

use std::fmt;

/// The compute capability that kernels are written for.
const LEAST: (i32, i32) = (7, 0);

/// An NVIDIA device.
///
/// ```
/// use oxshmem_spaces::device;
///
/// match device::found() {
///     Ok(devices) => devices.iter().for_each(|device| println!("{device}")),
///     Err(why) => println!("no device: {why}"),
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// What names it on every machine, in hexadecimal.
    pub uuid: String,
    /// Its model.
    pub model: String,
    /// Bytes of its memory, in all.
    pub memory: u64,
    /// Its compute capability.
    pub capability: (i32, i32),
    /// The version of CUDA that its driver knows, as 12040 for 12.4.
    pub driver: i32,
    /// Whether memory and addresses can be apart, and whether such memory travels as a descriptor.
    pub maps: [bool; 2],
}

impl Description {
    /// Why it cannot be used, if it cannot.
    pub fn unfit(&self) -> Option<String> {
        let ((major, minor), model) = (self.capability, &self.model);
        (self.capability < LEAST).then(|| {
            let (needs, least) = LEAST;
            format!(
                "{model} has compute capability {major}.{minor}, and {needs}.{least} is the least that will do"
            )
        })
    }

    /// The version of CUDA that its driver knows.
    pub fn cuda(&self) -> String {
        format!("{}.{}", self.driver / 1000, self.driver % 1000 / 10)
    }

    /// How the PEs of a host can share its memory: the values of `SHMEM_GPU_SHARING`.
    pub fn sharing(&self) -> &'static [&'static str] {
        if self.maps == [true; 2] { &["vmm", "ipc"] } else { &["ipc"] }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((major, minor), mib) = (self.capability, self.memory >> 20);
        let (model, cuda, sharing) = (&self.model, self.cuda(), self.sharing().join(" or "));
        write!(
            f,
            "{model}, {mib} MiB, compute capability {major}.{minor}, the driver knows CUDA {cuda}, memory is shared by {sharing}"
        )?;
        match self.unfit() {
            None => Ok(()),
            Some(_) => write!(f, "; it cannot be used, as {}.{} is the least that will do", LEAST.0, LEAST.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_one_line_and_an_old_one_is_named_as_such() {
        let mut device = Description {
            model: "Some device".into(),
            memory: 3 << 29,
            capability: (7, 5),
            driver: 12040,
            maps: [true; 2],
            ..Description::default()
        };
        let line = "Some device, 1536 MiB, compute capability 7.5, the driver knows CUDA 12.4, memory is shared by vmm or ipc";
        assert_eq!((device.to_string(), device.unfit()), (line.to_owned(), None));
        (device.capability, device.maps[1]) = ((6, 1), false);
        assert!(device.unfit().is_some_and(|why| why.contains("6.1, and 7.0")));
        let text = device.to_string();
        assert!(text.contains("shared by ipc;") && text.ends_with("the least that will do"), "{text}");
    }
}
