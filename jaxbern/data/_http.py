"""HTTP requests with checks of the answer, a timeout and a minimum speed."""

import dataclasses
import http.client
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from jaxbern._version import __version__

CHUNK = 1 << 20
TIMEOUT = 60.0  # seconds without a byte, and until an answer begins
# Give up on a server that sends fewer bytes than this within the time below.
LEAST, WINDOW = 30_000, 60.0


class Unavailable(Exception):
    """Raised if this address does not provide the file; another may."""


class Cut(Exception):
    """Raised if the connection broke; the part received so far is kept."""


class Stale(Cut):
    """Raised if the part received so far does not belong to the server's current file."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The headers of an answer."""

    response: http.client.HTTPResponse
    start: int  # offset of the first byte
    total: int | None  # size of the whole file in bytes
    validator: str | None  # changes when the file does


def ask(url: str, have: int, known: dict) -> Answer:
    """Request a file from byte ``have`` on; ``known`` is the earlier answer, if any."""
    headers = {"User-Agent": f"jaxbern/{__version__}", "Accept-Encoding": "identity"}
    validator = known.get("validator")
    if have:
        headers["Range"] = f"bytes={have}-"
        headers |= {"If-Range": validator} if validator else {}
    request = urllib.request.Request(url, headers=headers)
    opener = urllib.request.build_opener(_Redirects)
    try:
        response = _within(2 * TIMEOUT, lambda: opener.open(request, timeout=TIMEOUT))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            raise Stale(f"the server has no byte {have:,} of the file") from error
        if error.code in (408, 429) or error.code >= 500:
            raise Cut(f"the server answered {error.code} {error.reason}") from error
        raise Unavailable(f"the server answered {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        # In the middle of a file it is worth retrying when the network is back.
        kind = Cut if have else Unavailable
        raise kind(f"no connection: {getattr(error, 'reason', error)}") from error
    try:
        return _checked(url, response, have, known)
    except BaseException:
        response.close()
        raise


def _checked(url: str, response: Any, have: int, known: dict) -> Answer:
    headers = response.headers
    encoding = headers.get("Content-Encoding", "identity").lower()
    # Many servers declare gzip for files that are stored compressed and sent unchanged.
    stored = encoding in ("gzip", "x-gzip") and url.endswith(".gz")
    if encoding != "identity" and not stored:
        raise Unavailable(
            f"the server sent it in the encoding {encoding!r}, not as it is stored"
        )
    etag = headers.get("ETag", "W/")
    validator = headers.get("Last-Modified") if etag.startswith("W/") else etag
    length = headers.get("Content-Length")
    if response.status != http.HTTPStatus.PARTIAL_CONTENT:
        return Answer(response, 0, _size(length), validator)
    sent = headers.get("Content-Range", "")
    match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", sent)
    total = _size(match[3]) if match else None
    before = known.get("total")
    if (
        match is None
        or int(match[1]) != have
        or (length is not None and _size(length) != int(match[2]) + 1 - have)
        or (total is not None and int(match[2]) >= total)
        or (total is not None and before is not None and total != before)
        or (have and None not in (validator, known.get("validator"))
            and validator != known["validator"])
    ):  # fmt: skip
        raise (Stale if have else Unavailable)(
            f"asked for bytes from {have:,}, the server sent {sent!r}, which is not the "
            "rest of the file that was begun"
        )
    return Answer(response, have, before if total is None else total, validator)


def chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body in chunks; raise if it arrives too slowly."""
    began, came = time.monotonic(), 0
    while True:
        try:
            chunk = response.read1(CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise Cut(f"the connection broke: {error}") from error
        if not chunk:
            return
        yield chunk
        came += len(chunk)
        if (taken := time.monotonic() - began) > WINDOW:
            if came < LEAST:
                raise Unavailable(
                    f"the server sends too slowly, {came:,} bytes in {taken:.0f} seconds"
                )
            began, came = time.monotonic(), 0


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects, except to addresses where others could tamper with the file."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        """Refuse schemes other than http(s), and http after https."""
        scheme = urllib.parse.urlsplit(newurl).scheme.lower()
        if scheme != "https" and (scheme != "http" or req.type == "https"):
            fp.close()
            raise Unavailable(
                f"the server points to {newurl}, which is not as safe as {req.full_url}"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _within(seconds: float, call: Callable[[], Any]) -> Any:
    """Return the result of a call, or raise ``TimeoutError`` even if headers drip in."""
    found: list[Any] = []

    def run():
        try:
            found.append((call(), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise TimeoutError(f"no answer within {seconds:.0f} seconds")
    result, error = found[0]
    if error is not None:
        raise error
    return result


def _size(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None
