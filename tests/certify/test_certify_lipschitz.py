"""Lipschitz constants of networks against slopes and quotients in float64."""

import functools
import math

import numpy as np
import pytest

import jaxbern as jb
from tests.certify.network_cases import CENTRE, LOWER, RADII, UPPER, model_of
from tests.oracles import certify_oracle as oracle
from tests.quick import quickly


@pytest.mark.slow
def test_lipschitz_in_a_box():
    model = model_of("bernstein, residual")
    run = quickly(functools.partial(jb.certify.lipschitz, model))
    found = np.float64(run(LOWER, UPPER))
    assert found.shape == RADII.shape
    for box, constant in zip(zip(LOWER, UPPER, strict=True), found, strict=True):
        x = oracle.adversaries(model, *box)
        steepest = np.linalg.norm(oracle.jacobian(model, x), 2, axis=(1, 2)).max()
        assert steepest <= constant
    # At a point it is the norm of the Jacobian, and it grows with the box.
    steepest = np.linalg.norm(oracle.jacobian(model, CENTRE[None])[0], 2)
    assert found[0] == pytest.approx(steepest, rel=3e-3)
    assert (np.diff(found) >= -1e-3 * found[0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_lipschitz_everywhere(norm):
    name = "bernstein"
    model = model_of(name)
    jacobian, product = quickly(
        lambda: [
            jb.certify.lipschitz(model, norm=norm, method=method)
            for method in ("jacobian", "product")
        ]
    )()
    x, y = np.random.default_rng(0).normal(size=(2, 2000, 3))
    moved = np.linalg.norm(oracle.forward(model, x) - oracle.forward(model, y), norm, 1)
    quotients = moved / np.linalg.norm(x - y, norm, 1)
    steepest = np.linalg.norm(oracle.jacobian(model, x), norm, axis=(1, 2))
    assert max(quotients.max(), steepest.max()) <= jacobian <= product
    # The product of the norms of all layers with their steepest slopes, by hand.
    _, params = oracle._network(model)
    slopes = np.abs(np.diff(np.float64(params["coeffs"]), axis=2)).max(axis=2) * 3 / 6
    scale = slopes / np.sqrt(np.float64(model.var[...]) + model.config.epsilon)
    kernels = [params["first"]["kernel"], *params["hidden"]["kernel"]]
    norms = [
        np.linalg.norm((np.float64(k) * s).T, norm)
        for k, s in zip(kernels, scale, strict=True)
    ]
    last = np.linalg.norm(np.float64(params["last"]["kernel"]).T, norm)
    # Slopes are bounded piece by piece, so more tightly than by the coefficients.
    assert 0.3 * np.prod(norms) * last < product < 1.01 * np.prod(norms) * last
