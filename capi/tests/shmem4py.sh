#!/bin/sh
# Builds shmem4py, the Python bindings, with an installed oxshmem, and runs their tests on 1 to 4
# PEs. Needs python3 with its headers and venv, a C compiler, and PyPI. Nothing is left but what is
# in FOLDER.
#
#   shmem4py.sh PREFIX FOLDER
#
# Ends with status 77, and a line that says why, where it cannot be tried.
set -eu
prefix=$1
folder=$2
version=1.0.0

mkdir -p "$folder"
cd "$folder"
python3 -m venv --clear venv
PATH="$prefix/bin:$folder/venv/bin:$PATH"
export PATH PIP_DISABLE_PIP_VERSION_CHECK=1

# The tests compare numbers in a way that numpy 2 has not.
if ! pip install --quiet --only-binary :all: 'numpy<2'; then
    echo "PyPI has no numpy before 2 for $(python3 --version)"
    exit 77
fi
pip install --quiet cffi setuptools wheel
pip download --quiet --no-deps --no-binary :all: --no-build-isolation "shmem4py==$version"
source=shmem4py-$version
rm -rf "$source"
tar -xf "$source.tar.gz"

# It tells implementations apart by name, and takes one that it does not know for OpenSHMEM 1.4.
has=$(grep -ho 'PySHMEM_HAVE_[A-Za-z_]*' "$source/src/libshmem/fallback.h" | sort -u | sed 's/.*/-D&=1/')
CFLAGS="${CFLAGS:-} $(echo $has)" pip install --quiet --no-deps --no-build-isolation "./$source"

for pes in 1 2 3 4; do
    echo "$pes PEs"
    # PE 0 says how many tests have run.
    oshrun -np "$pes" --timeout 120 -- python -m unittest discover -s "$source/test" > "log-$pes" 2>&1 || {
        cat "log-$pes"
        exit 1
    }
    grep -m 1 '^Ran [1-9][0-9]* tests' "log-$pes"
done
