"""``python -m experiments training``: what the training engine does, in figures."""

import argparse
import re

_DESCRIPTION = """\
Figures of the training engine, on HIGGS rows (simulated ones if there are none).

  bench   time per epoch over sizes of the network, of one and of three seeds
  torch   time per epoch and AUC beside PyTorch, if it is installed
  higgs   AUC of Bernstein activations beside ReLU
  kills   trainings killed at random moments, resumed, and compared
"""


def main(argv: list[str]) -> int:
    """Run one; returns the exit status."""
    options = parser().parse_args(argv)
    return options.run(options) or 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m experiments training",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = top.add_subparsers(required=True, metavar="{bench,torch,higgs,kills}")
    bench = _kind(kinds, "bench", _bench)
    sizes = "5x16,5x32,5x128,15x16"
    bench.add_argument(
        "--sizes", type=_sizes, default=sizes, help=f"layers x neurons ({sizes})"
    )
    _activation(bench)
    bench.add_argument("--rounds", type=int, default=15, help="best of so many (15)")
    torch = _kind(kinds, "torch", _torch, size="5x32", epochs=15)
    torch.add_argument("--rounds", type=int, default=15, help="best of so many (15)")
    higgs = _kind(kinds, "higgs", _higgs, size="5x32", epochs=40)
    _activation(higgs)
    kills = kinds.add_parser("kills")
    kills.add_argument("--kills", type=int, default=20, help="how often (20)")
    kills.add_argument("--seed", type=int, default=0, help="of the moments (0)")
    kills.set_defaults(run=_kills)
    return top


def _kind(kinds, name, run, *, size=None, epochs=None):
    part = kinds.add_parser(name)
    part.add_argument("--data", default="higgs", help="as for jb.data.load (higgs)")
    if size:
        part.add_argument(
            "--size", type=_size, default=size, help=f"layers x neurons ({size})"
        )
        part.add_argument("--epochs", type=int, default=epochs, help=f"({epochs})")
        part.add_argument("--seeds", type=int, default=3, help="how many (3)")
    part.set_defaults(run=run)
    return part


def _activation(part: argparse.ArgumentParser) -> None:
    """Spelt as everywhere in the experiments, for any degree."""
    default = "relu,bernstein:3,bernstein:9"
    part.add_argument(
        "--activation",
        type=_activations,
        default=default,
        help=f"separated by commas ({default})",
    )


def _activations(text: str) -> list[str]:
    from experiments.sweep.grid import FIXED  # with JAX, which help does not wait for

    for word in _words(text):
        if word not in FIXED and not re.fullmatch(r"bernstein:\d+", word):
            raise argparse.ArgumentTypeError(
                f"there is no {word!r}; there are {', '.join(FIXED)}, and bernstein:N for "
                "the degree N, such as bernstein:9"
            )
    return _words(text)


def _sizes(text: str) -> list[str]:
    return list(map(_size, _words(text)))


def _size(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", text):
        raise argparse.ArgumentTypeError(
            f"must be layers x neurons, such as 5x32, got {text!r}"
        )
    return text


def _words(text: str) -> list[str]:
    return text.split(",")


# Modules are imported when their command runs, so that help costs nothing.


def _bench(options) -> None:
    from experiments.training import bench

    bench.table(options.data, options.sizes, options.activation, options.rounds)


def _torch(options) -> int:
    from experiments.training import compare

    return compare.table(
        options.data, options.size, options.rounds, options.epochs, options.seeds
    )


def _higgs(options) -> None:
    from experiments.training import higgs

    higgs.table(
        options.data, options.size, options.activation, options.epochs, options.seeds
    )


def _kills(options) -> int:
    from experiments.training import kills

    return kills.table(options.kills, options.seed)
