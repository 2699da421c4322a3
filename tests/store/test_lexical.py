"""The full text, grown by any sequence of changes, against counting the words of what is there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.model import Chunk
from llama_index_codeindex.engine.store import lexical
from llama_index_codeindex.engine.store.bags import K1, STEM_COUNT, B, pack_bags
from llama_index_codeindex.engine.store.catalog import Catalog
from llama_index_codeindex.engine.store.lexical import Lexical, LexicalWriter, inverse_document_frequency
from llama_index_codeindex.engine.store.rows import chunk_key
from llama_index_codeindex.engine.store.segments import MAX_DOCUMENTS, load
from llama_index_codeindex.engine.syntax.words import count_terms, split_words, words

WORDS = ["alpha", "alphabet", "beta", "gamma", "deltas", "epsilonZeta"]
TERMS = ["alpha", "alphabet", "beta", "gamma", "delta", "epsilon", "zeta", "epsilonzeta", "nothing"]

Files = dict[int, list[str]]  # the texts of a file's chunks, by its id


@pytest.fixture
def catalog() -> Iterator[Catalog]:
    made = Catalog(None)
    made.create()
    yield made
    made.close()


def chunk(number: int, text: str) -> Chunk:
    return Chunk(number, number + 1, number + 1, text)


def change(catalog: Catalog, removed: list[int], added: Files, *, anew: bool = False) -> int:
    with catalog.writing():
        writer = LexicalWriter(catalog.connection, anew=anew)
        writer.remove_files(removed)
        for file_id, texts in added.items():
            rows = [chunk_key(file_id, number) for number in range(len(texts))]
            writer.add(rows, pack_bags(f"f{file_id}.py", [chunk(n, text) for n, text in enumerate(texts)]))
        return writer.finish()


def opened(catalog: Catalog) -> Lexical:
    return Lexical(lambda: catalog.connection, load(catalog.connection))


def bags_of(files: Files) -> dict[int, Counter[str]]:
    return {
        chunk_key(file_id, number): count_terms(text + f" f{file_id}" * STEM_COUNT)
        for file_id, texts in files.items()
        for number, text in enumerate(texts)
    }


def scores_of(bags: dict[int, Counter[str]], weighted: list[tuple[str, float]]) -> list[tuple[int, float]]:
    """BM25 by its formula."""
    mean = sum(bag.total() for bag in bags.values()) / len(bags) if bags else 1.0
    found = {}
    for row, bag in bags.items():
        norm = K1 * (1 - B + B * bag.total() / mean)
        gains = (
            weight * inverse_document_frequency(len(bags), sum(term in other for other in bags.values()))
            * bag[term] * (K1 + 1) / (bag[term] + norm)
            for term, weight in weighted
        )  # fmt: skip
        found[row] = sum(gains)
    return sorted(((row, score) for row, score in found.items() if score), key=lambda pair: (-pair[1], pair[0]))


def compare(catalog: Catalog, files: Files) -> None:
    text, bags = opened(catalog), bags_of(files)
    assert text.documents == len(bags)
    assert text.mean_terms == pytest.approx(sum(b.total() for b in bags.values()) / len(bags) if bags else 0.0)
    frequencies = {term: sum(term in bag for bag in bags.values()) for term in TERMS}
    assert {term: text.document_frequency(term) for term in TERMS} == frequencies
    expected = sorted(((t, n) for t, n in frequencies.items() if t.startswith("alpha") and n), key=lambda p: -p[1])
    assert sorted(text.expand("alpha", 9)) == sorted(expected)
    assert text.expand("alpha", 1) == expected[:1] or len({n for _, n in expected}) == 1
    rows = [*bags, chunk_key(999, 0)]
    counts, lengths = text.counts(rows, TERMS)
    assert counts.tolist() == [[bags[row][term] if row in bags else 0 for term in TERMS] for row in rows]
    assert lengths.tolist() == [bags[row].total() if row in bags else 0 for row in rows]
    weighted = [("alpha", 1.0), ("gamma", 0.5), ("epsilonzeta", 1.0)]
    found, right = text.search(weighted, 1000), scores_of(bags, weighted)
    assert {row: pytest.approx(score, rel=1e-5) for row, score in right} == dict(found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    some = set(list(files)[::2])
    inside = text.search(weighted, 1000, file_ids=some)
    assert inside == [pair for pair in found if pair[0] >> 16 in some]
    assert text.search(weighted, 1000, rows=rows[::3]) == [pair for pair in found if pair[0] in rows[::3]]
    assert text.search(weighted, 2) == found[:2]


def test_what_is_kept_for_the_next_questions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "_KEPT_POSTINGS", 1_000)
    catalog = Catalog(None)
    catalog.create()
    change(catalog, [], {1: ["alpha beta"]}, anew=True)
    text = opened(catalog)
    for number in range(500):
        text.search([(f"unknown{number}", 1.0), ("alpha", 1.0)], 10)
    assert len(text._kept) < 50
    assert len(text._frequencies) < 50
    catalog.close()


texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=5)
changes = st.lists(st.tuples(st.sets(st.integers(1, 9)), st.dictionaries(st.integers(1, 9), texts)), max_size=12)


@settings(deadline=None)
@given(changes=changes, room=st.sampled_from([6, 20, MAX_DOCUMENTS]))
def test_after_any_changes_it_is_what_counting_says(changes: list[tuple[set[int], Files]], room: int) -> None:
    catalog = Catalog(None)
    catalog.create()
    files: Files = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "MAX_DOCUMENTS", room)
        for removed, added in changes:
            gone = (removed | set(added)) & set(files)
            files = {key: value for key, value in files.items() if key not in gone} | added
            assert change(catalog, sorted(gone), added) == sum(map(len, files.values()))
        compare(catalog, files)
    catalog.close()


def test_many_small_changes_leave_few_segments(catalog: Catalog) -> None:
    files = {number: ["alpha beta", "gamma"] for number in range(1, 101)}
    for number, texts in files.items():
        change(catalog, [], {number: texts})
    assert len(load(catalog.connection)) <= 3 * math.ceil(math.log(200, 8))
    for number in range(1, 100):
        change(catalog, [number], {number: ["delta"]})
    files = {number: ["delta"] for number in range(1, 100)} | {100: files[100]}
    assert len(load(catalog.connection)) <= 3 * math.ceil(math.log(200, 8))
    compare(catalog, files)
    stored = catalog.connection.execute("SELECT sum(length(entries)) FROM postings").fetchone()[0]
    change(catalog, [], files, anew=True)
    assert stored <= 3 * catalog.connection.execute("SELECT sum(length(entries)) FROM postings").fetchone()[0]
    change(catalog, list(files), {})
    assert load(catalog.connection) == []
    assert catalog.connection.execute("SELECT count(*) FROM postings").fetchone()[0] == 0


def test_kinds_are_asked_until_enough_are_found(catalog: Catalog) -> None:
    change(catalog, [], {1: ["alpha" + " beta" * number for number in range(1000)]})
    text, asked = opened(catalog), []

    def kinds_of(rows: list[int]) -> dict[int, set[str]]:
        asked.extend(rows)
        return {row: {"class" if row & 0xFFFF in (3, 350, 990) else "function"} for row in rows}

    found = text.search([("alpha", 1.0)], 2, kinds=["class", "struct"], kinds_of=kinds_of)  # type: ignore[arg-type]
    assert {row & 0xFFFF for row, _ in found} == {3, 350}
    assert len(asked) < 1000
    assert text.search([("alpha", 1.0)], 2, kinds=[], kinds_of=kinds_of) == []  # type: ignore[arg-type]


def test_a_file_with_more_chunks_than_a_segment_usually_has(catalog: Catalog) -> None:
    many = MAX_DOCUMENTS + 100
    change(catalog, [], {1: ["alpha"], 2: ["beta gamma"] * many, 3: ["alpha"]})
    text = opened(catalog)
    assert text.document_frequency("gamma") == many
    assert [row >> 16 for row, _ in text.search([("alpha", 1.0)], 9)] == [1, 3]
    assert text.search([("gamma", 1.0)], many)[-1][0] == chunk_key(2, many - 1)


def test_what_is_kept_of_former_questions_is_bounded(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    change(catalog, [], {1: ["alpha beta gamma delta"] * 50})
    monkeypatch.setattr(lexical, "_KEPT_POSTINGS", 100)
    text = opened(catalog)
    for _ in range(3):
        for term in TERMS:
            assert len(text.search([(term, 1.0)], 100)) == (50 if term in ("alpha", "beta", "gamma", "delta") else 0)
    assert sum(len(postings.documents) for postings in text._kept.values()) <= 150


def test_bags_count_what_the_text_holds() -> None:
    bags = pack_bags("index.py", [chunk(0, "alpha beta alpha"), chunk(1, ""), chunk(2, "gammaDelta")])
    name = STEM_COUNT * len(words("index"))
    assert bags.lengths == [3 + name, name, 3 + name]
    assert sorted(bags.terms) == ["alpha", "beta", "delta", "gamma", "gammadelta", "index"]
    assert pack_bags("a.py", []).lengths == []


@given(st.text(st.characters() | st.sampled_from("aZ9_ .\u00e9\u4e2d\u2014\u00a0\ud800")))
def test_the_pieces_of_a_text_hold_its_words(text: str) -> None:
    assert [word for piece in split_words(text) for word in words(piece)] == words(text)
