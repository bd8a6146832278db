"""Figures that are not drawn: a cell that draws is run for what it computes, before or without its picture.

Numbers come first, and some are computed in a cell that also draws. It is run
twice, at first with axes that take every call and do nothing.
"""

__all__ = ["axes"]


class _Nothing:
    """Takes every call; whatever is asked of it is nothing again."""

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_, **__):
        return self

    def __iter__(self):
        return iter((self,))


def axes(panels=1, **_):
    """As :func:`costlib.book.axes`, of a figure that is not drawn."""
    nothing = _Nothing()
    return nothing, nothing if panels == 1 else (nothing,) * panels
