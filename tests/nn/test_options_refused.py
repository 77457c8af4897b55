"""Options that cannot work are refused when a layer is made; domains never collapse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.linen import BernsteinAct as LinenAct

RNGS = nnx.Rngs(0)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"degree": 10**6}, ValueError, "degree 1000000 is too high for float32"),
        ({"degree": True}, TypeError, "degree must be an int .*got True"),
        ({"features": True}, TypeError, "features must be an int .*got True"),
        ({"lower": "-3"}, TypeError, "lower must be a number.*got '-3'"),
        ({"upper": True}, TypeError, "upper must be a number.*got True"),
        ({"lower": ["a", "b"]}, TypeError, "lower must be a number"),
        ({"monotone": "no"}, TypeError, "monotone must be True or False, got 'no'"),
        ({"epsilon": np.inf}, ValueError, "epsilon must be positive and finite, got inf"),
        ({"epsilon": np.ones(2)}, TypeError, "epsilon must be one number"),
        ({"momentum": 2}, ValueError, r"momentum must be in \[0, 1\), got 2"),
        ({"momentum": np.nan}, ValueError, r"momentum must be in \[0, 1\), got nan"),
        ({"use_running_average": "no"}, TypeError, "use_running_average must be True or"),
        ({"rngs": 0}, TypeError, r"rngs=nnx.Rngs\(0\), got 0"),
        ({"rngs": nnx.Rngs(dropout=0)}, TypeError, "stream params or default"),
        ({"domain": "learned", "lower": 3.0, "upper": 3.000001}, ValueError, "8 roundings"),
    ],
)  # fmt: skip
def test_of_a_layer(options, error, message):
    with pytest.raises(error, match=message):
        jb.BernsteinAct(**{"features": 2, "degree": 3, "rngs": RNGS} | options)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"residual": "no"}, TypeError, "residual must be True or False, got 'no'"),
        ({"lean": 1}, TypeError, "lean must be True or False, got 1"),
        ({"remat": "yes"}, TypeError, "remat must be True or False"),
        ({"lower": True}, TypeError, "lower must be one number, got True"),
        ({"upper": "3"}, TypeError, "upper must be one number, got '3'"),
        ({"degree": 10**6}, ValueError, "degree 1000000 is too high"),
        ({"epsilon": np.inf}, ValueError, "epsilon must be positive and finite"),
        ({"momentum": np.nan}, ValueError, "momentum must be in"),
        (
            {"use_running_average": "no"},
            TypeError,
            "use_running_average must be True or",
        ),
        ({"rngs": 0}, TypeError, r"rngs=nnx.Rngs\(0\), got 0"),
    ],
)
def test_of_a_network(options, error, message):
    with pytest.raises(error, match=message):
        jb.MLP(3, 2, 4, **{"rngs": RNGS} | options)


def test_integers_of_numpy_are_integers():
    config = jb.train.NetworkConfig(
        np.int64(3), np.int32(2), np.uint8(4), degree=np.int16(3), residual=np.True_
    )
    assert config == jb.train.NetworkConfig(3, 2, 4, degree=3)
    assert all(type(value) is not np.int64 for value in config.to_dict().values())
    act = jb.BernsteinAct(np.int64(3), np.int64(2), rngs=RNGS)
    assert act.coeffs.shape == (3, 3)


CENTRES = [0.0, 3.0, -1e3, 1e6, 1e30, -3e38]


@pytest.mark.parametrize("half_width", [0.0, 1e-30, 1e-8, -1e-8, 3e38])
@pytest.mark.parametrize(
    "dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)]
)
def test_a_learned_domain_never_collapses(half_width, dtype):
    width = len(CENTRES)
    act = jb.BernsteinAct(  # clamped: a tangent so steep reaches infinity at 1e38
        width, 3, domain="learned", init="ramp", outside="clamp", param_dtype=dtype,
        rngs=RNGS,
    )  # fmt: skip
    act.center[...] = jnp.asarray(CENTRES, dtype)
    act.half_width[...] = jnp.full(width, half_width, dtype)
    low, high = map(np.asarray, act.interval)
    assert (low < high).all()
    x = jnp.stack([low, (low + high) / 2, high, jnp.full(width, 1e38)])

    def total(act, x):
        return jnp.sum(act(x)), act(x)

    gradients, y = nnx.jit(nnx.grad(total, has_aux=True))(act, x)
    assert np.isfinite(y).all()
    np.testing.assert_allclose(
        y[jnp.array([0, 2])], [[0] * width, [1] * width], atol=1e-6
    )
    assert all(np.isfinite(g).all() for g in jax.tree.leaves(gradients))


@pytest.mark.parametrize("value", [0.0, 3.0, 1e4, -1e6, 1e12])
def test_a_batch_of_constant_inputs(value):
    act = jb.BernsteinAct(2, 3, domain="batch", init="ramp", rngs=RNGS)
    x = jnp.full((8, 2), value)
    y = nnx.jit(lambda act, x: act(x))(act, x)
    assert np.isfinite(y).all()
    np.testing.assert_allclose(y, 0.5, atol=0.3)  # in the middle of the interval
    act.eval()
    assert np.isfinite(act(x)).all()


@pytest.mark.parametrize("shape", [(2,), (1, 2), (1, 1, 2), (0, 2)])
def test_one_row_has_no_spread(shape):
    act = jb.BernsteinAct(2, 3, domain="batch", rngs=RNGS)
    message = r"at least two rows, got .*evaluation mode"
    with pytest.raises(ValueError, match=message):
        act(jnp.zeros(shape))
    with pytest.raises(ValueError, match=message):
        jax.vmap(act)(jnp.zeros((4, 2)))
    linen = LinenAct(3, domain="batch", use_running_average=False)
    variables = linen.init(jax.random.key(0), jnp.zeros((1, 2)))
    with pytest.raises(ValueError, match=message):
        linen.apply(variables, jnp.zeros(shape), mutable="batch_stats")
    act.eval()
    assert act(jnp.zeros(shape)).shape == shape


def test_running_statistics_under_vmap():
    act = jb.BernsteinAct(2, 3, domain="batch", rngs=RNGS)
    with pytest.raises(ValueError, match=r"use nnx\.vmap or nnx\.jit"):
        jax.vmap(act)(jnp.zeros((4, 8, 2)))


@pytest.mark.parametrize("options", [{"momentum": 2.0}, {"epsilon": np.inf}])
def test_of_a_linen_layer(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        LinenAct(3, domain="batch", use_running_average=True, **options).init(
            jax.random.key(0), jnp.zeros((1, 2))
        )
