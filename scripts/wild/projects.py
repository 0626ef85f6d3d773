"""Whose suites are run. Each source distribution has its tests, and needs nothing but Python."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    name: str
    version: str
    #: What its own suite asks for beside pytest.
    requires: tuple[str, ...] = ()
    #: What pytest is told, where the project's settings do not say it.
    arguments: tuple[str, ...] = ()

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"


PROJECTS = (
    Project(name="attrs", version="26.1.0", requires=("cloudpickle", "hypothesis", "pympler")),
    Project(
        name="blinker",
        version="1.9.0",
        requires=("pytest-asyncio",),
        # Its settings make an error of what a newer pytest-asyncio warns of when this is not set.
        arguments=("-o", "asyncio_default_fixture_loop_scope=function"),
    ),
    Project(
        name="cachetools",
        version="8.0.0",
    ),
    Project(
        name="click",
        version="8.5.1",
    ),
    Project(
        name="h11",
        version="0.16.0",
    ),
    Project(name="humanize", version="4.17.0", requires=("freezegun", "pytest-codspeed")),
    Project(name="idna", version="3.20", requires=("hypothesis",)),
    Project(
        name="iniconfig",
        version="2.3.1",
    ),
    Project(name="itsdangerous", version="2.2.0", requires=("freezegun",)),
    Project(name="jinja2", version="3.1.6", requires=("trio",)),
    Project(name="markupsafe", version="3.0.4", requires=("pytest-run-parallel",)),
    Project(
        name="more-itertools",
        version="11.2.1",
    ),
    Project(name="natsort", version="8.4.0", requires=("hypothesis", "pytest-mock")),
    Project(name="parse", version="1.22.4", requires=("pytest-cov",)),
    Project(name="pluggy", version="1.7.0", requires=("pytest-benchmark",)),
    Project(name="python-dotenv", version="1.2.4", requires=("click", "sh")),
    Project(
        name="structlog",
        version="26.1.0",
        requires=("pytest-asyncio", "pytest-randomly", "simplejson", "time-machine"),
    ),
    Project(
        name="tabulate",
        version="0.10.0",
    ),
    Project(name="tomlkit", version="0.15.2", requires=("pyyaml",)),
    Project(
        name="toolz",
        version="1.2.0",
    ),
)
