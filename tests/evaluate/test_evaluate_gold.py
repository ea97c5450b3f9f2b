"""Gold sets as they lie on disk, good and bad."""

from __future__ import annotations

import json

import pytest

from dowse.errors import BadInput
from dowse.evaluate import DocumentJudge, GoldSet, PathJudge, read_beir, read_gold, read_gold_lines

QUERIES = '{"_id": "q1", "text": "wings"}\n\n{"_id": "q2", "text": "heat"}\n{"_id": "q3", "text": "flow"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td 2\t1\nq2\td1\t0\n"
LINE = {
    "slug": "kb",
    "collection": "kb_main",
    "query": "how to sign in",
    "relevance": [{"path_contains": "auth", "gain": 3}, {"path_contains": "login", "gain": 0}],
}


def beir(directory, queries=QUERIES, qrels=QRELS, place="qrels.tsv"):
    (directory / "queries.jsonl").write_text(queries, encoding="utf-8")
    (directory / place).parent.mkdir(exist_ok=True)
    (directory / place).write_text(qrels, encoding="utf-8")
    return directory


def gold_file(directory, *lines):
    path = directory / "gold.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


@pytest.mark.parametrize("place", ["qrels.tsv", "qrels/test.tsv"])
def test_beir_directory(tmp_path, place):
    gold = read_beir(beir(tmp_path, place=place), documents={"d1", "d 2"})
    (query,) = gold.queries
    assert (query.id, query.text) == ("q1", "wings")
    assert query.judge == DocumentJudge({"d1": 2.0, "d 2": 1.0})
    # q2 is judged irrelevant only, q3 not at all.
    assert gold.unjudged == 2


def test_windows_line_ends_byte_order_marks_and_repeated_judgements_are_taken(tmp_path):
    qrels = "\ufeff" + QRELS.replace("\n", "\r\n") + "q1\td1\t2\r\n"
    gold = read_beir(beir(tmp_path, "\ufeff" + QUERIES, qrels))
    assert gold.queries[0].judge == DocumentJudge({"d1": 2.0, "d 2": 1.0})


HEADER = "query-id\tcorpus-id\tscore\n"
BAD_BEIR = {
    "bad JSON": (QUERIES + "{oops\n", QRELS, r"queries\.jsonl:5: not JSON"),
    "deep JSON": ("[" * 200_000, QRELS, r"queries\.jsonl:1: not JSON"),
    "not an object": ("[1]\n", QRELS, r"queries\.jsonl:1: expected a JSON object"),
    "no id": ('{"text": "x"}\n', QRELS, r'queries\.jsonl:1: "_id" must be a non-empty string'),
    "no text": ('{"_id": "q1"}\n', QRELS, r'queries\.jsonl:1: "text" must be a non-empty string'),
    "blank text": ('{"_id": "q1", "text": " "}\n', QRELS, r'queries\.jsonl:1: "text" must be a non-empty string'),
    "number as id": ('{"_id": 1, "text": "x"}\n', QRELS, r'queries\.jsonl:1: "_id" must be a non-empty string'),
    "same query twice": (
        QUERIES + '{"_id": "q1", "text": "x"}',
        QRELS,
        r"queries\.jsonl:5: query 'q1' appears",
    ),
    "no header": (QUERIES, "q1\td1\t1\n", r"qrels\.tsv:1: expected the header"),
    "no qrels lines": (QUERIES, "", r"qrels\.tsv:1: expected the header"),
    "trec qrels": (
        QUERIES,
        HEADER + "q1 0 d1 1\n",
        r"qrels\.tsv:2: expected 3 tab-separated fields, found 1",
    ),
    "word as score": (QUERIES, QRELS + "q1\td3\thigh\n", r"qrels\.tsv:5: score 'high' is not a number"),
    "endless score": (QUERIES, QRELS + "q1\td3\tinf\n", r"qrels\.tsv:5: score must be a finite number"),
    "unknown query": (QUERIES, QRELS + "q9\td1\t1\n", r"qrels\.tsv:5: query 'q9' is not in queries\.jsonl"),
    "unknown document": (QUERIES, QRELS + "q1\td9\t1\n", r"qrels\.tsv:5: document 'd9' is not in the corpus"),
    "two scores": (QUERIES, QRELS + "q1\td1\t1\n", r"qrels\.tsv:5: document 'd1' is judged twice"),
    "nothing relevant": (QUERIES, HEADER + "q2\td1\t0\n", r"no query has a relevant document; add"),
}


@pytest.mark.parametrize(("queries", "qrels", "message"), BAD_BEIR.values(), ids=BAD_BEIR)
def test_bad_beir_input_names_the_line(tmp_path, queries, qrels, message):
    with pytest.raises(BadInput, match=message):
        read_beir(beir(tmp_path, queries, qrels), documents={"d1", "d 2", "d3"})


def test_unknown_documents_pass_where_the_corpus_is_not_known(tmp_path):
    gold = read_beir(beir(tmp_path, qrels=QRELS + "q1\td9\t1\n"))
    assert gold.queries[0].judge.gains(["d9"]) == [1]


def test_qrels_that_are_not_text(tmp_path):
    beir(tmp_path)
    (tmp_path / "qrels.tsv").write_bytes(b"query-id\tcorpus-id\tscore\n\xff\xfe\td1\t1\n")
    with pytest.raises(BadInput, match=r"qrels\.tsv:2: not UTF-8"):
        read_beir(tmp_path)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(BadInput, match=r"cannot read .*queries\.jsonl .*check the path"):
        read_beir(tmp_path)
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    with pytest.raises(BadInput, match=r"neither qrels\.tsv nor qrels/test\.tsv; put"):
        read_beir(tmp_path)
    with pytest.raises(BadInput, match=r"cannot read .*absent\.jsonl"):
        read_gold(tmp_path / "absent.jsonl")


def test_gold_lines(tmp_path):
    bare = {"query": "keys", "relevance": [{"path_contains": "api/", "gain": 0.5}]}
    gold = read_gold_lines(gold_file(tmp_path, LINE, "", LINE | {"relevance": []}, bare))
    first, second = gold.queries
    assert (first.id, first.collection, first.text) == ("kb:1", "kb_main", "how to sign in")
    assert first.judge == PathJudge((("auth", 3.0),))
    assert (second.id, second.collection) == ("4", "")
    assert second.judge == PathJudge((("api/", 0.5),))
    assert gold.unjudged == 1


BAD_LINES = {
    "bad JSON": ("{", r"gold\.jsonl:2: not JSON"),
    "no query": ({"relevance": []}, r'gold\.jsonl:2: "query" must be'),
    "no relevance": ({"query": "x"}, r'gold\.jsonl:2: "relevance" must be a list'),
    "relevance of strings": ({"query": "x", "relevance": ["a"]}, r"gold\.jsonl:2: each relevance must be"),
    "no path": ({"query": "x", "relevance": [{"gain": 1}]}, r'gold\.jsonl:2: "path_contains" must be'),
    "empty path": (
        {"query": "x", "relevance": [{"path_contains": "", "gain": 1}]},
        r'gold\.jsonl:2: "path_contains" must be',
    ),
    "no gain": (
        {"query": "x", "relevance": [{"path_contains": "a"}]},
        r'gold\.jsonl:2: "gain" must be a number',
    ),
    "truth as gain": (
        {"query": "x", "relevance": [{"path_contains": "a", "gain": True}]},
        r'gold\.jsonl:2: "gain" must be a number',
    ),
    "gain not a number": (
        '{"query": "x", "relevance": [{"path_contains": "a", "gain": NaN}]}',
        r"gold\.jsonl:2: gain must be a finite number",
    ),
    "gain too large": (
        '{"query": "x", "relevance": [{"path_contains": "a", "gain": 1' + "0" * 400 + "}]}",
        r"gold\.jsonl:2: gain must be a finite number",
    ),
    "slug not a string": (LINE | {"slug": 7}, r'gold\.jsonl:2: "slug" must be a non-empty string'),
}


@pytest.mark.parametrize(("line", "message"), BAD_LINES.values(), ids=BAD_LINES)
def test_bad_gold_lines_name_the_line(tmp_path, line, message):
    with pytest.raises(BadInput, match=message):
        read_gold_lines(gold_file(tmp_path, LINE, line))


def test_empty_gold_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no query has a relevant document; add judgements"):
        read_gold_lines(gold_file(tmp_path, LINE | {"relevance": []}))
    with pytest.raises(BadInput, match="by hand: no query"):
        GoldSet("by hand", ())


def test_read_gold_tells_directories_from_files(tmp_path):
    path = gold_file(tmp_path, LINE)
    assert read_gold(beir(tmp_path)) == read_beir(tmp_path)
    assert read_gold(path) == read_gold_lines(path)
    with pytest.raises(BadInput, match="is not in the corpus"):
        read_gold(tmp_path, documents={"d1"})
