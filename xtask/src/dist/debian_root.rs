//! The check of the packages in fresh Debian systems, made by debootstrap: with a C compiler, and
//! without Rust.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{VERSION, deb::PREFIX};
use crate::{
    debian,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

/// Releases of Debian: the one that most have, the one with the oldest C library and PMIx that its
/// mirrors have, and the newest. The book's chapter on installation says which versions those are.
const RELEASES: [&str; 3] = ["bookworm", "bullseye", "trixie"];

/// What a system has beside its base: Open MPI brings PMIx and UCX.
const PACKAGES: &str = "gcc,libc6-dev,openmpi-bin";

const PROGRAM: &str = r#"
#include <shmem.h>
#include <stdio.h>
#include <gnu/libc-version.h>

int main(void) {
    static long sum, mine;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    mine = me + 1;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    int bad = n != 4 || sum != n * (n + 1) / 2;
    if (me == 0)
        printf("%s on the C library %s: %d PEs\n", SHMEM_VENDOR_STRING, gnu_get_libc_version(), n);
    shmem_finalize();
    return bad;
}
"#;

/// What is done in a system, whose folder `/check` has the packages and the program.
const SCRIPT: &str = r#"
set -eu
for tool in cargo rustc; do if command -v $tool; then echo "Rust is here"; exit 1; fi; done
# Without the records of dpkg, what the check writes, and /opt, which dpkg removes when it is empty.
list() { find / -xdev \( -path /var/lib/dpkg -o -path /var/log -o -path /check -o -path /tmp -o -path /proc -o -path /sys \) -prune -o ! -path /opt -print | sort; }
try() {
    export PATH="$1/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    oshcc -O2 -o /tmp/hello /check/hello.c && oshrun -np 4 --timeout 60 -- /tmp/hello
    oshcc -O2 -static-libshmem -o /tmp/hello /check/hello.c && oshrun -np 4 --timeout 60 -- /tmp/hello
    mpirun --mca plm isolated --oversubscribe -n 4 /tmp/hello
    # Bullseye's UCX is too old, which must be said.
    if oshrun -np 4 --fake-hosts 2 --timeout 60 -- /tmp/hello > /tmp/hosts 2>&1; then cat /tmp/hosts
    elif ! grep -q "version 1\.10.*too old" /tmp/hosts; then cat /tmp/hosts; exit 1
    fi
    shmem-info | grep "^oxshmem $2"
    test -s "$1/share/man/man1/oshrun.1" -a -s "$1/share/doc/oxshmem/THIRD-PARTY-LICENSES.txt"
}
cd /check
sha256sum --quiet --check SHA256SUMS
list > before
if test -e "oxshmem_${VERSION}_amd64.deb"; then
    dpkg --install oxshmem_*.deb > /dev/null
    try "/$PREFIX" "$VERSION"
    dpkg --remove oxshmem > /dev/null
    if dpkg-query --status oxshmem > /tmp/status 2>&1; then echo "dpkg still knows it"; exit 1; fi
fi
list > after
diff before after
mkdir /tmp/moved && tar -C /tmp/moved -xf oxshmem-*.tar.gz
try /tmp/moved/oxshmem-* "$VERSION"
"#;

/// Tries the packages, as far as that can be done here.
pub(super) fn check(packed: &[PathBuf]) -> Outcome {
    if !debian::is_root() {
        return Ok(Verdict::Skipped("other systems are entered by root alone".to_owned()));
    }
    let tools = ["debootstrap", "unshare", "chroot"];
    let present = || tools.iter().all(|tool| Job::new("which", [tool]).works());
    if let Err(why) = debian::install("debootstrap is", &["debootstrap", "util-linux"], present) {
        return Ok(Verdict::Skipped(why.to_string()));
    }
    let Some(mirror) = mirror() else {
        return Ok(Verdict::Skipped("apt names no mirror of Debian".to_owned()));
    };
    for release in RELEASES {
        println!("--- {release}");
        let root = match system(release, &mirror) {
            Ok(root) => root,
            Err(why) => return Ok(Verdict::Skipped(format!("debootstrap cannot make {release}: {why}"))),
        };
        let outcome = within(&root, packed);
        fs::remove_dir_all(&root)?;
        outcome?;
    }
    Ok(Verdict::Passed)
}

/// Where this machine's apt has Debian from.
fn mirror() -> Option<String> {
    let line = "$(SITE) $(RELEASE) $(ORIGIN)";
    let output =
        Job::new("apt-get", ["indextargets", "--format", line, "Created-By: Packages"]).output().ok()?;
    mirror_in(&String::from_utf8_lossy(&output.stdout)).map(str::to_owned)
}

/// The site of a release of Debian itself, and not of its updates.
fn mirror_in(targets: &str) -> Option<&str> {
    let mut sites = targets.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (site, release, origin) = (words.next()?, words.next()?, words.next()?);
        (origin == "Debian" && !release.contains('-')).then_some(site)
    });
    sites.next()
}

/// A fresh system with a C compiler. What debootstrap makes is kept in the target folder, packed.
fn system(release: &str, mirror: &str) -> Result<PathBuf, Failure> {
    let folder = target_dir()?.join("debian");
    fs::create_dir_all(&folder)?;
    let (root, kept) = (folder.join(release), folder.join(format!("{release}.tar")));
    let _ = fs::remove_dir_all(&root);
    if kept.is_file() {
        fs::create_dir(&root)?;
        Job::new("tar", ["-C"]).args([&root, Path::new("-xpf"), &kept]).limit(120).run()?;
        return Ok(root);
    }
    Job::new("debootstrap", ["--variant=minbase", &format!("--include={PACKAGES}"), release])
        .args([root.as_os_str(), mirror.as_ref()])
        .quiet()
        .limit(900)
        .run()?;
    let fresh = kept.with_extension("new");
    Job::new("tar", ["-C"]).args([&root, Path::new("-cpf"), &fresh, Path::new(".")]).limit(120).run()?;
    fs::rename(fresh, kept)?;
    Ok(root)
}

/// Runs the script in a system of its own: what it mounts and starts ends with it.
fn within(root: &Path, packed: &[PathBuf]) -> Result<(), Failure> {
    let folder = root.join("check");
    fs::create_dir_all(&folder)?;
    for file in packed {
        fs::copy(file, folder.join(file.file_name().unwrap_or_default()))?;
        let sums = file.with_file_name("SHA256SUMS");
        fs::copy(sums, folder.join("SHA256SUMS"))?;
    }
    fs::write(folder.join("hello.c"), PROGRAM)?;
    fs::write(folder.join("check.sh"), SCRIPT)?;
    let enter = r#"mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount -t tmpfs tmpfs "$0/dev/shm" && exec chroot "$0" sh /check/check.sh"#;
    Job::new("unshare", ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter])
        .args([root])
        .env("VERSION", VERSION)
        .env("PREFIX", PREFIX)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .limit(300)
        .run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_that_of_debian_itself() {
        let targets = "http://other/apt cloud Google\nhttp://a/debian bookworm-updates Debian\n\
                       http://a/debian-security bookworm-security Debian\nhttp://b/debian bookworm Debian\n";
        assert_eq!(mirror_in(targets), Some("http://b/debian"));
        assert_eq!(mirror_in("http://other/apt cloud Google\n"), None);
    }
}
