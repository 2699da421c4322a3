"""A query engine that answers from one context pack and says how far it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.callbacks.schema import CBEventType, EventPayload
from llama_index.core.llms import LLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import BasePromptTemplate, ChatPromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.settings import Settings

from llama_index_codeindex.grounding import RULE, Grounded, Grounder, pack_tokens, root_of
from llama_index_codeindex.postprocessor import ContextPackPostprocessor

# Rules in the system message; pack and question in one user message, with nothing between that code could imitate.
CODE_QA_TEMPLATE = ChatPromptTemplate(
    message_templates=[
        ChatMessage(role=MessageRole.SYSTEM, content=RULE),
        ChatMessage(role=MessageRole.USER, content="{context_str}\n\n{query_str}"),
    ]
)


class CodeQueryEngine(RetrieverQueryEngine):
    """Answer questions from a context pack.

    The response's `source_nodes` are the excerpts; its `metadata` holds theirs by node id, and beside them `hits`,
    `degraded`, `degraded_reasons`, `approx_tokens`, `left_out` and `watermark`. When nothing is found the model is asked
    all the same, and told so. Make one with `CodeIndex.as_query_engine` or `from_args`.
    """

    @classmethod
    def from_args(  # type: ignore[override]
        cls,
        retriever: BaseRetriever,
        llm: LLM | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] | None = None,
        text_qa_template: BasePromptTemplate | None = None,
        **kwargs: Any,
    ) -> CodeQueryEngine:
        """Return an engine over a retriever.

        Args:
            retriever: A retriever whose nodes carry this package's metadata.
            llm: The language model; LlamaIndex's `Settings.llm` by default.
            node_postprocessors: Applied before the pack; a `ContextPackPostprocessor` among them becomes the pack's.
            text_qa_template: Replaces the default, which keeps everything but the rule out of the system message.
            kwargs: Further arguments of `RetrieverQueryEngine.from_args`.
        """
        llm = llm or Settings.llm
        given = list(node_postprocessors or ())
        packer = next((p for p in given if isinstance(p, ContextPackPostprocessor)), None)
        packer = packer or ContextPackPostprocessor(root=root_of(retriever), max_tokens=pack_tokens(llm))
        before = [p for p in given if not isinstance(p, ContextPackPostprocessor)]
        engine = super().from_args(
            retriever, llm=llm, node_postprocessors=[*before, packer],
            text_qa_template=text_qa_template or CODE_QA_TEMPLATE, **kwargs,
        )  # fmt: skip
        assert isinstance(engine, CodeQueryEngine)
        return engine

    def _grounder(self) -> Grounder:
        packer = self._node_postprocessors[-1]
        assert isinstance(packer, ContextPackPostprocessor)
        return Grounder(self._retriever, packer, self._node_postprocessors[:-1])

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with self.callback_manager.event(
            CBEventType.QUERY, payload={EventPayload.QUERY_STR: query_bundle.query_str}
        ) as event:
            grounded = self._grounder().ground(query_bundle)
            response = self._response_synthesizer.synthesize(query_bundle, [_pack_node(grounded)])
            event.on_end(payload={EventPayload.RESPONSE: response})
        return _with_facts(response, grounded)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with self.callback_manager.event(
            CBEventType.QUERY, payload={EventPayload.QUERY_STR: query_bundle.query_str}
        ) as event:
            grounded = await self._grounder().aground(query_bundle)
            response = await self._response_synthesizer.asynthesize(query_bundle, [_pack_node(grounded)])
            event.on_end(payload={EventPayload.RESPONSE: response})
        return _with_facts(response, grounded)


def _pack_node(grounded: Grounded) -> NodeWithScore:
    # One node, so that no synthesizer parts the data from its instruction.
    return NodeWithScore(node=TextNode(text=grounded.pack.render().rstrip("\n")), score=1.0)


def _with_facts(response: RESPONSE_TYPE, grounded: Grounded) -> RESPONSE_TYPE:
    response.source_nodes = grounded.nodes
    response.metadata = {scored.node.node_id: scored.node.metadata for scored in grounded.nodes} | grounded.facts
    return response
