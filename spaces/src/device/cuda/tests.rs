use super::*;

#[test]
fn a_device_passes_the_suite_of_all_devices_and_without_one_there_is_a_reason() {
    match describe() {
        Err(why) => {
            println!("skipped: {why}");
            assert!(!why.is_empty());
            let helper_waker = Arc::new(HelperWaker::new().unwrap());
            let error = Cuda::alone(2, 1 << 20, GpuSharing::Auto, &helper_waker).unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        }
        Ok(_) => {
            for sharing in [GpuSharing::Vmm, GpuSharing::Ipc] {
                crate::device::suite::check(crate::ways(), |helper_waker| {
                    Arc::new(Cuda::alone(2, 1 << 20, sharing, helper_waker).unwrap())
                });
            }
        }
    }
}
