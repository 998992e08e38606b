//! What the system says of a process.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// A process of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process(pub u32);

/// Ancestors that are looked at, at most.
const ANCESTORS: usize = 64;

impl Process {
    /// All of this user.
    pub fn all_of_this_user() -> Vec<Self> {
        let user = rustix::process::geteuid().as_raw();
        let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
            let entry = entry.ok()?;
            let pid = entry.file_name().to_str()?.parse().ok()?;
            (entry.metadata().ok()?.uid() == user).then_some(Self(pid))
        });
        processes.collect()
    }

    /// What it has open under the name `name` in memory: where that can be opened again.
    pub fn memory_named(self, name: &str) -> Vec<PathBuf> {
        let link = format!("/memfd:{name} (deleted)");
        let open = fs::read_dir(self.path("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        open.filter(|path| fs::read_link(path).is_ok_and(|to| to.as_os_str() == link.as_str())).collect()
    }

    /// The program that it runs, without its folder, and its arguments.
    pub fn command(self) -> Option<String> {
        let line = fs::read(self.path("cmdline")).ok()?;
        let mut words = line.split(|&byte| byte == 0).map(String::from_utf8_lossy);
        let program = words.next()?;
        let program = program.rsplit('/').next().unwrap_or_default().to_owned();
        let command = words.fold(program, |command, word| format!("{command} {word}"));
        Some(command.trim_end().to_owned()).filter(|command| !command.is_empty())
    }

    /// The name of its first thread, which is that of its program unless it has changed it.
    pub fn name(self) -> Option<String> {
        Some(fs::read_to_string(self.path("comm")).ok()?.trim_end().to_owned())
    }

    /// How long ago it began.
    pub fn age(self) -> Option<Duration> {
        let ticks: u64 = self.stat()?.get(19)?.parse().ok()?;
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
        let begin = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
        Some(Duration::from_secs_f64((uptime - begin).max(0.0)))
    }

    /// When it began.
    pub fn since(self) -> Option<SystemTime> {
        SystemTime::now().checked_sub(self.age()?)
    }

    /// The process that has started it, that one's, and so on.
    pub fn ancestors(self) -> Vec<Self> {
        let parent = |it: &Self| it.parent().filter(|parent| parent.0 > 1);
        std::iter::successors(parent(&self), parent).take(ANCESTORS).collect()
    }

    fn parent(self) -> Option<Self> {
        Some(Self(self.stat()?.get(1)?.parse().ok()?))
    }

    /// The words of its status behind its name, which may have spaces.
    fn stat(self) -> Option<Vec<String>> {
        let text = fs::read_to_string(self.path("stat")).ok()?;
        Some(text.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect())
    }

    fn path(self, file: &str) -> PathBuf {
        format!("/proc/{}/{file}", self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_with_what_it_is() {
        let this = Process(std::process::id());
        assert!(Process::all_of_this_user().contains(&this));
        let program = std::env::current_exe().unwrap();
        let program = program.file_name().unwrap().to_str().unwrap();
        assert!(this.command().is_some_and(|command| command.starts_with(program)));
        assert!(this.age().is_some_and(|age| age < Duration::from_secs(3600)));
        assert!(this.ancestors().iter().all(|it| it.0 != std::process::id()));
        assert_eq!(this.ancestors().first().map(|it| it.0), Some(std::os::unix::process::parent_id()));
    }

    #[test]
    fn memory_is_found_by_its_name_and_no_other() {
        let this = Process(std::process::id());
        assert!(this.memory_named("oxshmem-for-this-test").is_empty());
        let memory = oxshmem_base::memfd::zeroed("oxshmem-for-this-test", 1).unwrap();
        let other = oxshmem_base::memfd::zeroed("oxshmem-for-this-test-2", 1).unwrap();
        assert_eq!(this.memory_named("oxshmem-for-this-test").len(), 1);
        drop((memory, other));
        assert!(Process(u32::MAX).command().is_none());
    }
}
