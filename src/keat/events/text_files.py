"""CSV and its kin as sources: columns of text whose types are found, and a delimiter that may be any sign."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from keat.errors import InputError
from keat.events.file_column import Column
from keat.events.file_source import Source, numbers, readable, stem

WORDS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
PLURALS = {sign: f"{word}s" for word, sign in WORDS.items()}
CSV_BLOCK = 8 << 20  # bytes a thread parses at a time
CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error")


class OtherKindError(Exception):
    """A text file whose column, which is named, is not all of the kind that it is read as."""


def sign_of(delimiter: str) -> str:
    """The sign that separates columns, which may be given by its name."""
    sign = WORDS.get(delimiter.lower(), "\t" if delimiter == "\\t" else delimiter)
    if len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in '"\r\n\0':
        raise InputError(
            f"'{delimiter}' does not separate columns; a delimiter is one sign, such as ; or |, or one of "
            f"the words {', '.join(WORDS)}."
        )
    return sign


def open_csv(path: Path, delimiter: str, header: bool) -> Source:
    with readable(path, "CSV", header):
        first = _first_record(path, delimiter)
    names = [name.strip() for name in first] if header else numbers(len(first))
    written = dict(zip(names, first, strict=True)) if header else {name: name for name in names}
    parse = pacsv.ParseOptions(delimiter=delimiter)

    def load(columns: list[str], as_text: list[str]) -> pa.Table:
        types = {written[name]: pa.binary() for name in as_text}
        convert = pacsv.ConvertOptions(include_columns=[written[c] for c in columns], column_types=types)
        options = pacsv.ReadOptions(block_size=CSV_BLOCK, column_names=None if header else names)
        with readable(path, "CSV", header):
            try:
                return pacsv.read_csv(path, options, parse, convert)
            except pa.ArrowInvalid:  # line breaks in quotes, or a bad row, whose number only one thread knows
                options.use_threads = False
                careful = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
                return pacsv.read_csv(path, options, careful, convert)

    def read(columns: list[str], as_text: list[str]) -> pa.Table:
        table = load(columns, as_text).rename_columns(columns)
        for name in columns:  # Arrow takes what is not UTF-8 for bytes
            if pa.types.is_binary(table[name].type) and name not in as_text:
                Column(str(path), name, table[name]).from_bytes()
        return table

    def stream(columns: list[str], types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        as_given = {written[name]: kind for name, kind in types.items()}
        convert = pacsv.ConvertOptions(include_columns=[written[c] for c in columns], column_types=as_given)
        options = pacsv.ReadOptions(block_size=CSV_BLOCK, column_names=None if header else names)
        careful = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        with readable(path, "CSV", header):
            try:
                for batch in pacsv.open_csv(path, options, careful, convert):
                    yield batch.rename_columns(columns)
            except pa.ArrowInvalid as error:
                if unlike := CONVERSION.search(str(error)):
                    raise OtherKindError(names[int(unlike[1])]) from error
                raise

    return Source(str(path), stem(path), names, read, untyped=True, stream=stream)


def _first_record(path: Path, delimiter: str) -> list[str]:
    """What stands in the first record, as it is written: the names of the columns, if there is a header.

    Not through Arrow, which minds bad rows further down; a Python callback that lets it skip them can still
    be held by its threads when the interpreter ends, and abort it.
    """
    unpack = gzip.open if path.suffix.lower() == ".gz" else open
    with unpack(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        names = next(filter(None, csv.reader(file, delimiter=delimiter)), None)
    if names is None:
        raise InputError(f"The file {path} is empty; write or download it again.")
    line = "".join(names)
    if "\0" in line or any("\udc80" <= letter <= "\udcff" for letter in line):
        raise InputError(f"{path} is not UTF-8 text; save it in UTF-8.")
    others = {word: sign for word, sign in WORDS.items() if sign in line and sign != " "}
    if len(names) == 1 and others:
        word, sign = next(iter(others.items()))
        raise InputError(
            f"The columns of {path} are separated by {PLURALS[sign]}, not by "
            f"{PLURALS.get(delimiter, repr(delimiter))}; say so with the delimiter '{word}'."
        )
    return names
