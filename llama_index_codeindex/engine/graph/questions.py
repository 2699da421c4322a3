"""The questions of this room about names: references, callers, impact."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index_codeindex.engine.errors import EmptyQuery, InvalidArgument, SymbolNotFound
from llama_index_codeindex.engine.graph.callers import MAX_DEPTH, Walk, sort_callers
from llama_index_codeindex.engine.graph.model import Callers, Impact, Place, References, Use
from llama_index_codeindex.engine.graph.resolve import Resolver, surest_first
from llama_index_codeindex.engine.graph.text import ReadLines
from llama_index_codeindex.engine.store.relations import Definition, Relations
from llama_index_codeindex.engine.store.store import View

_CALLS = frozenset(("call",))
# A change of a class reaches what inherits it, a change of a type what names it, and that of a callback who passes it on.
_REACHES = frozenset(("call", "inherit", "type", "value"))


def references(view: View, read: ReadLines, name: str) -> References:
    """Return where a name is used, and which definition each use means as far as the text tells.

    Args:
        view: The generation.
        read: Returns the lines of a file as they are now.
        name: A name, qualified or not, or an id of the form `path#qualified`.

    Raises:
        EmptyQuery: The name is empty.
        SymbolNotFound: It is neither defined nor used.
    """
    resolver, bare = Resolver(Relations(view.catalog), read), _checked(name)
    targets = resolver.definitions(bare)
    if targets:
        found = [resolver.use(use, sure) for use, sure in resolver.uses_of(targets)]
    else:
        found = [resolver.use(use, "name") for use in resolver.resolve(bare.rstrip("()"))]
    if not targets and not found:
        raise SymbolNotFound(f"No definition or use of {name!r} is in the index.")
    places = tuple(resolver.place(target) for target in targets)
    return References(name, places, tuple(surest_first(dict.fromkeys(found))), view.generation)


def definitions(view: View, read: ReadLines, name: str) -> tuple[Place, ...]:
    """Return the definitions that a name means, qualified or not, or an id of the form `path#qualified`.

    Raises:
        EmptyQuery: The name is empty.
    """
    resolver = Resolver(Relations(view.catalog), read)
    return tuple(resolver.place(target) for target in resolver.definitions(_checked(name)))


def uses_of(view: View, read: ReadLines, name: str, keys: Sequence[tuple[int, str]]) -> tuple[Use, ...]:
    """Return the uses of definitions that are known by file and qualified name; of the bare name where there are none."""
    resolver = Resolver(Relations(view.catalog), read)
    if not keys:
        return tuple(surest_first(resolver.use(use, "name") for use in resolver.resolve(name)))
    targets = [d for d in resolver.named(name) if (d.file_id, d.qualified) in set(keys)]
    return tuple(surest_first(dict.fromkeys(resolver.use(use, sure) for use, sure in resolver.uses_of(targets))))


def callers(view: View, read: ReadLines, name: str, depth: int = 1) -> Callers:
    """Return what calls a definition, and what calls that, up to a depth.

    Args:
        view: The generation.
        read: Returns the lines of a file as they are now.
        name: A name, qualified or not, or an id of the form `path#qualified`.
        depth: How many calls deep.

    Raises:
        EmptyQuery: The name is empty.
        InvalidArgument: The depth is out of range.
        SymbolNotFound: It is not defined in the index.
    """
    if not isinstance(depth, int) or isinstance(depth, bool) or not 1 <= depth <= MAX_DEPTH:
        raise InvalidArgument(f"depth must be a whole number from 1 to {MAX_DEPTH}.", suggestion="Use depth=1.")
    resolver = Resolver(Relations(view.catalog), read)
    targets = _targets(resolver, name)
    walk = Walk(resolver, _CALLS)
    walk.run(targets, depth, with_names=True)
    places = tuple(resolver.place(target) for target in targets)
    return Callers(name, places, tuple(sort_callers(walk.callers)), walk.truncated, view.generation)


def impact(view: View, read: ReadLines, target: str) -> Impact:
    """Return what a change of a file or a symbol may reach: callers of callers, their files, the tests among them.

    Args:
        view: The generation.
        read: Returns the lines of a file as they are now.
        target: A path of the index, or a symbol.

    Raises:
        EmptyQuery: The target is empty.
        SymbolNotFound: It is neither a file nor a definition of the index.
    """
    resolver, wanted = Resolver(Relations(view.catalog), read), _checked(target)
    home = resolver.file_at(wanted.removeprefix("./"))
    targets = resolver.in_file(home) if home is not None else _targets(resolver, target)
    walk = Walk(resolver, _REACHES)
    walk.run(targets, MAX_DEPTH, with_names=False)
    nodes = sorted((resolver.nodes[file_id] for file_id in walk.files - {home}), key=lambda node: node.path)
    return Impact(
        target, tuple(sort_callers(walk.callers)), tuple(node.path for node in nodes),
        tuple(node.path for node in nodes if node.category == "test"), walk.uncertain, walk.truncated, view.generation,
    )  # fmt: skip


def _checked(name: str) -> str:
    bare = name.encode("utf-8", "replace").decode("utf-8").strip().strip("`\"'")  # half a surrogate pair is no name
    if not bare:
        raise EmptyQuery("The name is empty.")
    return bare


def _targets(resolver: Resolver, name: str) -> Sequence[Definition]:
    targets = resolver.definitions(_checked(name))
    if not targets:
        raise SymbolNotFound(f"No definition of {name!r} is in the index.")
    return targets
