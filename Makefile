# Every target makes .venv itself; nothing but Python 3.11 or newer is needed.
#   make rif    install, then Reasoning Instruction Finetuning of the embedded model, with a report
#   make lab    install, then all ways of training of the embedded model, compared (SEEDS=3: over three seeds)
#               two at a time (JOBS=1: one after the other)
#   make test   install, then the tests but the slow ones (ARGS="-m slow": those)
PYTHON ?= python3
VENV   ?= .venv
EXTRAS ?= dev
SEEDS  ?= 1
JOBS   ?= 2
export HF_HUB_DISABLE_TELEMETRY = 1
export TOKENIZERS_PARALLELISM = false
# Two processes that share a core must not spin while they wait for it.
export OMP_WAIT_POLICY = PASSIVE

.PHONY: rif lab test lint install clean

rif: install
	$(VENV)/bin/accelerate launch --quiet recipes/rif.py $(ARGS)

lab: install
	$(VENV)/bin/riftk compare recipes/configs/compare/tiny.yaml --jobs $(JOBS) \
	    --seeds $$(seq -s , 0 $$(($(SEEDS) - 1))) $(ARGS)

test: install
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2 -m "not slow" $(ARGS)

lint: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

install: $(VENV)/.installed

# uv installs in seconds what takes pip minutes. Without a GPU the CPU build of torch is taken: the wheel
# in PIP_FIND_LINKS where there is one, else what uv chooses for this machine, else the index's default.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet uv
	@torch=$$(ls $${PIP_FIND_LINKS:-/nowhere}/torch-*+cpu-cp$$($(PYTHON) -c \
	    'import sys; print("%d%d" % sys.version_info[:2])')-* 2>/dev/null | tail -n 1 | sed 's|.*/torch-||; s|-cp.*||'); \
	install="$(VENV)/bin/uv pip install --python $(VENV)/bin/python $${PIP_FIND_LINKS:+--find-links $$PIP_FIND_LINKS}"; \
	if [ -n "$$torch" ] && ! nvidia-smi >/dev/null 2>&1; then \
	    set -x; $$install "torch==$$torch" -e '.[$(EXTRAS)]'; \
	else \
	    set -x; $$install --torch-backend auto -e '.[$(EXTRAS)]' || $$install -e '.[$(EXTRAS)]'; \
	fi
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info
