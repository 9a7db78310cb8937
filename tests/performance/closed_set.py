"""What riftk adds to closed-set decoding: python tests/performance/closed_set.py [items]

The engine renders, tokenizes, sorts and batches the prompts and chooses among four letters. The bare loop
gets the very same batches as padded tensors and does nothing but forward passes, logits of the last position
only. Times are CPU times on one thread, and the two take turns over slices of the items.
"""

from __future__ import annotations

import random
import sys
import time

import torch

from riftk.engines import Request, Sampling, load_engine

ITEMS, SLICES, BATCH = 10_000, 20, 64
SAMPLING = Sampling(temperature=0)
LETTERS = tuple("ABCD")
WORDS = ("which", "of", "these", "moves", "water", "air", "heat", "light", "from", "one", "place", "when")


def requests(count: int) -> list[Request]:
    """Multiple-choice questions of 20 to 120 words."""
    draw = random.Random(0)
    made = []
    for number in range(count):
        question = " ".join(draw.choices(WORDS, k=draw.randint(8, 60)))
        options = "\n".join(f"{letter}. {' '.join(draw.choices(WORDS, k=4))}" for letter in LETTERS)
        text = f"Answer the question.\n{question}?\n{options}\nReturn only one letter.\nAnswer:"
        made.append(Request(str(number), ({"role": "user", "content": text},), labels=LETTERS))
    return made


def bare_loop(engine, asked: list[Request]) -> float:
    """CPU seconds of forward passes over the engine's own batches."""
    model = engine._load()
    batches = [engine._padded(batch) for batch in engine._batches(asked, SAMPLING)]
    began = time.process_time()
    with torch.inference_mode():
        for ids, mask in batches:
            model(input_ids=ids, attention_mask=mask, logits_to_keep=1, use_cache=False)
    return time.process_time() - began


def engine_loop(engine, asked: list[Request]) -> float:
    """CPU seconds of the engine, from requests to choices."""
    began = time.process_time()
    for _ in engine.generate(asked, SAMPLING):
        pass
    return time.process_time() - began


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS
    torch.set_num_threads(1)
    engine = load_engine(model="pkg://riftk.tiny/weights/base", device="cpu", batch_size=BATCH)
    asked = requests(count)
    engine_loop(engine, asked[:BATCH])  # weights and threads
    bare = whole = 0.0
    for part in range(SLICES):
        now = asked[part::SLICES]
        if part % 2:  # each is first as often as the other
            whole += engine_loop(engine, now)
        bare += bare_loop(engine, now)
        if not part % 2:
            whole += engine_loop(engine, now)
    print(f"{count} items: bare forward passes {bare:.1f} s, engine {whole:.1f} s")
    print(f"speed of the engine: {bare / whole:.1%} of the bare loop's")


if __name__ == "__main__":
    main()
