"""``MLP.save`` and ``MLP.load``: bit for bit, whole or not at all, no stranger believed."""

import contextlib
import io
import json
import pickle
import resource
import shutil
import zipfile

import chex
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax import nnx

import jaxbern as jb
from tests.networks import network

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
    with pytest.raises(ValueError, match=r"no checkpoint of jaxbern, such as thesis"):
        network().save(path / "thesis.tex")


@each_format
def test_stacked_networks_are_not_one(name, tmp_path):
    graph, state = nnx.split(network())
    several = nnx.merge(graph, jax.tree.map(lambda a: jnp.stack([a, a]), state))
    with pytest.raises(ValueError, match=r"coeffs should have shape \[3, 4, 4\].*vmap"):
        several.save(tmp_path / name)


def refused(path, why):
    """Loading says which path it was and why it is no good, in one line."""
    with pytest.raises(ValueError, match=why) as caught:
        jb.MLP.load(path)
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text


@each_format
def test_nothing_there(name, tmp_path):
    refused(tmp_path / name, "no such file or directory")


def zip_file() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("word/document.xml", "<w:document/>")
    return content.getvalue()


def npz(**arrays) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def npy() -> bytes:
    content = io.BytesIO()
    np.save(content, np.zeros(3))
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 1000,
        b"PK\x03\x04",
        b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
        zip_file(),
        npy(),
        npz(a=np.zeros(3)),
        npz(header=np.zeros(3)),
        npz(header=np.array("not json")),
        npz(header=np.array('["a list"]')),
        npz(header=np.array('{"format": "jaxbern.MLP"}')),
        npz(header=np.array('{"format": "something else", "version": 1}')),
    ],
    # Names, not the bytes: a zip file has the time in them, and xdist compares ids.
    ids=[
        "empty", "zeros", "zip header", "html", "zip", "npy", "no header",
        "header of numbers", "header not json", "header a list", "header too short",
        "header of something else",
    ],
)  # fmt: skip
def test_foreign_files(content, tmp_path):
    path = tmp_path / "net.npz"
    path.write_bytes(content)
    refused(path, "not a network that MLP.save wrote")


class Payload:
    def __reduce__(self):
        return exec, ("raise SystemExit('a file has run code')",)


@pytest.mark.parametrize("content", ["pickle", "npz"])
def test_pickles_are_not_run(content, tmp_path):
    path = tmp_path / "net.npz"
    objects = np.array(Payload(), dtype=object)
    path.write_bytes(
        pickle.dumps(Payload()) if content == "pickle" else npz(header=objects)
    )
    refused(path, "not a network that MLP.save wrote.*ickle")


def rewritten(path, change):
    """The same file with its arrays and its header changed by hand."""
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").item())
    change(header, arrays)
    path.write_bytes(npz(header=np.array(json.dumps(header)), **arrays))


def put(key, **changes):
    """Change entries of a part of the header."""
    return lambda header, arrays: header[key].update(changes)


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda h, a: h.update(version=2), r"newer jaxbern.*format 2.*upgrade"),
        (lambda h, a: h.update(version="a"), "damaged"),
        (lambda h, a: h.pop("config"), "damaged.*config"),
        (put("config", heads=8), "damaged.*heads"),
        (put("config", width=0), "width must be an int of at least 1, got 0"),
        (put("config", width=5), r"coeffs is .*\[3, 5, 4\].*holds float32\[3, 4, 4\]"),
        (put("config", width=10**30), "damaged"),
        (put("config", activation="tanh"), "activation must be one of"),
        (put("dtypes", coeffs="float16"), "coeffs is float16.*holds float32"),
        (put("dtypes", coeffs="float7"), "damaged.*float7"),
        (put("dtypes", coeffs="bfloat16"), "coeffs"),
        (lambda h, a: a.pop("last.bias"), r"damaged.*last\.bias"),
        (lambda h, a: a.update(mean=a["mean"][:2]), r"mean is.*float32\[2, 4\]"),
        (lambda h, a: a.update(var=a["var"].astype(int)), r"var is.*int64\[3, 4\]"),
        (put("dtypes", coeffs="float64"), "float64.*jax_enable_x64"),
    ],
)
def test_inconsistent_files(change, why, tmp_path):
    path = tmp_path / "net.npz"
    network().save(path)
    rewritten(path, change)
    refused(path, why)


def test_double_precision_asks_for_it(tmp_path):
    with jax.enable_x64(True):
        model = network(param_dtype=jnp.float64)
        model.save(tmp_path / "net.npz")
        loaded = jb.MLP.load(tmp_path / "net.npz")
        assert loaded.coeffs.dtype == jnp.float64
    refused(tmp_path / "net.npz", "float64.*jax_enable_x64")


@pytest.mark.parametrize("part", [0.01, 0.3, 0.9, 0.999])
def test_truncated(part, tmp_path):
    path = tmp_path / "net.npz"
    network().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    refused(path, "damaged")


@each_format
def test_no_flipped_bit_goes_unnoticed(name, tmp_path):
    """Refused, or without any effect: parts of a zip file are said twice, or idle."""
    path = tmp_path / name
    model = network(width=32)
    model.save(path)
    want = nnx.state(model)
    rng = np.random.default_rng(0)
    files = [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]
    noticed = 0
    for file in (*files, *rng.choice(files, 40 - len(files))):
        content = file.read_bytes()
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        try:
            loaded = jb.MLP.load(path)
        except ValueError:
            noticed += 1
        else:
            chex.assert_trees_all_equal(nnx.state(loaded), want)
        file.write_bytes(content)
    assert noticed > 30


def test_half_a_directory(tmp_path):
    """Any file of a checkpoint may be missing after a copy that was cut short."""
    path, half = tmp_path / "net", tmp_path / "half"
    network().save(path)
    for file in [f.relative_to(path) for f in path.rglob("*") if f.is_file()]:
        shutil.copytree(path, half)
        (half / file).unlink()
        refused(half, "MLP.save")
        shutil.rmtree(half)


def test_foreign_directories(tmp_path):
    refused(tmp_path, "not a network that MLP.save wrote")
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "other", {"kernel": np.zeros(3)})
    refused(tmp_path / "other", "not a network that MLP.save wrote")
