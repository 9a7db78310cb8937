#!/usr/bin/env bash
# A vLLM server that gets its weights from the trainer: rollouts of cold_rl.py on a machine of their own.
#
#   recipes/cluster/vllm_node.sh Qwen/Qwen2.5-7B --max-model-len 4096
#   … recipes/cold_rl.py --config … --use_vllm true --vllm_mode server --vllm_server_host node-9
#
# The model is that of the recipe; further options go to `vllm serve`. Its endpoints for new weights are open to
# whoever reaches the port: keep it inside the cluster. Needs CUDA (weights travel by NCCL) and vLLM 0.30 or newer.
#
#   GPUS       that share one copy of the model; default: all of this machine
#   PORT       default 8000
#   PRINT      set: print the command instead of running it
set -euo pipefail
model=${1:?name the model that the recipe trains}
shift
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}
command=(vllm serve "$model" --host 0.0.0.0 --port "${PORT:-8000}" --tensor-parallel-size "$gpus"
    --enable-scale-out --weight-transfer-config '{"backend": "nccl"}'
    --logprobs-mode processed_logprobs --max-logprobs -1 "$@")
export VLLM_SERVER_DEV_MODE=1
if [ -n "${PRINT:-}" ]; then
    printf '%s\n' "${command[@]}"
else
    exec "${command[@]}"
fi
