"""One rule for the folder of tuned launches, downloads and converted data."""

from pathlib import Path

import pytest

import jaxbern as jb
from jaxbern import io
from jaxbern.kernels import tuned


@pytest.mark.parametrize("variables, expected", [
    ({"JAXBERN_CACHE": "/a"}, "/a"),
    ({"JAXBERN_CACHE": "~/a"}, "/home/someone/a"),
    ({"JAXBERN_CACHE": "/a", "XDG_CACHE_HOME": "/x"}, "/a"),
    ({"JAXBERN_CACHE": "", "XDG_CACHE_HOME": "/x"}, "/x/jaxbern"),
    ({"XDG_CACHE_HOME": ""}, "/home/someone/.cache/jaxbern"),
    ({}, "/home/someone/.cache/jaxbern"),
])  # fmt: skip
def test_where_it_is(variables, expected, monkeypatch):
    for name in ("JAXBERN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert io.cache_folder() == Path(expected)
    assert tuned.path() == Path(expected, "launch.json")
    assert jb.data.cache_folder().parent == Path(expected, "data")
