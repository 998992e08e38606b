//! Becoming a PE: from `oshrun`, from another launcher, or alone.

use std::sync::{Arc, Once};

use oxshmem_base::{
    Error, Result, report,
    settings::{self, OnLoss, Settings},
    version::version_line,
};
use oxshmem_job::{Bootstrap, Foreign, Met, Rendezvous, Single};
use oxshmem_spaces::Pe;

use crate::{World, faults::Watched};

/// Joins the job that this process was started in: by `oshrun`, by a launcher that offers PMIx
/// (`mpirun` of Open MPI, `prterun`, `srun --mpi=pmix`), or, without a launcher, with the processes
/// that have an address in common (`SHMEM_RENDEZVOUS`), or else as the only PE.
/// Collective over all PEs (`OpenSHMEM 1.6 §9.1.1`).
///
/// Works in any async runtime. In a tokio runtime a task of it drives the waiting, elsewhere a
/// helper thread; a program without any uses [`World::block_on`].
///
/// After [`World::finalize`] it may be called again. While a world of this process is running it is
/// an error: clone that one.
///
/// # Errors
/// [`Error::InvalidSetting`](crate::Error::InvalidSetting) and
/// [`Error::SettingMismatch`](crate::Error::SettingMismatch) for environment variables,
/// [`Error::AlreadyInitialized`](crate::Error::AlreadyInitialized),
/// [`Error::Bootstrap`](crate::Error::Bootstrap) when the launcher cannot be reached.
///
/// ```
/// #[tokio::main]
/// async fn main() -> oxshmem::Result<()> {
///     let world = oxshmem::init().await?;
///     assert!(world.my_pe() < world.n_pes()); // PE 0 of 1, unless `oshrun` starts this
///     world.finalize().await
/// }
/// ```
pub async fn init() -> Result<World> {
    init_with(Settings::from_env()?).await
}

/// [`init`] with settings, or more [`InitOptions`], from the program instead of the environment.
///
/// # Errors
/// The errors of [`init`].
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use oxshmem::settings::Settings;
///
/// let mut settings = Settings::from_env()?;
/// settings.symmetric_size = 1 << 20;
/// let world = oxshmem::init_with(settings).await?;
/// assert_eq!(world.heap_use().size, 1 << 20);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub async fn init_with(options: impl Into<InitOptions>) -> Result<World> {
    let InitOptions { settings, rendezvous, survives_loss } = options.into();
    check_on_loss(&settings, survives_loss)?;
    let bootstrap: Arc<dyn Bootstrap> = match rendezvous {
        Some(given) => Arc::new(Met::join(given, settings.on_loss).await?),
        None => oxshmem_job::from_env(&settings, warn).await?,
    };
    join(bootstrap, settings).await
}

/// How a process becomes a PE, where the environment does not say so: see [`init_with`].
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use oxshmem::{InitOptions, Rendezvous};
///
/// // The only PE of its job, which listens at a port of this machine for no other.
/// let options = InitOptions::default().rendezvous(Rendezvous::new("127.0.0.1:47163", 0, 1));
/// let world = oxshmem::init_with(options).await?;
/// assert_eq!((world.my_pe(), world.n_pes()), (0, 1));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct InitOptions {
    /// The settings, of which the environment says nothing.
    pub settings: Settings,
    /// How the process finds the others of its job, if no launcher is to say so.
    pub rendezvous: Option<Rendezvous>,
    /// Whether the program goes on without PEs that are lost.
    pub survives_loss: bool,
}

impl InitOptions {
    /// With these settings.
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// As one of the processes that find each other so, whatever launcher there is.
    pub fn rendezvous(self, rendezvous: Rendezvous) -> Self {
        Self { rendezvous: Some(rendezvous), ..self }
    }

    /// As a program that goes on when a PE is lost, if the job does so (`oshrun
    /// --on-loss=continue`). In such a job a program that does not ask for it is refused by `init`,
    /// with [`Error::Bootstrap`].
    pub fn survive_loss(self) -> Self {
        Self { survives_loss: true, ..self }
    }
}

impl From<Settings> for InitOptions {
    fn from(settings: Settings) -> Self {
        Self { settings, rendezvous: None, survives_loss: false }
    }
}

/// An error if the job goes on without a lost PE, and the program does not.
fn check_on_loss(settings: &Settings, survives_loss: bool) -> Result<()> {
    if settings.on_loss == OnLoss::End || survives_loss {
        return Ok(());
    }
    let what = "SHMEM_ON_LOSS=continue (oshrun --on-loss) has a job go on when a PE is lost, which this program does \
                not ask for (InitOptions::survive_loss, shmemx_survive_loss)";
    Err(Error::Bootstrap { call: "init", detail: what.to_owned() })
}

/// A job of one PE, whatever launcher there is.
///
/// # Errors
/// The errors of [`init`] that concern settings.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use oxshmem::settings::Settings;
///
/// let world = oxshmem::init_single(Settings::default()).await?;
/// assert_eq!((world.my_pe(), world.n_pes()), (0, 1));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub async fn init_single(settings: Settings) -> Result<World> {
    join(Arc::new(Single::new()), settings).await
}

async fn join(bootstrap: Arc<dyn Bootstrap>, settings: Settings) -> Result<World> {
    if bootstrap.placement().pe == 0 {
        announce(&settings);
    }
    let pe = Pe::join(bootstrap, settings).await?;
    if pe.me() == 0 && pe.spaces().gpu.is_some() && pe.settings().gpu_emulate {
        report("oxshmem: warning: the GPU space is emulated in host memory, as SHMEM_GPU_EMULATE asks for");
    }
    let watched = Watched::new(&pe);
    let world = World::with(pe, watched);
    if world.pe().losses().is_some() {
        let bootstrap = world.pe().bootstrap();
        bootstrap.survives();
        // What is lost once init has returned on any PE is lost in a job that goes on: the launcher
        // knows that of all PEs then.
        if !world.is_replacement() {
            bootstrap.barrier().await?;
        }
    }
    Ok(world)
}

/// Reports what the user asked to see at the start.
fn announce(settings: &Settings) {
    if settings.version {
        report(version_line());
    }
    if settings.info {
        let mut text = Vec::new();
        // Memory takes all that is written to it.
        let _ = settings.print_info(&mut text);
        report(String::from_utf8_lossy(&text).trim_end());
    }
    // Global, because what it is about is, see `warn`: once in the life of a process.
    static WARNED: Once = Once::new();
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let hints = match settings.debug {
        true => settings::unknown(names),
        false if settings.warn_unknown && !WARNED.is_completed() => settings::misspelt(names),
        false => Vec::new(),
    };
    WARNED.call_once(|| ());
    for hint in &hints {
        report(format_args!("oxshmem: warning: {hint}"));
    }
    if !hints.is_empty() && !settings.debug {
        report("oxshmem: SHMEM_WARN_UNKNOWN=off silences this");
    }
}

/// Warns, once in the life of a process, that it is alone in its job although a launcher started
/// it.
fn warn(foreign: &Foreign) {
    // Global, because what it is about is: the environment is the process's, and so is standard
    // error.
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        report(format_args!("oxshmem: warning: {foreign}"));
    });
}
