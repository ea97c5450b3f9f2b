"""Extract code with tree-sitter: definitions, calls and imports of every language described in `languages/`.

The query of a language captures the nodes that matter. One pass over them in source order finds nesting and bindings.
Once all names are known, pending symbols become symbols and call sites become calls, both with expressions free of
local names. Nothing recurses along the depth of a tree, and all output has a maximum length.

A language is one module in `languages/` with a tuple `LANGUAGES` of `Language`, which documents each field, and one
table test. Its query may use these captures, each on a single node; a node may have several of them:

    @define       a definition: `Language.define` returns what it defines (several for `int a, b;`)
    @members      a value or type whose parts are members of its holder: `{ a: 1 }` (`Language.members`)
    @bind         binds names: an assignment, a declaration, a loop variable, a pattern (`Language.bind`)
    @call         a call; its type needs a `NodeShape` with `base` and the step `()`
    @construct    a `new`; its `NodeShape` has `type`, or `translate` where the type is elsewhere
    @decorate     a decorator, called or only named; a @call on the same node is then ignored
    @named        the name of a function, where the definition has no field `name` with it
    @refer        a name used as a value, or a list of them; kept if this file shows that it can be called
    @assign       assigns a possible function to a member (`Language.member_assignment`)
    @import       `Language.imports` returns the imported names
    @lambda       an anonymous function, with `Language.lambda_parameters`
    @scope        any other node with its own names, such as a comprehension
    @return       a return statement; @result is a returned value without one (`=> x`)
    @branch       an if, a loop, a catch, a conditional expression: counts by its depth, and nests
    @else_if      an else-if (a @branch on the same node is ignored)  @else        an else
    @switch       nests, and counts by its depth; @case its labels    @operator    `a && b`
    @block        nests without a decision: try, using, with

Captures that begin with `_` are free for predicates. A pattern for any child of a node that can nest, such as
`(list (identifier) @x)`, takes time quadratic in the depth: capture the node instead, or anchor the child.

Members written outside of their type (`impl Foo`, `extension Foo`, `void Foo::bar() {}`) follow a definition of that
type that `reopens` it, or name their `owner`.

Definitions of the kinds in `SYNTAX_FUNCTION_KINDS` open a scope; those in `SYNTAX_TYPE_KINDS` contain members.

Imports become links: `import a.b as c` is the target `a.b` with the context `c=`, `from a import b as c` is `c=b`, a
star is `*=`, and `import a.b` without an alias is `a.b=`, used as `a.b.x`.
"""

from __future__ import annotations

from dowse.ingest.extract.code.extract import extract_code

__all__ = ["extract_code"]
