"""costlib.grammar: masks that allow what the schema allows, checked against the schema and against two engines."""

import json
import math
from random import Random

import jsonschema
import numpy as np
import pytest
from outlines_core import Index, Vocabulary, json_schema

from costlib import grammar
from costlib.decoding import mask_row, mask_table
from costlib.grammar import (
    NONE,
    Automaton,
    byte_automaton,
    engine,
    engine_row,
    mask_rows,
    sample,
    token_automaton,
    tokens_to_end,
    witnesses,
)
from costlib.units import Quantity

BYTES = [bytes([byte]) for byte in range(256)]


def call(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMAS = {
    "a tool call": call(
        tool={"enum": ["read", "write"]},
        path={"type": "string", "pattern": "^[a-z][a-z0-9_/.]{0,15}$"},
        line={"type": "integer"},
        flags={"type": "array", "items": {"enum": ["all", "hidden"]}, "maxItems": 2},
    ),
    "a choice": {"anyOf": [{"enum": ["yes", "no"]}, call(value={"type": "boolean"})]},
    "letters of several bytes": call(city={"enum": ["Zürich", "東京", "🚲"]}),
}
each_schema = pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)


def pieces(schema, count=700):
    """A vocabulary: all bytes, and pieces of legal texts and of the same with white space, in a fixed order."""
    random, of_bytes = Random(5), byte_automaton(schema)
    rows = mask_rows(of_bytes)
    texts = [bytes(sample(of_bytes, rows, random)) for _ in range(40)]
    texts += [json.dumps(json.loads(text), indent=1, ensure_ascii=False).encode() for text in texts]
    found = {text[i : i + n]: None for text in texts for n in range(2, 9) for i in range(len(text) - n)}
    return BYTES + random.sample(sorted(found), min(count, len(found)))


@pytest.fixture(params=SCHEMAS.values(), ids=SCHEMAS)
def made(request):
    """A schema, a vocabulary, and the automaton over its tokens."""
    tokens = pieces(request.param)
    return request.param, tokens, token_automaton(byte_automaton(request.param), tokens)


# No output but a valid one, and none that gets stuck


def test_every_allowed_token_leads_to_where_the_end_can_be_reached(made):
    """By a search backwards from the ends, which is not how the automaton was pruned."""
    _, _, automaton = made
    before = {}
    for state, row in enumerate(automaton.follows):
        for following in set(row[row != NONE].tolist()):
            before.setdefault(following, set()).add(state)
    can_end, queue = set(), np.flatnonzero(automaton.accepting).tolist()
    while queue:
        state = queue.pop()
        if state not in can_end:
            can_end.add(state)
            queue += before.get(state, ())
    reached = witnesses(automaton)
    assert set(reached) <= can_end
    assert {int(following) for state in reached for following in automaton.follows[state]} - {NONE} <= can_end


def test_the_end_is_allowed_only_where_the_text_is_valid(made):
    schema, tokens, automaton = made
    rows = mask_rows(automaton)
    ends = np.unpackbits(rows, axis=1, bitorder="little")[:, len(tokens)] == 1
    for state, output in witnesses(automaton).items():
        text = b"".join(tokens[token] for token in output)
        assert ends[state] == is_valid(text, schema), text


def is_valid(text, schema):
    try:
        jsonschema.validate(json.loads(text), schema)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


def test_random_outputs_are_valid(made):
    schema, tokens, automaton = made
    random, rows = Random(7), mask_rows(automaton)
    texts = {b"".join(tokens[token] for token in sample(automaton, rows, random)) for _ in range(200)}
    assert [text for text in texts if not is_valid(text, schema)] == []
    assert len(texts) > 2


def test_an_output_that_may_end_may_also_go_on():
    schema = {"type": "integer"}
    automaton = token_automaton(byte_automaton(schema), BYTES)
    rows, random, matcher = mask_rows(automaton), Random(7), engine(schema, BYTES)
    assert {len(sample(automaton, rows, random)) for _ in range(200)} >= {1, 2, 3}
    for state, output in witnesses(automaton).items():
        assert engine_row(matcher, output)[: rows.shape[1]].tolist() == rows[state].tolist()


def test_an_output_uses_tokens_of_more_than_a_byte(made):
    """Or the walk through tokens would not have been tested."""
    _, tokens, automaton = made
    rows, random = mask_rows(automaton), Random(7)
    used = {token for _ in range(20) for token in sample(automaton, rows, random)}
    assert any(len(tokens[token]) > 2 for token in used)


# The masks are those of other engines


def test_the_masks_are_those_of_llguidance_in_every_state(made):
    schema, tokens, automaton = made
    matcher, rows = engine(schema, tokens), mask_rows(automaton)
    for state, output in witnesses(automaton).items():
        found = engine_row(matcher, output)
        assert found[: rows.shape[1]].tolist() == rows[state].tolist(), output
        assert not found[rows.shape[1] :].any()


def test_the_masks_are_those_of_llguidance_at_every_step_of_random_outputs(made):
    schema, tokens, automaton = made
    matcher, rows, random = engine(schema, tokens), mask_rows(automaton), Random(8)
    for _ in range(15):
        output, state = sample(automaton, rows, random), 0
        for length in range(len(output) + 1):
            assert engine_row(matcher, output[:length])[: rows.shape[1]].tolist() == rows[state].tolist()
            state = automaton.follows[state, output[length]] if length < len(output) else state


def test_the_transitions_are_those_of_outlines(made):
    """Both automata walked side by side from their first states."""
    schema, tokens, automaton = made
    pattern = json_schema.build_regex_from_schema(json.dumps(schema), whitespace_pattern="")
    grouped = {}
    for number, token in enumerate(tokens):
        grouped.setdefault(token, []).append(number)
    index = Index(pattern, Vocabulary(len(tokens), grouped))
    transitions, same = index.get_transitions(), {0: index.get_initial_state()}
    for state, output in witnesses(automaton).items():
        theirs = {t: following for t, following in transitions.get(same[state], {}).items() if t < len(tokens)}
        ours = automaton.follows[state]
        assert sorted(theirs) == np.flatnonzero(ours != NONE).tolist(), output
        for token, following in theirs.items():
            assert same.setdefault(int(ours[token]), following) == following
    assert {same[s] for s in np.flatnonzero(automaton.accepting).tolist() if s in same} == index.get_final_states()


# The automaton over tokens


def test_a_token_is_walked_byte_by_byte():
    """Three words, so that what may follow can be said by comparing texts."""
    words = ["on", "off", "often"]
    of_bytes = byte_automaton({"enum": words})
    tokens = [b'"', b'"o', b"o", b"f", b"n", b"ff", b'n"', b'f"', b"ten", b"x", b'"on"', b'on"x']
    automaton = token_automaton(of_bytes, tokens)
    for state, output in witnesses(automaton).items():
        text = b"".join(tokens[token] for token in output)
        legal = [any(f'"{word}"'.encode().startswith(text + token) for word in words) for token in tokens]
        assert (automaton.follows[state] != NONE).tolist() == legal, text


def test_a_token_after_which_nothing_can_end_is_not_allowed():
    """Where no token is a closing quotation mark alone, what '"ac' opens cannot be closed."""
    of_bytes = byte_automaton({"enum": ["ab", "ac"]})
    tokens = [b'"a', b'b"', b'"ac']
    assert [number for number, row in enumerate(token_automaton(of_bytes, tokens).follows[0]) if row != NONE] == [0]
    with_the_end = token_automaton(of_bytes, [*tokens, b'"'])
    assert [number for number, row in enumerate(with_the_end.follows[0]) if row != NONE] == [0, 2]


def test_a_vocabulary_that_cannot_spell_any_text_is_refused():
    with pytest.raises(ValueError, match="no sequence of these tokens"):
        token_automaton(byte_automaton({"enum": ["ab"]}), [b'"', b"a"])


def test_an_empty_token_is_refused():
    with pytest.raises(ValueError, match="token 1 is empty"):
        token_automaton(byte_automaton({"enum": ["ab"]}), [b"a", b""])


def test_the_fewest_tokens_to_the_end():
    """0 -> 1 -> 2, which accepts, a shorter way from 0, and 3, which leads nowhere."""
    follows = np.array([[1, 2], [2, NONE], [3, NONE], [3, 3]])
    accepting = np.array([False, False, True, False])
    assert tokens_to_end(Automaton(follows, accepting)).tolist() == [1, 1, 0, math.inf]


# Rows


@each_schema
def test_rows_have_the_size_of_the_formula(schema):
    for count in (0, 1, 700):
        tokens = BYTES + pieces(schema)[256 : 256 + count]
        rows = mask_rows(token_automaton(byte_automaton(schema), tokens))
        entries = Quantity(len(tokens) + 1, "token")
        assert Quantity(rows[0].nbytes, "byte") == mask_row(entries)
        assert Quantity(rows.nbytes, "byte") == mask_table(len(rows), entries)


def test_masks_of_another_automaton_are_refused():
    one, other = (token_automaton(byte_automaton({"enum": [text]}), BYTES) for text in ("ab", "ba"))
    with pytest.raises(ValueError, match="wanted its own"):
        sample(one, mask_rows(other), Random(1))


def test_the_states_are_numbered_alike_every_time():
    schema = SCHEMAS["a tool call"]
    first, second = byte_automaton(schema), byte_automaton(schema)
    assert np.array_equal(first.follows, second.follows)
    assert np.array_equal(first.accepting, second.accepting)


# Where a table ends


def test_the_states_of_nested_brackets_are_no_fewer_than_the_stacks():
    def nested(depth):
        if depth == 0:
            return {"type": "integer"}
        inner = nested(depth - 1)
        return {"anyOf": [{"type": "integer"}, {"type": "array", "items": inner}, call(**{"in": inner})]}

    for depth in range(6):
        assert len(byte_automaton(nested(depth)).accepting) >= 2 ** (depth + 1) - 1


def test_the_engine_follows_a_schema_that_refers_to_itself():
    value = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/value"}}]}
    matcher = engine({"$defs": {"value": value}, "$ref": "#/$defs/value"}, BYTES)
    deep = np.unpackbits(engine_row(matcher, list(b"[" * 300)), bitorder="little")
    assert bytes(np.flatnonzero(deep).tolist()) == b"-0123456789[]"


def test_the_engine_refuses_what_the_schema_does_not_allow():
    matcher = engine({"enum": ["ab"]}, BYTES)
    with pytest.raises(ValueError, match="does not allow"):
        engine_row(matcher, list(b'"ax'))


def test_the_engine_refuses_what_is_no_schema():
    with pytest.raises(ValueError, match="llguidance: "):
        engine({"type": "nonsense"}, BYTES)


@pytest.mark.parametrize(
    "schema, message",
    [
        ({"type": "integer", "minimum": 5}, "'minimum', which the compiler does not heed"),
        ({"$defs": {"n": {"$ref": "#/$defs/n"}}, "$ref": "#/$defs/n"}, "does not heed"),
        ({"type": "array", "items": {"type": "integer", "multipleOf": 7}}, "'multipleOf'"),
        ({"enum": []}, "enum is empty"),
        ({"type": "string", "maxLength": 100_000}, "maxLength = 100000; wanted at most 4096"),
        (None, "wanted a JSON schema"),
    ],
)
def test_a_schema_that_would_be_compiled_into_something_else_is_refused(schema, message):
    with pytest.raises(ValueError, match=message):
        grammar.byte_automaton(schema)


def test_a_refused_output_does_not_stay_with_the_engine():
    matcher = grammar.engine({"enum": ["a", "b"]}, [bytes([byte]) for byte in range(256)])
    with pytest.raises(ValueError, match="does not allow"):
        grammar.engine_row(matcher, [0])
    assert grammar.engine_row(matcher, [34]).any()
