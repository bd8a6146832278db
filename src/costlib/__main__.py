"""Print the scenario in force, or what is wrong with it."""

import sys

from costlib.scenario import PARTS, InputError, load

try:
    scenario = load()
except InputError as error:
    sys.exit(f"costlib: {error}")
for name in PARTS:
    print(f"{name:12} {getattr(scenario, name).title}")
