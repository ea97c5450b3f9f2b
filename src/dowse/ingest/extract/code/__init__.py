"""Code, read by tree-sitter: definitions, calls and imports of every language that is described in `languages/`.

How it works: the query of a language names the nodes that matter (`grammar`), one pass over them in the order they
stand finds who is in whom and what every name is given (`sweep`, `scopes`, `statistics`), and then, when all names are
known, drafts become symbols (`symbols`) and sites become calls (`calls`), both with expressions that have no local name
left in them (`expressions`). Nothing recurses along the depth of a tree, and what is kept is cut to a length.

A language is one module in `languages/` with a tuple `LANGUAGES` of `Language` (`language` says what each field is),
and one table test. Its query may use these captures, each on a single node; a node may have several of them:

    @define       a definition: `Language.define` says what it defines (several for `int a, b;`)
    @members      a value or type whose parts are members of what holds it: `{ a: 1 }` (`Language.members`)
    @bind         gives names something: an assignment, a declaration, a loop variable, a pattern (`Language.bind`)
    @call         a call; its type needs a `Shape` with `onto` and the step `()`
    @construct    a `new`; its Shape has `type`, or `read` where the type stands elsewhere
    @decorate     a decorator that is called or named; as @call it then does not count
    @named        the name of a function, where the definition has no field `name` with it
    @refer        a name that may be passed on as a value, or a list of such; kept if this file shows it can be called
    @assign       gives a member something that may be a function (`Language.assigned`)
    @import       `Language.imports` says what it brings in
    @lambda       a function without a name, with `Language.lambda_parameters`
    @scope        anything else with names of its own, such as a comprehension
    @return       a return; @result gives what a function gives back, but is no return statement (`=> x`)
    @branch       an if, a loop, a catch, a conditional expression: counts by its depth, and nests
    @further      an else-if (as @branch it then does not count)      @otherwise   an else
    @switch       nests, and counts by its depth; @case its labels    @operator    `a && b`
    @block        nests, but decides nothing: try, using, with

Captures that begin with `_` are free for predicates. A pattern for any child of a node that can nest, such as
`(list (identifier) @x)`, takes time by the square of the depth: capture the node instead, or anchor the child.

Members that are written outside of their type (`impl Foo`, `extension Foo`, `void Foo::bar() {}`) come behind a
definition of that type that `reopens` it, or name their `owner`.

Definitions of the kinds in `sweep.defining.FUNCTIONS` open a scope, those in `TYPES` there are what members stand in.
Imports become links: `import a.b as c` is the target `a.b` with the context `c=`, `from a import b as c` is `c=b`, a
star is `*=`, and `import a.b` without another name is `a.b=`, used as `a.b.x`.
"""

from __future__ import annotations

from dowse.ingest.extract.code.extract import extract_code

__all__ = ["extract_code"]
