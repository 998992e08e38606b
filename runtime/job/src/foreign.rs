//! Launchers that oxshmem does not speak to, recognised by the variables that they set.
//!
//! A program that such a launcher starts n times would quietly be n jobs of one PE each, which is
//! never what was meant.

use std::{ffi::OsString, fmt};

/// A launcher other than `oshrun`, which started this process as one of several.
///
/// Its text is what there is to say about it: which variables tell of it, what becomes of the
/// process, and what to do.
///
/// ```
/// use oxshmem_job::Foreign;
///
/// let environment = [("PMI_RANK", "1"), ("PMI_SIZE", "4")];
/// let find = |name: &str| environment.iter().find(|(known, _)| *known == name);
/// let look = |name: &str| find(name).map(|(_, value)| value.into());
/// let foreign = Foreign::find(look).ok_or("none")?;
/// assert!(foreign.to_string().contains("PMI_RANK=1 and PMI_SIZE=4"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    launcher: &'static str,
    seen: Vec<(&'static str, String)>,
    /// Whether it offers PMIx, so that nothing is gained by a launcher that does.
    pmix: bool,
}

/// A launcher, and how its processes are recognised.
struct Launcher {
    name: &'static str,
    /// Any of these is in the environment of what it starts.
    marks: &'static [&'static str],
    /// How many processes it has started: the first of these that is there. With one, there is
    /// nothing wrong.
    sizes: &'static [&'static str],
    /// Its marks are also where it has started nothing, so that without a size they mean nothing.
    needs_size: bool,
}

const fn launcher(
    name: &'static str,
    marks: &'static [&'static str],
    sizes: &'static [&'static str],
) -> Launcher {
    Launcher { name, marks, sizes, needs_size: false }
}

/// What every launcher sets that offers PMIx.
const PMIX: &[&str] = &["PMIX_NAMESPACE", "PMIX_RANK"];

/// The first whose marks are there decides. So those come before others whose variables they set
/// too, and the managers of whole clusters, inside whose jobs others run, come last.
const LAUNCHERS: &[Launcher] = &[
    launcher("jsrun", &["JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"], &["JSM_NAMESPACE_SIZE"]),
    launcher(
        "mpirun of Open MPI",
        &["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
        &["OMPI_COMM_WORLD_SIZE"],
    ),
    launcher("a PMIx launcher", PMIX, &[]),
    launcher("mpirun of MVAPICH", &["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"], &["MV2_COMM_WORLD_SIZE"]),
    launcher("flux run", &["FLUX_TASK_RANK"], &["FLUX_JOB_SIZE"]),
    launcher("mpiexec of PALS", &["PALS_RANKID"], &["PMI_SIZE", "PALS_SIZE"]),
    launcher("aprun", &["ALPS_APP_PE"], &["PMI_SIZE"]),
    launcher(
        "a PMI launcher, such as mpiexec of MPICH or Intel MPI,",
        &["PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_PORT", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"],
        &["PMI_SIZE"],
    ),
    // A batch script has SLURM_PROCID too, and the size of the job that it may start.
    Launcher {
        needs_size: true,
        ..launcher("srun", &["SLURM_PROCID"], &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"])
    },
];

impl Foreign {
    /// The launcher that started this process, unless it is none or started only one.
    pub fn from_env() -> Option<Self> {
        Self::find(|name| std::env::var_os(name))
    }

    /// The launcher that an environment names, in which `look` finds the variables.
    pub fn find(look: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let text = |name: &&'static str| Some((*name, look(name)?.to_string_lossy().into_owned()));
        for &Launcher { name, marks, sizes, needs_size } in LAUNCHERS {
            let mut seen: Vec<_> = marks.iter().filter_map(text).collect();
            if seen.is_empty() {
                continue;
            }
            let size = sizes.iter().find_map(text);
            if size.as_ref().map_or(needs_size, |(_, size)| size.trim() == "1") {
                return None;
            }
            seen.extend(size.filter(|size| !seen.contains(size)));
            let pmix = PMIX.iter().any(|name| look(name).is_some());
            return Some(Self { launcher: name, seen, pmix });
        }
        None
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.seen.iter().enumerate() {
            let joint = match i {
                0 => "",
                i if i + 1 == self.seen.len() => " and ",
                _ => ", ",
            };
            write!(f, "{joint}{name}={value}")?;
        }
        let verb = if self.seen.len() == 1 { "says" } else { "say" };
        write!(
            f,
            " {verb} that {} started this process as one of several, and oxshmem cannot join them: it runs as a job \
             of one PE, and so does each of the others. Start the program with oshrun",
            self.launcher
        )?;
        f.write_str(if self.pmix { "" } else { ", with srun --mpi=pmix, or with the mpirun of Open MPI" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(environment: &str) -> Option<Foreign> {
        let variables: Vec<_> =
            environment.split_whitespace().map(|word| word.split_once('=').unwrap()).collect();
        Foreign::find(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn every_launcher_is_recognised_by_its_variables() {
        for (environment, launcher) in [
            ("PMI_RANK=0 PMI_SIZE=2 PMI_FD=9", "PMI"),
            ("PMI_FD=9", "PMI"),
            ("MPI_LOCALNRANKS=1 MPI_LOCALRANKID=0", "PMI"),
            ("SLURM_PROCID=3 SLURM_NTASKS=4", "srun"),
            ("SLURM_PROCID=3 SLURM_NTASKS=1 SLURM_STEP_NUM_TASKS=4", "srun"),
            ("OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0", "Open MPI"),
            ("PMIX_NAMESPACE=x PMIX_RANK=0", "PMIx"),
            ("PMIX_NAMESPACE=x PMIX_RANK=0 OMPI_COMM_WORLD_SIZE=2", "Open MPI"),
            ("MV2_COMM_WORLD_SIZE=3", "MVAPICH"),
            ("PALS_RANKID=1 PMI_RANK=1 PMI_SIZE=2", "PALS"),
            ("ALPS_APP_PE=1", "aprun"),
            ("JSM_NAMESPACE_RANK=1 JSM_NAMESPACE_SIZE=2 PMIX_RANK=1", "jsrun"),
            ("FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2 PMI_RANK=1 PMI_SIZE=2", "flux"),
        ] {
            let found = find(environment).unwrap_or_else(|| panic!("{environment}: none"));
            assert!(found.launcher.contains(launcher), "{environment}: {}", found.launcher);
        }
    }

    #[test]
    fn one_process_alone_is_what_was_asked_for() {
        for environment in [
            "",
            "SLURM_NTASKS=4",
            "SLURM_PROCID=0",
            "SLURM_PROCID=0 SLURM_NTASKS=1",
            "SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=1",
            "PMI_RANK=0 PMI_SIZE=1",
            "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 PMIX_NAMESPACE=x PMIX_RANK=0",
            "FLUX_TASK_RANK=0 FLUX_JOB_SIZE=1 PMI_RANK=0 PMI_SIZE=1",
        ] {
            assert_eq!(find(environment), None, "{environment}");
        }
    }

    #[test]
    fn of_launchers_within_each_other_the_inner_one_counts() {
        assert_eq!(find("SLURM_PROCID=0 SLURM_NTASKS=4 PMI_RANK=0 PMI_SIZE=1"), None);
        let inner = find("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 PMI_RANK=0 PMI_SIZE=4").unwrap();
        assert!(inner.launcher.contains("PMI"));
    }

    #[test]
    fn the_text_names_what_was_seen_and_what_to_do() {
        let text = find("PMI_RANK=1 PMI_SIZE=4 PMI_FD=9").unwrap().to_string();
        assert!(text.starts_with("PMI_RANK=1, PMI_SIZE=4 and PMI_FD=9 say that a PMI launcher"), "{text}");
        for what in ["a job of one PE", "oshrun", "srun --mpi=pmix", "mpirun"] {
            assert!(text.contains(what), "{what}: {text}");
        }
        let text = find("SLURM_PROCID=1 SLURM_NTASKS=4").unwrap().to_string();
        assert!(text.starts_with("SLURM_PROCID=1 and SLURM_NTASKS=4 say that srun started"), "{text}");
        let text = find("PMIX_RANK=0").unwrap().to_string();
        assert!(text.starts_with("PMIX_RANK=0 says that") && text.ends_with("with oshrun"), "{text}");
    }
}
