"""Grammar masks, demonstrated: which tokens of a vocabulary a JSON schema allows at each point of an output.

The schema becomes an automaton over bytes; walking every token through it gives
one over tokens; that gives a mask for each state. NumPy and outlines-core are
needed here, and nowhere else in the library.
"""

import json
import math
from dataclasses import dataclass

import numpy as np
from outlines_core import Index, Vocabulary, json_schema

__all__ = ["Automaton", "byte_automaton", "mask_rows", "sample", "token_automaton", "tokens_to_end", "witnesses"]

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
    """
    state, output = 0, []
    end = automaton.follows.shape[1]
    while True:
        token = random.choice(np.flatnonzero(np.unpackbits(rows[state], bitorder="little")).tolist())
        if token == end:
            return output
        output.append(token)
        state = automaton.follows[state, token]


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
