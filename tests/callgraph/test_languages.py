"""Every language through its extractor, the store and the resolver: who calls what in two small files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dowse.callgraph.facts import CallNode, CallQuery
from dowse.config import Settings
from dowse.engine import Engine
from support import write

PROGRAMS: list[tuple[str, Mapping[str, str], str, str]] = [
    (
        "typescript",
        {
            "repo.ts": "export class Repo { save(x: number) { return x; } }\n",
            "app.ts": "import { Repo } from './repo';\nclass App { constructor(private repo: Repo) {}\n"
            "  run() { return this.repo.save(1); } }\n",
        },
        "Repo.save",
        "App.run",
    ),
    (
        "javascript",
        {
            "lib.js": "exports.save = function (x) { return x; };\n",
            "app.js": "const { save } = require('./lib');\nfunction run() { return save(1); }\n",
        },
        "save",
        "run",
    ),
    (
        "java",
        {
            "a/Repo.java": "package a;\npublic class Repo { public int save(int x) { return x; } }\n",
            "b/App.java": "package b;\nimport a.Repo;\nclass App { private Repo repo = new Repo();\n"
            "  int run() { return repo.save(1); } }\n",
        },
        "Repo.save",
        "b.App.run",
    ),
    (
        "kotlin",
        {
            "Repo.kt": "package a\nclass Repo { fun save(x: Int): Int { return x } }\n",
            "App.kt": "package a\nclass App(private val repo: Repo) { fun run(): Int { return repo.save(1) } }\n",
        },
        "Repo.save",
        "a.App.run",
    ),
    (
        "scala",
        {
            "Repo.scala": "package a\nclass Repo { def save(x: Int): Int = x }\n",
            "App.scala": "package a\nclass App(repo: Repo) { def run(): Int = repo.save(1) }\n",
        },
        "Repo.save",
        "a.App.run",
    ),
    (
        "go",
        {
            "repo.go": "package main\ntype Repo struct{}\nfunc (r *Repo) Save(x int) int { return x }\n",
            "app.go": "package main\ntype App struct { repo *Repo }\n"
            "func (a *App) Run() int { return a.repo.Save(1) }\n",
        },
        "Repo.Save",
        "App.Run",
    ),
    (
        "rust",
        {
            "repo.rs": "pub struct Repo {}\nimpl Repo { pub fn save(&self, x: i32) -> i32 { x } }\n",
            "app.rs": "struct App { repo: Repo }\nimpl App { fn run(&self) -> i32 { self.repo.save(1) } }\n",
        },
        "Repo.save",
        "App.run",
    ),
    (
        "c",
        {
            "repo.c": "int save(int x) { return x; }\n",
            "app.c": "int save(int x);\nint run(void) { return save(1); }\n",
        },
        "save",
        "run",
    ),
    (
        "cpp",
        {
            "repo.h": "class Repo { public: int save(int x); };\n",
            "repo.cpp": '#include "repo.h"\nint Repo::save(int x) { return x; }\n',
            "app.cpp": '#include "repo.h"\nclass App { Repo repo; int run() { return repo.save(1); } };\n',
        },
        "Repo.save",
        "App.run",
    ),
    (
        "php",
        {
            "Repo.php": "<?php\nnamespace A;\nclass Repo { public function save(int $x) { return $x; } }\n",
            "App.php": "<?php\nnamespace A;\nclass App { private Repo $repo;\n"
            "  function run() { return $this->repo->save(1); } }\n",
        },
        "Repo.save",
        "A.App.run",
    ),
    (
        "ruby",
        {
            "repo.rb": "class Repo\n  def save(x)\n    x\n  end\nend\n",
            "app.rb": "class App\n  def initialize\n    @repo = Repo.new\n  end\n"
            "  def run\n    @repo.save(1)\n  end\nend\n",
        },
        "Repo.save",
        "App.run",
    ),
    (
        "ruby, names with marks",
        {
            "repo.rb": "class Repo\n  def save!(x)\n    x\n  end\nend\n",
            "app.rb": "class App\n  def initialize\n    @repo = Repo.new\n  end\n"
            "  def run\n    @repo.save!(1)\n  end\nend\n",
        },
        "Repo.save!",
        "App.run",
    ),
    (
        "swift",
        {
            "Repo.swift": "class Repo { func save(_ x: Int) -> Int { return x } }\n",
            "App.swift": "class App { let repo: Repo = Repo()\n  func run() -> Int { return repo.save(1) } }\n",
        },
        "Repo.save",
        "App.run",
    ),
    (
        "bash",
        {"lib.sh": "save() { echo 1; }\n", "app.sh": "source lib.sh\nrun() { save 1; }\n"},
        "save",
        "run",
    ),
    (
        "sql",
        {
            "save.sql": "CREATE PROCEDURE dbo.Save @x INT AS BEGIN SELECT @x END\nGO\n",
            "run.sql": "CREATE PROCEDURE dbo.Run AS BEGIN EXEC dbo.Save 1 END\nGO\n",
        },
        "Save",
        "Run",
    ),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """All of them in one index: what one language defines is nothing to the others."""
    place: Path = tmp_path_factory.mktemp("languages")
    write(place / "root", {f"{name}/{path}": text for name, files, *_ in PROGRAMS for path, text in files.items()})
    engine = Engine(Settings(encoder="none", data_dir=place / "data"), place / "i.db", create=True)
    engine.index([place / "root"])
    yield engine  # type: ignore[misc]
    engine.close()


@pytest.mark.parametrize(("language", "files", "callee", "caller"), PROGRAMS, ids=[it[0] for it in PROGRAMS])
def test_a_call_into_another_file(
    engine: Engine, language: str, files: Mapping[str, str], callee: str, caller: str
) -> None:
    owner, _, name = callee.rpartition(".")
    query = CallQuery(name, owner, "up", depth=1, path_filter=lambda path: path.startswith(f"{language}/"))
    assert {_name(it) for it in engine.calls(query).nodes} == {caller}


def _name(node: CallNode) -> str:
    caller = node.edge.caller
    return ".".join((*caller.trail, caller.symbol.name)) if caller else ""
