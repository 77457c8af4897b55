"""``python -m experiments data``: what data there are, fetched, converted, drawn, timed."""

import argparse
import importlib
import sys

import jaxbern as jb

# Commands with options of their own: module, what it does.
APART = {
    "plot": ("experiments.data.plot", "draw the distribution of every feature"),
    "bench": ("experiments.data.bench", "time the conversion beside pandas and NumPy"),
    "faults": ("experiments.data.faults", "what each kind of bad file is told"),
}


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(prog="experiments data", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    info = commands.add_parser("info", help="a table of what is there")
    info.add_argument(
        "--check", action="store_true", help="read every converted copy and compare"
    )
    fetch = commands.add_parser("fetch", help="download from UCI, and convert")
    fetch.add_argument("names", nargs="+", choices=["higgs", "susy"], metavar="NAME")
    convert = commands.add_parser("convert", help="convert files, or what info lists")
    convert.add_argument("sources", nargs="+", metavar="FILE|NAME")
    for name, (_, what) in APART.items():
        commands.add_parser(name, help=what, add_help=False)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; problems with the data are told without a traceback."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in APART:
        return importlib.import_module(APART[argv[0]][0]).main(argv[1:]) or 0
    args = parser().parse_args(argv)
    try:
        if args.command == "info":
            from experiments.data import info

            return info.show(check=args.check)
        for name in args.names if args.command == "fetch" else args.sources:
            print(jb.data.load(name, download=args.command == "fetch"))
    except jb.data.DataError as error:
        print(f"experiments data: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
