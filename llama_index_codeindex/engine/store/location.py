"""Where an index lies on disk, and what its folder holds."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

# The standard mark of a folder that backups and other indexers leave alone (bford.info/cachedir).
_CACHE_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# An index kept by llama-index-codeindex.\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one index folder."""

    folder: Path

    @property
    def catalog(self) -> Path:
        """The catalog, the one truth."""
        return self.folder / "catalog.sqlite3"

    @property
    def lexical(self) -> Path:
        """The full-text index, derived."""
        return self.folder / "lexical"

    @property
    def lock(self) -> Path:
        """The writer's lock."""
        return self.folder / "writer.lock"

    @property
    def owner(self) -> Path:
        """Who holds the lock, and since when."""
        return self.folder / "writer.json"

    def create(self) -> None:
        """Make the folder, with the mark that keeps walks and backups out of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tag = self.folder / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(_CACHE_TAG, "utf-8")


def locate(root: Path, cache_dir: str | os.PathLike[str] | None = None, revision: str = "") -> Layout:
    """Return the layout of a root's index: one folder per root (and revision) below the cache folder.

    Args:
        root: The resolved root.
        cache_dir: The cache folder; the user's own by default, never inside the repository.
        revision: A git revision, for an index of a tree that is not checked out.
    """
    base = Path(cache_dir).expanduser().resolve() if cache_dir else user_cache_path("llama-index-codeindex")
    identity = os.path.normcase(str(root)) + ("\0" + revision if revision else "")
    return Layout(base / hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32])
