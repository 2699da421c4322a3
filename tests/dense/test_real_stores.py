"""The dense lane in engines that people run: Chroma, embedded, and PostgreSQL with pgvector."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from llama_index_codeindex import CodeEmbedding, CodeIndex
from llama_index_codeindex.engine.model import SearchResult
from tests.conftest import MakeTree
from tests.dense.postgres import MISSING, Postgres, find_programs, running
from tests.dense.server import WIDTH, EmbeddingServer
from tests.dense.test_degradation import FILES

_EXTRA = "needs `pip install -e '.[test-stores]'`"
_NAME = "vectors"
_EXAMPLE = Path(__file__).parents[2] / "examples" / "vector_store.py"


class Engine(Protocol):
    """What the tests ask of an engine."""

    def open(self) -> BasePydanticVectorStore: ...

    def stored(self) -> dict[str, str]:
        """Return the path of every node that the engine has, by the node's id."""
        ...

    def everything(self) -> str:
        """Return all that the engine was told, as text."""
        ...

    def break_down(self) -> None: ...

    def come_back(self) -> None: ...

    def close(self) -> None: ...


class Chroma:
    """Chroma inside this process. What breaks down is its collection, which comes back empty."""

    def __init__(self, folder: Path) -> None:
        self._library = pytest.importorskip("chromadb", reason=_EXTRA)
        self._adapter = pytest.importorskip("llama_index.vector_stores.chroma", reason=_EXTRA)
        settings = self._library.config.Settings(anonymized_telemetry=False)
        self._client = self._library.PersistentClient(path=str(folder / "chroma"), settings=settings)
        self.come_back()

    def open(self) -> BasePydanticVectorStore:
        store: BasePydanticVectorStore = self._adapter.ChromaVectorStore(chroma_collection=self._collection)
        return store

    def stored(self) -> dict[str, str]:
        found = self._collection.get(include=["metadatas"])
        return {key: facts["file_path"] for key, facts in zip(found["ids"], found["metadatas"], strict=True)}

    def everything(self) -> str:
        return str(self._collection.get(include=["metadatas", "documents"]))

    def break_down(self) -> None:
        self._client.delete_collection(_NAME)

    def come_back(self) -> None:
        self._collection = self._client.create_collection(_NAME, embedding_function=None)

    def close(self) -> None:
        self._client.close()


class PgVector:
    """A table of a running PostgreSQL."""

    def __init__(self, server: Postgres, table: str) -> None:
        self._adapter = pytest.importorskip("llama_index.vector_stores.postgres", reason=_EXTRA)
        self._sql = pytest.importorskip("sqlalchemy", reason=_EXTRA)
        self._server = server
        self._table = table
        self._unpooled = {"poolclass": self._sql.pool.NullPool}  # no connection outlives a server that is stopped

    def open(self) -> BasePydanticVectorStore:
        store: BasePydanticVectorStore = self._adapter.PGVectorStore(
            connection_string=self._server.url("psycopg2"), async_connection_string=self._server.url("asyncpg"),
            table_name=self._table, schema_name="public", embed_dim=WIDTH, create_engine_kwargs=self._unpooled,
        )  # fmt: skip
        return store

    def _ask(self, columns: str) -> list[Any]:
        engine = self._sql.create_engine(self._server.url("psycopg2"), **self._unpooled)
        with engine.connect() as connection:
            return list(connection.execute(self._sql.text(f"SELECT {columns} FROM data_{self._table}")))

    def stored(self) -> dict[str, str]:
        rows = self._ask("node_id, metadata_->>'file_path'")
        assert len({row[0] for row in rows}) == len(rows)
        return {row[0]: row[1] for row in rows}

    def everything(self) -> str:
        return str(self._ask("node_id, text, metadata_"))

    def break_down(self) -> None:
        self._server.stop()

    def come_back(self) -> None:
        self._server.start()

    def close(self) -> None:
        if not self._server.is_running():
            self._server.start()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    pytest.importorskip("llama_index.vector_stores.postgres", reason=_EXTRA)
    programs = find_programs()
    if programs is None:
        pytest.skip(MISSING)
    with running(programs) as server:
        yield server


@pytest.fixture(params=["chroma", "pgvector"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    made: Engine
    if request.param == "chroma":
        made = Chroma(tmp_path)
    else:
        made = PgVector(request.getfixturevalue("postgres"), f"t{abs(hash(request.node.name))}")
    yield made
    made.close()


class Setup:
    """An index whose dense lane is in the engine."""

    def __init__(self, root: Path, cache: Path, server: EmbeddingServer, engine: Engine) -> None:
        self.root = root
        self._cache = cache
        self._server = server
        self._engine = engine

    def index(self) -> CodeIndex:
        return self._index(self._engine.open())

    def own_index(self) -> CodeIndex:
        """Return an index of the same files that keeps its vectors itself."""
        return self._index(None)

    def _index(self, store: BasePydanticVectorStore | None) -> CodeIndex:
        model = CodeEmbedding(api_base=self._server.url, model_name="m", num_workers=1)
        cache = self._cache / ("theirs" if store is not None else "own")
        return CodeIndex.from_path(self.root, cache_dir=cache, embed_model=model, vector_store=store)


@pytest.fixture
def setup(tree: MakeTree, tmp_path: Path, server: EmbeddingServer, engine: Engine) -> Setup:
    return Setup(tree(FILES), tmp_path / "c", server, engine)


def paths(result: SearchResult) -> list[str]:
    return [hit.file_path for hit in result.hits]


def test_meaning_is_found(setup: Setup) -> None:
    result = setup.index().search("scarlet ruby", mode="meaning")
    assert (result.degraded, paths(result)[0], result.hits[0].lanes) == (False, "src/red.py", {"dense": 1})


def test_it_answers_as_the_index_itself_would(setup: Setup, tree: MakeTree) -> None:
    tree({f"more/{word}.py": f"def {word}():\n    return '{word} paint'\n" for word in ("teal", "plum", "rust")})
    theirs, own = setup.index(), setup.own_index()
    for query in ("scarlet ruby", "navy paint", "a plum colour", "olive"):
        for mode in ("all", "meaning"):
            answers = [index.search(query, mode=mode) for index in (theirs, own)]
            scores = [[hit.score for hit in answer.hits] for answer in answers]
            assert paths(answers[0]) == paths(answers[1])
            assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_filters_hold_before_the_best_are_chosen(setup: Setup, tree: MakeTree) -> None:
    tree({f"near/{n}.py": f"def ruby_{n}():\n    return 'scarlet ruby'\n" for n in range(220)})
    result = setup.index().search("scarlet ruby", mode="meaning", filters={"under": "src/blue.py"})
    assert (result.degraded, paths(result)) == (False, ["src/blue.py"])
    narrow = setup.index().search("scarlet ruby", top_k=50, mode="meaning", filters={"exclude": "near"})
    assert sorted(paths(narrow)) == sorted(FILES)


def test_a_path_is_only_a_value(setup: Setup, tree: MakeTree, engine: Engine) -> None:
    odd = "odd/it's :here'); DROP TABLE x; --.py"
    tree({odd: "def pink():\n    return 'scarlet rose'\n"})
    result = setup.index().search("scarlet", mode="meaning", filters={"under": "odd"})
    assert (result.degraded, paths(result)) == (False, [odd])
    assert odd in engine.stored().values()


def test_no_code_is_sent(setup: Setup, engine: Engine) -> None:
    setup.index()
    told = engine.everything()
    assert "src/red.py" in told
    assert not any(word in told for word in ("crimson", "scarlet", "jade", "return"))


def test_an_edit_changes_the_vectors_of_its_file_alone(
    setup: Setup, tree: MakeTree, engine: Engine, server: EmbeddingServer
) -> None:
    index = setup.index()
    before = engine.stored()
    server.requests.clear()
    tree({"src/red.py": "def rosy():\n    return 'scarlet rose'\n"})
    index.refresh()
    after = engine.stored()
    assert {path for key, path in before.items() if key not in after} == {"src/red.py"}
    assert {path for key, path in after.items() if key not in before} == {"src/red.py"}
    assert len(server.texts) == 1 and "scarlet rose" in server.texts[0]
    assert index.search("rose", mode="meaning").hits[0].symbol == "rosy"


def test_what_is_deleted_leaves(setup: Setup, engine: Engine) -> None:
    index = setup.index()
    (setup.root / "src/red.py").unlink()
    index.refresh()
    assert sorted(engine.stored().values()) == ["src/blue.py", "src/green.py"]
    assert set(paths(index.search("scarlet ruby", mode="meaning"))) == {"src/blue.py", "src/green.py"}


def test_a_second_process_sends_nothing(setup: Setup, engine: Engine, server: EmbeddingServer) -> None:
    setup.index()
    before = engine.stored()
    server.requests.clear()
    again = setup.index()
    assert (engine.stored(), server.texts) == (before, [])
    assert again.search("scarlet ruby", mode="meaning").hits[0].file_path == "src/red.py"


def test_while_it_is_down_the_words_answer_and_say_so(setup: Setup, tree: MakeTree, engine: Engine) -> None:
    index = setup.index()
    engine.break_down()
    result = index.search("crimson")
    assert (paths(result)[0], result.degraded_reasons) == ("src/red.py", ["vector_store_unavailable"])
    tree({"src/pink.py": "def rosy():\n    return 'scarlet rose'\n"})
    index.refresh()
    result = index.search("rosy")
    assert (paths(result)[0], result.degraded) == ("src/pink.py", True)
    engine.come_back()
    after = setup.index()
    assert sorted(engine.stored().values()) == sorted([*FILES, "src/pink.py"])
    result = after.search("rosy rose", mode="meaning")
    assert (paths(result)[0], result.degraded) == ("src/pink.py", False)


def test_what_was_sent_twice_is_there_once(setup: Setup, engine: Engine) -> None:
    index = setup.index()
    index.close()
    noted = index.codebase.folder / "vector_store.json"
    lines = [line for line in noted.read_text().splitlines() if line.startswith("+")]
    noted.write_text("".join(f"?{line[1:]}\n" for line in lines))  # as if it had died before it knew
    setup.index()
    assert sorted(engine.stored().values()) == sorted(FILES)


def test_the_example(
    tree: MakeTree, tmp_path: Path, server: EmbeddingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("llama_index.vector_stores.chroma", reason=_EXTRA)
    model = CodeEmbedding(api_base=server.url, model_name="m", num_workers=1)
    main = runpy.run_path(str(_EXAMPLE))["main"]
    main(str(tree(FILES)), "crimson", str(tmp_path / "chroma"), str(tmp_path / "c"), model=model)
    printed = capsys.readouterr().out
    assert printed.startswith("src/red.py:1-2  crimson") and "'dense': 1" in printed
    assert printed.endswith("3 vectors; degraded: []\n")
