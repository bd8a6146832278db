"""The values of several scenarios, from and to a program: what ``{comparison}`` of the site asks.

Standard input has the pages' cells, as ``book.json`` has them, and the files of the scenarios, an empty text for
the reference; standard output gets for each the records by key.
"""

import json
import sys

from costlib.book.live.kernel import values_of_each

if __name__ == "__main__":
    book, files = json.load(sys.stdin)
    json.dump(values_of_each(book, [file or None for file in files]), sys.stdout)
