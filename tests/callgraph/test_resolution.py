"""From callee expressions to definitions, rule by rule, asked downwards and back upwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from call_facts import File, callees, callers, put, why

from dowse.callgraph.facts import CallQuery
from dowse.model import Link
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from oracle.dict_store import DictStore


@pytest.fixture(params=["sqlite", "dicts"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = SqliteStore(tmp_path / "index.db") if request.param == "sqlite" else DictStore()
    yield opened
    opened.close()


def repo(path: str = "app/repo.py") -> File:
    return (
        File(path)
        .define("Base", "class")
        .define("Base/load", "method", value_expression=":User;")
        .define("Repo", "class", bases=("Base",))
        .define("Repo/__init__", "constructor")
        .define("Repo/save", "method")
        .define("User", "class")
        .define("User/greet", "method")
        .define("Other", "class")
        .define("Other/save", "method")
        .define("Other/greet", "method")
    )


PYTHON = {
    "a name of the file": ("helper", "app/main.py:helper"),
    "an imported class makes an object": ("Repo", "app/repo.py:Repo.__init__"),
    "a member of what was made": ("Repo().save", "app/repo.py:Repo.save"),
    "an inherited member": ("Repo().load", "app/repo.py:Base.load"),
    "what a method gives": ("Repo().load().greet", "app/repo.py:User.greet"),
    "a declared type": (":Repo;.save", "app/repo.py:Repo.save"),
    "a field of its own": ("this.repo.save", "app/repo.py:Repo.save"),
    "an element": (":list[Repo];[].save", "app/repo.py:Repo.save"),
    "a value of a dict": (":dict[str,Repo];[].save", "app/repo.py:Repo.save"),
    "the values of a dict": (":dict[str,Repo];.values()[].save", "app/repo.py:Repo.save"),
    "awaited": (":Awaitable[Repo];!.save", "app/repo.py:Repo.save"),
    "optional": (":Optional[Repo];.save", "app/repo.py:Repo.save"),
    "a module": ("repo.Repo().save", "app/repo.py:Repo.save"),
    "a class itself": (":type[Repo];.save", "app/repo.py:Repo.save"),
    "one of two": (":Repo;.save|:int;.save", "app/repo.py:Repo.save"),
    "a variable of the file": ("shared.save", "app/repo.py:Repo.save"),
    "entered": ("Repo().__enter__().save", "app/repo.py:Repo.save"),
}


@pytest.mark.parametrize(("callee", "expected"), PYTHON.values(), ids=PYTHON.keys())
def test_python(store: Store, callee: str, expected: str) -> None:
    main = (
        File("app/main.py")
        .imports("app.repo", "Repo=Repo")
        .imports("app", "repo=repo")
        .define("helper", "function")
        .define("shared", "variable", value_expression="Repo()")
        .define("Service", "class")
        .define("Service/repo", "field", value_expression=":Repo;")
        .define("Service/run", "method")
        .call("Service/run", callee)
    )
    graph = put(store, [repo(), main, File("app/__init__.py")])
    assert callees(graph, "run", "Service") == [expected]
    owner, _, name = expected.partition(":")[2].rpartition(".")
    assert "app/main.py:Service.run" in callers(graph, name, owner)


def csharp_types() -> File:
    return (
        File("src/Model.cs")
        .define("Shop.Model", "namespace")
        .define("Shop.Model/User", "class")
        .define("Shop.Model/User/Greet", "method", parameters=())
        .define("Shop.Model/Repo", "class", bases=("IRepo",), signature="class Repo<T>")
        .define("Shop.Model/Repo/Repo", "constructor")
        .define("Shop.Model/Repo/Get", "method", value_expression=":T;")
        .define("Shop.Model/Repo/GetAsync", "method", value_expression=":Task<T>;")
        .define("Shop.Model/IRepo", "interface")
        .define("Shop.Model/IRepo/Get", "method", value_expression=":object;")
        .define("Shop.Model/Texts", "class", modifiers=("static",))
        .define("Shop.Model/Texts/Shout", "method", modifiers=("static", "extension"), parameters=("thisstring",))
        .define("Shop.Model/Texts/Each", "method", modifiers=("extension",), parameters=("IEnumerable<User>",))
        .define(
            "Shop.Model/Texts/Make",
            "method",
            value_expression=":T;",
            signature="static T Make<T>()",
            modifiers=("static",),
        )
    )


CSHARP = {
    "new": (":Repo<User>;", "new", "Repo.Repo"),
    "a generic's method": (":Repo<User>;.Get", "call", "Repo.Get"),
    "what a generic's method gives": (":Repo<User>;.Get().Greet", "call", "User.Greet"),
    "awaited": (":Repo<User>;.GetAsync()!.Greet", "call", "User.Greet"),
    "its result": (":Repo<User>;.GetAsync().Result.Greet", "call", "User.Greet"),
    "a bare member": ("Helper", "call", "Client.Helper"),
    "a member of a base": ("Inherited", "call", "ClientBase.Inherited"),
    "super": ("super.Inherited", "call", "ClientBase.Inherited"),
    "a property's type": ("Current.Greet", "call", "User.Greet"),
    "an element of an array": (":User[];[].Greet", "call", "User.Greet"),
    "the first of a list": (":List<User>;.Where().First().Greet", "call", "User.Greet"),
    "a value of a dictionary": (":Dictionary<string,User>;[].Value.Greet", "call", "User.Greet"),
    "an extension method": (":string;.Shout", "call", "Texts.Shout"),
    "an extension method of sequences": (":List<User>;.Each", "call", "Texts.Each"),
    "a static method": ("Texts.Shout", "call", "Texts.Shout"),
    "by its full name": ("Shop.Model.Texts.Shout", "call", "Texts.Shout"),
    "with its type written": ("Texts.Make<User>().Greet", "call", "User.Greet"),
    "a container gives what is written": (":IServices;.Get<User>().Greet", "call", "User.Greet"),
    "nothing or it": (":User?;.Greet", "call", "User.Greet"),
}


@pytest.mark.parametrize(("callee", "kind", "expected"), CSHARP.values(), ids=CSHARP.keys())
def test_csharp(store: Store, callee: str, kind: str, expected: str) -> None:
    name = "Repo" if kind == "new" else callee.rpartition(".")[2]
    client = (
        File("src/Client.cs")
        .imports("Shop.Model", "*=")
        .define("Shop.App", "namespace")
        .define("Shop.App/ClientBase", "class")
        .define("Shop.App/ClientBase/Inherited", "method")
        .define("Shop.App/Client", "class", bases=("ClientBase",))
        .define("Shop.App/Client/Current", "property", value_expression=":User;")
        .define("Shop.App/Client/Helper", "method")
        .define("Shop.App/Client/Run", "method")
        .call("Shop.App/Client/Run", callee, name, kind)
    )
    graph = put(store, [csharp_types(), client])
    found = callees(graph, "Run", "Client", confidence="exact")
    assert [it.partition(":")[2].split(".", 2)[2] for it in found] == [expected]
    owner, _, last = expected.rpartition(".")
    assert "src/Client.cs:Shop.App.Client.Run" in callers(graph, last, owner, confidence="exact")


OUTSIDE = {
    "a library's module": ("requests.get", "outside: requests.get"),
    "a member of it": ("requests.get().json", "outside: requests.get.json"),
    "a name imported from one": ("Thread", "outside: threading.Thread"),
    "a builtin": ("len", "outside: builtins"),
    "a type of one": (":Session;.get", "outside: Session"),
    "unknown": ("?.save", "receiver unknown"),
    "no such member": ("Repo().missing", "the receiver has no known member of this name"),
    "no such name": ("nowhere", "no indexed definition has this name"),
    "not to be read": ("a..b", "receiver unknown"),
}


@pytest.mark.parametrize(("callee", "reason"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_leads_nowhere_says_why(store: Store, callee: str, reason: str) -> None:
    main = (
        File("app/main.py")
        .imports("requests", "requests=")
        .imports("threading", "Thread=Thread")
        .imports("app.repo", "Repo=Repo")
        .define("run", "function")
        .call("run", callee, "save" if callee == "?.save" else "")
    )
    graph = put(store, [repo(), main])
    tree = graph.calls(CallQuery("run", direction="down", depth=1))
    assert tree.nodes == ()
    assert why(tree) == [f"{callee}: {reason}"]


def test_an_interface_reaches_whoever_implements_it(store: Store) -> None:
    code = (
        File("Main.cs")
        .define("IStore", "interface")
        .define("IStore/Save", "method")
        .define("Disk", "class", bases=("IStore",))
        .define("Disk/Save", "method")
        .define("Root", "class")
        .define("Root/Save", "method")
        .define("Heir", "class", bases=("Root", "IStore"))
        .define("Stranger", "class")
        .define("Stranger/Save", "method")
        .define("App", "class")
        .define("App/Run", "method")
        .call("App/Run", ":IStore;.Save")
    )
    graph = put(store, [code])
    assert callees(graph, "Run") == ["Main.cs:Disk.Save virtual", "Main.cs:IStore.Save", "Main.cs:Root.Save virtual"]
    assert callees(graph, "Run", through_interfaces=False) == ["Main.cs:IStore.Save"]
    assert callers(graph, "Save", "Disk") == ["Main.cs:App.Run virtual"]
    assert callers(graph, "Save", "Root") == ["Main.cs:App.Run virtual"]
    assert callers(graph, "Save", "IStore") == ["Main.cs:App.Run"]
    assert callers(graph, "Save", "Disk", through_interfaces=False) == []
    assert callers(graph, "Save", "Disk", confidence="exact") == []
    assert callers(graph, "Save", "Stranger") == []


def test_a_base_of_the_same_name_is_not_the_same_base(store: Store) -> None:
    def family(space: str) -> File:
        return (
            File(f"{space}.cs")
            .define(space, "namespace")
            .define(f"{space}/IStore", "interface")
            .define(f"{space}/IStore/Save", "method")
            .define(f"{space}/Disk", "class", bases=("IStore",))
            .define(f"{space}/Disk/Save", "method")
            .define(f"{space}/App", "class")
            .define(f"{space}/App/Run", "method")
            .call(f"{space}/App/Run", ":IStore;.Save")
        )

    graph = put(store, [family("One"), family("Two")])
    assert callees(graph, "Run", "One.App") == ["One.cs:One.Disk.Save virtual", "One.cs:One.IStore.Save"]
    assert callers(graph, "Save", "Two.Disk") == ["Two.cs:Two.App.Run virtual"]


def test_an_object_made_here_is_of_no_subtype(store: Store) -> None:
    code = (
        File("main.py")
        .define("A", "class")
        .define("A/go", "method")
        .define("B", "class", bases=("A",))
        .define("B/go", "method")
        .define("made", "function")
        .define("given", "function")
        .call("made", "A().go")
        .call("given", ":A;.go")
    )
    graph = put(store, [code])
    assert callees(graph, "made") == ["main.py:A.go"]
    assert callees(graph, "given") == ["main.py:A.go", "main.py:B.go virtual"]


def test_a_librarys_type_is_not_expanded_to_classes_that_implement_it(store: Store) -> None:
    code = (
        File("Main.cs")
        .define("Mine", "class", bases=("IList<int>",))
        .define("Mine/Add", "method")
        .define("App", "class")
        .define("App/Run", "method")
        .call("App/Run", ":IList<int>;.Add")
    )
    graph = put(store, [code])
    assert callees(graph, "Run", confidence="possible") == []
    assert callers(graph, "Add", "Mine", confidence="possible") == []


def test_kindred_names_count_only_where_nobody_implements_the_interface(store: Store) -> None:
    code = (
        File("Main.cs")
        .define("IDataModelService", "interface")
        .define("IDataModelService/Load", "method")
        .define("DataModelWebService", "class")
        .define("DataModelWebService/Load", "method")
        .define("Weather", "class")
        .define("Weather/Load", "method")
        .define("App", "class")
        .define("App/Run", "method")
        .call("App/Run", ":IDataModelService;.Load")
    )
    graph = put(store, [code])
    kindred = "Main.cs:DataModelWebService.Load possible"
    assert callees(graph, "Run") == ["Main.cs:IDataModelService.Load"]
    assert callees(graph, "Run", confidence="possible") == [kindred, "Main.cs:IDataModelService.Load"]
    assert callers(graph, "Load", "DataModelWebService", confidence="possible") == ["Main.cs:App.Run possible"]
    implementing = File("Real.cs").define("Real", "class", bases=("IDataModelService",)).define("Real/Load", "method")
    graph = put(store, [implementing])
    assert kindred not in callees(graph, "Run", confidence="possible")


def test_only_the_name_is_possible_at_most_and_only_where_one_class_has_it(store: Store) -> None:
    code = (
        File("main.py")
        .define("A", "class")
        .define("A/recalculate", "method")
        .define("A/get", "method")
        .define("A/both", "method")
        .define("B", "class")
        .define("B/both", "method")
        .define("run", "function")
        .call("run", "?.recalculate")
        .call("run", "?.get")
        .call("run", "?.both")
    )
    graph = put(store, [code])
    assert callees(graph, "run") == []
    assert callees(graph, "run", confidence="possible") == ["main.py:A.recalculate possible"]
    assert callers(graph, "recalculate", confidence="possible") == ["main.py:run possible"]
    tree = graph.calls(CallQuery("recalculate"))
    assert why(tree) == ["?.recalculate: name match only"]


def test_overloads_are_chosen_by_the_number_of_arguments(store: Store) -> None:
    code = (
        File("Main.cs")
        .define("Log", "class")
        .define("Log/Write", "method", parameters=("string",), signature="void Write(string a)")
        .define("Log/Write", "method", parameters=("string", "int"), signature="void Write(string a, int b)")
        .define("Log/Write", "method", parameters=("object", "int"), signature="void Write(object a, int b)")
        .define("Log/Many", "method", parameters=("params int[]",), signature="void Many(params int[] a)")
        .define("Log/Many", "method", parameters=("int", "int"), signature="void Many(int a, int b = 1)")
        .define("One", "function")
        .define("Two", "function")
        .define("Five", "function")
        .call("One", ":Log;.Write", arguments=1)
        .call("Two", ":Log;.Write", arguments=2)
        .call("Five", ":Log;.Many", arguments=5)
    )
    graph = put(store, [code])

    def counts(name: str) -> list[tuple[int, str]]:
        tree = graph.calls(CallQuery(name, direction="down", depth=1))
        return [(len(it.edge.callee.symbol.parameters), it.edge.confidence) for it in tree.nodes if it.edge.callee]

    assert counts("One") == [(1, "exact")]
    assert counts("Two") == [(2, "virtual"), (2, "virtual")]
    assert counts("Five") == [(1, "exact")]


def test_parts_of_a_partial_class_are_one(store: Store) -> None:
    first = (
        File("A.cs")
        .define("N", "namespace")
        .define("N/Page", "class", modifiers=("partial",))
        .define("N/Page/Load", "method")
        .call("N/Page/Load", "Fill")
    )
    second = (
        File("B.cs")
        .define("N", "namespace")
        .define("N/Page", "class", modifiers=("partial",))
        .define("N/Page/Fill", "method")
    )
    other = (
        File("C.cs")
        .define("M", "namespace")
        .define("M/Page", "class", modifiers=("partial",))
        .define("M/Page/Fill", "method")
    )
    double = File("D.cs").define("N", "namespace").define("N/Page", "class").define("N/Page/Fill", "method")
    graph = put(store, [first, second, other, double])
    assert callees(graph, "Load") == ["B.cs:N.Page.Fill"]
    assert callers(graph, "Fill", "M.Page") == []


def test_callers_of_a_constructor_whose_class_goes_on_in_a_longer_file(store: Store) -> None:
    short = File("A.cs").define("Page", "class", modifiers=("partial",)).define("Page/Page", "constructor")
    long = File("B.cs")
    for number in range(5):
        long.define(f"Other{number}", "class")
    long.define("Page", "class", modifiers=("partial",))
    user = File("C.cs").imports("Page", "Leaf=").define("User", "class").define("User/Open", "method")
    graph = put(store, [short, long, user.call("User/Open", ":Page;", kind="new")])
    assert callers(graph, "Page", "Page") == ["C.cs:User.Open"]


def test_names_that_imports_and_variables_give(store: Store) -> None:
    lib = File("lib/store.py").define("Store", "class").define("Store/__init__", "constructor")
    package = File("lib/__init__.py").imports(".store", "Box=Store")
    main = (
        File("main.py")
        .imports("lib", "Box=Box")
        .define("Shelf", "variable", value_expression="Box")
        .define("run", "function")
        .define("go", "function")
        .call("run", "Box")
        .call("go", "Shelf")
    )
    graph = put(store, [lib, package, main])
    assert callees(graph, "go") == ["lib/store.py:Store.__init__"]
    assert callers(graph, "__init__", "Store") == ["main.py:run"]


def test_modules_of_equal_names(store: Store) -> None:
    def module(path: str) -> File:
        return File(path).define("work", "function")

    files = [File(f"{name}/__init__.py") for name in ("one", "two")]
    near = File("one/main.py").imports(".util", "work=work").define("near", "function").call("near", "work")
    far = File("one/other.py").imports("two.util", "util=").define("far", "function").call("far", "util.work")
    standard = File("two/s.py").imports("json", "work=work").define("standard", "function").call("standard", "work")
    loose = File("two/t.py").imports("queue", "work=work").define("loose", "function").call("loose", "work")
    beside = File("tools/u.py").imports("queue", "work=work").define("beside", "function").call("beside", "work")
    modules = [module("one/util.py"), module("two/util.py"), module("two/json.py"), module("tools/queue.py")]
    graph = put(store, [*files, *modules, near, far, standard, loose, beside])
    assert callees(graph, "near") == ["one/util.py:work"]
    assert callees(graph, "far") == ["two/util.py:work"]
    assert callees(graph, "standard") == [], "no package is a root of modules"
    assert callees(graph, "loose") == [], "the standard library's, not a far one of the same name"
    assert callees(graph, "beside") == ["tools/queue.py:work"], "but what lies beside a script hides it"


def test_an_import_inside_a_function_holds_only_there(store: Store) -> None:
    lib = File("lib.py").define("work", "function")
    main = (
        File("main.py")
        .define("work", "function")
        .define("local", "function")
        .define("other", "function")
        .call("local", "work")
        .call("other", "work")
    )
    main.links.append(Link("import", "lib", main.symbols[1].start_line + 1, "work=work"))
    graph = put(store, [lib, main])
    assert callees(graph, "local") == ["lib.py:work"]
    assert callees(graph, "other") == ["main.py:work"]


def test_an_extension_method_of_another_type_is_not_meant(store: Store) -> None:
    code = (
        File("Main.cs")
        .define("Texts", "class")
        .define("Texts/Shout", "method", modifiers=("extension",), parameters=("string",))
        .define("Texts/Total", "method", modifiers=("extension",), parameters=("IEnumerable<int>",))
        .define("App", "class")
        .define("App/Run", "method")
        .call("App/Run", ":Stream;.Shout")
        .call("App/Run", ":List<string>;.Total")
    )
    assert callees(put(store, [code]), "Run", confidence="possible") == []


def test_a_root_inside_a_package_knows_its_own_modules(store: Store) -> None:
    util = File("util.py").define("work", "function")
    main = File("main.py").imports("big.part.util", "work=work").define("run", "function").call("run", "work")
    graph = put(store, [util, main], root="/work/big/part")
    assert callees(graph, "run") == ["util.py:work"]


def test_scripts_import_by_path(store: Store) -> None:
    tools = File("src/tools/index.ts").define("trim", "function")
    maker = File("src/maker.tsx").define("Maker", "class", modifiers=("default",)).define("Maker/make", "method")
    main = (
        File("src/main.js")
        .imports("./tools", "trim=trim")
        .imports("./maker.js", "Anything=default")
        .imports("react", "useState=useState")
        .define("run", "function")
        .call("run", "trim")
        .call("run", "Anything().make")
        .call("run", "useState")
    )
    graph = put(store, [tools, maker, main])
    assert callees(graph, "run") == ["src/maker.tsx:Maker.make", "src/tools/index.ts:trim"]
    assert callers(graph, "trim") == ["src/main.js:run"]


def test_packages_of_folders(store: Store) -> None:
    lib = File("store/disk.go").define("Open", "function")
    beside = File("cmd/help.go").define("help", "function")
    main = (
        File("cmd/main.go")
        .imports("example.com/x/store", "store=")
        .define("main", "function")
        .call("main", "store.Open")
        .call("main", "help")
    )
    graph = put(store, [lib, beside, main, File("other/help.go").define("help", "function")])
    assert callees(graph, "main") == ["cmd/help.go:help", "store/disk.go:Open"]


def delegating(signature: str) -> File:
    """A method of C# that calls what it is passed: one of two overloads."""
    return (
        File("App.cs")
        .define("App", "class")
        .define("App/Print", "method", parameters=("int",))
        .define("App/Print", "method", parameters=("string",))
        .define("App/Each", "method", signature=signature, parameters=("Work",))
        .define("App/Run", "method")
        .call("App/Run", "Each\t0=Print", "Each", arguments=1)
        .call("App/Each", "$act", "act", arguments=1)
    )


@pytest.mark.parametrize(
    ("signature", "sure", "possible"),
    [
        ("void Each(Action<int> act)", ["App.cs:App.Print"], ["App.cs:App.Print"]),
        ("void Each<T>(Action<string> act = null)", ["App.cs:App.Print"], ["App.cs:App.Print"]),
        ("void Each(Work act)", [], ["App.cs:App.Print possible", "App.cs:App.Print possible"]),
        ("void Each(Func<int, int> act)", ["App.cs:App.Print"], ["App.cs:App.Print"]),
        ("void Each(Action<Cat> act)", [], ["App.cs:App.Print possible", "App.cs:App.Print possible"]),
        ("void Each(int n, Action<int> act)", [], []),
    ],
)
def test_which_overload_a_delegate_takes(store: Store, signature: str, sure: list[str], possible: list[str]) -> None:
    graph = put(store, [delegating(signature)])
    assert callees(graph, "Each") == sure
    assert callees(graph, "Each", confidence="possible") == possible


def test_a_function_that_an_event_was_given_says_where(store: Store) -> None:
    code = (
        File("App.cs")
        .define("App", "class")
        .define("App/Done", "event", ":Action;")
        .define("App/Finish", "method")
        .define("App/OnDone", "method")
        .define("App/Hook", "method")
        .call("App/Finish", "Done.Invoke", "Invoke")
        .call("App/Hook", "Done\t0=OnDone", "Done", kind="assign")
        .call("App/Hook", "OnDone\tstored", "OnDone", kind="refer")
    )
    graph = put(store, [code])
    (node,) = graph.calls(CallQuery("Finish", "App", "down", depth=1)).nodes
    assert (node.edge.confidence, node.edge.how) == ("exact", "event Done, assigned at App.cs:52")
    assert callers(graph, "OnDone") == ["App.cs:App.Finish"]
    assert callees(graph, "Hook") == []


def test_functions_of_several_names_are_no_overloads(store: Store) -> None:
    code = (
        File("App.cs")
        .define("App", "class")
        .define("App/Start", "method")
        .define("App/Stop", "method")
        .define("App/Each", "method", signature="void Each(Action act)", parameters=("Action",))
        .define("App/Run", "method")
        .call("App/Run", "Each\t0=Start&0=Stop", "Each", arguments=1)
        .call("App/Each", "$act", "act")
    )
    assert callees(put(store, [code]), "Each") == ["App.cs:App.Start", "App.cs:App.Stop"]


def test_calls_of_other_bases_are_not_counted_among_those_of_a_constructor(store: Store) -> None:
    """A question follows some dozens of calls; `: base(…)` of other classes must not use them up."""
    clock = (
        File("z/Clock.cs")
        .define("Clock", "class")
        .define("Clock/tick", "field", ":Action;")
        .define("Clock/Clock", "constructor", signature="Clock(Action tick)", parameters=("Action",))
        .define("Clock/Fire", "method")
        .call("Clock/Clock", "this.tick\t0=$tick", "tick", kind="assign")
        .call("Clock/Fire", "tick")
    )
    app = File("z/Main.cs").define("App", "class").define("App/Beat", "method").define("App/Run", "method")
    app.call("App/Run", ":Clock;\t0=Beat", "Clock", kind="new", arguments=1)
    others = File("a/Others.cs").define("Other", "class", bases=("Far",)).define("Other/Other", "constructor")
    for _ in range(60):
        others.call("Other/Other", "super\t0=Beat", "super", kind="new", arguments=1)
    assert callees(put(store, [clock, app, others]), "Fire") == ["z/Main.cs:App.Beat"]
