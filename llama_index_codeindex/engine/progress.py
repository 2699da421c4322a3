"""A progress bar on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llama_index_codeindex.engine.store.builder import Progress

if TYPE_CHECKING:
    from tqdm import tqdm


class ProgressBar:
    """A progress bar on standard error, one per stage that takes long."""

    _WORDS: Final = {"scan": "Scanning", "parse": "Indexing", "embed": "Embedding", "publish": "Publishing"}

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None
        self._stage = ""

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()

    def __call__(self, progress: Progress) -> None:
        """Show how far it is."""
        if progress.stage != self._stage:
            self._finish()
            self._stage = progress.stage
            if progress.total > 1 and progress.stage != "scan":
                from tqdm import tqdm  # most refreshes find nothing to do, and show no bar

                unit = " files" if progress.stage == "parse" else " texts"
                # On terminals alone, and only when there is something to wait for.
                self._bar = tqdm(
                    total=progress.total, desc=self._WORDS[progress.stage], unit=unit, leave=False, disable=None, delay=0.5
                )  # fmt: skip
        if self._bar is not None:
            self._bar.update(progress.done - self._bar.n)

    def _finish(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
