"""``python -m tests.faults [NAME [options]]``: inject faults and print the outcome.

Without a name all of them run with their defaults, which takes a quarter of an hour. The
exit status is 1 if anything was lost, differs or was not reported.

  data      load every kind of bad file; print the message and whether the cache is intact
  training  kill trainings at random moments, resume them and compare the bits
  sweep     kill sweeps, fill their disk, damage their files; compare what is left
"""

import importlib
import sys

FAULTS = {
    "data": "tests.faults.data_faults",
    "training": "tests.faults.training_kills",
    "sweep": "tests.faults.sweep_faults",
}


def main(argv: list[str] | None = None) -> int:
    """Run the named faults, or all."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] not in FAULTS:
        print(__doc__)
        return 0 if argv[0] in ("-h", "--help") else 2
    names, rest = (argv[:1], argv[1:]) if argv else (list(FAULTS), [])
    return max(importlib.import_module(FAULTS[name]).main(rest) for name in names)


if __name__ == "__main__":
    sys.exit(main())
