"""Read pytest's settings from configuration files. Pure: text in, values out, without pytest."""

from __future__ import annotations

import fnmatch

#: In pytest's own order: the first file with settings counts.
FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def pytest_section(path: str, text: str) -> object:
    """Return pytest's settings in a file; the text itself if it can't be parsed."""
    import configparser

    try:
        if path.endswith(".toml"):
            import tomllib

            document = tomllib.loads(text)
            return document.get("tool", {}).get("pytest") if path == "pyproject.toml" else document.get("pytest")
        parser = configparser.RawConfigParser()
        parser.read_string(text)
        section = "tool:pytest" if path == "setup.cfg" else "pytest"
        return dict(parser[section]) if parser.has_section(section) else None
    except (ValueError, AttributeError, configparser.Error):
        return text


def file_patterns(path: str, text: str) -> tuple[str, ...]:
    """Return `python_files` from a file; empty if it is not set."""
    section = pytest_section(path, text)
    options = section.get("ini_options", section) if isinstance(section, dict) else None
    given = options.get("python_files", ()) if isinstance(options, dict) else ()
    if isinstance(given, str):
        return tuple(given.split())
    return tuple(map(str, given)) if isinstance(given, list) else ()


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a file matches one of the patterns, in any folder. One with a slash has folders, too."""
    name = path.rpartition("/")[2]
    pairs = ((f"/{path}", f"*/{each}") if "/" in each else (name, each) for each in patterns)
    return any(fnmatch.fnmatch(*pair) for pair in pairs)


#: Folders that hold tests and what they use.
_TEST_FOLDERS = frozenset({"test", "tests"})


def is_test_side(path: str) -> bool:
    """Return whether a file belongs to the tests, by its name or its folder."""
    *folders, name = path.split("/")
    is_named_so = name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py")
    return is_named_so or not _TEST_FOLDERS.isdisjoint(folders)
