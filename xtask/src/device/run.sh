#!/bin/bash
# Runs all that `cargo xtask device --pack` has put beside this file, on a machine with a device, most worth first:
#
#   run.sh [--emulated]
#
# The report grows as it goes: $OUT/report.md, or out/report.md in this folder. Each step has a limit in seconds, and
# all of them have one together; what a step leaves behind is ended. With --emulated a stand-in for the driver takes the
# device's place, to try this file: it has the kernels of the Rust programs alone, and needs a C compiler.
set -u
cd "$(dirname "$0")" || exit 2
total=460 out=${OUT:-$PWD/out} verify=(./gpu-verify) emulated= session= rows= failed=0
[ "${1-}" = --emulated ] && emulated=1 verify=(./gpu-verify --stand-in)
report=$out/report.md
mkdir -p "$out" && : >"$report" && unpacked=$(mktemp -d) || exit 2
chmod -f +x ./* # A copy may have lost it.

# Ends what is left of the step's session.
end_session() {
    local stat line
    [ -n "$session" ] || return
    for stat in /proc/[0-9]*/stat; do
        { read -r line <"$stat"; } 2>/dev/null || continue
        # Behind the name: state, parent, group, session.
        set -- ${line##*) }
        [ "${4-}" = "$session" ] && kill -KILL "${line%% *}" 2>/dev/null
    done
}
trap 'end_session; rm -rf "$unpacked"' EXIT
trap 'exit 130' INT TERM

# Notes what a step came to: NAME OUTCOME SECONDS
note() {
    rows+="| $1 | $2 | $3 |"$'\n'
    printf '\n%s: %s, %s s.\n\n' "$1" "$2" "$3" >>"$report"
    echo "$1: $2, $3 s"
    [[ $2 != *FAILED* ]] || failed=$((failed + 1))
}

# Runs a step: FENCE NAME LIMIT COMMAND...
run() {
    local fence=$1 name=$2 limit=$3 left=$((total - SECONDS)) begin=${EPOCHREALTIME/./} word outcome=ok status tenths
    shift 3
    ((limit < left)) || limit=$left
    [ -n "$fence" ] && printf '\n## %s\n' "$name" >>"$report"
    command -v "$1" >/dev/null || { note "$name" "not run: there is no $1" 0; return; }
    for word; do
        [[ $word != ./* || -e $word ]] || { note "$name" "not run: there is no $word" 0; return; }
    done
    ((limit > 2)) || { note "$name" "not run: no time was left" 0; return; }
    [ -n "$fence" ] && printf '\n%stext\n' "$fence" >>"$report"
    setsid timeout -k 2 "$limit" "$@" >>"$report" 2>&1 </dev/null &
    session=$!
    wait "$session"
    status=$?
    case $status in
    0) ;;
    124 | 137) outcome="**FAILED**: it was not over after $limit s" ;;
    *) outcome="**FAILED**: exit status $status" ;;
    esac
    end_session
    tenths=$(((${EPOCHREALTIME/./} - begin) / 100000))
    [ -n "$fence" ] && echo "$fence" >>"$report"
    note "$name" "$outcome" "$((tenths / 10)).$((tenths % 10))"
}

# NAME LIMIT COMMAND... of what prints Markdown, of what prints anything, and of what the stand-in cannot run.
tables() { run '' "$@"; }
step() { run '```' "$@"; }
on_device() { if [ -z "$emulated" ]; then step "$@"; else note "$1" "not run: it needs a device" 0; fi; }

# The command of a job of some processes.
job() { echo "${verify[@]}" --oshrun -x SHMEM_ENABLE_GPU_SPACE=1 -np "$1" --; }

machine() {
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    uname -srm
    for program in gpu-verify kernels hello cuda_halo heat_gpu libshmem.so; do
        ldd "./$program" | grep 'not found' | sed "s/^/$program: /"
    done
}
export -f machine

echo '# What ran on the device' >>"$report"
[ -n "$emulated" ] && printf '\n%s\n' 'This is of a stand-in for a device.' >>"$report"
step "Machine" 15 bash -c machine
tables "Tests" 220 "${verify[@]}" --no-speed --budget 200
[ -n "$emulated" ] && tables "Tests on the emulated device" 100 ./gpu-verify --emulated --quick --no-speed

on_device "hello.cu, 4 PEs" 20 $(job 4) ./hello
for n in 1 2 4; do on_device "cuda_halo, $n PEs" 30 $(job $n) ./cuda_halo; done
for n in 1 2 4; do step "heat_gpu, $n PEs" 30 $(job $n) ./heat_gpu --rows 1024 --columns 1024 --steps 100; done

if [ -n "$emulated" ]; then
    tables "Speed" 100 ./gpu-verify --emulated --quick --no-tests
else
    tables "Speed" 180 ./gpu-verify --no-tests --budget 170
fi

# The machine's own before the one that was packed.
[ -f sanitizer.tar.gz ] && tar xzf sanitizer.tar.gz -C "$unpacked"
export PATH=$PATH:/usr/local/cuda/bin:$unpacked OXSHMEM_TEST_DEVICE=vmm SHMEM_ENABLE_CPU_SPACE=1
check() { on_device "compute-sanitizer's $1: $2" 60 compute-sanitizer --tool "$1" --error-exitcode 9 "${@:3}"; }
check memcheck "the suite of all devices" ./gpu-verify --run suite
check racecheck "the suite of all devices" ./gpu-verify --run suite
check memcheck "a job does everything once" ./gpu-verify --run large
check memcheck "hello.cu" $(job 2) ./hello
check racecheck "device functions" $(job 1) ./kernels

# Programs that were packed by their names.
for program in more/*; do
    [ -e "$program" ] || continue
    on_device "${program#more/}, 2 PEs" 30 env LD_LIBRARY_PATH="$PWD" $(job 2) "./$program"
done

printf '\n## Steps\n\n| step | outcome | s |\n|---|---|---|\n%s\n%s\n' "$rows" \
    "$failed of them failed. All took $SECONDS s; $total are allowed." >>"$report"
echo "$failed failed, $SECONDS s; $report"
exit $((failed > 0))
