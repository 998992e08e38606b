//! The command line of `oshrun`, checked as far as it can be before anything is started.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{CommandFactory, Parser, ValueEnum, error::ErrorKind};
use oxshmem_base::{Distribution, Hosts, settings::Settings};
use rustix::{
    fs::{Access, access},
    process::{Resource, getrlimit, setrlimit},
};

use super::input::StdinTo;

/// What `oshrun` is to do.
#[derive(Debug)]
pub(super) struct RunOptions {
    pub(super) n_pes: usize,
    /// How PEs are distributed over hosts, and what that comes to.
    pub(super) distribution: Distribution,
    pub(super) hosts: Hosts,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) tag_output: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) bind_to: BindTo,
    pub(super) stdin: StdinTo,
    /// The folder that PEs record in what they do.
    pub(super) trace: Option<PathBuf>,
    /// The folder that PEs are started in, if it is another than this process's.
    pub(super) folder: Option<PathBuf>,
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
    /// No job is to be started: the recordings in this folder are to be put together.
    Report(PathBuf),
    /// Something is wrong; this is one line that says what.
    Refusal(String),
}

/// What each PE is bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum BindTo {
    /// Nothing: PEs run where the system puts them
    #[default]
    None,
    /// PE i runs on the i-th CPU that oshrun may use, starting over when there are more PEs than
    /// CPUs
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
    #[arg(short = 'n', long = "np", value_name = "N", value_parser = positive, allow_negative_numbers = true, required_unless_present = "trace_report")]
    n_pes: Option<usize>,

    /// Sets an environment variable for all PEs; may be repeated. Without a value, it is oshrun's
    /// own
    #[arg(short = 'x', value_name = "VAR[=VALUE]", value_parser = clap::builder::OsStringValueParser::new())]
    variables: Vec<OsString>,

    /// Puts "[PE] " before each line that a PE prints
    #[arg(long)]
    tag_output: bool,

    /// Ends the job after this many seconds, and says what all PEs are in
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,

    /// What each PE is bound to
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    bind_to: BindTo,

    /// Which PEs get oshrun's standard input
    #[arg(long, value_name = "PES", value_enum, default_value_t)]
    stdin: StdinTo,

    /// Starts the PEs in this folder; a program's path is looked up from there
    #[arg(long = "wdir", visible_alias = "wd", value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// Makes PEs treat each other as being on different hosts: K hosts with a block of consecutive
    /// PEs each, as even as possible, or a list of how many PEs each host has, such as 3+1+2 or
    /// 3,1,2. With ":cyclic" behind it, PEs are distributed over the hosts one at a time. Without
    /// this, what SHMEM_FAKE_HOSTS says; without that, one host
    #[arg(long, value_name = "K|LIST[:cyclic]", allow_negative_numbers = true)]
    fake_hosts: Option<Distribution>,

    /// Records what each PE does in this folder, and at the end writes trace.json there, which
    /// Perfetto opens, and report.html
    #[arg(long, value_name = "FOLDER")]
    trace: Option<PathBuf>,

    /// Starts nothing, and writes these files for a job that was started without oshrun and with
    /// SHMEM_TRACE=FOLDER
    #[arg(long, value_name = "FOLDER", exclusive = true)]
    trace_report: Option<PathBuf>,

    /// The program that every PE runs, and its arguments
    #[arg(required_unless_present = "trace_report", trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// The setting that `--fake-hosts` goes before.
const FAKE_HOSTS: &str = "SHMEM_FAKE_HOSTS";

/// The setting that `--trace` sets.
const TRACE: &str = "SHMEM_TRACE";

/// The options as clap knows them, for the man page.
pub(super) fn command() -> clap::Command {
    Arguments::command()
}

impl RunOptions {
    /// Reads the arguments, the first of which is the program's name, and raises this process's
    /// limit of open descriptors as far as it goes.
    pub(super) fn from_args(args: impl Iterator<Item = OsString>) -> Result<Self, Stop> {
        let args = spell_out(args.collect()).map_err(Stop::Refusal)?;
        let arguments = Arguments::try_parse_from(&args).map_err(stop)?;
        if let Some(folder) = arguments.trace_report {
            return Err(Stop::Report(folder));
        }
        // Clap has seen to it that there is a number.
        let n_pes = arguments.n_pes.unwrap_or_default();
        check_size(n_pes, arguments.stdin).map_err(Stop::Refusal)?;
        let variables = arguments.variables.into_iter().filter_map(variable).collect::<Result<Vec<_>, _>>();
        let mut variables = variables.map_err(Stop::Refusal)?;
        let trace = arguments.trace.as_deref().map(std::path::absolute).transpose();
        let trace = trace.map_err(|error| Stop::Refusal(format!("--trace: {error}")))?;
        variables.extend(trace.iter().map(|folder| (TRACE.into(), folder.into())));
        let distribution = match arguments.fake_hosts {
            Some(distribution) => {
                // So that the settings that PEs show are those in force.
                variables.push((FAKE_HOSTS.into(), distribution.to_string().into()));
                distribution
            }
            None => hosts_of_environment(n_pes, &variables).map_err(Stop::Refusal)?,
        };
        let hosts = distribution.hosts(n_pes);
        let hosts = hosts.map_err(|error| Stop::Refusal(format!("--fake-hosts {distribution}: {error}")))?;
        let mut command = arguments.command.into_iter();
        // Clap has seen to it that there is a program.
        let name = command.next().unwrap_or_default();
        let rest: Vec<OsString> = command.collect();
        let folder = arguments.folder;
        if let Some(folder) = folder.as_deref().filter(|folder| !folder.is_dir()) {
            return Err(Stop::Refusal(format!("--wdir {}: there is no such folder", folder.display())));
        }
        let program = find(&name, folder.as_deref()).map_err(Stop::Refusal)?;
        // Behind `--` it is certain that the colon is the program's.
        if !args.iter().take(args.len() - rest.len()).any(|arg| arg == "--") {
            several(&name, &rest, folder.as_deref()).map_err(Stop::Refusal)?;
        }
        Ok(Self {
            n_pes,
            distribution,
            hosts,
            variables,
            tag_output: arguments.tag_output,
            timeout: arguments.timeout,
            bind_to: arguments.bind_to,
            stdin: arguments.stdin,
            trace,
            folder,
            program,
            name,
            arguments: rest,
        })
    }
}

/// What the PEs' environment says of hosts: `variables`, then this process's own.
fn hosts_of_environment(n_pes: usize, variables: &[(OsString, OsString)]) -> Result<Distribution, String> {
    let lookup = |name: &str| {
        let set =
            variables.iter().rev().find(|(variable, _)| variable == name).map(|(_, value)| value.clone());
        set.or_else(|| std::env::var_os(name))
    };
    Settings::fake_hosts_for(n_pes, lookup).map_err(|error| error.to_string())
}

/// What other launchers call what oshrun does not do, and what to do about it.
const ELSEWHERE: [(&[&str], &str); 4] = [
    (
        &[
            "hostfile",
            "machinefile",
            "machine",
            "hosts",
            "host",
            "H",
            "f",
            "rf",
            "rankfile",
            "default-hostfile",
        ],
        "oshrun starts all PEs on this host; for several hosts, start the program with mpirun, prterun or srun \
         --mpi=pmix",
    ),
    (
        &["N", "npernode", "ppn", "perhost", "map-by", "rank-by", "pernode", "npersocket", "ranks-per-proc"],
        "oshrun starts all PEs on this host, as many as -np says, and --bind-to core binds them in turn; leave the option \
         out",
    ),
    (
        &["oversubscribe", "allow-run-as-root", "quiet", "q", "report-bindings"],
        "oshrun does not ask for it: leave the option out",
    ),
    (
        &[
            "mca", "gmca", "pmixmca", "prtemca", "genv", "genvlist", "genvall", "env", "envall", "envlist",
            "export",
        ],
        "it belongs to another launcher; -x VAR=VALUE sets a variable of all PEs, and shmem-info lists those that oxshmem \
         reads",
    ),
];

/// Gives long options that are spelt with one dash their second, as in `-np`, which OpenSHMEM's
/// launchers share but clap takes for `-n p`; looks no further than the program's name, after which
/// everything belongs to the program. The error names what to do instead of what only other
/// launchers know.
fn spell_out(mut args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let command = Arguments::command();
    let mut at = 1;
    while let Some(arg) = args.get_mut(at) {
        let text = arg.to_string_lossy().into_owned();
        if text == "--" || !text.starts_with('-') {
            break;
        }
        let name = text.trim_start_matches('-').split('=').next().unwrap_or_default();
        let is_long =
            |known: &&clap::Arg| known.get_long_and_visible_aliases().is_some_and(|all| all.contains(&name));
        let is_short = |known: &&clap::Arg| name.len() == 1 && known.get_short() == name.chars().next();
        let long = command.get_arguments().find(is_long);
        if long.is_some() && !text.starts_with("--") {
            *arg = OsString::from_vec([b"-", arg.as_bytes()].concat());
        }
        let known = long.or_else(|| command.get_arguments().find(is_short));
        if known.is_none()
            && let Some((_, advice)) = ELSEWHERE.iter().find(|(names, _)| names.contains(&name))
        {
            return Err(format!("{text}: {advice}"));
        }
        let takes_next = known.is_some_and(|known| known.get_action().takes_values()) && !text.contains('=');
        at += if takes_next { 2 } else { 1 };
    }
    Ok(args)
}

/// Refuses what other launchers take for several programs: `a : b`, or `a : -np 2 b`.
fn several(name: &OsStr, arguments: &[OsString], folder: Option<&Path>) -> Result<(), String> {
    let starts =
        |next: &OsString| ["-n", "-np", "--np"].iter().any(|it| next == it) || find(next, folder).is_ok();
    match arguments.windows(2).any(|pair| pair[0] == ":" && starts(&pair[1])) {
        false => Ok(()),
        true => Err(format!(
            "all PEs run one program, and \":\" begins no other: start a script that chooses by the PE, or put -- before {} \
             if the colon is its argument",
            name.to_string_lossy()
        )),
    }
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

/// The file that a program's name stands for, as a shell would find it in that folder.
fn find(name: &OsStr, folder: Option<&Path>) -> Result<PathBuf, String> {
    let shown = name.to_string_lossy();
    // From here; the PEs are in that folder when they look for it.
    let here = |path: &Path| folder.map_or_else(|| path.to_owned(), |folder| folder.join(path));
    let check = |path: &Path| -> Result<(), String> {
        let wrong = |what: &str| Err(format!("cannot start {shown}: {what}"));
        let path = here(path);
        match path.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => wrong("there is no such file"),
            Err(error) => wrong(&error.to_string()),
            Ok(status) if !status.is_file() => wrong("it is not a file"),
            Ok(_) if access(&path, Access::EXEC_OK).is_err() => wrong("it is not executable"),
            Ok(_) => Ok(()),
        }
    };
    if name.as_bytes().contains(&b'/') {
        return check(Path::new(name)).map(|()| PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    let found = std::env::split_paths(&path)
        .map(|entry| entry.join(name))
        .find(|candidate| !name.is_empty() && check(candidate).is_ok());
    found.ok_or_else(|| {
        let hint = match !name.is_empty() && check(Path::new(name)).is_ok() {
            true => format!("; did you mean ./{shown}?"),
            false => String::new(),
        };
        format!("cannot start {shown:?}: there is no such program in PATH{hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<RunOptions, Stop> {
        RunOptions::from_args(line.split(' ').map(OsString::from))
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
    fn long_options_may_have_one_dash() {
        let options =
            parse("oshrun -np 2 -wdir /tmp -timeout=3 -tag-output -bind-to core true -timeout x").unwrap();
        assert_eq!((options.n_pes, options.folder), (2, Some("/tmp".into())));
        assert_eq!((options.timeout, options.tag_output), (Some(Duration::from_secs(3)), true));
        assert_eq!(
            (options.bind_to, &options.arguments[..]),
            (BindTo::Core, &["-timeout".into(), "x".into()][..])
        );
        assert_eq!(parse("oshrun -n 1 -wd / -xA=b true").unwrap().folder, Some("/".into()));
    }

    #[test]
    fn a_colon_between_programs_is_refused_and_one_of_a_program_is_not() {
        for line in
            ["oshrun -np 1 true : true", "oshrun -np 1 true a : -np 2 b", "oshrun -n 1 true : -n 1 true"]
        {
            assert!(refusal(line).contains("all PEs run one program"), "{line}");
        }
        for line in
            ["oshrun -np 1 -- true : true", "oshrun -np 1 echo a : no-such-program", "oshrun -np 1 echo :"]
        {
            assert!(parse(line).is_ok(), "{line}");
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
