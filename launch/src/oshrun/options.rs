//! The command line of `oshrun`, checked as far as it can be before anything is started.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{CommandFactory, Parser, error::ErrorKind};
use oxshmem_base::{
    Distribution, Hosts,
    settings::{OnLoss, Settings},
};
use oxshmem_job::{host_name, job::JOB_VARIABLE};

use super::{
    input::StdinTo,
    lease::{LEASE, SHORTEST},
    lifecycle::Survival,
    pictures::Pictures,
    plan::{BindTo, MOST_PES, Plan, check_size, find},
    slots::{self, Slots},
};
use crate::trace::Written;

/// What `oshrun` is to do.
#[derive(Debug)]
pub(super) struct RunOptions {
    /// Which PE is on which host.
    pub(super) hosts: Hosts,
    pub(super) timeout: Option<Duration>,
    pub(super) survival: Survival,
    /// What PEs are started with.
    pub(super) plan: Plan,
    pub(super) target: Target,
}

/// Where the PEs are to run.
#[derive(Debug)]
pub(super) enum Target {
    /// On this machine; the program is this file.
    Here { program: PathBuf },
    /// On these machines.
    Machines(Fleet),
}

/// The machines of a job.
#[derive(Clone, Debug)]
pub(super) struct Fleet {
    /// The hosts in the order of their PEs, with the number of PEs of each.
    pub(super) hosts: Vec<Slots>,
    /// The command that starts a program on a host; without one, it is ssh.
    pub(super) launch_agent: Option<String>,
    /// What oshrun is called there.
    pub(super) oshrun: OsString,
}

/// Why there is nothing to do.
#[derive(Debug)]
pub(super) enum Stop {
    /// A question was asked, such as `--help`; this is the answer.
    Answer(String),
    /// No job is to be started: this was made of what others have recorded.
    Written(Result<Written, String>),
    /// Something is wrong; this is one line that says what.
    Refusal(String),
}

/// Starts the PEs of an OpenSHMEM job, on this host or on several
#[derive(Debug, Parser)]
#[command(
    name = "oshrun",
    version,
    after_help = "The exit status is 0 if all PEs ended well, otherwise that of the \
                  first PE that did not (128 + signal if it was killed), 124 after a timeout, and 2 if the job could \
                  not be started."
)]
struct Arguments {
    /// How many PEs to start; -np is the same. With -H or --hostfile, all that the hosts take
    /// unless this says fewer, which fill the hosts in order
    #[arg(short = 'n', long = "np", value_name = "N", value_parser = positive, allow_negative_numbers = true, required_unless_present_any = ["trace_report", "trace_compare", "list", "hostfile"])]
    n_pes: Option<usize>,

    /// Starts the PEs on these hosts: names, each with the number of PEs that it takes, or alone
    /// for one. On each host an oshrun is started, by ssh or as --launch-agent says
    #[arg(short = 'H', long = "host", visible_alias = "hosts", value_name = "HOST[:N],...", conflicts_with_all = ["hostfile", "fake_hosts"])]
    list: Option<String>,

    /// Reads the hosts from a file, which has one in each line, as HOST, HOST:N or HOST slots=N,
    /// and comments behind #
    #[arg(long, visible_alias = "machinefile", value_name = "FILE", conflicts_with = "fake_hosts")]
    hostfile: Option<PathBuf>,

    /// Starts a program on a host in place of ssh: the shell runs CMD with the host behind it, or
    /// in the place of {host}, and behind that the program and its arguments. Its standard input
    /// and output must be the program's
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    launch_agent: Option<String>,

    /// How long a host of -H may be out of reach, 2 unless this says otherwise, at least 1: its PEs
    /// are killed by then, and lost when half of that time more is over. PEs that reach oshrun but
    /// not each other have ten times as long
    #[arg(long, value_name = "SECONDS", value_parser = lease, allow_negative_numbers = true)]
    lease: Option<Duration>,

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

    /// What becomes of the job when a PE is lost: it ends, or the others continue, if the program
    /// asks for that too. Without this, what SHMEM_ON_LOSS says; without that, it ends
    #[arg(long, value_name = "end|continue")]
    on_loss: Option<OnLoss>,

    /// Starts the program again in the place of a PE that is lost, at most this many times in all,
    /// and at most once a second. For jobs that continue
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=50_000), allow_negative_numbers = true)]
    respawn: u16,

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

    #[command(flatten)]
    pictures: Pictures,

    /// The program that every PE runs, and its arguments
    #[arg(required_unless_present_any = ["trace_report", "trace_compare"], trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// The setting that `--fake-hosts` goes before.
const FAKE_HOSTS: &str = "SHMEM_FAKE_HOSTS";

/// The setting that `--on-loss` goes before.
const ON_LOSS: &str = "SHMEM_ON_LOSS";

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
        if let Some(written) = arguments.pictures.write() {
            return Err(Stop::Written(written));
        }
        let oshrun = own_name(args.first());
        let fleet = fleet(&arguments, oshrun).map_err(Stop::Refusal)?;
        let trace = arguments.trace.as_deref().map(std::path::absolute).transpose();
        let trace = trace.map_err(|error| Stop::Refusal(format!("--trace: {error}")))?;
        let forwarded = if fleet.is_some() { of_settings(std::env::vars_os()) } else { Vec::new() };
        let own = |name: &OsStr| fleet.as_ref().and_then(|_| std::env::var_os(name));
        let set = arguments.variables.into_iter().filter_map(|text| variable(text, own));
        let mut variables = forwarded;
        variables.extend(set.collect::<Result<Vec<_>, _>>().map_err(Stop::Refusal)?);
        variables.extend(trace.iter().map(|folder| (TRACE.into(), folder.into())));
        let on_loss = on_loss(arguments.on_loss, &mut variables).map_err(Stop::Refusal)?;
        let survival = Survival { on_loss, respawns: arguments.respawn.into() };
        if survival.respawns > 0 && on_loss == OnLoss::End {
            return Err(Stop::Refusal("--respawn is for jobs that continue: --on-loss=continue".to_owned()));
        }
        // Clap has seen to it that there is a number.
        let n_pes = match &fleet {
            Some(fleet) => fleet.hosts.iter().map(|slots| slots.count).sum(),
            None => arguments.n_pes.unwrap_or_default(),
        };
        let distribution = match (&fleet, arguments.fake_hosts) {
            (Some(_), _) if n_pes > MOST_PES => {
                return Err(Stop::Refusal(format!("{n_pes} PEs are above the limit of {MOST_PES}")));
            }
            (Some(fleet), _) => {
                Distribution::each(fleet.hosts.iter().map(|slots| slots.count).collect::<Vec<_>>())
            }
            (None, fake_hosts) => {
                check_size(n_pes, arguments.stdin).map_err(Stop::Refusal)?;
                if let Some(distribution) = fake_hosts {
                    // So that the settings that PEs show are those in force.
                    variables.push((FAKE_HOSTS.into(), distribution.to_string().into()));
                    distribution
                } else {
                    hosts_of_environment(n_pes, &variables).map_err(Stop::Refusal)?
                }
            }
        };
        let hosts = distribution.hosts(n_pes);
        let hosts = hosts.map_err(|error| Stop::Refusal(format!("--fake-hosts {distribution}: {error}")))?;
        let mut command = arguments.command.into_iter();
        // Clap has seen to it that there is a program.
        let name = command.next().unwrap_or_default();
        let rest: Vec<OsString> = command.collect();
        let (folder, target) = match fleet {
            Some(fleet) => {
                // The machines have other folders: it is looked for there.
                let folder = arguments.folder.map_or_else(std::env::current_dir, std::path::absolute);
                let folder = folder.map_err(|error| Stop::Refusal(format!("--wdir: {error}")))?;
                (Some(folder), Target::Machines(fleet))
            }
            None => {
                let folder = arguments.folder;
                if let Some(folder) = folder.as_deref().filter(|folder| !folder.is_dir()) {
                    return Err(Stop::Refusal(format!(
                        "--wdir {}: there is no such folder",
                        folder.display()
                    )));
                }
                let program = find(&name, folder.as_deref()).map_err(Stop::Refusal)?;
                (folder, Target::Here { program })
            }
        };
        // Behind `--` it is certain that the colon is the program's.
        if !args.iter().take(args.len() - rest.len()).any(|arg| arg == "--") {
            several(&name, &rest, folder.as_deref()).map_err(Stop::Refusal)?;
        }
        let plan = Plan {
            pes: 0..n_pes,
            n_pes,
            distribution,
            simulated: matches!(target, Target::Here { .. }),
            machine: host_name(),
            variables,
            has_replacements: survival.respawns > 0,
            tag_output: arguments.tag_output,
            bind_to: arguments.bind_to,
            stdin: arguments.stdin,
            trace,
            folder,
            lease: arguments.lease.unwrap_or(LEASE),
            name,
            arguments: rest,
        };
        Ok(Self { hosts, timeout: arguments.timeout, survival, plan, target })
    }
}

/// The machines that the arguments name, if they do.
fn fleet(arguments: &Arguments, oshrun: OsString) -> Result<Option<Fleet>, String> {
    let hosts = match (&arguments.list, &arguments.hostfile) {
        (Some(list), _) => slots::of_list(list).map_err(|why| format!("-H: {why}"))?,
        (None, Some(file)) => {
            let shown = file.display();
            let text =
                std::fs::read_to_string(file).map_err(|error| format!("--hostfile {shown}: {error}"))?;
            slots::of_file(&text).map_err(|why| format!("--hostfile {shown}: {why}"))?
        }
        (None, None) if arguments.launch_agent.is_some() => {
            return Err("--launch-agent is for other hosts, which -H or --hostfile names".to_owned());
        }
        (None, None) if arguments.lease.is_some() => {
            return Err("--lease is for other hosts, which -H or --hostfile names".to_owned());
        }
        (None, None) => return Ok(None),
    };
    let hosts = slots::fill(hosts, arguments.n_pes)?;
    let launch_agent = arguments.launch_agent.clone();
    if launch_agent.as_deref().is_some_and(|command| command.trim().is_empty()) {
        return Err("--launch-agent: there is no command".to_owned());
    }
    Ok(Some(Fleet { hosts, launch_agent, oshrun }))
}

/// What this program is called on other machines: if it was named with its path, that path, and
/// else its name.
fn own_name(called: Option<&OsString>) -> OsString {
    let has_path = called.is_some_and(|called| called.as_bytes().contains(&b'/'));
    let path = if has_path { std::env::current_exe().ok() } else { None };
    path.map_or_else(|| "oshrun".into(), PathBuf::into_os_string)
}

/// The variables that PEs on other machines are given without being asked: settings.
fn of_settings(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    const PREFIXES: [&[u8]; 4] = [b"SHMEM_", b"SMA_", b"OXSHMEM_", b"UCX_"];
    let is_setting = |name: &OsStr| {
        let is_known = PREFIXES.iter().any(|prefix| name.as_bytes().starts_with(prefix));
        is_known && ![JOB_VARIABLE, FAKE_HOSTS].iter().any(|other| name == *other)
    };
    variables.filter(|(name, _)| is_setting(name)).collect()
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

/// What becomes of the job when a PE is lost, as an option says it or else the PEs' environment.
fn on_loss(asked: Option<OnLoss>, variables: &mut Vec<(OsString, OsString)>) -> Result<OnLoss, String> {
    if let Some(asked) = asked {
        // So that PEs know of it.
        variables.push((ON_LOSS.into(), asked.to_string().into()));
        return Ok(asked);
    }
    let set = variables.iter().rev().find(|(name, _)| name == ON_LOSS).map(|(_, value)| value.clone());
    let set = set.or_else(|| std::env::var_os(ON_LOSS));
    set.map_or(Ok(OnLoss::End), |value| {
        let value = value.to_string_lossy();
        value.parse().map_err(|why| format!("{ON_LOSS}={value}: {why}"))
    })
}

/// What other launchers call what oshrun does not do, and what to do about it.
const ELSEWHERE: [(&[&str], &str); 4] = [
    (
        &["machine", "f", "rf", "rankfile", "default-hostfile"],
        "-H HOST:N,... names the hosts and how many PEs each takes, and --hostfile a file with a host in each line",
    ),
    (
        &["N", "npernode", "ppn", "perhost", "map-by", "rank-by", "pernode", "npersocket", "ranks-per-proc"],
        "-np says how many PEs there are, or -H HOST:N,... how many on each host, and --bind-to core binds them in turn; \
         leave the option out",
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

fn lease(text: &str) -> Result<Duration, String> {
    let lease = seconds(text)?;
    match lease < SHORTEST {
        true => Err(format!("it must be at least {}", SHORTEST.as_secs())),
        false => Ok(lease),
    }
}

/// Takes `-x VAR=VALUE` apart. The value of `-x VAR` is its `own`; if that is none, the PEs inherit
/// it, or have it not.
fn variable(
    text: OsString,
    own: impl Fn(&OsStr) -> Option<OsString>,
) -> Option<Result<(OsString, OsString), String>> {
    let bytes = text.into_vec();
    let equals = bytes.iter().position(|&byte| byte == b'=');
    if bytes.is_empty() || equals == Some(0) {
        return Some(Err("-x: the variable has no name".to_owned()));
    }
    let Some(equals) = equals else {
        let name = OsString::from_vec(bytes);
        let value = own(&name)?;
        return Some(Ok((name, value)));
    };
    let value = OsString::from_vec(bytes[equals + 1..].to_vec());
    Some(Ok((OsString::from_vec(bytes[..equals].to_vec()), value)))
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
            assert_eq!(parse(&format!("oshrun {np} true")).unwrap().plan.n_pes, 3);
        }
    }

    #[test]
    fn long_options_may_have_one_dash() {
        let options =
            parse("oshrun -np 2 -wdir /tmp -timeout=3 -tag-output -bind-to core true -timeout x").unwrap();
        assert_eq!((options.plan.n_pes, options.plan.folder.clone()), (2, Some("/tmp".into())));
        assert_eq!((options.timeout, options.plan.tag_output), (Some(Duration::from_secs(3)), true));
        assert_eq!(
            (options.plan.bind_to, &options.plan.arguments[..]),
            (BindTo::Core, &["-timeout".into(), "x".into()][..])
        );
        assert_eq!(parse("oshrun -n 1 -wd / -xA=b true").unwrap().plan.folder, Some("/".into()));
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
        assert_eq!(options.plan.arguments, ["-np", "4", "--timeout", "x", "--", "y"]);
        assert_eq!(options.timeout, Some(Duration::from_millis(2500)));
        assert_eq!(options.plan.variables, [("A".into(), "b=c".into())]);
        assert_eq!(parse("oshrun -n 1 -- echo -n").unwrap().plan.arguments, ["-n"]);
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
    fn hosts_are_named_in_a_list_or_a_file() {
        let machines = |line: &str| match parse(line).unwrap() {
            RunOptions { target: Target::Machines(fleet), plan, .. } => (fleet, plan),
            other => panic!("{other:?}"),
        };
        for line in ["oshrun -H a:2,b:3 no-such-program", "oshrun --host=a:2,b:3 no-such-program"] {
            let (fleet, plan) = machines(line);
            assert_eq!((fleet.hosts.len(), plan.n_pes, plan.simulated), (2, 5, false), "{line}");
            assert_eq!((fleet.oshrun, fleet.launch_agent), ("oshrun".into(), None));
            assert_eq!(plan.distribution.hosts(5).unwrap(), Hosts::blocks([2, 3]));
            assert!(plan.folder.is_some_and(|folder| folder.is_absolute()));
        }
        let (fleet, plan) = machines("oshrun -np 2 -host a:2,b:3 -launch-agent enter x");
        assert_eq!((fleet.hosts.len(), plan.n_pes), (1, 2));
        assert_eq!(fleet.launch_agent.as_deref(), Some("enter"));
        assert!(own_name(Some(&"./oshrun".into())).as_bytes().starts_with(b"/"));
        assert_eq!(refusal("oshrun -H a:x true"), "-H: \"a:x\": \"x\" is no number of slots");
        assert!(refusal("oshrun -H a:2 -np 3 true").starts_with("-np 3: the hosts take 2 PEs"));
        assert!(refusal("oshrun -H a:5000 true").contains("above the limit of 4096"));
        assert!(refusal("oshrun --hostfile /no/such true").starts_with("--hostfile /no/such: No such file"));
        assert!(refusal("oshrun -np 2 --launch-agent x true").contains("-H or --hostfile"));
        for line in ["oshrun -H a,b --fake-hosts 2 true", "oshrun -H a --hostfile b true"] {
            assert!(refusal(line).contains("cannot be used with"), "{line}");
        }
    }

    #[test]
    fn other_machines_get_the_settings_of_this_one() {
        let all = ["SHMEM_NET", "SMA_VERSION", "UCX_TLS", "SHMEM_FAKE_HOSTS", "OXSHMEM_JOB", "HOME"];
        let sent = of_settings(all.iter().map(|name| (OsString::from(name), "1".into())));
        let names: Vec<_> = sent.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["SHMEM_NET", "SMA_VERSION", "UCX_TLS"]);
        let own = |name: &OsStr| (name == "A").then(|| OsString::from("7"));
        assert_eq!(variable("A".into(), own), Some(Ok(("A".into(), "7".into()))));
        assert_eq!(variable("B".into(), own), None);
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
