"""The book's own trace: a week of agent sessions, made up, the same in every place and at every time.

It has the shape of real ones. Sessions come in bursts, fewer at night. A
context begins with the system prompt of its agent, which many share, and grows
by what tools return, whose sizes and times have long tails. At a limit it is
compacted. The engine finds a context in its cache if the session comes back
soon enough, and else only the system prompt.

``python -m costlib.book.trace FILE`` writes it as CSV.
"""

import csv
import datetime
import json
import math
import random
import sys
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["BLOCK", "LIMIT", "Request", "requests", "write_csv", "write_json_lines"]

LIMIT = 131_072  # tokens at which a context is compacted
BLOCK = 1_024  # tokens of a block, each of which is hashed with all before it
WEEK = 7 * 24 * 3600
BURSTS = 260  # a week; each starts one session or more
PER_BURST = 4  # sessions on average
SYSTEM_PROMPTS = {"coder": 9_216, "analyst": 6_144, "support": 3_072}  # tokens, whole blocks
SUMMARY = 3_000  # tokens of what compaction leaves
KEPT = 120  # seconds for which the engine keeps what a session leaves
PREFILL, DECODE = 6_000, 50  # tokens a second
MONDAY = datetime.datetime(2026, 11, 2, tzinfo=datetime.UTC)
BY_HOUR = (1, 1, 1, 1, 1, 1, 2, 4, 8, 12, 14, 14, 10, 12, 14, 14, 12, 8, 5, 4, 3, 2, 2, 1)  # how busy an hour is


@dataclass(frozen=True)
class Request:
    """One call of a session.

    Parameters
    ----------
    session : str
    time : int
        When it starts, in milliseconds from the beginning of the week.
    duration : int
        In milliseconds.
    input_tokens, output_tokens : int
    cached_tokens : int
        Of the input, those that the engine finds in its cache.
    blocks : tuple of int
        For each block of the input, a number that stands for it and all before it; the last one may not be full.
    """

    session: str
    time: int
    duration: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    blocks: tuple[int, ...]


def requests(seed=20261102):
    """The requests of the week, in order of time.

    Parameters
    ----------
    seed : int
        Another one gives another week.

    Returns
    -------
    list of Request
    """
    uniform = random.Random(seed).random  # of all its methods the one whose sequence is promised to stay
    numbers = {}  # of blocks, by what they hold
    made = []
    for session, start in enumerate(_starts(uniform)):
        made += _session(f"s{session:04d}", start, uniform, numbers)
    return sorted((r for r in made if r.time < WEEK * 1000), key=lambda r: (r.time, r.session))


def _starts(uniform):
    """When sessions start, in seconds: bursts at the hours of work, each of a few sessions close together."""
    starts = []
    for _ in range(BURSTS):
        while True:  # an hour is taken as often as it is busy
            time = WEEK * uniform()
            if uniform() * max(BY_HOUR) < BY_HOUR[int(time / 3600) % 24]:
                break
        starts.append(time)
        while uniform() < 1 - 1 / PER_BURST:
            time += _exponential(uniform, 5)
            starts.append(time)
    return sorted(starts)


def _session(name, time, uniform, numbers):
    """The requests of one session."""
    agent = ("coder", "coder", "analyst", "support")[int(4 * uniform())]
    system = SYSTEM_PROMPTS[agent]
    context = system + _lognormal(uniform, 700, 0.9)
    steps, cached, compactions = max(1, _lognormal(uniform, 7, 1.15)), system, 0
    for _ in range(steps):
        output = max(1, _lognormal(uniform, 160, 0.8))
        if context + output > LIMIT:
            context, cached, compactions = system + SUMMARY, system, compactions + 1
        duration = 0.2 + (context - cached) / PREFILL + output / DECODE
        held = [(agent, i) if i < system // BLOCK else (name, compactions, i) for i in range(context // BLOCK)]
        if context % BLOCK:  # the last one is not full, and another when it is
            held.append((name, compactions, len(held), context))
        blocks = tuple(numbers.setdefault(block, len(numbers)) for block in held)
        yield Request(name, round(1000 * time), round(1000 * duration), context, output, cached, blocks)
        wait = max(0.05, _lognormal(uniform, 4_000, 1.9) / 1000)
        cached = (context + output) // BLOCK * BLOCK if wait < KEPT else system
        context += output + max(1, _lognormal(uniform, 480, 1.35))
        time += duration + wait


def _exponential(uniform, mean):
    return -mean * math.log(1 - uniform())


def _lognormal(uniform, median, sigma):
    """A whole number, so that the last digit of a logarithm, in which machines differ, does not matter."""
    return round(median * math.exp(NormalDist(0, sigma).inv_cdf(1 - (1 - 1e-9) * uniform() - 5e-10)))


def _timestamp(milliseconds):
    time = MONDAY + datetime.timedelta(milliseconds=milliseconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_csv(made, path):
    """Write requests as CSV, without their blocks.

    Parameters
    ----------
    made : list of Request
    path : path-like

    Returns
    -------
    None
    """
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["session_id", "timestamp", "prompt_tokens", "completion_tokens", "cached_tokens", "duration"])
        for r in made:
            seconds = f"{r.duration / 1000:.3f}"
            rows.writerow([r.session, _timestamp(r.time), r.input_tokens, r.output_tokens, r.cached_tokens, seconds])


def write_json_lines(made, path):
    """Write requests as JSON lines, each with the hashes of its prefix's blocks.

    Parameters
    ----------
    made : list of Request
    path : path-like

    Returns
    -------
    None
    """
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for r in made:
            row = {
                "session_id": r.session,
                "timestamp": _timestamp(r.time),
                "input_tokens": r.input_tokens,
                "output_tokens": r.output_tokens,
                "cached_tokens": r.cached_tokens,
                "duration": r.duration / 1000,
                "hash_ids": r.blocks,
            }
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("wanted: python -m costlib.book.trace FILE")
    write_csv(requests(), sys.argv[1])
