"""What is worth a word of inputs that can be used: that nothing fits, or that something was left behind."""

from costlib import catalog
from costlib.hardware import ALONE
from costlib.units import show

__all__ = ["notices"]

READ, HELD = "precision.weights", "reserve.weights"  # the two sizes of a weight
WHAT_FITS = (
    *("model", "model.parameters", "accelerator", "accelerator.memory", "node", "node.accelerators"),
    *("reserve.weights", "reserve.runtime"),
)


def notices(inputs, case):
    """What the reader has to hear of inputs that can be used: sentences for each field concerned.

    Parameters
    ----------
    inputs : dict of str to str
        The one that was set last, last.
    case : Scenario
        The one that they make.

    Returns
    -------
    dict of str to list of str
        Empty where there is nothing to say, as of the published inputs.
    """
    found = {}
    for check in (_room, _not_told, _two_sizes, _call, _beyond_limit, _other_link) if inputs else ():
        if notice := check(inputs, case):
            sentence, fields = notice
            key = _set_last(inputs, fields)
            found.setdefault(key, []).append(sentence)
    return found


def _set_last(inputs, fields):
    """Which of these fields was set last; a part with a title of the reader's own was set as one."""
    for key in reversed(inputs):
        part = key.partition(".")[0]
        field = part if f"{part}.title" in inputs else key
        if field in fields:
            return field
    return fields[0]


# Each returns a sentence and the fields that it concerns, or None.


def _room(_inputs, case):
    """Whether the node has no room for the model, or for one context."""
    if not (said := case.shortage(case.workload.context)):
        return None
    fits = case.state_pool.magnitude > 0
    return said, (*WHAT_FITS, "precision.kv_cache", "workload.context") if fits else WHAT_FITS


def _not_told(inputs, case):
    """Whether a model of the reader's own has weights of a size that nobody set."""
    if "model.attention" not in inputs or READ in inputs or HELD in inputs:
        return None
    read, held = _sizes(case)
    return (
        f"Still as published: {read} as read, {held} in memory. The model's file does not say what a weight takes.",
        [READ],
    )


def _two_sizes(inputs, case):
    """Whether only one of the sizes of a weight was set, and the other is another."""
    if (READ in inputs) == (HELD in inputs) or case.precision.weights == case.reserve.weights:
        return None
    read, held = _sizes(case)
    if READ in inputs:
        return f"In the node's memory a weight still takes {held}; set that as well if it shrinks there.", [READ]
    return f"A step still reads {read}; set that as well if it reads what is held.", [HELD]


def _sizes(case):
    """A weight as it is read, and in memory."""
    return [show(part.weights, "B/parameter") for part in (case.precision, case.reserve)]


def _call(_inputs, case):
    """Whether the example call is longer than a context."""
    work = case.workload
    if work.call <= work.context:
        return None
    prompt, output, context = (show(each, digits=9) for each in (work.prompt, work.output, work.context))
    sentence = f"The call has a prompt of {prompt} and an output of {output}: more than the context of {context}."
    return sentence, ("workload.prompt", "workload.output", "workload.context")


def _beyond_limit(_inputs, case):
    """Whether the context, or the call, is longer than what the model is made for."""
    if not (said := case.beyond_limit):
        return None
    if case.workload.context > case.model.context_limit:
        return said, ("workload.context", "model")
    return said, ("workload.prompt", "workload.output", "model")


def _other_link(_inputs, case):
    """Whether such accelerators are connected otherwise than those of the node."""
    if not (said := case.other_link):
        return None
    do = "Choose a node of one"
    if (own := case.accelerator.link) != ALONE:
        bandwidth = show(catalog.part("link", own).bandwidth, "GB/s")
        do = f"Choose a node with that link, or enter its bandwidth, {bandwidth}"
    return f"{said} {do}.", ("node", "accelerator", "node.accelerators")
