"""Where an index lies on disk, and what its folder holds."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

# The standard mark of a folder that backups and other indexers leave alone (bford.info/cachedir).
_MARK = "CACHEDIR.TAG"
_CACHE_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# An index kept by llama-index-codeindex.\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one index folder, and the root it describes."""

    folder: Path
    root: str = ""

    @property
    def catalog(self) -> Path:
        """The catalog, the one truth."""
        return self.folder / "catalog.sqlite3"

    @property
    def lock(self) -> Path:
        """The writer's lock. It lies beside the folder, so that who removes the folder still holds it."""
        return self.folder.parent / "locks" / f"{self.folder.name}.lock"

    def inside(self, root: Path) -> tuple[Path, ...]:
        """Return the folders that a walk of `root` must leave out, so that an index never reads itself."""
        base = self.folder.parent
        if base == root:
            return (self.folder, self.lock.parent)
        return (base,) if base.is_relative_to(root) else ()

    @property
    def owner(self) -> Path:
        """Who holds the lock, and since when."""
        return self.folder / "writer.json"

    @property
    def mark(self) -> Path:
        """What keeps walks and backups out of the folder; it is there once a catalog was."""
        return self.folder / _MARK

    def create(self) -> None:
        """Make the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        if self.folder.exists():
            shutil.rmtree(self.folder)


def set_mark(folder: Path) -> None:
    """Mark a folder as a cache."""
    if not (folder / _MARK).exists():
        (folder / _MARK).write_text(_CACHE_TAG, "utf-8")


def cache_folder(cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds the indexes."""
    return Path(cache_dir).expanduser().resolve() if cache_dir else user_cache_path("llama-index-codeindex")


def locate(root: Path, cache_dir: str | os.PathLike[str] | None = None, revision: str = "") -> Layout:
    """Return the layout of a root's index: one folder per root (and revision) below the cache folder.

    Args:
        root: The resolved root.
        cache_dir: The cache folder; the user's own by default, never inside the repository.
        revision: A git revision, for an index of a tree that is not checked out.
    """
    identity = os.path.normcase(str(root)) + ("\0" + revision if revision else "")
    return Layout(
        cache_folder(cache_dir) / hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32], str(root)
    )
