"""`search_help` of the code search contract: which tool for what, and how to ask well."""

from __future__ import annotations

from typing import Any

# What one may want to know, the tool that tells it, and its arguments as a client writes them.
_TASKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Where is a class, method, table … defined?", "search_definitions", {"name": "OrderService", "kind": "class"}),
    (
        "Show me the source of a method.",
        "search_definitions",
        {"name": "Submit", "parent": "OrderService", "includeBody": True},
    ),
    (
        "Which method does this line of a stack trace stand in?",
        "search_definitions",
        {"file": "OrderService.cs", "containsLine": 42},
    ),
    ("What implements an interface?", "search_definitions", {"baseType": "IOrderRepository"}),
    ("What bears an attribute or decorator?", "search_definitions", {"attribute": "Obsolete"}),
    (
        "Which methods are the most involved?",
        "search_definitions",
        {"kind": "method", "sortBy": "cognitiveComplexity", "maxResults": 20},
    ),
    ("Who calls a method?", "search_callers", {"method": "Submit", "class": "OrderService"}),
    ("What does a method call?", "search_callers", {"method": "Submit", "class": "OrderService", "direction": "down"}),
    ("Which files mention a name?", "search_grep", {"terms": "OrderService"}),
    ("Which files mention all of several names?", "search_grep", {"terms": "OrderService,ILogger", "mode": "and"}),
    (
        "Where does exactly this text stand?",
        "search_grep",
        {"terms": "new OrderService(", "phrase": True, "showLines": True},
    ),
    ("How often does something occur?", "search_grep", {"terms": "TODO", "countOnly": True}),
    ("Where is a file of this name?", "search_fast", {"pattern": "OrderService"}),
    ("What is on disk that is not indexed?", "search_find", {"pattern": "appsettings", "ext": "json"}),
    ("Which commits changed a file?", "search_git_history", {"repo": ".", "file": "src/OrderService.cs"}),
    (
        "What did last month's commits change in it?",
        "search_git_diff",
        {"repo": ".", "file": "src/OrderService.cs", "from": "2026-10-01", "to": "2026-10-31"},
    ),
    ("Who knows this part of the code?", "search_git_authors", {"repo": ".", "path": "src/Orders"}),
    ("What changed on a day?", "search_git_activity", {"repo": ".", "date": "2026-11-02"}),
    (
        "Who wrote these lines, and in which commit?",
        "search_git_blame",
        {"repo": ".", "file": "src/OrderService.cs", "startLine": 40, "endLine": 50},
    ),
    ("Is this the main branch, and up to date?", "search_branch_status", {"repo": "."}),
)

_ADVICE = (
    ("Start with search_definitions for names of code", "it answers with places instead of every mention"),
    ("Give class to search_callers", "methods of the same name in other classes stay out of the tree"),
    ("Put several names into one question, with commas", "one answer costs less than several"),
    ("Use countOnly first where much may be found", "the summary has the totals without the rows"),
    ("Narrow with dir, ext, file and excludeDir", "long answers are cut to the size the server allows"),
    ("Use includeBody instead of reading files", "only the definition is sent, not the file around it"),
    ("Look at summary", "it says what was cut, why, and what the full totals are"),
)  # fmt: skip

_EXAMPLES = {
    "terms": ("OrderService", "OrderService,ILogger", "public async Task (with phrase)", "I.*Repository (with regex)"),
    "name": ("Order", "Order,Invoice", "^Get.*Async$ (with regex)"),
    "ext": ("cs", "cs,sql,ts"),
    "dir": ("src/Orders",),
    "excludeDir": (["bin", "obj"], ["/tests/"]),
    "file": ("OrderService.cs", "Orders\\OrderService.cs"),
    "sortBy": ("cyclomaticComplexity", "lines"),
    "class": ("OrderService",),
    "repo": (".", "libs/billing"),
    "from": ("2026-10-01",),
    "message": ("fix", "PR 1234"),
}


def help_json() -> dict[str, Any]:
    return {
        "tasks": [{"task": task, "tool": tool, "arguments": arguments} for task, tool, arguments in _TASKS],
        "bestPractices": [{"rule": rule, "why": why} for rule, why in _ADVICE],
        "parameterExamples": {name: list(examples) for name, examples in _EXAMPLES.items()},
    }
