"""Fetching one file over HTTP: no questions asked, resumed where it stopped, checked, moved in at the end.

The target never holds half a file. What has arrived so far waits in ``<target>.part``, and beside it in
``<target>.part.version`` the server's own mark of which file that was (ETag or date), so that a later
run goes on with the same file and starts over with another.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from keat.datasets.data_folder import OTHERWISE, writing
from keat.disk import make_folder
from keat.errors import DownloadError

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all (None: the server does not say)

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without a byte
_PAUSES = (0.5, 1.0, 2.0)  # seconds before trying again; a try that brings bytes begins the count anew
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class _TransferError(Exception):
    """The transfer stopped for a reason that may pass."""


def download(url: str, target: Path, *, sha256: str | None = None, progress: Progress | None = None) -> Path:
    """Fetch ``url`` into ``target`` and return it."""
    part = target.with_name(target.name + ".part")
    make_folder(target.parent, OTHERWISE)
    failures = 0
    while True:
        before = _size(part)
        try:
            _transfer(url, part, progress)
            break
        except _TransferError as reason:
            failures = failures + 1 if _size(part) <= before else 1
            if failures > len(_PAUSES):
                raise DownloadError(
                    f"Could not download {url} ({reason}); check the connection and try again, or fetch that "
                    f"file by other means and put it at {target}."
                ) from reason
            time.sleep(_PAUSES[failures - 1])
    if sha256 is not None and (found := _digest(part)) != sha256:
        _discard(part)
        raise DownloadError(
            f"{url} brought a file with SHA-256 {found}, expected {sha256}; it was deleted, try again later."
        )
    with writing(target.parent):
        part.replace(target)
        _version_file(part).unlink(missing_ok=True)
    return target


def _transfer(url: str, part: Path, progress: Progress | None) -> None:
    """One request: go on with ``part`` if the server still has that file, else start over."""
    done = _size(part)
    version = _kept_version(part) if done else None
    request = urllib.request.Request(url, headers={"User-Agent": "keat"})
    if version:
        request.add_header("Range", f"bytes={done}-")
        request.add_header("If-Range", version)
    with contextlib.ExitStack() as stack:
        try:
            response = stack.enter_context(urllib.request.urlopen(request, timeout=_TIMEOUT))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416:  # the part is not a beginning of the server's file
                _discard(part)
                raise _TransferError("the server's file has changed") from error
            if error.code in _PASSING:
                raise _TransferError(f"the server answered {error.code} {error.reason}") from error
            raise DownloadError(
                f"The server refused {url} ({error.code} {error.reason}); the file may have moved, see the "
                "dataset's homepage."
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise _TransferError(_reason(error)) from error
        resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(
            f"bytes {done}-"
        )
        if response.status == 206 and not resumed:
            _discard(part)
            raise _TransferError("the server sent another range than asked for")
        done = done if resumed else 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else None
        with writing(part.parent):
            file = stack.enter_context(part.open("ab" if resumed else "wb"))
            _version_file(part).write_text(_version(response.headers))
            if total is not None and shutil.disk_usage(part.parent).free < total - done:
                raise OSError(errno.ENOSPC, f"{(total - done) / 1e9:.1f} GB are still to come")
        while True:
            if progress is not None:
                progress(done, total)
            try:
                chunk = response.read(_CHUNK)
            except (OSError, http.client.HTTPException) as error:
                raise _TransferError(_reason(error)) from error
            if not chunk:
                break
            with writing(part.parent):
                file.write(chunk)
            done += len(chunk)
        with writing(part.parent):
            file.flush()
        if total is not None and done < total:
            raise _TransferError(f"the connection closed after {done:,} of {total:,} bytes")


def _version(headers: http.client.HTTPMessage) -> str:
    """What If-Range may compare: a strong ETag, or else the date of the last change; empty if neither."""
    etag = headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")


def _kept_version(part: Path) -> str | None:
    """The mark beside a part, if it is one that can be sent as a header."""
    try:
        mark = _version_file(part).read_text(encoding="latin-1")
    except OSError:
        return None
    return mark if len(mark) < 200 and mark.isprintable() else None


def _version_file(part: Path) -> Path:
    return part.with_name(part.name + ".version")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _version_file(part).unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(getattr(cause, "strerror", None) or cause or type(error).__name__)
