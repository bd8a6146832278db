"""How long the command takes to answer, from its start in a fresh process to its end."""

import statistics
import subprocess
import sys

from compared import timed

from costlib.book import FILES

TARGET = 0.8  # seconds
REPEATS = 9

CONFIG = str(FILES / "configs/openai--gpt-oss-120b.json")
SAMPLES = [str(FILES / "samples" / name) for name in ("config.json", "vllm.log")]
COMMANDS = {
    "--version": ["--version"],
    "kv": ["kv", CONFIG, "--explain"],
    "fit": ["fit", CONFIG, "--weights", "65 GB"],
    "catalog": ["catalog", "accelerator"],
    "show": ["show", "--explain"],
    "log": ["log", SAMPLES[1], "--config", SAMPLES[0]],
    "worksheet": ["worksheet", SAMPLES[0], "--log", SAMPLES[1], "--accelerator", "rtx-4090"],
    "claim": "claim --context 262144 --weight-precision int4 --memory 24GB --parameters 74e9".split(),
}


def seconds(arguments):
    command = [sys.executable, "-m", "costlib", *arguments]
    return timed(lambda: subprocess.run(command, check=True, capture_output=True))[0]


def main():
    times = {name: [] for name in COMMANDS}
    for arguments in COMMANDS.values():
        seconds(arguments)  # once unmeasured: compiles the bytecode and fills the file cache
    for _ in range(REPEATS):  # one after the other, so that a slow moment falls on all
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    quickest = {name: min(measured) for name, measured in times.items()}  # other work on the machine only adds
    for name, time in quickest.items():
        print(f"costlib {name:10} {time:5.2f} s, median {statistics.median(times[name]):5.2f} s")
    print(f"target for the quickest of {REPEATS}: at most {TARGET} s each")
    return max(quickest.values()) > TARGET


if __name__ == "__main__":
    sys.exit(main())
