"""Repository metadata as XML: read in pieces, with nothing in it that XML calls an entity.

The standard library's expat does the reading. Metadata has no document type, and with none
there are no entities: no file of the machine is read, and nothing grows when it is expanded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from xml.parsers import expat

from rocmenv.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_TEXT = 1 << 20
_DEEPEST = 20
_AGAIN = "try again later, or use another mirror with `--mirror URL`"


class Visitor(Protocol):
    """What is told of each element; names are without their namespace."""

    texts: frozenset[str]
    """The elements whose text is wanted."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str, text: str) -> None:
        """It ends; `text` is empty where it was not wanted."""


def read_xml(pieces: Iterable[bytes], visitor: Visitor, where: str) -> None:
    """Tell `visitor` of the elements in `pieces`; `where` is for messages.

    Raises:
        RepositoryError: it is no XML, is cut, or has a document type.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    reading = _Reading(visitor, where)
    parser.StartDoctypeDeclHandler = reading.refuse_doctype
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    try:
        for piece in pieces:
            parser.Parse(piece, False)  # noqa: FBT003 - expat names it only in its documentation
        parser.Parse(b"", True)  # noqa: FBT003 - as above
    except expat.ExpatError as error:
        words = expat.ErrorString(error.code)
        msg = f"`{where}` is not XML that can be read: {words} (line {error.lineno})"
        raise RepositoryError(msg, hint=_AGAIN) from error
    except (LookupError, ValueError) as error:  # what expat leaves to Python's codecs
        msg = f"`{where}` is not XML that can be read: {str(error).lower()}"
        raise RepositoryError(msg, hint=_AGAIN) from error


class _Reading:
    def __init__(self, visitor: Visitor, where: str) -> None:
        self._visitor = visitor
        self._where = where
        self._depth = 0
        self._held: list[str] | None = None
        self._size = 0
        self._plain: dict[str, str] = {}

    def refuse_doctype(self, *_declaration: object) -> None:
        msg = f"`{self._where}` is refused: it has a document type, which metadata never has"
        raise RepositoryError(msg, hint="use another mirror")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RepositoryError(f"`{self._where}` is refused: its elements are nested too deep")
        plain = self._without_namespace(name)
        self._held = [] if plain in self._visitor.texts else None
        self._size = 0
        self._visitor.start(plain, attributes)

    def text(self, data: str) -> None:
        if self._held is None:
            return
        self._size += len(data)
        if self._size > _LONGEST_TEXT:
            raise RepositoryError(f"`{self._where}` is refused: an element's text has no end")
        self._held.append(data)

    def end(self, name: str) -> None:
        self._depth -= 1
        held, self._held = self._held, None
        self._visitor.end(self._without_namespace(name), "".join(held).strip() if held else "")

    def _without_namespace(self, name: str) -> str:
        # Names repeat by the million.
        plain = self._plain.get(name)
        if plain is None:
            plain = self._plain[name] = name.rpartition(" ")[2]
        return plain
