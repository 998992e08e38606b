//! The command line of `shmem-info`.

use clap::Parser;

/// Shows the version of oxshmem, what it finds on this machine, and the settings in force.
#[derive(Debug, Parser)]
#[command(name = "shmem-info", version)]
pub struct InfoOptions {
    /// Show it as JSON.
    #[arg(long, conflicts_with = "settings_markdown")]
    pub json: bool,
    /// Show only the jobs of this user that run on this host.
    #[arg(long, conflicts_with_all = ["settings_markdown", "local_pes"])]
    pub jobs: bool,
    /// Show only the table of settings, without values in force, as Markdown.
    #[arg(long)]
    pub settings_markdown: bool,
    /// Show how this many PEs on one host would wait, instead of as many as CPUs and one more; and
    /// what their partitions would be mapped to, instead of those of as many as CPUs.
    #[arg(long, value_name = "N", conflicts_with = "settings_markdown", value_parser = at_least_one)]
    pub local_pes: Option<usize>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a host has at least one PE".to_owned()),
        Ok(pes) => Ok(pes),
    }
}
