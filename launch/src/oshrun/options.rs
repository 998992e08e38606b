//! The command line of `oshrun`, checked as far as it can be before anything is started.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{CommandFactory, Parser, ValueEnum, error::ErrorKind};
use oxshmem_runtime::{
    bootstrap::{Deal, Hosts},
    settings::Settings,
};
use rustix::{
    fs::{Access, access},
    process::{Resource, getrlimit, setrlimit},
};

use super::input::StdinTo;

/// What `oshrun` is to do.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) n_pes: usize,
    /// How PEs are dealt to hosts, and what that comes to.
    pub(super) deal: Deal,
    pub(super) hosts: Hosts,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) tag_output: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) bind_to: BindTo,
    pub(super) stdin: StdinTo,
    /// The program as it was named, and the file that this is.
    pub(super) name: OsString,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
}

/// Why there is nothing to do.
#[derive(Debug)]
pub(super) enum Stop {
    /// A question was asked, such as `--help`; this is the answer.
    Answer(String),
    /// Something is wrong; this is one line that says what.
    Refusal(String),
}

/// What each PE is bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum BindTo {
    /// Nothing: PEs run where the system puts them
    #[default]
    None,
    /// PE i runs on the i-th CPU that oshrun may use, starting over when there are more PEs than CPUs
    Core,
}

/// Starts the PEs of an OpenSHMEM job on this host
#[derive(Debug, Parser)]
#[command(
    name = "oshrun",
    version,
    after_help = "The exit status is 0 if all PEs ended well, otherwise that of the \
                  first PE that did not (128 + signal if it was killed), 124 after a timeout, and 2 if the job could \
                  not be started."
)]
struct Arguments {
    /// How many PEs to start; -np is the same
    #[arg(short = 'n', long = "np", value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    n_pes: usize,

    /// Sets an environment variable for all PEs; may be repeated. Without a value, it is oshrun's own
    #[arg(short = 'x', value_name = "VAR[=VALUE]", value_parser = clap::builder::OsStringValueParser::new())]
    variables: Vec<OsString>,

    /// Puts "[PE] " before each line that a PE prints
    #[arg(long)]
    tag_output: bool,

    /// Ends the job after so many seconds, and says what all PEs are in
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,

    /// What each PE is bound to
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    bind_to: BindTo,

    /// Which PEs get oshrun's standard input
    #[arg(long, value_name = "PES", value_enum, default_value_t)]
    stdin: StdinTo,

    /// Makes PEs treat each other as being on different hosts: K hosts with a block of consecutive PEs each, as even
    /// as possible, or a list of how many PEs each host has, such as 3+1+2 or 3,1,2. With ":cyclic" behind it, PEs
    /// are dealt to the hosts one at a time. Without this, what SHMEM_FAKE_HOSTS says; without that, one host
    #[arg(long, value_name = "K|LIST[:cyclic]", allow_negative_numbers = true)]
    fake_hosts: Option<Deal>,

    /// The program that every PE runs, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// The setting that `--fake-hosts` goes before.
const FAKE_HOSTS: &str = "SHMEM_FAKE_HOSTS";

/// The options as clap knows them, for the man page.
pub(super) fn command() -> clap::Command {
    Arguments::command()
}

impl Options {
    /// Reads the arguments, the first of which is the program's name, and raises this process's limit of
    /// open descriptors as far as it goes.
    pub(super) fn from_args(args: impl Iterator<Item = OsString>) -> Result<Self, Stop> {
        let arguments = Arguments::try_parse_from(spell_out(args.collect())).map_err(stop)?;
        check_size(arguments.n_pes, arguments.stdin).map_err(Stop::Refusal)?;
        let variables = arguments.variables.into_iter().filter_map(variable).collect::<Result<Vec<_>, _>>();
        let mut variables = variables.map_err(Stop::Refusal)?;
        let deal = match arguments.fake_hosts {
            Some(deal) => {
                // So that the settings that PEs show are those in force.
                variables.push((FAKE_HOSTS.into(), deal.to_string().into()));
                deal
            }
            None => hosts_of_environment(arguments.n_pes, &variables).map_err(Stop::Refusal)?,
        };
        let hosts = deal.hosts(arguments.n_pes);
        let hosts = hosts.map_err(|error| Stop::Refusal(format!("--fake-hosts {deal}: {error}")))?;
        let mut command = arguments.command.into_iter();
        // Clap has seen to it that there is a program.
        let name = command.next().unwrap_or_default();
        Ok(Self {
            n_pes: arguments.n_pes,
            deal,
            hosts,
            variables,
            tag_output: arguments.tag_output,
            timeout: arguments.timeout,
            bind_to: arguments.bind_to,
            stdin: arguments.stdin,
            program: find(&name).map_err(Stop::Refusal)?,
            name,
            arguments: command.collect(),
        })
    }
}

/// What the PEs' environment says of hosts: `variables`, then this process's own.
fn hosts_of_environment(n_pes: usize, variables: &[(OsString, OsString)]) -> Result<Deal, String> {
    let lookup = |name: &str| {
        let set =
            variables.iter().rev().find(|(variable, _)| variable == name).map(|(_, value)| value.clone());
        set.or_else(|| std::env::var_os(name))
    };
    Settings::fake_hosts_for(n_pes, lookup).map_err(|error| error.to_string())
}

/// Turns `-np`, which OpenSHMEM's launchers share but clap takes for `-n p`, into `--np`; looks no further
/// than the program's name, after which everything belongs to the program.
fn spell_out(mut args: Vec<OsString>) -> Vec<OsString> {
    let command = Arguments::command();
    let takes_value = |arg: &[u8]| {
        command.get_arguments().filter(|known| known.get_action().takes_values()).any(|known| {
            let long = known.get_long().map(|long| format!("--{long}").into_bytes());
            let short = known.get_short().map(|short| format!("-{short}").into_bytes());
            long.as_deref() == Some(arg) || short.as_deref() == Some(arg)
        })
    };
    let mut at = 1;
    while let Some(arg) = args.get_mut(at) {
        if arg == "-np" {
            *arg = OsString::from("--np");
        }
        if arg == "--" || !arg.as_bytes().starts_with(b"-") {
            break;
        }
        at += if takes_value(arg.as_bytes()) { 2 } else { 1 };
    }
    args
}

/// Makes one line of what clap says in several.
fn stop(error: clap::Error) -> Stop {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Stop::Answer(text);
    }
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    Stop::Refusal(format!("{line}; see oshrun --help"))
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("there must be at least one".to_owned()),
        Ok(n) => Ok(n),
        Err(_) => Err("not a count".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    if seconds <= 0.0 {
        return Err("it must be more than 0".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| "not a number of seconds".to_owned())
}

/// The most PEs of a job, whatever the limits of the system.
const MOST_PES: usize = 4096;
/// Descriptors that the launcher holds for a PE: its process, its socket, and what it prints to.
const DESCRIPTORS_PER_PE: usize = 4;
/// Descriptors that the launcher needs besides.
const OTHER_DESCRIPTORS: usize = 64;

fn check_size(n_pes: usize, stdin: StdinTo) -> Result<(), String> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this fails, the job may still fit; if not, starting a PE will fail and say so.
    let _ = setrlimit(Resource::Nofile, limit);
    let allowed = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |allowed| allowed as usize);
    // A copy of the input has to be written to each PE.
    let each = DESCRIPTORS_PER_PE + usize::from(stdin == StdinTo::All);
    let fit = allowed.saturating_sub(OTHER_DESCRIPTORS) / each;
    if n_pes <= fit.min(MOST_PES) {
        Ok(())
    } else if fit < MOST_PES {
        Err(format!(
            "{n_pes} PEs are above the limit of {fit}, as this user may have {allowed} descriptors open (ulimit -Hn) \
             and each PE takes {each}"
        ))
    } else {
        Err(format!("{n_pes} PEs are above the limit of {MOST_PES}"))
    }
}

/// Takes `-x VAR=VALUE` apart. `-x VAR` is what the PEs inherit anyway.
fn variable(text: OsString) -> Option<Result<(OsString, OsString), String>> {
    let bytes = text.into_vec();
    let equals = bytes.iter().position(|&byte| byte == b'=');
    if bytes.is_empty() || equals == Some(0) {
        return Some(Err("-x: the variable has no name".to_owned()));
    }
    let equals = equals?;
    let value = OsString::from_vec(bytes[equals + 1..].to_vec());
    Some(Ok((OsString::from_vec(bytes[..equals].to_vec()), value)))
}

/// The file that a program's name stands for, as a shell would find it.
fn find(name: &OsStr) -> Result<PathBuf, String> {
    let shown = name.to_string_lossy();
    let check = |path: &Path| -> Result<(), String> {
        let wrong = |what: &str| Err(format!("cannot start {shown}: {what}"));
        match path.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => wrong("there is no such file"),
            Err(error) => wrong(&error.to_string()),
            Ok(status) if !status.is_file() => wrong("it is not a file"),
            Ok(_) if access(path, Access::EXEC_OK).is_err() => wrong("it is not executable"),
            Ok(_) => Ok(()),
        }
    };
    if name.as_bytes().contains(&b'/') {
        return check(Path::new(name)).map(|()| PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| !name.is_empty() && check(candidate).is_ok())
        .ok_or_else(|| format!("cannot start {shown:?}: there is no such program in PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Stop> {
        Options::from_args(line.split(' ').map(OsString::from))
    }

    fn refusal(line: &str) -> String {
        match parse(line) {
            Err(Stop::Refusal(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn np_has_three_spellings() {
        for np in ["-np 3", "-n 3", "--np 3", "--np=3", "-n3"] {
            assert_eq!(parse(&format!("oshrun {np} true")).unwrap().n_pes, 3);
        }
    }

    #[test]
    fn what_follows_the_program_is_the_programs() {
        let options = parse("oshrun --timeout 2.5 -x A=b=c -np 2 echo -np 4 --timeout x -- y").unwrap();
        assert_eq!(options.arguments, ["-np", "4", "--timeout", "x", "--", "y"]);
        assert_eq!(options.timeout, Some(Duration::from_millis(2500)));
        assert_eq!(options.variables, [("A".into(), "b=c".into())]);
        assert_eq!(parse("oshrun -n 1 -- echo -n").unwrap().arguments, ["-n"]);
    }

    #[test]
    fn simulated_hosts_are_a_number_or_a_list() {
        assert_eq!(parse("oshrun -np 5 --fake-hosts 1 true").unwrap().hosts, Hosts::one(5));
        assert_eq!(parse("oshrun -np 5 --fake-hosts 2 true").unwrap().hosts, Hosts::blocks([3, 2]));
        assert_eq!(parse("oshrun -np 5 --fake-hosts=2:cyclic true").unwrap().hosts, Hosts::cyclic(5, 2));
        for (set, n, hosts) in [("2", 1, Hosts::one(1)), ("2:cyclic", 5, Hosts::cyclic(5, 2))] {
            let options = parse(&format!("oshrun -np {n} -x SHMEM_FAKE_HOSTS={set} true")).unwrap();
            assert_eq!(options.hosts, hosts, "the environment of the PEs says it where the option does not");
        }
        let options = parse("oshrun -np 5 -x SHMEM_FAKE_HOSTS=2:cyclic --fake-hosts 2 true").unwrap();
        assert_eq!(options.hosts, Hosts::even(5, 2), "the option wins");
        assert!(refusal("oshrun -np 5 -x SHMEM_FAKE_HOSTS=3+3 true").contains("SHMEM_FAKE_HOSTS"));
        for list in ["3+1+2", "3,1,2"] {
            let options = parse(&format!("oshrun --fake-hosts {list} -np 6 true")).unwrap();
            assert_eq!(options.hosts, Hosts::blocks([3, 1, 2]));
        }
    }

    #[test]
    fn refusals_are_one_line() {
        for line in
            ["oshrun", "oshrun -np", "oshrun -np x true", "oshrun -np 2 --bad true", "oshrun -n 2 -n 3 true"]
        {
            let reason = refusal(line);
            assert!(!reason.contains('\n') && reason.len() > 10, "{reason}");
        }
        assert!(refusal("oshrun -np 0 true").contains("at least one"));
        assert!(refusal("oshrun -np 5000 true").contains("above the limit of"));
        assert!(refusal("oshrun -np 1 --timeout -1 true").contains("timeout"));
        assert!(refusal("oshrun -np 1 /no/such").contains("no such file"));
        assert!(refusal("oshrun -np 1 no-such-program").contains("PATH"));
        assert!(refusal("oshrun -np 1 /etc/passwd").contains("not executable"));
        assert!(refusal("oshrun -np 1 /etc").contains("not a file"));
    }
}
