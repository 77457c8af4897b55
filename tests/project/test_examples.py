"""The programs in ``docs/examples`` run as they stand and learn what they say."""

import runpy
from pathlib import Path

import pytest

from tests.project import pages

pytestmark = pytest.mark.slow

FOLDER = pages.ROOT / "docs" / "examples"


@pages.as_a_reader()
def result_of(name, **options):
    """What ``main`` returns; an option may be another function of the example."""
    names = runpy.run_path(str(FOLDER / name))
    return names["main"](**{k: names.get(v, v) for k, v in options.items()})


def test_cnn_on_digits():
    pytest.importorskip("sklearn")
    assert result_of("cnn_digits.py") > 0.95


def test_transformer_block():
    """Guessing has a loss of 1.95."""
    losses = result_of("transformer_block.py")
    assert losses[0] > 1.9
    assert losses[-1] < 0.1


def test_nnx_swap():
    """One relu neuron cuts the plane once: it gets at most three corners of four."""
    accuracy = result_of("nnx_swap.py")
    assert accuracy["relu"] < 0.85
    assert accuracy["bernstein"] > 0.95


def test_linen_classifier():
    assert result_of("linen_classifier.py") > 0.95


def test_equinox_regression():
    pytest.importorskip("equinox")
    assert result_of("equinox_regression.py") > 0.993


def test_plain_jax():
    """Values reach 1 and slopes 4; slopes were never shown."""
    errors = result_of("plain_jax.py")
    assert errors["value"] < 0.02
    assert errors["slope"] < 0.5


def test_poisson_problem():
    """The solution, ``sin(pi x)``, is known and was never shown."""
    for second in ("nested", "taylor"):
        found = result_of("poisson_pinn.py", second=second)
        assert found["error"] < 2e-3
        assert found["residual"] < 0.1


def test_conversion_of_gelu():
    """The change is within the bound that the error of the fit allows."""
    found = result_of("convert_gelu.py")
    assert 0 < found["change"] <= found["allowed"] < 0.1
    assert found["after"] < 0.05 * found["before"]


def test_conversion_of_a_trained_classifier():
    """Accuracy stays; logits of smooth activations change less with the degree."""
    pytest.importorskip("sklearn")
    rows = result_of("convert_digits.py", steps=60)
    assert all(abs(row["after"] - row["before"]) < 0.015 for row in rows)
    change = {(r["activation"], r["degree"]): r["change"] / r["logit"] for r in rows}
    assert change["gelu", 25] <= change["gelu", 15] < 0.002 < change["gelu", 9] < 0.03
    assert change["relu", 25] < change["relu", 15] < change["relu", 9] < 0.15


def test_loading_for_inference():
    found = result_of("load_for_inference.py")
    assert found["accuracy"] > 0.93
    assert found["difference"] < 1e-6


def test_certified_network():
    ranges = result_of("certify_network.py")
    rounding = 1e-3  # of the sampled values, which are computed in float32
    (low, high), affine, interval = (
        ranges[name] for name in ("sampled", "affine", "interval")
    )
    assert interval[0] < 0 < affine[0] <= low + rounding
    assert high - rounding <= affine[1] < interval[1]
    assert affine[1] - affine[0] < 2.5 * (high - low)


def test_certified_digits():
    """Training for it makes the difference between few proofs and many."""
    pytest.importorskip("sklearn")
    found = result_of("certified_digits.py", epochs=20, rows=64)
    assert found["robust"][0] > 0.94
    assert found["robust"][1] > max(0.75, 2 * found["usual"][1])


def test_certified_cnn():
    pytest.importorskip("sklearn")
    found = result_of("certified_cnn.py", epochs=8, rows=64)
    assert found["clean"] > 0.9
    assert found["certified"] > 0.5


def test_none_is_forgotten():
    text = Path(__file__).read_text()
    names = {file.name for file in FOLDER.glob("*.py")}
    assert len(names) >= 10
    assert {name for name in names if f'result_of("{name}"' not in text} == set()
