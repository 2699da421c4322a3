"""The facts of a code base: its manifests read through the gate, parsed once per content, and joined."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from llama_index_codeindex.engine.facts.documents import Malformed
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.joining import join
from llama_index_codeindex.engine.facts.model import Facts, Manifest, Status
from llama_index_codeindex.engine.facts.registry import Kind, included_kind, kind_of
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.model import Gap

logger = logging.getLogger(__name__)

# Gaps that are no files of their own, or whose content is in the index all the same.
_NOT_FILES = frozenset(("cache_dir", "link", "link_outside", "nested_repository", "unparsed", "not_evaluated"))

# Tools write lock files, so they outgrow what is searched as source: one of 9,000 packages has 3 MB. Ten times that takes
# 7 s to parse, once per content.
MAX_MANIFEST_BYTES = 32_000_000
_NOT_READ = "not read: "

_Result = tuple[Draft, Status, str]


class Inventory:
    """Reads the facts of one code base, and keeps what it parsed until the content of a manifest changes."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, _Result]] = {}
        self._lock = threading.Lock()

    def facts(self, paths: Iterable[str], gaps: Iterable[Gap], gate: Gate) -> Facts:
        """Return what the manifests say now.

        Args:
            paths: The files of the index; of others only manifests are read that are too large for it.
            gaps: What is not in the index: any other manifest among it is unparsed.
            gate: The gate that the files are read through, up to `MAX_MANIFEST_BYTES`.
        """
        known, gaps = set(paths), list(gaps)
        gate = replace(gate, max_file_bytes=max(gate.max_file_bytes, MAX_MANIFEST_BYTES))
        large = {gap.path for gap in gaps if gap.reason == "too_large"}
        kinds = {path: kind for path in sorted(known | large) if (kind := kind_of(path))}
        with self._lock:
            results = self._read_all(kinds, known, gate)
            self._kept = {path: kept for path, kept in self._kept.items() if path in results}
        for gap in gaps:
            kind = kind_of(gap.path)
            is_read = gap.path in results and not results[gap.path][2].startswith(_NOT_READ)
            if kind and gap.path not in known and gap.reason not in _NOT_FILES and not is_read:
                results[gap.path] = (Draft(gap.path, kind.ecosystem), "unparsed", _gap_reason(gap))
        drafts = [draft for _, (draft, _, _) in sorted(results.items())]
        facts = sorted(join(drafts), key=lambda fact: (fact.file_path, fact.line, fact.name))
        runtimes = [runtime for draft in drafts for runtime in draft.runtimes]
        manifests = [
            Manifest(path, draft.ecosystem, status, reason, len(draft.facts))
            for path, (draft, status, reason) in sorted(results.items())
        ]
        return Facts(tuple(facts), tuple(runtimes), tuple(manifests))

    def _read_all(self, kinds: Mapping[str, Kind], known: set[str], gate: Gate) -> dict[str, _Result]:
        """Read every manifest once, and those that others include; an include of what is not there is noted."""
        waiting = list(kinds.items())
        results: dict[str, _Result] = {}
        while waiting:
            path, kind = waiting.pop()
            if path in results:
                continue
            draft, status, reason = results[path] = self._read(path, kind, gate)
            missing = [include for include in draft.includes if include not in known]
            if missing:
                results[path] = (
                    draft,
                    status,
                    "; ".join(filter(None, (reason, f"includes {missing[0]}: not indexed"))),
                )
            waiting += [(include, included_kind()) for include in draft.includes if include in known]
        return results

    def _read(self, path: str, kind: Kind, gate: Gate) -> _Result:
        if kind.parser is None:
            return Draft(path, kind.ecosystem), "not_evaluated", kind.reason
        source = gate.read(path)
        if isinstance(source, Gap):
            return Draft(path, kind.ecosystem), "unparsed", _gap_reason(source)
        kept = self._kept.get(path)
        if kept and kept[0] == source.content_hash:
            return kept[1]
        result = parse(path, kind, source.text)
        self._kept[path] = (source.content_hash, result)
        return result


def parse(path: str, kind: Kind, text: str) -> _Result:
    """Return what one manifest says, its status and the reason; nothing that its text holds raises."""
    draft = Draft(path, kind.ecosystem)
    if kind.parser is None:
        return draft, "not_evaluated", kind.reason
    try:
        kind.parser(text, draft)
    except Malformed as error:
        return Draft(path, kind.ecosystem), "unparsed", str(error)
    except Exception as error:
        # One manifest that no parser foresaw must not cost the facts of all others; the log keeps the rest.
        logger.exception("A manifest could not be read.")
        return Draft(path, kind.ecosystem), "unparsed", f"its parser failed: {type(error).__name__}"
    return draft, "parsed", "; ".join(draft.notes)


def _gap_reason(gap: Gap) -> str:
    return _NOT_READ + gap.reason.replace("_", " ") + (f" ({gap.detail})" if gap.detail else "")
