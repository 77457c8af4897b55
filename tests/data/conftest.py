"""The cache of a test, and the web server for tests of downloads."""

import pytest

from jaxbern.data import _download, _http
from tests.data import data_server
from tests.data.download_cases import CONTENT


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Start a server that has the file; remove pauses between attempts."""
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path))
    monkeypatch.delenv("JAXBERN_DATA", raising=False)
    monkeypatch.setattr(_download, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(_http, "CHUNK", 10_000)
    with data_server.running() as server:
        server.content = CONTENT
        yield server


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Use an empty cache for a test, and no data of the user's."""
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAXBERN_DATA", raising=False)
    return tmp_path / "cache" / "data"
