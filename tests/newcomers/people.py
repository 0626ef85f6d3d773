"""Who begins, with which tool, in which kind of project. Each types what the documentation says."""

from __future__ import annotations

from tests.newcomers.model import Newcomer

_CODE = "def slugify(text):\n    return text\n"
_TEST = 'from slug import slugify\n\n\ndef test_dashes():\n    assert slugify("A B") == "a-b"\n'
#: Two files, as in the README, and no code that lets the test pass.
_PROJECT = {"slug.py": _CODE, "test_slug.py": _TEST}

_PYPROJECT = """\
[project]
name = "slugs"
version = "1.0"
requires-python = ">=3.11"
"""
_TOX = """\
[testenv:gate]
skip_install = true
deps = pytest-phase-gate
commands = pytest {posargs}
"""
_NOX = """\
import nox


@nox.session
def gate(session):
    session.install("pytest-phase-gate")
    session.run("pytest", *session.posargs)
"""
_DJANGO = {
    "manage.py": "import django.core.management\n\ndjango.core.management.execute_from_command_line()\n",
    "shop/__init__.py": "",
    "shop/settings.py": (
        "SECRET_KEY = 'only for tests'\n"
        "INSTALLED_APPS = ['django.contrib.contenttypes', 'django.contrib.auth', 'shop']\n"
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n"
        "ROOT_URLCONF = 'shop.urls'\n"
    ),
    "shop/urls.py": (
        "from django.http import HttpResponse\nfrom django.urls import path\n\n"
        "urlpatterns = [path('', lambda request: HttpResponse('shop'))]\n"
    ),
    "tests/test_pages.py": (
        "import pytest\nfrom django.contrib.auth.models import User\n\n\n"
        "def test_the_cart_is_empty(client):\n    assert client.get('/cart').json() == {'items': []}\n\n\n"
        "@pytest.mark.django_db\ndef test_nobody_is_there():\n    assert User.objects.count() == 1\n"
    ),
    "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = shop.settings\npythonpath = .\n",
}
_FASTAPI = {
    "app.py": (
        "from fastapi import FastAPI\n\napp = FastAPI()\n\n\n@app.get('/')\ndef home():\n    return {'name': 'shop'}\n"
    ),
    "tests/test_app.py": (
        "from app import app\nfrom fastapi.testclient import TestClient\n\n\n"
        "def test_the_cart_is_empty():\n    assert TestClient(app).get('/cart').json() == {'items': []}\n"
    ),
    "pytest.ini": "[pytest]\npythonpath = .\n",
}


def _package(name: str, *, fails: bool) -> dict[str, str]:
    check = "2" if fails else "1"
    return {
        f"{name}/pyproject.toml": f'[project]\nname = "{name}"\nversion = "1.0"\n',
        f"{name}/src/{name}.py": "def one():\n    return 1\n",
        f"{name}/tests/test_{name}.py": f"import {name}\n\n\ndef test_one():\n    assert {name}.one() == {check}\n",
        f"{name}/pytest.ini": "[pytest]\npythonpath = src\n",
    }


_VENV = ("python3 -m venv .venv", ". .venv/bin/activate")
_IN_VENV = (*_VENV, "pip install --quiet pytest-phase-gate")
_GIT = ("git init -q", "git add -A", "git commit -q -m begin")

NEWCOMERS = (
    Newcomer(name="pip", files=_PROJECT, typed=(*_IN_VENV, "pytest --phase=red")),
    Newcomer(name="pip in a fresh Debian", files=_PROJECT, in_fresh_root=True, typed=(*_IN_VENV, "pytest --phase=red")),
    Newcomer(
        name="uv",
        files={**_PROJECT, "pyproject.toml": _PYPROJECT},
        tools=("uv",),
        typed=("uv add --quiet --dev pytest-phase-gate", "uv run --quiet pytest --phase=red"),
    ),
    Newcomer(
        name="poetry",
        files={**_PROJECT, "pyproject.toml": f"{_PYPROJECT}\n[tool.poetry]\npackage-mode = false\n"},
        tools=("poetry",),
        before=(
            "poetry source add --quiet --priority=supplemental wheels $INDEX",
            '[ -z "$SIMPLE" ] || poetry source add --quiet --priority=primary simple "$SIMPLE"',
        ),
        typed=("poetry add --quiet --group dev pytest-phase-gate", "poetry run pytest --phase=red"),
    ),
    Newcomer(
        name="pipx",
        files=_PROJECT,
        tools=("pipx",),
        typed=("pipx install --quiet --include-deps pytest-phase-gate", "pytest --phase=red"),
    ),
    Newcomer(
        name="tox",
        files={**_PROJECT, "tox.ini": _TOX},
        tools=("tox",),
        typed=("tox -q -e gate -- --phase=red",),
    ),
    Newcomer(
        name="nox",
        files={**_PROJECT, "noxfile.py": _NOX},
        tools=("nox",),
        typed=("nox -s gate -- --phase=red",),
    ),
    Newcomer(
        name="a project that has tests",
        files={},
        before=(
            "pip download --quiet --no-deps --no-binary :all: --no-build-isolation more-itertools==10.8.0",
            "tar -xzf more_itertools-10.8.0.tar.gz --strip-components=1",
            "rm more_itertools-10.8.0.tar.gz",
            *_GIT,
            *_VENV,
            "pip install --quiet pytest .",
        ),
        tools=("flit_core",),
        typed=(
            "pip install --quiet pytest-phase-gate",
            'echo \'def test_new(): assert hasattr(__import__("more_itertools"), "missing")\' > tests/test_new.py',
            "pytest -q --tb=no --phase=red",
        ),
        expects=("phase gate: RED", "1 test", "Verdict", "Next"),
    ),
    Newcomer(
        name="three packages in one repository",
        files={
            **_package("alpha", fails=False),
            **_package("beta", fails=True),
            **_package("gamma", fails=False),
        },
        before=(*_GIT,),
        typed=(*_IN_VENV, "cd beta", "pytest --phase=red"),
    ),
    Newcomer(
        name="Django",
        files=_DJANGO,
        before=(*_VENV, "pip install --quiet django pytest-django"),
        typed=("pip install --quiet pytest-phase-gate", "pytest --tb=no --phase=red"),
        expects=("phase gate: RED", "2 tests", "Verdict", "Next"),
    ),
    Newcomer(
        name="FastAPI",
        files=_FASTAPI,
        before=(*_VENV, "pip install --quiet fastapi httpx pytest"),
        typed=("pip install --quiet pytest-phase-gate", "pytest --tb=no --phase=red"),
    ),
)
