"""Removing indexes: one folder's, or those of folders that are gone."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from llama_index_codeindex.engine.errors import IndexBusy, IndexNotWritable
from llama_index_codeindex.engine.files.jail import resolve_root
from llama_index_codeindex.engine.store.connections import reason
from llama_index_codeindex.engine.store.location import Layout, cache_folder, locate
from llama_index_codeindex.engine.store.locking import writer_lock


def remove(
    root: str | os.PathLike[str], cache_dir: str | os.PathLike[str] | None = None, timeout: float = 60.0
) -> None:
    """Remove the index of a root, whatever state it is in, once no writer is at work any more.

    Args:
        root: The folder of the code base.
        cache_dir: Where indexes are kept; the user's cache folder by default.
        timeout: Seconds to wait for a writer.

    Raises:
        RootError: There is no such folder.
        IndexBusy: Another writer was at work for that long.
        IndexNotWritable: The folder of the index cannot be removed.
    """
    remove_index(locate(resolve_root(root, allow_broad=True), cache_dir), timeout)


def remove_index(layout: Layout, timeout: float, close: Callable[[], None] = lambda: None) -> None:
    """Remove an index folder, once no writer is at work any more.

    Args:
        layout: The folder.
        timeout: Seconds to wait for a writer.
        close: Closes what this process has open of it; called when nobody else writes any more.

    Raises:
        IndexBusy: Another writer was at work for that long.
        IndexNotWritable: The folder cannot be removed.
    """
    try:
        with writer_lock(layout, timeout):
            close()
            layout.remove()
    except OSError as error:
        raise IndexNotWritable(f"The index folder cannot be removed: {reason(error)}.") from None


def prune(cache_dir: str | os.PathLike[str] | None = None) -> list[str]:
    """Remove the indexes whose root does not exist any more, and return those roots.

    Args:
        cache_dir: Where indexes are kept; the user's cache folder by default.
    """
    base = cache_folder(cache_dir)
    gone: list[str] = []
    for catalog in sorted(base.glob("*/catalog.sqlite3")):
        layout = Layout(catalog.parent)
        root = _root_of(layout)
        if not root or Path(root).exists():
            continue
        try:
            remove_index(layout, 0.0)
        except (IndexBusy, IndexNotWritable):
            continue  # somebody uses it after all
        gone.append(root)
    return gone


def _root_of(layout: Layout) -> str:
    """Return the root that an index describes, or an empty string where it does not say."""
    try:
        with closing(sqlite3.connect(f"{layout.catalog.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'root'").fetchone()
    except sqlite3.Error:
        return ""
    return str(row[0]) if row else ""
