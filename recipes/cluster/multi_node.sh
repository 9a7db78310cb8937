#!/usr/bin/env bash
# One training on several machines: start this on each of them, with a recipe and its options.
#
#   NODES=2 NODE_RANK=0 HEAD=node-1 recipes/cluster/multi_node.sh recipes/sft.py --config recipes/configs/…
#   NODES=2 NODE_RANK=1 HEAD=node-1 recipes/cluster/multi_node.sh recipes/sft.py --config recipes/configs/…
#
# Under Slurm all three are known (train.slurm). The run folder must lie on a file system that all machines see.
#
#   LAUNCHER   accelerate (default: DeepSpeed ZeRO-3, or what ACCELERATE_CONFIG names), or torchrun (a whole copy
#              of the model on each GPU)
#   GPUS       processes on each machine; default: its GPUs
#   PORT       of the first machine, where all meet
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nodes=${NODES:-${SLURM_NNODES:?set NODES to the number of machines}}
rank=${NODE_RANK:-${SLURM_NODEID:?set NODE_RANK to the number of this machine, from 0}}
head=${HEAD:?set HEAD to the name or address of the first machine}
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}
port=${PORT:-29500}

case ${LAUNCHER:-accelerate} in
accelerate)
    exec accelerate launch \
        --config_file "${ACCELERATE_CONFIG:-$here/../../accelerate_configs/multi_node.yaml}" \
        --num_machines "$nodes" --num_processes $((nodes * gpus)) --machine_rank "$rank" \
        --main_process_ip "$head" --main_process_port "$port" "$@"
    ;;
torchrun)
    exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus" --node_rank "$rank" \
        --master_addr "$head" --master_port "$port" "$@"
    ;;
*)
    echo "LAUNCHER takes accelerate or torchrun, not $LAUNCHER" >&2
    exit 2
    ;;
esac
