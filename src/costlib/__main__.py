"""``python -m costlib``: the command, where its script is not on the path."""

from costlib.cli import main

main()
