"""Names to definitions: which one a use means, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llama_index_codeindex.engine.graph.evidence import (
    TYPES,
    family,
    fitting,
    folder,
    is_linked,
    is_plain,
    is_reachable,
    is_telling,
    last_part,
    merge_twins,
    module_names,
)
from llama_index_codeindex.engine.graph.model import Confidence, Place, Use
from llama_index_codeindex.engine.graph.scopes import Scopes
from llama_index_codeindex.engine.graph.text import OWN, PARENT, ReadLines, Surroundings, is_foreign
from llama_index_codeindex.engine.store.catalog import symbol_key
from llama_index_codeindex.engine.store.relations import Definition, Node, Relations

# Candidates that a use by name alone carries; more than a reader compares.
_MAX_CANDIDATES = 5
# Names whose definition is reached by calling the class around it.
_CONSTRUCTORS = frozenset(("__init__", "__new__", "constructor", "initialize"))

# Files whose text is read for one name; the others are answered from the index alone, and never surely. A file costs a
# millisecond, and a name of more files, `get` or `str`, is one that the text says little about.
_MAX_READ = {True: 40, False: 200}  # by whether it is one small word
_MEMBERS = frozenset(("method", "field", "property", "constructor"))
# Languages that write what a member belongs to: a bare name is no method there.
_EXPLICIT = frozenset(("python", "web", "go", "rust", "lua"))
# Languages where a file sees only what it imports by name.
_IMPORTING = frozenset(("python", "web"))

_STRENGTH: dict[Confidence, int] = {"exact": 0, "likely": 1, "name": 2}


_Fits = dict[tuple[str, str, bool], tuple[Definition, ...]]


def _no_text(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A use, the definition that is meant if one is, and all that may be."""

    file_id: int
    line: int
    kind: str
    confidence: Confidence
    target: Definition | None
    candidates: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    target: Definition | None
    confidence: Confidence
    candidates: tuple[Definition, ...]


class _Nodes(dict[int, Node]):
    """The files of the question, by id: read when first asked for, as of fifty thousand it needs a few."""

    def __init__(self, relations: Relations) -> None:
        super().__init__()
        self._relations = relations

    def load(self, file_ids: Iterable[int]) -> None:
        """Read some files at once."""
        self.update((node.id, node) for node in self._relations.nodes_of(sorted(set(file_ids) - self.keys())))

    def __missing__(self, file_id: int) -> Node:
        self.load([file_id])
        if file_id not in self:
            raise KeyError(file_id)
        return self[file_id]


class Resolver:
    """Resolves names over one generation. It remembers what it read, so one object serves one question.

    Args:
        relations: Where definitions and uses come from.
        read: Returns the lines of a file; without it, less is sure.
    """

    def __init__(self, relations: Relations, read: ReadLines = _no_text) -> None:
        self._relations = relations
        self._scopes = Scopes(relations)
        self._surroundings = Surroundings(read)
        self.nodes = _Nodes(relations)
        self._imports: dict[int, frozenset[str]] = {}
        self._resolved: dict[str, list[Resolved]] = {}
        self._named: dict[str, list[Definition]] = {}
        self._ids: dict[int, tuple[tuple[Definition, ...], tuple[str, ...]]] = {}

    # -- definitions ---------------------------------------------------------------------------------------------------

    def definitions(self, name: str) -> list[Definition]:
        """Return the definitions that a name means, qualified or not, or an id of the form `path#qualified`."""
        path, _, rest = name.partition("#")
        home = self._relations.file_at(path) if rest else None
        wanted = name if home is None else rest.partition("~")[0]
        if home is not None:
            own = [d for d in self._scopes.definitions_of(home) if d.qualified == wanted]
            if own:
                return merge_twins(own, self.nodes)
        plain = wanted.strip().rstrip("()")
        key = symbol_key(plain)
        if not key.rpartition(".")[2]:
            return []
        found = [d for d in self.named(_bare(plain)) if ("." + symbol_key(d.qualified)).endswith("." + key)]
        return merge_twins([d for d in found if home is None or d.file_id == home], self.nodes)

    def file_at(self, path: str) -> int | None:
        """Return the id of the file at a path, or None."""
        return self._relations.file_at(path)

    def in_file(self, file_id: int) -> list[Definition]:
        """Return the definitions of a file that other code can name."""
        return [d for d in self._scopes.definitions_of(file_id) if not self._scopes.is_local(d)]

    def place(self, definition: Definition) -> Place:
        """Return a definition in its public form."""
        node = self.nodes[definition.file_id]
        return Place(
            node.path, definition.qualified, definition.kind, definition.start_line, definition.end_line, node.category,
            definition.signature,
        )  # fmt: skip

    def identity(self, definition: Definition) -> str:
        """Return the id of a definition."""
        return f"{self.nodes[definition.file_id].path}#{definition.qualified}"

    def named(self, name: str) -> list[Definition]:
        """Return the definitions whose bare name is exactly this."""
        if name not in self._named:
            self._named[name] = self._relations.definitions_named([name])
        return self._named[name]

    # -- uses ----------------------------------------------------------------------------------------------------------

    def uses_of(self, targets: Sequence[Definition]) -> list[tuple[Resolved, Confidence]]:
        """Return the uses that mean one of some definitions, or may mean it, each with the confidence that it does."""
        wanted = {_key(d) for d in targets}
        found: list[tuple[Resolved, Confidence]] = []
        for name in sorted({d.name for d in targets}):
            for use in self.resolve(name):
                if use.target is not None and _key(use.target) in wanted:
                    found.append((use, use.confidence))
                elif any(_key(d) in wanted for d in use.candidates):
                    found.append((use, "name"))
        for owner in self._owners(targets):
            found.extend((use, sure) for use, sure in self.uses_of([owner]) if use.kind == "call")
        return found

    def _owners(self, targets: Iterable[Definition]) -> list[Definition]:
        """Return the classes of constructors: calling the class calls them."""
        owners: list[Definition] = []
        for target in targets:
            if target.name in _CONSTRUCTORS and target.kind == "method":
                owners.extend(
                    d for d in self._scopes.enclosing(target.file_id, target.name_line) if d.qualified == target.scope
                )
        return owners

    def resolve(self, name: str) -> list[Resolved]:
        """Return every use of a bare name."""
        if name in self._resolved:
            return self._resolved[name]
        uses = self._relations.uses_named(name)
        users = {use.file_id for use in uses}
        everything = self.named(name)
        self.nodes.load(users.union(d.file_id for d in everything))
        self._load_imports(users)
        readable = self._worth_reading(name, users, everything)
        # Of the other files only the lines and names are needed: reading all definitions takes longer than the rest.
        self._scopes.load_nests(users)
        self._scopes.load({d.file_id for d in everything} | readable)
        shared = [d for d in everything if not self._scopes.is_local(d)]
        local: dict[int, list[Definition]] = {}
        for definition in everything:
            if self._scopes.is_local(definition):
                local.setdefault(definition.file_id, []).append(definition)
        found = []
        chosen: dict[tuple[int, str, str | None], _Choice] = {}
        fits: _Fits = {}
        for use in uses:
            user, is_read = self.nodes[use.file_id], use.file_id in readable
            inner = local.get(use.file_id, ())
            for line in use.lines:
                receiver = self._surroundings.receiver(user.path, line, name, use.kind) if is_read else None
                seen = [d for d in inner if self._scopes.is_visible(d, line)]
                key = (use.file_id, use.kind, receiver)
                if seen and not receiver:  # what a function defines for itself hides what is outside
                    choice = _Choice(seen[-1], "exact" if is_read else "likely", (seen[-1],))
                elif receiver in (OWN, PARENT):
                    choice = self._choose_member(
                        shared, user, use.kind, receiver, self._scopes.enclosing(user.id, line)
                    )
                else:
                    if key not in chosen:
                        chosen[key] = self._choose(shared, user, use.kind, receiver, fits, is_read=is_read)
                    choice = chosen[key]
                found.append(Resolved(use.file_id, line, use.kind, choice.confidence, choice.target, choice.candidates))
        self._resolved[name] = found
        return found

    def around(self, resolved: Resolved) -> list[Definition]:
        """Return the definitions that hold a use, from the outermost to the innermost."""
        return self._scopes.enclosing(resolved.file_id, resolved.line)

    def _load_imports(self, file_ids: Iterable[int]) -> None:
        self._imports.update(self._relations.imports_of(sorted(set(file_ids) - self._imports.keys())))

    def _worth_reading(self, name: str, users: set[int], definitions: Sequence[Definition]) -> frozenset[int]:
        """Return the files whose text is read: all, or those that define the name or import a definition of it first."""
        limit = _MAX_READ[is_plain(name)]
        if len(users) <= limit:
            return frozenset(users)
        homes = {d.file_id for d in definitions}
        words = {name}.union(*(module_names(self.nodes[home].path) for home in homes))
        words.update(last_part(d.scope) for d in definitions if d.scope)

        def order(user: int) -> tuple[bool, bool, bool, str]:
            node = self.nodes[user]
            linked = not words.isdisjoint(self._imports.get(user, ()))
            return user not in homes, not linked, node.category != "source", node.path

        return frozenset(sorted(users, key=order)[:limit])

    def _choose_member(
        self, shared: Sequence[Definition], user: Node, kind: str, receiver: str, enclosing: Sequence[Definition]
    ) -> _Choice:
        """Return what `self.name` or `super().name` means: the class's own method, or one of another class."""
        classes = {d.qualified for d in enclosing if d.kind in TYPES} | {
            d.scope for d in enclosing if d.kind == "method"
        }
        own = [d for d in shared if d.file_id == user.id and d.scope and d.scope in classes]
        if receiver == OWN and own:
            return _Choice(own[-1], "exact", tuple(own))
        return self._choose([d for d in shared if d not in own], user, kind, receiver, {}, is_read=True)

    def _fitting(
        self, shared: Sequence[Definition], spoken: str, kind: str, receiver: str | None
    ) -> tuple[Definition, ...]:
        """Return the definitions that such a use can mean in any file of a family of languages."""
        fit = fitting([d for d in shared if family(self.nodes[d.file_id].language) == spoken], kind)
        if receiver == "" and spoken in _EXPLICIT:
            fit = [d for d in fit if d.kind not in _MEMBERS]
        return tuple(merge_twins(fit, self.nodes))

    def _choose(
        self, shared: Sequence[Definition], user: Node, kind: str, receiver: str | None, fits: _Fits, *, is_read: bool
    ) -> _Choice:
        """Return the definition that a file's uses of a name mean, and how sure that is."""
        spoken = family(user.language)
        alike = (spoken, kind, receiver == "")
        if alike not in fits:
            fits[alike] = self._fitting(shared, spoken, kind, receiver)
        fit = fits[alike]
        if not fit:
            return _Choice(None, "name", ())
        reachable = [d for d in fit if is_reachable(self.nodes[d.file_id], user)]
        if is_read and not receiver:  # a name that comes from elsewhere is not ours
            modules = self._surroundings.modules_of(user.path, spoken, fit[0].name, renamed=kind == "import")
            paths = {d.file_id: self.nodes[d.file_id].path for d in reachable}
            reachable = [d for d in reachable if not any(is_foreign(module, paths[d.file_id]) for module in modules)]
        if len(fit) == 1 and reachable:
            target, sure = self._judge_only(fit[0], user, kind, receiver)
            return _Choice(target, "likely" if sure == "exact" and not is_read else sure, fit)
        imports = self._imports.get(user.id, frozenset())
        own = [d for d in reachable if d.file_id == user.id]
        linked = [d for d in reachable if is_linked(d, self.nodes[d.file_id], user, imports)]
        near = [d for d in reachable if folder(self.nodes[d.file_id].path) == folder(user.path)]
        for preferred in (own, linked, near):
            if len(preferred) == 1 and not (is_plain(preferred[0].name) and preferred[0].kind in _MEMBERS):
                return _Choice(preferred[0], "likely", fit)
        return _Choice(None, "name", fit)

    def _judge_only(
        self, definition: Definition, user: Node, kind: str, receiver: str | None
    ) -> tuple[Definition | None, Confidence]:
        """Return how sure it is that a use means the only definition of its name."""
        home, imports = self.nodes[definition.file_id], self._imports.get(user.id, frozenset())
        linked = is_linked(definition, home, user, imports)
        plain = is_plain(definition.name)
        if definition.kind in _MEMBERS:
            through_class = receiver in (OWN, last_part(definition.scope))
            if (through_class and linked and not plain) or (receiver == "" and definition.file_id == user.id):
                return definition, "exact"
            # What `x` is in `x.name()` nobody knows; a small word there may be any library's, and one that is read, any
            # attribute.
            return (None, "name") if plain and (kind == "value" or not linked) else (definition, "likely")
        importing = family(user.language) in _IMPORTING
        if receiver:
            named = receiver in module_names(home.path) and (receiver in imports or not importing)
        else:
            named = definition.file_id == user.id or kind == "import" or definition.name in imports
            named = named or (not importing and (linked or is_telling(definition.name)))
        if named:  # a parameter may be called like a small word, too
            return definition, "likely" if kind == "value" and plain and definition.kind not in TYPES else "exact"
        # What is read behind a dot is a member, and this is none.
        return (None, "name") if plain or (receiver and kind == "value") else (definition, "likely")

    # -- public forms --------------------------------------------------------------------------------------------------

    def use(self, resolved: Resolved, sure: Confidence) -> Use:
        """Return a use in its public form."""
        node = self.nodes[resolved.file_id]
        symbol = self._scopes.symbol_at(resolved.file_id, resolved.line)
        target = self.identity(resolved.target) if resolved.target is not None and sure != "name" else ""
        ids = self._listed(resolved.candidates) if sure == "name" else ()
        return Use(node.path, resolved.line, resolved.kind, symbol, node.category, sure, target, ids)

    def _listed(self, candidates: tuple[Definition, ...]) -> tuple[str, ...]:
        """Return the ids of the first candidates. Thousands of uses share one tuple of them, so its own id is the key."""
        known = self._ids.get(id(candidates))
        if known is None or known[0] is not candidates:
            ids = tuple(dict.fromkeys(self.identity(d) for d in candidates))[:_MAX_CANDIDATES]
            known = self._ids[id(candidates)] = (candidates, ids)
        return known[1]


def surest_first(uses: Iterable[Use]) -> list[Use]:
    """Return uses in reading order: sure ones first, then source before the rest, calls before imports."""
    return sorted(
        uses,
        key=lambda u: (
            _STRENGTH[u.confidence],
            u.category != "source",
            u.kind == "import",
            u.file_path,
            u.line,
            u.kind,
        ),
    )


def weaker(one: Confidence, other: Confidence) -> Confidence:
    """Return the less sure of two confidences."""
    return one if _STRENGTH[one] >= _STRENGTH[other] else other


def _bare(name: str) -> str:
    for separator in ("::", "->", "#", "/", "\\", "."):
        name = name.rpartition(separator)[2] or name
    return name


def _key(definition: Definition) -> tuple[int, str]:
    return (definition.file_id, definition.qualified)
