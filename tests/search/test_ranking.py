"""Ranking against its formulas and against the kinds of case it must get right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from llama_index_codeindex.engine.search.fusion import RRF_K, reciprocal_rank_fusion
from llama_index_codeindex.engine.search.path_words import match_paths
from llama_index_codeindex.engine.search.ranking import WEIGHTS, bm25
from llama_index_codeindex.engine.store.lexical import inverse_document_frequency
from tests.search.helpers import ask, places, retriever


def test_rrf_adds_weighted_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion({"a": [1, 2], "b": [2, 3, 2]}, {"b": 0.5})
    assert fused == pytest.approx({1: 1 / (RRF_K + 1), 2: 1 / (RRF_K + 2) + 0.5 / (RRF_K + 1), 3: 0.5 / (RRF_K + 2)})


def test_bm25_is_the_formula() -> None:
    counts = np.array([[2, 0], [1, 3]], np.float32)
    gain = np.array([1.5, 0.5])
    found = bm25(counts, np.array([10, 20], np.float32), gain, 15.0)
    for row, length in ((0, 10), (1, 20)):
        norm = WEIGHTS.k1 * (1 - WEIGHTS.b + WEIGHTS.b * length / 15.0)
        expected = sum(gain[t] * counts[row, t] * (WEIGHTS.k1 + 1) / (counts[row, t] + norm) for t in (0, 1))
        assert found[row] == pytest.approx(expected)


def test_idf_is_never_negative() -> None:
    assert inverse_document_frequency(10, 10) > 0
    assert inverse_document_frequency(10, 0) == pytest.approx(math.log(1 + 10.5 / 0.5))


def test_paths_match_by_prefix_both_ways() -> None:
    matches = match_paths(("depend", "inject"), ["app/dependencies/utils.py", "app/main.py"])
    assert matches["app/dependencies/utils.py"] == (0.5, 0.0)
    assert matches["app/main.py"] == (0.0, 0.0)


def test_parts_of_identifiers_are_found() -> None:
    files = {"a.py": "def getUserById(user_id):\n    return 1\n", "b.py": "def other():\n    return 2\n"}
    for query in ("user", "id of the user", "getUserById", "user_id"):
        assert ask(files, query)[0] == "a.py", query


def test_the_exact_identifier_beats_its_parts() -> None:
    files = {
        "a.py": "def parse_response():\n    '''parse html response parse html response'''\n",
        "b.py": "def parseHTMLResponse():\n    pass\n",
    }
    assert ask(files, "parseHTMLResponse")[0] == "b.py"


def test_exact_case_comes_before_folded_case() -> None:
    files = {"a.py": "def session():\n    pass\n", "b.py": "class Session:\n    pass\n"}
    assert ask(files, "Session")[0] == "b.py"
    assert ask(files, "session")[0] == "a.py"


def test_a_qualified_name_narrows_an_ambiguous_one() -> None:
    files = {
        "stack.go": "package p\n\ntype Stack struct{}\n\nfunc (s *Stack) Push(v int) {}\n",
        "engine.go": "package p\n\ntype Engine struct{}\n\nfunc (e Engine) Push() {}\n",
    }
    assert set(ask(files, "Push")) == {"stack.go", "engine.go"}
    assert ask(files, "Stack.Push")[0] == "stack.go"
    assert ask(files, "Engine::Push")[0] == "engine.go"


def test_a_file_name_in_the_question_narrows() -> None:
    files = {"a.py": "def process():\n    pass\n", "b.py": "def process():\n    pass\n"}
    assert sorted(ask(files, "process")) == ["a.py", "b.py"]
    assert ask(files, "b.py process")[0] == "b.py"


def test_a_word_that_nothing_holds_finds_nothing() -> None:
    found = retriever({"a.py": "def one():\n    pass\n", "b.py": "def two():\n    pass\n"})
    assert found.retrieve("zzz") == []
    assert found.search("qwertyzzz").empty_reason == "no_known_word"


@pytest.mark.parametrize("query", ["C++", "->", "::", "!=", "if", "the", "x", "?", "((("])
def test_short_and_odd_queries_do_not_fail(query: str) -> None:
    found = retriever({"only.py": "def only():\n    return 1\n"})
    result = found.search(query)
    assert result.hits == []
    assert result.empty_reason in ("no_tokens", "no_known_word")


def test_a_one_letter_symbol_is_found_by_name() -> None:
    assert ask({"a.py": "def f():\n    return g()\n\n\ndef g():\n    return 1\n"}, "g") == ["a.py"]


def test_equal_code_in_two_files_gives_two_places() -> None:
    text = "def shared():\n    return 'same text'\n"
    assert sorted(ask({"a/x.py": text, "b/x.py": text}, "shared same text")) == ["a/x.py", "b/x.py"]


def test_a_chunk_in_several_lanes_is_one_hit_that_names_them() -> None:
    found = retriever({"a.py": "def retry_policy():\n    pass\n"}).retrieve("retry_policy")
    assert len(found) == 1
    assert found[0].node.metadata["lanes"] == {"symbol": 1, "lexical": 1}


def test_ties_are_ordered_by_path_and_line_every_time() -> None:
    text = "def tied():\n    return 'tie'\n"
    files = dict.fromkeys(("c.py", "a.py", "b.py"), text)
    orders = {tuple(ask(files, "tied tie")) for _ in range(3)}
    assert orders == {("a.py", "b.py", "c.py")}


def test_five_places_beat_five_pieces_of_one_file() -> None:
    many = "".join(f"def cache_entry_{i}():\n    '''cache entry'''\n    return {'x' * 900!r}\n\n\n" for i in range(6))
    files = {"big.py": many, "small.py": "def cache_entry():\n    pass\n", "other.py": "entry = cache()\n"}
    assert set(ask(files, "cache entry", top_k=3)) == {"big.py", "small.py", "other.py"}


def test_scores_lie_between_nothing_and_one_and_fall() -> None:
    files = {f"f{i}.py": f"def thing_{i}():\n    return 'thing {'word ' * i}'\n" for i in range(6)}
    scores = [node.score for node in retriever(files).retrieve("thing word")]
    assert all(score is not None and 0 < score <= 1 for score in scores)
    assert scores == sorted(scores, key=lambda score: -(score or 0))


def test_a_full_match_passes_the_usual_cut_off() -> None:
    from llama_index.core.postprocessor import SimilarityPostprocessor

    nodes = retriever({"a.py": "def open_connection():\n    pass\n", "b.py": "x = 1\n"}).retrieve("open connection")
    assert places(SimilarityPostprocessor(similarity_cutoff=0.5).postprocess_nodes(nodes)) == ["a.py"]


def test_tests_and_docs_come_behind_the_code_unless_asked_for() -> None:
    files = {
        "src/login.py": "def login(user):\n    '''Check a login.'''\n    return user\n",
        "tests/test_login.py": "def test_login():\n    '''Check a login: login login login.'''\n    assert login('x')\n",
        "docs/login.md": "# Login\n\nCheck a login. Login login login.\n",
    }
    assert ask(files, "how is a login checked")[0] == "src/login.py"
    assert ask(files, "tests of login")[0] == "tests/test_login.py"


def test_the_header_stands_behind_the_source() -> None:
    files = {
        "net.h": "int net_open(const char *host);\n",
        "net.c": "int net_open(const char *host) {\n  return 1;\n}\n",
    }
    assert ask(files, "net_open")[0] == "net.c"


def test_a_long_word_starts_with_a_short_one() -> None:
    files = {"a.py": "def reconciliation():\n    pass\n", "b.py": "def unrelated():\n    pass\n"}
    assert ask(files, "reconcil") == ["a.py"]


def test_a_quoted_phrase_must_be_there() -> None:
    files = {
        "a.py": "MESSAGE = 'flag is not valid'\n",
        "b.py": "def valid(flag):\n    '''is valid not flag'''\n",
    }
    assert ask(files, '"flag is not valid"') == ["a.py"]
    assert retriever(files).search('"valid flag not"').empty_reason == "no_phrase"


def test_of_two_halves_the_one_for_windows_is_meant_where_it_is_named() -> None:
    body = "int udp_send(int socket) {\n  /* send a datagram */\n  return send(socket);\n}\n"
    files = {"src/win/udp.c": body, "src/unix/udp.c": body}
    assert ask(files, "how is a datagram sent")[0] == "src/unix/udp.c"
    assert ask(files, "how is a datagram sent on Windows")[0] == "src/win/udp.c"
