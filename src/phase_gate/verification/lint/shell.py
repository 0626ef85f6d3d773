"""Split a command line into words and operators, as a shell would. Nothing is expanded.

Pure.
"""

from __future__ import annotations

import re

from phase_gate.values import Value

#: The longest first.
_OPERATORS = ("&&", "||", ";;", ";", "|&", "|", "&", "(", ")", "\n")
_REDIRECTION = re.compile(r"[0-9]*(?:<<<|<<-?|>>|<>|[<>]&|>\||<|>)|&>>?")
_PLAIN = re.compile(r"[^\s'\"\\$`#&|;()<>]+")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class ShellTextError(Exception):
    """A quote or a bracket that never closes, or a word in an impossible place."""


class Word(Value, kw_only=False):
    text: str
    #: False if a shell would put something else in its place.
    is_literal: bool = True
    #: True if quotes keep it from being a keyword or an operator.
    is_quoted: bool = False

    @property
    def is_assignment(self) -> bool:
        """Tell whether it sets a variable, where it stands in front of a command."""
        return _ASSIGNMENT.match(self.text) is not None


#: A word, or an operator.
Token = Word | str


def needs_shell(text: str) -> str:
    """Return the first sign in a text that only a shell understands; empty if there is none."""
    tokens = split_shell(text.strip())
    for token in tokens:
        if isinstance(token, str):
            return "a line end" if token == "\n" else token
        if "$(" in token.text or "`" in token.text:
            return "$(…)" if not token.is_literal else ""
    first = tokens[0] if tokens else ""
    return first.text if isinstance(first, Word) and first.is_assignment else ""


def split_shell(text: str) -> list[Token]:
    """Return words and operators; a redirection is the operator `>` with its target behind it."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif text[at] == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif (found := _REDIRECTION.match(text, at)) is not None:
            tokens.append("<<" if "<<" in found.group() and "<<<" not in found.group() else ">")
            at = found.end()
        elif (operator := next((each for each in _OPERATORS if text.startswith(each, at)), None)) is not None:
            tokens.append(operator)
            at += len(operator)
        else:
            word, at = _read_word(text, at)
            tokens.append(word)
    return tokens


def _read_word(text: str, at: int) -> tuple[Word, int]:
    pieces: list[str] = []
    is_literal, is_quoted = True, False
    while at < len(text):
        sign = text[at]
        if sign in " \t\r\n&|;()<>":
            break
        if sign == "'":
            end = _find(text, "'", at + 1)
            pieces.append(text[at + 1 : end])
            at, is_quoted = end + 1, True
        elif sign == '"':
            piece, at, inner = _read_quoted(text, at + 1)
            pieces.append(piece)
            is_literal, is_quoted = is_literal and inner, True
        elif sign == "\\":
            pieces.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2])
            at, is_quoted = at + 2, True
        elif sign in "$`":
            end = _skip_expansion(text, at)
            is_literal = is_literal and end == at + 1  # a dollar alone is one
            pieces.append(text[at:end])
            at = end
        else:
            plain = _PLAIN.match(text, at)
            end = at + 1 if plain is None else plain.end()
            pieces.append(text[at:end])
            at = end
    return Word("".join(pieces), is_literal, is_quoted), at


def _read_quoted(text: str, at: int) -> tuple[str, int, bool]:
    """Return what stands between double quotes, the place behind them, and whether it is literal."""
    pieces: list[str] = []
    is_literal = True
    while at < len(text):
        sign = text[at]
        if sign == '"':
            return "".join(pieces), at + 1, is_literal
        if sign == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
            pieces.append(text[at + 1].replace("\n", ""))
            at += 2
        elif sign in "$`":
            end = _skip_expansion(text, at)
            is_literal = is_literal and end == at + 1
            pieces.append(text[at:end])
            at = end
        else:
            pieces.append(sign)
            at += 1
    raise ShellTextError("a quote is never closed")


def _skip_expansion(text: str, at: int) -> int:
    """Return the place behind `$name`, `${…}`, `$(…)` or a pair of backticks."""
    if text[at] == "`":
        return _find(text, "`", at + 1) + 1
    if text.startswith("${", at):
        return _find(text, "}", at + 2) + 1
    if not text.startswith("$(", at):
        found = _VARIABLE.match(text, at)
        return at + 1 if found is None else found.end()
    depth, quote = 0, ""
    for place in range(at + 1, len(text)):
        sign = text[place]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth == 0:
                return place + 1
    raise ShellTextError("a bracket is never closed")


def _find(text: str, sign: str, at: int) -> int:
    end = text.find(sign, at)
    if end < 0:
        raise ShellTextError("a quote is never closed" if sign in "'`" else "a bracket is never closed")
    return end


# --- read a command line as a shell would: how its words are put together. Nothing is expanded, nothing is run


#: Deeper than anybody writes by hand.
_MAX_DEPTH = 40
#: Characters; what is longer belongs into a script.
MAX_LENGTH = 10_000


class Simple(Value, kw_only=False):
    """One program with its arguments. Assignments before it are left out, but remembered."""

    words: tuple[Word, ...]
    assigns: bool = False
    #: Whether the value of an assignment is what another command prints.
    runs_inside: bool = False


class Pipeline(Value, kw_only=False):
    parts: tuple[Node, ...]
    is_negated: bool = False


class AndOr(Value, kw_only=False):
    first: Node
    rest: tuple[tuple[str, Node], ...]


class Sequence(Value, kw_only=False):
    """Commands one after the other, each with what stands behind it: `;`, `&`, or nothing."""

    items: tuple[tuple[Node, str], ...]


class If(Value, kw_only=False):
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None


class Loop(Value, kw_only=False):
    body: Node


class Opaque(Value, kw_only=False):
    """Something that is not looked into."""


Node = Simple | Pipeline | AndOr | Sequence | If | Loop | Opaque


def parse_shell(text: str) -> Sequence:
    """Return the commands of a text. Raises ShellTextError."""
    if len(text) > MAX_LENGTH:
        raise ShellTextError(f"it has more than {MAX_LENGTH} characters")
    return _Parser(split_shell(text)).parse()


#: Words that a compound command is made of; nothing else may begin with them.
_INNER = ("then", "elif", "else", "fi", "do", "done", "}", "esac")


class _Parser:
    """Recursive descent. A part that we do not read makes everything from there on opaque."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def parse(self) -> Sequence:
        parsed = self._sequence(())
        if self._at < len(self._tokens):
            raise ShellTextError(f"{_shown(self._tokens[self._at])} stands where no command can begin")
        return parsed

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _keyword(self) -> str:
        token = self._peek()
        return token.text if isinstance(token, Word) and not token.is_quoted and token.is_literal else ""

    def _sequence(self, ends: tuple[str, ...]) -> Sequence:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ShellTextError("it is nested too deeply")
        items: list[tuple[Node, str]] = []
        while (token := self._peek()) is not None:
            if token in (";", "\n"):
                self._at += 1
                continue
            if token == ")" or self._keyword() in ends or self._keyword() in _INNER:
                break
            node = self._and_or()
            after = self._peek()
            items.append((node, after if after in (";", "&", "\n") and isinstance(after, str) else ""))
            if after in (";", "&", "\n"):
                self._at += 1
            elif after is not None and after != ")" and self._keyword() not in _INNER:
                raise ShellTextError(f"{_shown(after)} stands where no command can begin")
        self._depth -= 1
        return Sequence(tuple(items))

    def _and_or(self) -> Node:
        first = self._pipeline()
        rest: list[tuple[str, Node]] = []
        while (token := self._peek()) in ("&&", "||"):
            assert isinstance(token, str)
            self._at += 1
            self._skip_lines()
            rest.append((token, self._pipeline()))
        return AndOr(first, tuple(rest)) if rest else first

    def _pipeline(self) -> Node:
        is_negated = False
        while self._keyword() == "!":
            self._at += 1
            is_negated = not is_negated
        parts = [self._command()]
        while self._peek() in ("|", "|&"):
            self._at += 1
            self._skip_lines()
            parts.append(self._command())
        return Pipeline(tuple(parts), is_negated) if is_negated or len(parts) > 1 else parts[0]

    def _command(self) -> Node:
        token, word = self._peek(), self._keyword()
        if token == "(":
            return self._group(")")
        if word == "{":
            return self._group("}")
        if word == "if":
            return self._if()
        if word in ("for", "while", "until", "select"):
            return self._loop()
        if word in ("case", "function"):
            return self._give_up()
        if token is None or (isinstance(token, str) and token != ">") or word in _INNER:
            raise ShellTextError(f"{_shown(token)} stands where no command can begin")
        return self._simple()

    def _group(self, end: str) -> Node:
        self._at += 1
        inner = self._sequence((end,))
        if self._peek() != end and self._keyword() != end:
            raise ShellTextError("a bracket is never closed")
        self._at += 1
        self._redirections()
        return inner

    def _if(self) -> Node:
        branches: list[tuple[Node, Node]] = []
        otherwise: Node | None = None
        while self._keyword() in ("if", "elif"):
            self._at += 1
            condition = self._sequence(("then",))
            self._expect("then")
            branches.append((condition, self._sequence(("elif", "else", "fi"))))
        if self._keyword() == "else":
            self._at += 1
            otherwise = self._sequence(("fi",))
        self._expect("fi")
        self._redirections()
        return If(tuple(branches), otherwise)

    def _loop(self) -> Node:
        while (token := self._peek()) is not None and self._keyword() != "do":
            self._at += 1
        if token is None:
            raise ShellTextError("a loop without `do`")
        self._at += 1
        body = self._sequence(("done",))
        self._expect("done")
        self._redirections()
        return Loop(body)

    def _give_up(self) -> Node:
        self._at = len(self._tokens)
        return Opaque()

    def _expect(self, word: str) -> None:
        if self._keyword() != word:
            raise ShellTextError(f"`{word}` is missing")
        self._at += 1

    def _skip_lines(self) -> None:
        while self._peek() == "\n":
            self._at += 1

    def _redirections(self) -> None:
        while self._peek() == ">":
            self._at += 2

    def _simple(self) -> Node:
        words: list[Word] = []
        assigns = runs_inside = False
        while (token := self._peek()) is not None:
            if token == ">":
                self._at += 2  # with its target
                continue
            is_function = len(words) == 1 and self._tokens[self._at : self._at + 2] == ["(", ")"]
            if token == "<<" or is_function:
                return self._give_up()  # a here-document has its text behind it, a function its body
            if not isinstance(token, Word):
                break
            self._at += 1
            if not words and token.is_assignment:
                assigns = True
                runs_inside = runs_inside or "$(" in token.text or "`" in token.text
                continue
            words.append(token)
            if token.text == "[[" and len(words) == 1:
                self._take_test(words)
        return Simple(tuple(words), assigns, runs_inside)

    def _take_test(self, words: list[Word]) -> None:
        """Take all of `[[ … ]]`: operators have another meaning in there."""
        while (token := self._peek()) is not None:
            self._at += 1
            words.append(token if isinstance(token, Word) else Word(token))
            if words[-1].text == "]]":
                return
        raise ShellTextError("`]]` is missing")


def _shown(token: Token | None) -> str:
    text = "the end" if token is None else token.text if isinstance(token, Word) else token
    return "a line end" if text == "\n" else repr(text[:40])
