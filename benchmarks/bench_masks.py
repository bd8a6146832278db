"""How long a grammar mask takes: looked up in a table, or made by an engine; and what the table takes to make."""

import statistics
import sys
from random import Random

import numpy as np
from compared import timed

from costlib import grammar

SCHEMA = {
    "type": "object",
    "properties": {
        "tool": {"enum": ["read", "write", "search"]},
        "path": {"type": "string", "pattern": "^[a-z][a-z0-9_/.]{0,31}$"},
        "line": {"type": "integer"},
        "flags": {"type": "array", "items": {"enum": ["recursive", "hidden"]}, "maxItems": 3},
    },
    "required": ["tool", "path", "line", "flags"],
    "additionalProperties": False,
}
VOCABULARY = 131_072
OUTPUTS = 50


def vocabulary(random):
    """All bytes, and as many random words as make it the size of a real one."""
    letters = b'abcdefghijklmnopqrstuvwxyz0123456789_/. ",:[]{}'
    words = {bytes(random.choices(letters, k=random.randint(2, 8))) for _ in range(2 * VOCABULARY)}
    return [bytes([byte]) for byte in range(256)] + sorted(words)[: VOCABULARY - 257]


def main():
    random = Random(1)
    tokens = vocabulary(random)
    of_bytes = grammar.byte_automaton(SCHEMA)
    making, automaton = timed(lambda: grammar.token_automaton(of_bytes, tokens))
    rows = grammar.mask_rows(automaton)
    starting, matcher = timed(lambda: grammar.engine(SCHEMA, tokens))

    lookups, engine_masks, equal = [], [], True
    logits = np.zeros(len(tokens) + 1, dtype=np.float32)
    for _ in range(OUTPUTS):
        state = 0
        matcher.reset()
        for token in grammar.sample(automaton, rows, random):
            taken, allowed = timed(lambda state=state: np.unpackbits(rows[state], bitorder="little")[: logits.size])
            lookups.append(taken + timed(lambda allowed=allowed: np.where(allowed, logits, -np.inf))[0])
            taken, mask = timed(matcher.compute_bitmask)
            engine_masks.append(taken)
            equal &= np.frombuffer(mask, np.uint8)[: rows.shape[1]].tobytes() == rows[state].tobytes()
            matcher.consume_token(token)
            state = automaton.follows[state, token]

    print(f"{len(rows)} states over {len(tokens) + 1:,} tokens, {rows.nbytes / 1e6:.2f} MB of masks")
    print(f"table made in {making:.2f} s, engine ready in {starting:.2f} s")
    for name, times in (("row read and applied (NumPy)", lookups), ("mask made by llguidance", engine_masks)):
        median, slowest = statistics.median(times), max(times)
        print(f"{name:29} median {median * 1e6:7.1f} µs, slowest {slowest * 1e6:8.1f} µs, {len(times)} masks")
    print(f"masks of both the same: {equal}")
    return not equal


if __name__ == "__main__":
    sys.exit(main())
