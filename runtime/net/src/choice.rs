//! Which net a job takes.

use std::{fs, path::Path, sync::Arc};

use oxshmem_base::{Result, settings::NetKind};
use oxshmem_job::Bootstrap;
use ucx_sys::Ucx;

/// The net of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    Tcp,
    Ucx,
}

/// Where the kernel shows adapters for InfiniBand, RoCE and their like.
const ADAPTERS: &str = "/sys/class/infiniband";

/// What is asked for, or else UCX if all PEs have a network that is faster than TCP, and UCX to
/// drive it. Collective over all PEs.
pub(crate) async fn choose(bootstrap: &Arc<dyn Bootstrap>, asked: NetKind) -> Result<Chosen> {
    let (chosen, why) = match asked {
        NetKind::Tcp => (Chosen::Tcp, "SHMEM_NET"),
        NetKind::Ucx => (Chosen::Ucx, "SHMEM_NET"),
        NetKind::Auto if bootstrap.is_one_machine() => (Chosen::Tcp, "all hosts are this machine"),
        NetKind::Auto => {
            let mine = u8::from(has_fast_network(Path::new(ADAPTERS)) && Ucx::load().is_ok());
            let all = bootstrap.exchange(vec![mine]).await?;
            match all.iter().all(|one| one == &[1]) {
                true => (Chosen::Ucx, "all PEs have a faster network than TCP"),
                false => (Chosen::Tcp, "not all PEs have a faster network than TCP and UCX"),
            }
        }
    };
    tracing::debug!(target: "oxshmem::net", ?chosen, why, "the way to other hosts");
    Ok(chosen)
}

/// Whether any adapter is connected to a network.
fn has_fast_network(adapters: &Path) -> bool {
    let inside =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_active =
        |port: &Path| fs::read_to_string(port.join("state")).is_ok_and(|state| state.contains("ACTIVE"));
    inside(adapters).any(|adapter| inside(&adapter.join("ports")).any(|port| is_active(&port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_fast_if_an_adapter_has_an_active_port() {
        let folder = std::env::temp_dir().join(format!("oxshmem-adapters-{}", std::process::id()));
        assert!(!has_fast_network(&folder));
        for (port, state, is_fast) in [("1", "1: DOWN", false), ("2", "4: ACTIVE", true)] {
            let port = folder.join("mlx5_0/ports").join(port);
            fs::create_dir_all(&port).unwrap();
            fs::write(port.join("state"), format!("{state}\n")).unwrap();
            assert_eq!(has_fast_network(&folder), is_fast);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
