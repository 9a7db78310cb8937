"""Weights between a base model and a finetuned one; adapters scaled to the same effect."""

from __future__ import annotations

import json

import pytest
import torch

from riftk.averaging import average_with_base
from riftk.paths import resolve

BASE, WEAK = (resolve(f"pkg://riftk.tiny/weights/{name}") for name in ("base", "weak"))


def load(folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder)


def test_every_weight_lies_where_the_share_says(tmp_path):
    load(BASE).save_pretrained(tmp_path / "final")
    (tmp_path / "final" / "tokenizer.json").write_text("{}")
    average_with_base(tmp_path / "final", WEAK, 0.25)
    trained, before, mixed = (load(folder).state_dict() for folder in (BASE, WEAK, tmp_path / "final"))
    for name, weight in mixed.items():
        torch.testing.assert_close(weight, 0.75 * trained[name] + 0.25 * before[name])
    assert (tmp_path / "final" / "tokenizer.json").exists()
    assert not (tmp_path / "final.part").exists()


@pytest.fixture
def adapter(tmp_path):
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    model = get_peft_model(load(BASE), LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.02)
    model.save_pretrained(tmp_path / "adapter")
    return tmp_path / "adapter"


def merged(folder):
    from peft import PeftModel

    return PeftModel.from_pretrained(load(BASE), folder).merge_and_unload().state_dict()


def test_an_adapter_is_scaled_to_the_same_effect(adapter):
    whole, base = merged(adapter), load(BASE).state_dict()
    average_with_base(adapter, BASE, 0.25)
    for name, weight in merged(adapter).items():
        torch.testing.assert_close(weight, 0.75 * whole[name] + 0.25 * base[name])


def test_an_adapter_with_whole_modules_is_refused_and_left_alone(adapter):
    file = adapter / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"modules_to_save": ["lm_head"]}))
    before = file.read_text()
    with pytest.raises(ValueError, match="set base_share to 0"):
        average_with_base(adapter, BASE, 0.5)
    assert file.read_text() == before
