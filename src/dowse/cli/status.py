"""The commands `status` and `indexes`."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from dowse.cli.jobs import job_log_json
from dowse.cli.options import PathDisplay, json_option, root_option, settings_options, workspace_of
from dowse.cli.terminal import wrap_line
from dowse.live.job_log import JobLog
from dowse.live.leader import leader_of
from dowse.tools.core_render import status_json

_MAX_STATUS_ROWS = 10
_STATUS_INDENT = 10  # width of the column of names


@click.command("status")
@root_option
@json_option
@settings_options()
def status_command(root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Show what is indexed, how fresh and complete it is, which encoder is used and why, and what was skipped."""
    workspace = workspace_of(root, flags)
    with workspace.open(create=False) as engine:
        data = status_json(engine.status(), engine, leader_of(workspace.index))
        display = PathDisplay.of(engine.collections(), workspace)
    now = time.time()
    data["jobs"] = [job_log_json(it, now) for it in JobLog(workspace.index).recent_jobs(_MAX_STATUS_ROWS)]
    click.echo(
        json.dumps(data, ensure_ascii=False)
        if as_json
        else "\n".join(wrap_line(it, _STATUS_INDENT) for it in _status_lines(data, display))
    )
    return 0


def _status_lines(data: dict[str, Any], display: PathDisplay) -> list[str]:
    lines = [f"index     {data['index']}"]
    lines += [
        f"root      {it['root']} ({it['listed']:,} files, synced {it['synced_at'] or 'never'})"
        for it in data["collections"]
    ]
    lines += [_collection_line("history ", it, "commits") for it in data["histories"]]
    lines += [_collection_line("memories", it, "memories") for it in data["memories"]]
    counted = ", ".join(
        f"{data[name]:,} {name}" for name in ("records", "chunks", "symbols", "links", "calls", "vectors")
    )
    lines += [f"in files  {counted}", f"encoder   {data['encoder']}: {data['encoder_why']}"]
    lines.append(f"reranker  {data['reranker']}: {data['reranker_why']}")
    leader = data["watcher"]["leader"]
    watcher = f"process {leader} watches for changes" if leader else "not watching for changes; run `dowse watch`"
    lines.append(f"watcher   {watcher}")
    if any(data["held_back"].values()):
        counts = "files: {files:,}, changes in commits: {changes:,}, masked values: {values:,}".format(
            **data["held_back"]
        )
        lines.append(f"held back {counts}")
    lines += [f"note      {note}" for note in data["freshness"]["notes"]]
    lines += _left_out_lines(data["left_out"], data["passed_over"])
    return [
        *lines,
        *_problem_file_lines("skipped  ", data["skipped"], display),
        *_problem_file_lines("unparsed ", data["quarantined"], display),
    ]


def _left_out_lines(left_out: list[dict[str, Any]], passed_over: dict[str, int]) -> list[str]:
    lines = []
    for row in left_out:
        counts = sorted(row["suffixes"].items(), key=lambda it: (-it[1], it[0]))
        suffixes = _first_few([f"{suffix} {count:,}" for suffix, count in counts])
        advice = "; `--extra-extensions csv` would index .csv files" if row["reason"] == "data" else ""
        lines.append(f"left out  {row['files']:,} {row['reason']} files: {suffixes}{advice}")
    if passed_over:
        names = _first_few([f"{name} {count:,}" for name, count in passed_over.items()])
        lines.append(f"not read  directories of generated files: {names}; ignored files are not counted")
    return lines


def _first_few(words: list[str]) -> str:
    more = f" and {len(words) - _MAX_STATUS_ROWS:,} more" if len(words) > _MAX_STATUS_ROWS else ""
    return ", ".join(words[:_MAX_STATUS_ROWS]) + more


def _collection_line(title: str, collection: dict[str, Any], what: str) -> str:
    progress = f"{collection['indexed']:,} of {max(collection['listed'], collection['indexed']):,} {what}"
    return f"{title}  {collection['root']} ({progress}, synced {collection['synced_at'] or 'never'})"


def _problem_file_lines(title: str, files: list[dict[str, str]], display: PathDisplay) -> list[str]:
    if not files:
        return []
    common = Counter(it["reason"] for it in files).most_common(5)
    lines = [f"{title} {len(files):,}: {', '.join(f'{count:,} × {reason}' for reason, count in common)}"]
    lines += [
        f"          {display.show(it['path'], it['collection'])}: {it['reason']}" for it in files[:_MAX_STATUS_ROWS]
    ]
    if len(files) > _MAX_STATUS_ROWS:
        lines.append(f"          … and {len(files) - _MAX_STATUS_ROWS:,} more; --json lists all")
    return lines
