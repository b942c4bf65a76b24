"""The data folder: raw files as published, and beside them the columns keat maps into memory.

    <KEAT_DATA, or the platform's cache folder>/
      tgbl-wiki/
        raw/      tgbl-wiki_edgelist_v2.csv, tgbl-wiki_val_ns_v2.pkl, …
        stream/   src.npy, dst.npy, t.npy, features.npy, …   (made once, checked and mapped ever after)

A raw file (or the zip that holds it) that someone put there by hand is used as it is, with no network.
"""

from __future__ import annotations

import contextlib
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from keat.datasets.data_folder import OTHERWISE, data_folder
from keat.datasets.dataset_entries import dataset_info
from keat.datasets.dataset_info import DatasetInfo
from keat.datasets.download import Progress, download
from keat.disk import is_file, lock_folder, make_folder, new_file
from keat.errors import CacheError, DownloadError
from keat.events import EventStream


def raw_folder(name: str) -> Path:
    """Where the raw files of a dataset are, or have to be put."""
    return data_folder() / dataset_info(name).name / "raw"


def is_here(name: str) -> bool:
    """Whether the raw files of a dataset are in the data folder."""
    return _complete(raw_folder(name), dataset_info(name))


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Bring the raw files of a dataset into the data folder, if they are not there, and return the folder
    they are in."""
    info, raw = dataset_info(name), raw_folder(name)
    if _complete(raw, info):
        return raw
    with _one_at_a_time(raw.parent):
        if not _complete(raw, info):
            _bring(info, raw, progress)
    return raw


def open_dataset(name: str, *, progress: Progress | None = None) -> EventStream:
    """The stream of a dataset: fetched and converted when first asked for, mapped from disk ever after."""
    info = dataset_info(name)
    folder = data_folder() / info.name / "stream"
    if not is_file(folder / "stream.json"):
        raw = fetch(name, progress)
        with _one_at_a_time(raw.parent):
            if not is_file(folder / "stream.json"):
                info.reader(raw, info).save(folder)
    stream = EventStream.open(folder)
    if (stream.name, stream.unit) != (info.name, info.unit):
        raise CacheError(
            f"{folder} holds {stream.name} in '{stream.unit}', not {info.name} in '{info.unit}'; delete it, "
            "and it is made again."
        )
    return stream


def negative_file(name: str, split: Literal["val", "test"]) -> Path | None:
    """Where the official negatives of a split, a pickle file, are or have to be put; None if it has none."""
    files = dataset_info(name).negative_files
    return raw_folder(name) / files[("val", "test").index(split)] if files else None


def _complete(raw: Path, info: DatasetInfo) -> bool:
    return all(is_file(raw / file) for file in info.raw_files)


def _bring(info: DatasetInfo, raw: Path, progress: Progress | None) -> None:
    by_hand = next((raw / name for name in _archive_names(info) if is_file(raw / name)), None)
    if by_hand is not None:
        _unpack(by_hand, raw, info, advice=f"download it again from {info.url or info.homepage}")
        return
    if info.url is None:
        make_folder(raw, OTHERWISE)
        raise DownloadError(
            f"{info.name} is only handed out by hand: get {info.archive} from {info.homepage} and put it, "
            f"or the {info.raw_files[0]} in it, into {raw}."
        )
    file = download(info.url, raw / info.download_name, sha256=info.sha256, progress=progress)
    if info.archive is not None:
        try:
            _unpack(file, raw, info, advice="it was deleted, try again later")
        finally:
            file.unlink(missing_ok=True)


def _archive_names(info: DatasetInfo) -> list[str]:
    """The archive under its own name, and under the one py-tgb gives it."""
    return [] if info.archive is None else [info.archive, f"{info.name}.zip"]


def _unpack(archive: Path, raw: Path, info: DatasetInfo, advice: str) -> None:
    """Take the files keat wants out of a zip, by name alone, so that no path in it can lead elsewhere."""
    wanted = {*info.raw_files, *info.negative_files}
    try:
        with zipfile.ZipFile(archive) as zipped:
            members = {Path(member).name: member for member in zipped.namelist()}
            missing = [file for file in info.raw_files if file not in members]
            if missing:
                raise DownloadError(f"{archive} does not hold {missing[0]}; {advice}.")
            for file in sorted(wanted & members.keys()):
                _extract(zipped, members[file], raw / file)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
        raise DownloadError(f"{archive} is not a readable zip file ({error}); {advice}.") from error


def _extract(zipped: zipfile.ZipFile, member: str, target: Path) -> None:
    with new_file(target, OTHERWISE) as part, zipped.open(member) as source, part.open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process at a time fetch or convert a dataset; the others wait and find it done."""
    make_folder(folder, OTHERWISE)
    lock = lock_folder(folder, f"{folder} is in use; try again later.", OTHERWISE)
    try:
        yield
    finally:
        lock.release()
