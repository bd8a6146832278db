"""Five numbers to write down before hardware is ordered, and what a session costs on either side.

- :mod:`costlib.worksheet.sheet`: the inputs, and the sections made of them
- :mod:`costlib.worksheet.memory`: what accelerators hold; :mod:`costlib.worksheet.costs`: what a session costs
- :mod:`costlib.worksheet.sections`, :mod:`costlib.worksheet.lengths`, :mod:`costlib.worksheet.cost_section`,
  :mod:`costlib.worksheet.summary`: the sections, as rows of a :mod:`costlib.worksheet.table`
- :mod:`costlib.worksheet.as_markdown`, :mod:`costlib.worksheet.as_notebook`: how they are printed
"""

from costlib.worksheet.as_markdown import markdown, plain
from costlib.worksheet.as_notebook import notebook
from costlib.worksheet.costs import Costs, Session, given_price
from costlib.worksheet.lengths import sentence, verdict
from costlib.worksheet.memory import Cards
from costlib.worksheet.sheet import Worksheet, worksheet

__all__ = [
    "Cards",
    "Costs",
    "Session",
    "Worksheet",
    "given_price",
    "markdown",
    "notebook",
    "plain",
    "sentence",
    "verdict",
    "worksheet",
]
