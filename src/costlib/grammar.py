"""Grammar masks, demonstrated: which tokens of a vocabulary a JSON schema allows at each point of an output.

The schema becomes an automaton over bytes; walking every token through it gives
one over tokens; that gives a mask for each state. Another engine, llguidance,
makes masks of the same schema without a table, to compare with.
"""

import json
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper
from outlines_core import Index, Vocabulary, json_schema

__all__ = [
    "Automaton",
    "byte_automaton",
    "engine",
    "engine_row",
    "mask_rows",
    "sample",
    "token_automaton",
    "tokens_to_end",
    "witnesses",
]

NONE = -1  # where no state follows


@dataclass(frozen=True)
class Automaton:
    """A deterministic automaton whose states are numbers, 0 the first.

    ``follows`` has a row for each state and a column for each symbol: the next
    state, or ``NONE``. ``accepting`` says of each state whether the text may end there.
    """

    follows: np.ndarray
    accepting: np.ndarray


def byte_automaton(schema):
    """The automaton over bytes of a JSON schema, for texts without white space between tokens of JSON.

    Parameters
    ----------
    schema : dict
        What outlines-core knows of JSON Schema: no recursion, properties in the order given.

    Returns
    -------
    Automaton
        Of 256 symbols.
    """
    _check_schema(schema, "schema")
    pattern = json_schema.build_regex_from_schema(json.dumps(schema), whitespace_pattern="")
    index = Index(pattern, Vocabulary(256, {bytes([byte]): [byte] for byte in range(256)}))  # 256 ends the text
    transitions = index.get_transitions()
    number, queue = {index.get_initial_state(): 0}, [index.get_initial_state()]
    for state in queue:  # breadth first, so that the numbers are the same every time
        for byte, following in sorted(transitions.get(state, {}).items()):
            if byte < 256 and following not in number:
                number[following] = len(number)
                queue.append(following)
    follows = np.full((len(number), 256), NONE)
    for state in queue:
        for byte, following in transitions.get(state, {}).items():
            if byte < 256:
                follows[number[state], byte] = number[following]
    accepting = np.array([state in index.get_final_states() for state in queue])
    return Automaton(follows, accepting)


# What outlines-core heeds; it drops the rest without a word, and cuts recursion off somewhere.
KEYWORDS = set(
    "type enum const properties required additionalProperties items minItems maxItems minLength maxLength pattern "
    "anyOf title description".split()
)
LONGEST = 4096  # of a text or an array; beyond, compiling takes minutes


def _check_schema(schema, where):
    """Refuse what would be compiled into something else than it says."""
    if not isinstance(schema, dict):
        raise ValueError(f"{where} = {schema!r}; wanted a JSON schema")
    for keyword, value in schema.items():
        if keyword not in KEYWORDS:
            raise ValueError(f"{where} has {keyword!r}, which the compiler does not heed; wanted {sorted(KEYWORDS)}")
        if keyword == "enum" and not value:
            raise ValueError(f"{where}.enum is empty; wanted a value or more")
        if keyword in ("minItems", "maxItems", "minLength", "maxLength") and not 0 <= value <= LONGEST:
            raise ValueError(f"{where}.{keyword} = {value}; wanted at most {LONGEST}")
    for name, inner in schema.get("properties", {}).items():
        _check_schema(inner, f"{where}.{name}")
    for inner in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        _check_schema(inner, f"{where}, within,")


def token_automaton(of_bytes, tokens):
    """The automaton over tokens: each token walked through that over bytes, from every state.

    A token after which no sequence of tokens could end the text is not allowed,
    so that a sampler never gets stuck.

    Parameters
    ----------
    of_bytes : Automaton
        Over bytes.
    tokens : sequence of bytes
        The vocabulary, without the token that ends the text.

    Returns
    -------
    Automaton
        Of one symbol for each token; its states are those over bytes.

    Raises
    ------
    ValueError
        If the vocabulary cannot spell any text of the grammar.
    """
    tokens = list(tokens)
    if not tokens or not all(isinstance(token, bytes) for token in tokens):
        raise ValueError("wanted a vocabulary of one token or more, each of bytes")
    states = len(of_bytes.accepting)
    step = np.vstack([of_bytes.follows, np.full(256, NONE)])  # from NONE, which is the last row, to NONE
    follows = np.empty((states, len(tokens)), dtype=int)
    for column, token in enumerate(tokens):
        if not token:
            raise ValueError(f"token {column} is empty; wanted tokens of a byte or more")
        at = np.arange(states)
        for byte in token:
            at = step[at, byte]
        follows[:, column] = at
    walked = Automaton(follows, of_bytes.accepting)
    ends = np.append(np.isfinite(tokens_to_end(walked)), False)  # the last is for NONE
    if not ends[0]:
        raise ValueError("no sequence of these tokens is a text of the grammar")
    return Automaton(np.where(ends[follows], follows, NONE), of_bytes.accepting)


def tokens_to_end(automaton):
    """Fewest symbols from each state to one where the text may end; infinite where it cannot.

    Parameters
    ----------
    automaton : Automaton
        Over bytes or tokens.

    Returns
    -------
    numpy.ndarray
    """
    fewest = np.append(np.where(automaton.accepting, 0, math.inf), math.inf)  # the last is for NONE
    while True:
        through = 1 + fewest[automaton.follows].min(axis=1)
        shorter = through < fewest[:-1]
        if not shorter.any():
            return fewest[:-1]
        fewest[:-1][shorter] = through[shorter]


def mask_rows(automaton):
    """The mask of every state: a bit for each token and one, the last, for the end of the text.

    Parameters
    ----------
    automaton : Automaton
        Over tokens.

    Returns
    -------
    numpy.ndarray
        One row of bytes a state; the lowest bit of a byte is its first token.
    """
    allowed = np.column_stack([automaton.follows != NONE, automaton.accepting])
    return np.packbits(allowed, axis=1, bitorder="little")


def sample(automaton, rows, random):
    """Tokens of one output, each drawn at random from those that the mask of its state allows.

    Parameters
    ----------
    automaton : Automaton
        Over tokens.
    rows : numpy.ndarray
        Its masks, as :func:`mask_rows` gives them.
    random : random.Random
        Where chance comes from.

    Returns
    -------
    list of int
        Without the end of the text.

    Raises
    ------
    ValueError
        If the masks are not those of the automaton.
    """
    state, output = 0, []
    end = automaton.follows.shape[1]
    while True:
        token = random.choice(np.flatnonzero(np.unpackbits(rows[state], bitorder="little")).tolist())
        if token == end:
            return output
        output.append(token)
        state = automaton.follows[state, token]
        if state == NONE:
            raise ValueError("the masks allow what the automaton does not; wanted its own")


def witnesses(automaton):
    """Shortest outputs that reach each state.

    Parameters
    ----------
    automaton : Automaton
        Over tokens.

    Returns
    -------
    dict of int to list of int
        From the state to its tokens; without the states that no output reaches.
    """
    found, queue = {0: []}, [0]
    for state in queue:
        for token in np.flatnonzero(automaton.follows[state] != NONE):
            following = int(automaton.follows[state, token])
            if following not in found:
                found[following] = [*found[state], int(token)]
                queue.append(following)
    return found


def engine(schema, tokens):
    """The matcher of llguidance for a JSON schema, for texts without white space between tokens of JSON.

    Parameters
    ----------
    schema : dict
        Recursion allowed.
    tokens : sequence of bytes
        The vocabulary, without the token that ends the text.

    Returns
    -------
    llguidance.LLMatcher
    """
    vocabulary = SimpleNamespace(
        tokens=[*tokens, b"<|end|>"], eos_token_id=len(tokens), bos_token_id=None, special_token_ids=[len(tokens)]
    )
    compact = json.dumps(schema | {"x-guidance": {"whitespace_flexible": False}})
    # Where only one text can follow, the engine would allow only its usual tokens; we want all that spell it.
    source = '%llguidance {"no_forcing": true}\nstart: %json ' + compact
    matcher = LLMatcher(LLTokenizer(TokenizerWrapper(vocabulary)), LLMatcher.grammar_from_lark(source))
    if matcher.is_error():
        raise ValueError(f"llguidance: {matcher.get_error()}")
    return matcher


def engine_row(matcher, output):
    """The mask that the engine makes after an output, in the form of :func:`mask_rows`.

    Parameters
    ----------
    matcher : llguidance.LLMatcher
        As :func:`engine` gives it.
    output : list of int
        Tokens so far.

    Returns
    -------
    numpy.ndarray
        The engine fills up with zeros to whole words.

    Raises
    ------
    ValueError
        If the engine does not allow that output.
    """
    matcher = matcher.deep_copy()  # a refused output would stay with it, also after a reset
    matcher.reset()
    if not matcher.consume_tokens(output):
        raise ValueError(f"llguidance does not allow these tokens: {output}")
    return np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
