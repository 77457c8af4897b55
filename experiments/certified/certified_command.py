"""``python -m experiments certified``: training methods compared by what can be proved."""

from experiments.core import options as command_line
from experiments.core.progress import progress

DESCRIPTION = """\
Trains networks on handwritten digits with jb.certify.robust_loss: Bernstein activations of
several degrees and ReLU, fully connected and convolutional; DeepBern-Nets' own code beside
them if PyTorch and its folder are importable. Learning rate and mixture are chosen on
validation rows, fresh seeds are certified on test rows. A study that was stopped goes on:
finished methods are kept in --out and not trained again; an empty --out starts anew.

  python -m experiments certified --quick     a first impression
  python -m experiments certified             the full study
  python -m experiments certified --only speed    times and branch and bound alone
"""


def main(argv: list[str]) -> int:
    """Run the study and say what it found and where it was written."""
    parser = command_line.parser("certified", DESCRIPTION)
    parser.add_argument("--quick", action="store_true", help="few steps and seeds")
    parser.add_argument("--only", choices=("training", "speed"), help="one part (both)")
    parser.add_argument("--methods", help="names, separated by commas (all)")
    command_line.add_out(parser, "results/certified")
    options = parser.parse_args(argv)

    from experiments.certified import (
        certified_report,
        certified_speed,
        certified_store,
        certified_study,
    )

    setting = certified_study.QUICK if options.quick else certified_study.FULL
    try:
        known = certified_study.methods()
        methods = command_line.words_of(known)(options.methods or ",".join(known))
    except Exception as problem:
        parser.error(str(problem))
    command = " ".join(["python -m experiments certified", *argv])
    parts = []
    if options.only != "speed":
        with progress(len(methods), lines=True) as done:
            results = certified_store.run(methods, setting, options.out, done)
        parts.append(certified_report.accuracies(results, setting))
    if options.only != "training":
        parts.append(certified_report.speed(certified_speed.measure(setting)))
    path = certified_report.write(parts, options.out, command)
    print(path.read_text())
    print(f"written to {options.out}")
    return 0
