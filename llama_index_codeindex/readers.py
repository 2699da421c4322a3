"""Reading a code base: what its developers would expect to be read, and never a secret."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.readers.base import BasePydanticReader, ResourcesReaderMixin
from llama_index.core.readers.file.base import FileSystemReaderMixin
from llama_index.core.schema import Document

from llama_index_codeindex.engine.errors import FileNotIndexed, InvalidArgument
from llama_index_codeindex.engine.files.categories import categorise
from llama_index_codeindex.engine.files.gate import MAX_FILE_BYTES, Gate
from llama_index_codeindex.engine.files.jail import refuse_git_folder, relative_path, resolve_root
from llama_index_codeindex.engine.files.walk import WalkOptions, find, walk
from llama_index_codeindex.engine.model import Gap, Source, SourceFile
from llama_index_codeindex.engine.syntax.languages import BY_NAME, detect

HIDDEN_KEYS = ["file_path", "language", "category", "content_hash", "encoding"]


class CodeReader(BasePydanticReader, ResourcesReaderMixin, FileSystemReaderMixin):
    """Load the source files below a folder as documents, one a file.

    Ignore rules are git's own; secret-holding files are never read, recognisable secrets inside other files are
    redacted, and no link leads out of the root. What was met and not loaded is in `gaps`.

    Args:
        root: The folder.
        include: Patterns in `.gitignore` syntax; if given, only matching files are loaded.
        exclude: Patterns of files that are not loaded.
        languages: Names of languages; if given, only files in one of them are loaded.
        max_file_bytes: Files with more bytes are not loaded.
        global_ignore: Whether the user's own global git ignore file counts.
        submodules: Whether submodules are read.
        allow_broad_root: Admit a home directory or a file system's root.

    Raises:
        RootError: The folder cannot be used; raised when reading starts.
        InvalidArgument: A language is unknown; likewise.
    """

    root: str = Field(description="The folder to read.")
    include: list[str] | None = Field(default=None, description="Patterns of the files to load.")
    exclude: list[str] | None = Field(default=None, description="Patterns of the files to leave out.")
    languages: list[str] | None = Field(default=None, description="Languages to load.")
    max_file_bytes: int = Field(default=MAX_FILE_BYTES, gt=0, description="Larger files are left out.")
    global_ignore: bool = Field(default=True, description="Whether the user's global git ignore file counts.")
    submodules: bool = Field(default=True, description="Whether submodules are read.")
    allow_broad_root: bool = Field(default=False, description="Admit a home directory or a file system's root.")

    _gaps: list[Gap] = PrivateAttr(default_factory=list)

    def __init__(self, root: str | os.PathLike[str], **kwargs: Any) -> None:
        super().__init__(root=os.fspath(root), **kwargs)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the reader is serialised."""
        return "CodeReader"

    @property
    def gaps(self) -> list[Gap]:
        """What the last load met and did not load, each with its reason."""
        return list(self._gaps)

    def lazy_load_data(
        self, file: Path | str | None = None, extra_info: dict[str, Any] | None = None, **_: Any
    ) -> Iterator[Document]:
        """Yield documents one by one, as the files are read.

        Args:
            file: Only this file, in any spelling, so that the reader serves as a `file_extractor` of
                `SimpleDirectoryReader`.
            extra_info: Metadata to add to every document.

        Raises:
            RootError: The folder cannot be used.
            PathError: `file` is not read.
        """
        gaps: list[Gap] = []
        self._gaps = gaps  # a list of its own, so that two loads at once do not mix theirs
        if file is not None:
            source = self._require(str(file))
            if self._speaks(source):
                yield self._document(source, extra_info)
            return
        for source_or_gap in self._read_all():
            if isinstance(source_or_gap, Gap):
                gaps.append(source_or_gap)
            elif self._speaks(source_or_gap):
                yield self._document(source_or_gap, extra_info)

    def load_data(self, *args: Any, **load_kwargs: Any) -> list[Document]:
        """Return all documents; see `lazy_load_data`."""
        return list(self.lazy_load_data(*args, **load_kwargs))

    async def alazy_load_data(self, *args: Any, **load_kwargs: Any) -> list[Document]:
        """Return the documents, read in a thread."""
        return await asyncio.to_thread(self.load_data, *args, **load_kwargs)

    async def astream_data(self, *args: Any, **load_kwargs: Any) -> AsyncIterator[Document]:
        """Yield documents as they are read, each in a thread, so that the event loop goes on."""
        documents = self.lazy_load_data(*args, **load_kwargs)
        while (document := await asyncio.to_thread(next, documents, None)) is not None:
            yield document

    def list_resources(self, *_: Any, **__: Any) -> list[str]:
        """Return the relative paths of the files that a load would return."""
        return [source.path for source in self._read_all() if isinstance(source, Source) and self._speaks(source)]

    def get_resource_info(self, resource_id: str, *_: Any, **__: Any) -> dict[str, Any]:
        """Return path, size in bytes, modification time in seconds, and language of an admitted file.

        Raises:
            FileNotIndexed: The walk does not admit such a file.
        """
        file = self._admit(resource_id)
        return {
            "file_path": file.path,
            "file_size": file.size,
            "last_modified": file.mtime_ns / 1e9,
            "language": detect(file.path).name,
        }

    def load_resource(self, resource_id: str, *_: Any, **__: Any) -> list[Document]:
        """Return the document of one file.

        Raises:
            PathError: The file is not read.
        """
        return [self._document(self._require(resource_id), None)]

    def read_file_content(self, input_file: Path, **_: Any) -> bytes:
        """Return a file's text as UTF-8, as the index sees it: decoded, secrets redacted.

        Raises:
            PathError: The file is not read.
        """
        return self._require(str(input_file)).text.encode("utf-8", "replace")

    async def aread_file_content(self, input_file: Path, **kwargs: Any) -> bytes:
        """Return what `read_file_content` does, read in a thread."""
        return await asyncio.to_thread(self.read_file_content, input_file, **kwargs)

    def _resolve(self) -> Path:
        root = resolve_root(self.root, allow_broad=self.allow_broad_root)
        refuse_git_folder(root)
        return root

    def _options(self) -> WalkOptions:
        return WalkOptions(
            tuple(self.include or ()), tuple(self.exclude or ()), self.max_file_bytes, self.global_ignore, self.submodules
        )  # fmt: skip

    def _read_all(self) -> Iterator[Source | Gap]:
        for language in self.languages or ():
            if language not in BY_NAME:
                raise InvalidArgument(f"Unknown language {language!r}.", suggestion=f"One of: {', '.join(BY_NAME)}.")
        root = self._resolve()
        gate = Gate(root, self.max_file_bytes)
        for found in walk(root, self._options()):
            yield gate.read(found.path) if isinstance(found, SourceFile) else found

    def _admit(self, path: str) -> SourceFile:
        """Return the file that a caller names, if the walk admits it: the rules are the same for one as for all."""
        root = self._resolve()
        relative = relative_path(path, root)
        found = find(root, relative, self._options())
        if isinstance(found, SourceFile):
            return found
        gate = Gate(root, self.max_file_bytes)
        if isinstance(gate.read(relative), Gap):
            gate.require(relative)  # raises what fits: it is missing, denied, outside
        raise FileNotIndexed(f"{relative!r} is not among the files that are read.")

    def _require(self, path: str) -> Source:
        file = self._admit(path)
        return Gate(self._resolve(), self.max_file_bytes).require(file.path)

    def _speaks(self, source: Source) -> bool:
        return not self.languages or detect(source.path, source.text).name in self.languages

    def _document(self, source: Source, extra_info: dict[str, Any] | None) -> Document:
        metadata = {
            **(extra_info or {}),
            "file_path": source.path,
            "language": detect(source.path, source.text).name,
            "category": categorise(source.path),
            "content_hash": source.content_hash,
            "encoding": source.encoding,
        }
        return Document(
            id_=source.path, text=source.text, metadata=metadata,
            excluded_embed_metadata_keys=list(HIDDEN_KEYS), excluded_llm_metadata_keys=list(HIDDEN_KEYS),
        )  # fmt: skip
