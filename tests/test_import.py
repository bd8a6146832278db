"""What `import costlib` loads: the standard library; and what its core adds to pint: nothing.

pint itself loads numpy and babel where they are installed, so the package loads
pint only when a name is used, and scalars are computed where numpy is not installed.
"""

import json
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def added():
    """Packages that the whole core loads in a new process on top of pint."""
    code = (
        "import sys, pint; before = set(sys.modules)\n"
        "import costlib.scenario, costlib.queueing, costlib.decoding, costlib.capacity, costlib.speculation\n"
        "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_the_core_adds_only_the_standard_library_to_pint(added):
    of_pint = {"pint", "flexparser", "flexcache", "platformdirs", "typing_extensions"}
    assert added - set(sys.stdlib_module_names) - of_pint == {"costlib"}


@pytest.mark.parametrize(
    "package", ["numpy", "pint", "pandas", "matplotlib", "IPython", "sphinx", "docutils", "myst_nb", "jupyter_client"]
)
def test_the_import_loads_no(package):
    code = f"import sys, costlib; sys.exit({package!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_scalars_are_computed_where_numpy_is_not_installed():
    code = (
        "import sys\n"
        "sys.modules['numpy'] = None  # an import of it fails\n"
        "from costlib import load, show\n"
        "from costlib.queueing import erlang_c\n"
        "from costlib.serving import critical_batch, step_time\n"
        "from costlib.speculation import tokens_per_pass\n"
        "from costlib.units import quantity\n"
        "s = load()\n"
        "work = s.model.token_operations(quantity('0 token'))\n"
        "arguments = s.weights, quantity('0 B'), work, s.peak_rate, s.accelerator.bandwidth\n"
        "print(show(critical_batch(*arguments)), '|', show(step_time(s.workload.batch, *arguments), 'ms'), '|',\n"
        "      show(s.resident_sequences(s.workload.context)), '|', show(s.model.attention_crossover()), '|',\n"
        "      show(tokens_per_pass(0.8, quantity('4 token'))), '|', show(erlang_c(14, 10)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "295 sequences | 21.1 ms | 48 sequences | 108,000 tokens | 3.36 tokens | 0.174"


def test_the_package_offers_what_a_page_begins_with():
    import costlib

    assert set(costlib.__all__) == {"Quantity", "load", "quantity", "show"}
    assert all(callable(getattr(costlib, name)) for name in costlib.__all__)
