"""``python -m tests.ptx mosaic``: execute every case, print the largest error of each.

In units of what is allowed. An access outside of an array, a value that no thread wrote, a
race or a result that a second run would change ends the run with an error.
"""

import argparse
import sys

from jaxbern.kernels.config import Launch
from jaxbern.kernels.mosaic import mosaic_backend
from jaxbern.kernels.pallas import pallas_backend
from tests.ptx.executed import check_case
from tests.ptx.kernel_checks import FUSED, PLAIN

BACKENDS = {
    "pallas": (pallas_backend.BACKEND, Launch(8, 32, 2, 2)),
    "mosaic": (mosaic_backend.BACKEND, Launch(4, 32, 2, 2)),
}


def main(argv: list[str] | None = None) -> int:
    """Execute all cases of one backend; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.ptx", description=__doc__)
    parser.add_argument("backend", choices=BACKENDS)
    name = parser.parse_args(argv).backend
    backend, loop = BACKENDS[name]
    worst = 0.0
    for case in (*PLAIN, *FUSED):
        launch = loop if case[2] == "ragged" else None
        error = check_case(
            backend, *case, launch, in_place=name == "pallas", twice=True
        )
        worst = max(worst, error)
        print(f"{name} {' '.join(map(str, case))}: {error:.3f}", flush=True)
    print(f"{name}: {len(PLAIN) + len(FUSED)} cases, largest error {worst:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
