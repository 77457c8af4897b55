"""``MLP.load`` believes no stranger: foreign, damaged and dangerous files."""

import io
import json
import pickle
import re
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
from tests.nn.networks import network

each_format = pytest.mark.parametrize("name", ["net.npz", "net"])


def refusal(path) -> str:
    """What loading says in one line: which path it was, and why it is no good."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        jb.MLP.load(path)
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    return text


@each_format
def test_nothing_there(name, tmp_path):
    assert "no such file or directory" in refusal(tmp_path / name)


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
    assert "not a network that MLP.save wrote" in refusal(path)


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
    assert re.search("not a network that MLP.save wrote.*ickle", refusal(path))


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
        (lambda h, a: h.update(version=0), "damaged.*format.*got 0"),
        (lambda h, a: h.update(version=-7.5), "damaged.*format.*got -7.5"),
        (lambda h, a: h.update(version=True), "damaged.*format.*got True"),
        (
            lambda h, a: h.update(use_running_average="false"),
            "true or false, got 'false'",
        ),
        (put("config", residual="no"), "residual must be True or False, got 'no'"),
        (put("dtypes", other="float32"), "array other has no place"),
        (lambda h, a: h["dtypes"].pop("coeffs"), "array coeffs is missing"),
        (lambda h, a: a["var"].__setitem__((0, 0), -1), "variance is -1.*negative"),
    ],
)
def test_inconsistent_files(change, why, tmp_path):
    path = tmp_path / "net.npz"
    network().save(path)
    rewritten(path, change)
    assert re.search(why, refusal(path))


def test_a_negative_variance_is_not_saved(tmp_path):
    model = network()
    model.var[...] = -model.var[...]
    with pytest.raises(ValueError, match=r"variance is .*negative.*gives NaN"):
        model.save(tmp_path / "net.npz")
    assert not list(tmp_path.iterdir())


def test_a_member_that_is_there_twice(tmp_path):
    path = tmp_path / "net.npz"
    network().save(path)
    with (
        zipfile.ZipFile(path, "a") as file,
        pytest.warns(UserWarning, match="Duplicate"),
    ):
        file.writestr("mean.npy", npy())
    assert "mean.npy is there twice" in refusal(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["header", "mean"])
def test_an_archive_that_unpacks_to_gigabytes_is_not_unpacked(
    name, tmp_path, monkeypatch
):
    """Of nothing but zeros; the size is in the directory of the archive."""
    path = tmp_path / "net.npz"
    network().save(path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays[name] = np.zeros(50_000_000, np.float32)
    np.savez_compressed(path, **arrays)
    assert path.stat().st_size < 1_000_000
    read, most = zipfile.ZipExtFile.read, []

    def watched(self, n=-1):
        got = read(self, n)
        most.append(len(got))
        return got

    monkeypatch.setattr(zipfile.ZipExtFile, "read", watched)
    assert f"{name} has 200,000,128 bytes, more than the" in refusal(path)
    assert sum(most) < 1_000_000


def test_double_precision_asks_for_it(tmp_path):
    with jax.enable_x64(True):
        model = network(param_dtype=jnp.float64)
        model.save(tmp_path / "net.npz")
        loaded = jb.MLP.load(tmp_path / "net.npz")
        assert loaded.coeffs.dtype == jnp.float64
    assert re.search("float64.*jax_enable_x64", refusal(tmp_path / "net.npz"))


@pytest.mark.parametrize("part", [0.01, 0.3, 0.9, 0.999])
def test_truncated(part, tmp_path):
    path = tmp_path / "net.npz"
    network().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    assert "damaged" in refusal(path)


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
        assert "MLP.save" in refusal(half)
        shutil.rmtree(half)


def test_foreign_directories(tmp_path):
    assert "not a network that MLP.save wrote" in refusal(tmp_path)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "other", {"kernel": np.zeros(3)})
    assert "not a network that MLP.save wrote" in refusal(tmp_path / "other")
