#!/usr/bin/env bash
# riftk on one GPU, from the checkout alone and without a network: RIF, cold RL and evaluation in bf16, and the
# recipes against plain trl scripts. Less than 8 minutes on one H200; on a CPU everything is smaller and in
# float32. What the machine lacks comes from tests/gpu/wheels (pack.sh).
#
#   tests/gpu/check.sh [OUT]     an empty folder for the figures and logs; default: a temporary one
#   PYTHON                       with torch, transformers, peft and accelerate; default python3
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${1:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
[ -z "$(ls -A "$out")" ] || { echo "check.sh: $out is not empty; name another folder" >&2; exit 2; }
python=${PYTHON:-python3}
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false TRL_EXPERIMENTAL_SILENCE=1
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

# riftk as it would be installed, out of links: neither a build nor anything in the checkout is needed.
site=$out/site
mkdir -p "$site/riftk"
ln -s "$root"/riftk/* "$site/riftk/"
for part in rewards data_synth recipes accelerate_configs; do ln -s "$root/$part" "$site/riftk/$part"; done
mkdir "$site/riftk.dist-info"
sed -n 's/^version = "\(.*\)"/Metadata-Version: 2.1\nName: riftk\nVersion: \1/p' "$root/pyproject.toml" \
    > "$site/riftk.dist-info/METADATA"
if compgen -G "$root/tests/gpu/wheels/*.whl" > /dev/null; then
    "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$site" "$root"/tests/gpu/wheels/*.whl
fi
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
cd "$out" # away from the checkout, whose folders would hide the package's
exec "$python" "$root/tests/gpu/check.py" "$out"
