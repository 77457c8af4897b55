"""``MLP.save`` and ``MLP.load``: bit for bit, whole or not at all."""

import contextlib
import json
import resource

import chex
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax import nnx

import jaxbern as jb
from tests.nn.networks import network

X = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
each_format = pytest.mark.parametrize("name", ["net.npz", "net"])


def logits(model):
    model.eval()
    return model(X)


@each_format
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"activation": "gelu", "residual": False},
        {"depth": 1, "out_features": 1},
        {"param_dtype": jnp.bfloat16, "depth": 1},
        {"param_dtype": jnp.float16, "dtype": jnp.bfloat16},
        {"init": jb.initializers.from_function(jnp.tanh), "lower": np.float32(-2)},
    ],
    ids=lambda options: "-".join(options) or "default",
)
def test_bit_for_bit(name, options, tmp_path):
    model = network(**options)
    model.save(tmp_path / name)
    loaded = jb.MLP.load(tmp_path / name)
    assert loaded.config == model.config
    before, after = nnx.state(model), nnx.state(loaded)
    chex.assert_trees_all_equal_shapes_and_dtypes(before, after)
    chex.assert_trees_all_equal(before, after)
    chex.assert_trees_all_equal(logits(loaded), logits(model))


@each_format
def test_says_nothing_and_leaves_nothing_else(name, tmp_path, capfd):
    model = network()
    capfd.readouterr()  # JAX itself may say something when it starts
    model.save(str(tmp_path / "new" / "folder" / name))
    jb.MLP.load(str(tmp_path / "new" / "folder" / name))
    assert capfd.readouterr() == ("", "")
    assert [file.name for file in tmp_path.rglob("*net*")] == [name]
    assert [file.name for file in (tmp_path / "new" / "folder").iterdir()] == [name]


@each_format
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_comes_back_in_the_mode_it_was_in(name, mode, tmp_path):
    model = network()
    getattr(model, mode)()
    model.save(tmp_path / name)
    assert jb.MLP.load(tmp_path / name).use_running_average == (mode == "eval")


@each_format
def test_nan_is_a_number_like_others(name, tmp_path):
    model = network()
    model.last.bias[...] = jnp.array([jnp.nan, -jnp.inf])
    model.save(tmp_path / name)
    np.testing.assert_array_equal(
        jb.MLP.load(tmp_path / name).last.bias[...], model.last.bias[...]
    )


@each_format
def test_a_custom_initialiser_is_not_asked_again(name, tmp_path):
    calls = []

    def init(key, shape, dtype):
        calls.append(shape)
        return jnp.ones(shape, dtype)

    network(init=init).save(tmp_path / name)
    before = len(calls)
    loaded = jb.MLP.load(tmp_path / name)
    assert len(calls) == before
    assert loaded.config.init == "custom"
    assert "total" in loaded.describe()


@each_format
def test_parameters_cast_after_the_fact(name, tmp_path):
    model = network()
    model.coeffs.set_value(model.coeffs[...].astype(jnp.bfloat16))
    model.save(tmp_path / name)
    loaded = jb.MLP.load(tmp_path / name)
    assert loaded.coeffs.dtype == jnp.bfloat16
    chex.assert_trees_all_equal(loaded.coeffs[...], model.coeffs[...])


def test_other_programs_can_read_it(tmp_path):
    model = network(param_dtype=jnp.bfloat16)
    kernel = np.asarray(model.first.kernel[...])
    model.save(tmp_path / "net.npz")
    with np.load(tmp_path / "net.npz", allow_pickle=False) as file:
        header = json.loads(file["header"].item())
        assert header["config"]["width"] == 4
        assert header["dtypes"]["first.kernel"] == "bfloat16"
        assert file["first.kernel"].dtype == np.uint16
        np.testing.assert_array_equal(file["first.kernel"].view(kernel.dtype), kernel)
    model.save(tmp_path / "net")
    with ocp.StandardCheckpointer() as checkpointer:
        arrays = checkpointer.restore(tmp_path / "net")
    np.testing.assert_array_equal(arrays["first.kernel"], kernel)
    assert set(arrays) == set(header["dtypes"])


@each_format
def test_replaces_the_file_behind_a_link(name, tmp_path):
    network().save(tmp_path / name)
    link = tmp_path / f"link-{name}"
    link.symlink_to(tmp_path / name)
    model = network(degree=5)
    model.save(link)
    assert link.is_symlink()
    assert jb.MLP.load(tmp_path / name).config.degree == 5


@contextlib.contextmanager
def a_full_disk(size=50):
    """No file may grow beyond ``size`` bytes: what a program sees of a full disk.

    That stops orbax at its first small file. Its threads, which write the large ones,
    fail as well, but long after that, into a closed event loop.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@each_format
def test_a_full_disk_leaves_the_old_network_and_no_litter(name, tmp_path):
    old = network()
    old.save(tmp_path / name)
    with a_full_disk(), pytest.raises(OSError, match="File too large"):
        network(width=32).save(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    chex.assert_trees_all_equal(logits(jb.MLP.load(tmp_path / name)), logits(old))


def test_a_failed_swap_brings_the_old_directory_back(tmp_path, monkeypatch):
    path = tmp_path / "net"
    network().save(path)
    rename = type(path).rename

    def refuse(self, target):
        if self.name == "new":
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(type(path), "rename", refuse)
    with pytest.raises(OSError, match="no"):
        network(degree=5).save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["net"]
    assert jb.MLP.load(path).config.degree == 3


def test_somebodys_directory_is_not_overwritten(tmp_path):
    path = tmp_path / "home"
    path.mkdir()
    network().save(path)  # empty: nothing to lose
    (path / "thesis.tex").write_text("years")
    with pytest.raises(ValueError, match=r"cannot save to .*home.*thesis\.tex"):
        network().save(path)
    assert (path / "thesis.tex").read_text() == "years"
    with pytest.raises(ValueError, match=r"not a jaxbern checkpoint, such as thesis"):
        network().save(path / "thesis.tex")


@each_format
def test_stacked_networks_are_not_one(name, tmp_path):
    graph, state = nnx.split(network())
    several = nnx.merge(graph, jax.tree.map(lambda a: jnp.stack([a, a]), state))
    with pytest.raises(ValueError, match=r"coeffs should have shape \[3, 4, 4\].*vmap"):
        several.save(tmp_path / name)
