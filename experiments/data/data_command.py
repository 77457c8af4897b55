"""``python -m experiments data``: what data there are, fetched, converted, drawn."""

import argparse
import sys

import jaxbern as jb
from experiments.core import options
from experiments.data import data_info, data_plot


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = options.parser("data", __doc__ or "")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    info = commands.add_parser("info", help="a table of what is there")
    info.add_argument(
        "--check", action="store_true", help="read every converted copy and compare"
    )
    fetch = commands.add_parser("fetch", help="download from UCI, and convert")
    fetch.add_argument("names", nargs="+", choices=["higgs", "susy"], metavar="NAME")
    convert = commands.add_parser("convert", help="convert files, or what info lists")
    convert.add_argument("sources", nargs="+", metavar="FILE|NAME")
    plot = commands.add_parser("plot", help="draw the distribution of every feature")
    data_plot.add_options(plot)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; problems with the data are told without a traceback."""
    argv = sys.argv[1:] if argv is None else argv
    args = parser().parse_args(argv)
    try:
        if args.command == "info":
            return data_info.show(check=args.check)
        if args.command == "plot":
            data_plot.run(args)
            return 0
        for name in args.names if args.command == "fetch" else args.sources:
            print(jb.data.load(name, download=args.command == "fetch"))
    except jb.data.DataError as error:
        print(f"experiments data: {error}", file=sys.stderr)
        return 1
    return 0
