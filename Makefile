# make          what can be made
# make book     build the book                 (SCENARIO=mine.toml: with your own hardware)
# make comparison  set scenarios side by side  (SCENARIOS="a.toml b.toml")
# make test     build it and run every test
# make install  set up .venv alone, for the command costlib
# make serve    open it, rebuild on a change
# make bench    measure what must be fast
# make oracle   hold what is read of every architecture against its public code (needs torch)
# make spark    add Apache Spark to what the tests try traces on (400 MB; needs Java)
# make lock     write requirements.txt anew from pyproject.toml, and the lock of what the browser is given
# make clean    remove what was built, and what builds fetched

SHELL       := /bin/bash -o pipefail
VENV        ?= .venv
BIN         := $(VENV)/bin
SITE        := _build/html
INSTALLED   := $(VENV)/installed
BUILD       := $(BIN)/jupyter-book build . -W -n --keep-going -q
AS_BUILT    := -q -n -d _build/.doctrees -D external_toc_path="$(CURDIR)/_toc.yml"  # so that no page is read again
COMPARED    := _build/comparison
NOT_BUILT   := { echo "Not built; the reason is above. The pages that have run are kept, and do not run again."; exit 1; }

# The first Python found that the lock covers.
PYTHON      ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,\
                 $(shell $(p) -c 'import sys; (3,11) <= sys.version_info < (3,14) and print("$(p)")' 2>/dev/null)))

ifdef SCENARIO
export COSTLIB_SCENARIO := $(if $(filter /%,$(firstword $(SCENARIO))),$(SCENARIO),$(CURDIR)/$(SCENARIO))
endif

.PHONY: help install book comparison test serve bench oracle spark lock clean
help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(INSTALLED): requirements.txt pyproject.toml
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(not (3,11) <= sys.version_info < (3,14))' 2>/dev/null || \
	  { echo "Wanted Python 3.11, 3.12 or 3.13; found $(or $(PYTHON),none). Name one: make PYTHON=/path/to/python3.12"; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version); once, a few minutes."
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

install: $(INSTALLED)

book: $(INSTALLED)
	@$(BIN)/costlib show > /dev/null
	@$(BUILD) || $(NOT_BUILT)
	@echo "Live pages need a server, such as that of make serve."

comparison: $(INSTALLED)
	@files="$$($(BIN)/python -m costlib.book.comparison $(SCENARIOS))" && \
	  COSTLIB_COMPARISON="$$files" $(BUILD) --path-output $(COMPARED) || $(NOT_BUILT)
	@echo "The comparison is built: open $(COMPARED)/$(SITE)/book/comparison.html"

test: $(INSTALLED)
	@$(BIN)/pytest

serve: book
	$(BIN)/jupyter-book config sphinx .
	$(BIN)/sphinx-autobuild . $(SITE) $(AS_BUILT) --watch src --re-ignore /_build/ --re-ignore __pycache__ --open-browser

bench: book
	@for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

oracle: $(INSTALLED)
	@$(BIN)/python -c 'import torch, transformers' 2>/dev/null || \
	  { echo "Wanted torch and transformers: $(BIN)/pip install -e '.[measure]'"; exit 1; }
	@$(BIN)/python -m costlib.model_config.oracle src/costlib/book/configs/*.json
	@$(BIN)/python tests/build_parameters.py

spark: $(INSTALLED)
	@command -v java >/dev/null || { echo "Wanted Java, 17 or later."; exit 1; }
	$(BIN)/pip install --disable-pip-version-check --require-hashes -r tests/spark.txt

lock: | $(INSTALLED)
	cp requirements.txt $(VENV)/lock.txt
	$(BIN)/uv pip compile pyproject.toml --extra book --extra test --extra dev --universal \
	  --python-version 3.11 --generate-hashes --no-header --quiet -o $(VENV)/lock.txt
	cmp -s $(VENV)/lock.txt requirements.txt || cp $(VENV)/lock.txt requirements.txt
	$(BIN)/uv pip compile src/costlib/book/site/browser.in --constraint requirements.txt --no-deps --python-version 3.12 \
	  --generate-hashes --no-header --no-annotate --quiet -o src/costlib/book/site/browser.txt
	$(BIN)/uv pip compile tests/spark.in --universal --python-version 3.11 --generate-hashes --no-header --quiet -o tests/spark.txt

clean:
	rm -rf _build conf.py
