#!/usr/bin/env bash
# The main job from a fresh clone: fetch real CUDA toolkits with nvcc, adopt the system's
# one, switch between versions, compile and run with each, and let a virtualenv switch by
# itself. Needs Python 3.10 or newer, gcc and g++; downloads about 220 MB with pip.
# Everything goes into one temporary folder, which is removed at the end (KEEP=1 keeps it).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cudaswitch-demo.XXXXXX")
[[ ${KEEP-} ]] || trap 'rm -rf "$work"' EXIT
export CUDASWITCH_HOME=$work/store CUDASWITCH_CACHE=$work/cache
cd "$work"

bold='' plain=''
if [[ -t 1 && -z ${NO_COLOR-} ]]; then bold=$'\033[1m' plain=$'\033[0m'; fi
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }

step 'Install cudaswitch into a virtualenv of its own'
"${PYTHON:-python3}" -m venv tool
tool/bin/python -m pip install --quiet "$here"
eval "$(tool/bin/cudaswitch init bash)"

step 'Install two real toolkits from PyPI, and adopt what is on the machine'
cudaswitch install --components minimal 13.0
cudaswitch install --components minimal 13.1
for found in /usr/local/cuda /opt/cuda; do
    if [[ -d $found ]]; then cudaswitch adopt "$found"; fi
done
cudaswitch list

cat > hello.cu <<'CU'
#include <cstdio>
#include <cuda_runtime.h>
__global__ void nothing() {}
int main() {
    int version = 0;
    cudaRuntimeGetVersion(&version);
    std::printf("compiled and run with CUDA runtime %d.%d\n", version / 1000, version % 1000 / 10);
}
CU

for version in 13.0 13.1; do
    step "cudaswitch use $version"
    cudaswitch use "$version"
    command -v nvcc
    nvcc -cudart shared -o hello hello.cu
    ./hello
done
cudaswitch off
if [[ -n ${CUDA_HOME-} ]]; then
    echo "CUDA_HOME is still $CUDA_HOME"
fi

step 'A virtualenv that is pinned to 13.0 switches by itself'
"${PYTHON:-python3}" -m venv project
cudaswitch pin 13.0 --prefix project
echo "before:      CUDA_HOME=${CUDA_HOME-}"
# shellcheck source=/dev/null
. project/bin/activate
echo "activated:   CUDA_HOME=$CUDA_HOME"
nvcc --version | tail -n 2 | head -n 1
nvcc -o hello hello.cu
./hello
deactivate
echo "deactivated: CUDA_HOME=${CUDA_HOME-}"

step 'Done'
