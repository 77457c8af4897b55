"""``python -m jaxbern doctor``: check the installation on this machine."""

import contextlib
import os
import sys

USAGE = """usage: python -m jaxbern doctor

  doctor  versions, devices, which implementation runs and why, whether the kernels
          compile, optional packages, a short check of numbers and gradients

The exit status is 1 if something is wrong."""


def main(argv: list[str] | None = None) -> int:
    """Run the command that ``argv`` names."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if argv != ["doctor"]:
        print(f"no such command: {' '.join(argv)}\n\n{USAGE}", file=sys.stderr)
        return 2
    from jaxbern import _stopped, doctor

    _stopped.restore()

    try:
        status = doctor.run()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe early, as head -1 does
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
