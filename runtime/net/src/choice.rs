//! Which net a job takes.

use std::{fs, path::Path, sync::Arc};

use oxshmem_base::{
    Error, Result, report,
    settings::{NetKind, NetSecurity, OnLoss, Settings},
};
use oxshmem_job::Bootstrap;
use ucx_sys::Ucx;

/// The net of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    Tcp,
    Ucx,
}

impl Chosen {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ucx => "ucx",
        }
    }
}

/// Where the kernel shows adapters for InfiniBand, RoCE and their like.
const ADAPTERS: &str = "/sys/class/infiniband";

/// What is asked for, or else UCX if all PEs have a network that is faster than TCP, and UCX to
/// drive it. Collective over all PEs.
pub(crate) async fn choose(bootstrap: &Arc<dyn Bootstrap>, settings: &Settings) -> Result<Chosen> {
    let (mut chosen, mut why) = alone(settings);
    let encrypts = settings.net_security == NetSecurity::Encrypt;
    if encrypts && chosen == Chosen::Ucx {
        let what = "SHMEM_NET_SECURITY=encrypt asks for what UCX does not do; take TCP (SHMEM_NET=tcp)";
        return Err(Error::bootstrap("init", what));
    }
    if settings.on_loss == OnLoss::Continue {
        if settings.net == NetKind::Ucx {
            let what = "SHMEM_ON_LOSS=continue needs a net that goes on without a PE: SHMEM_NET=tcp";
            return Err(Error::bootstrap("init", what));
        }
        (chosen, why) = (Chosen::Tcp, "SHMEM_ON_LOSS".to_owned());
    } else if settings.net == NetKind::Auto && !encrypts {
        if bootstrap.is_one_machine() {
            (chosen, why) = (Chosen::Tcp, "all hosts are this machine".to_owned());
        } else {
            let all = bootstrap.exchange(vec![u8::from(chosen == Chosen::Ucx)]).await?;
            if let (Chosen::Ucx, Some(pe)) = (chosen, all.iter().position(|one| one != &[1])) {
                (chosen, why) = (Chosen::Tcp, format!("PE {pe} has no faster network, or no UCX"));
            }
        }
    }
    let pe = bootstrap.placement().pe;
    tracing::debug!(target: "oxshmem::net", pe, ?chosen, why, "the way to other hosts");
    if settings.debug && pe == 0 {
        let how = if encrypts { "encrypted " } else { "" };
        report(format_args!(
            "oxshmem: debug: PEs of other hosts are reached by {how}{}: {why}",
            chosen.name()
        ));
    }
    Ok(chosen)
}

/// What this machine would choose, and why.
fn alone(settings: &Settings) -> (Chosen, String) {
    match settings.net {
        NetKind::Tcp => (Chosen::Tcp, "SHMEM_NET".to_owned()),
        NetKind::Ucx => (Chosen::Ucx, "SHMEM_NET".to_owned()),
        NetKind::Auto if settings.net_security == NetSecurity::Encrypt => {
            (Chosen::Tcp, "SHMEM_NET_SECURITY".to_owned())
        }
        NetKind::Auto if !has_fast_network(Path::new(ADAPTERS)) => {
            (Chosen::Tcp, format!("no adapter in {ADAPTERS} is active"))
        }
        NetKind::Auto => match Ucx::load() {
            Ok(_) => (Chosen::Ucx, format!("an adapter in {ADAPTERS} is active")),
            Err(error) => (Chosen::Tcp, error.to_string()),
        },
    }
}

/// What leads to PEs of other hosts if all are as this one, and why, for people.
pub fn describe(settings: &Settings) -> String {
    let (chosen, why) = alone(settings);
    let how = if settings.net_security == NetSecurity::Encrypt { "encrypted " } else { "" };
    format!("to PEs of other hosts: {how}{}: {why}", chosen.name())
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
