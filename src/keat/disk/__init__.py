"""Files, folders and names as they are found on a disk, where nothing is taken on trust.

A path is looked at before it is opened, since opening a pipe waits for ever. A file is written whole and
brought to the disk, or it is not there. What the system says is said in a sentence. A name becomes part of a
path only through `safe_name`.
"""

from keat.disk.arrays import NOT_AN_ARRAY, map_array
from keat.disk.byte_sizes import bytes_of
from keat.disk.file_errors import reading, reason_of, unreadable, writing
from keat.disk.file_paths import expanded, is_file, look_at, require_folder, require_place, safe_name
from keat.disk.typed_json import typed
from keat.disk.whole_files import (
    LOCK,
    lock_folder,
    make_folder,
    new_file,
    new_folder,
    remove_folders,
    remove_parts,
    sync,
    write_text,
)

__all__ = [
    "LOCK",
    "NOT_AN_ARRAY",
    "bytes_of",
    "expanded",
    "is_file",
    "lock_folder",
    "look_at",
    "make_folder",
    "map_array",
    "new_file",
    "new_folder",
    "reading",
    "reason_of",
    "remove_folders",
    "remove_parts",
    "require_folder",
    "require_place",
    "safe_name",
    "sync",
    "typed",
    "unreadable",
    "write_text",
    "writing",
]
