"""``python -m experiments data``: list, download, convert and plot data sets."""

import argparse
import sys

import jaxbern as jb
from experiments.core import options
from experiments.data import data_info, data_plot


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    top = options.parser("data", __doc__ or "")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    info = commands.add_parser("info", help="list files and converted copies")
    info.add_argument(
        "--check", action="store_true", help="compare every copy with its fingerprint"
    )
    fetch = commands.add_parser("fetch", help="download from UCI, and convert")
    fetch.add_argument("names", nargs="+", choices=["higgs", "susy"], metavar="NAME")
    convert = commands.add_parser(
        "convert", help="convert these files, or all that info lists"
    )
    convert.add_argument("sources", nargs="+", metavar="FILE|NAME")
    plot = commands.add_parser("plot", help="plot the distribution of every feature")
    data_plot.add_options(plot)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; report problems with the data without a traceback."""
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
