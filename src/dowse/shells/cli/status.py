"""`dowse status`"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from dowse.live.history import History
from dowse.live.lead import leader_of
from dowse.profiles.core_json import status_json
from dowse.shells.cli.jobs import past_json
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths
from dowse.shells.cli.streams import wrap_line

_SHOWN = 10
_INDENT = 10  # of values behind their names


@click.command("status")
@root_option
@json_option
@settings_options()
def command(root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """What is indexed, how fresh and complete it is, which encoder is used and why, and what was skipped."""
    workspace = workspace_of(root, flags)
    with workspace.open(create=False) as engine:
        data = status_json(engine.status(), engine, leader_of(workspace.index))
        here = Paths.of(engine, workspace)
    now = time.time()
    data["jobs"] = [past_json(it, now) for it in History(workspace.index).recent(_SHOWN)]
    click.echo(
        json.dumps(data, ensure_ascii=False)
        if as_json
        else "\n".join(wrap_line(it, _INDENT) for it in _lines(data, here))
    )
    return 0


def _lines(data: dict[str, Any], here: Paths) -> list[str]:
    lines = [f"index     {data['index']}"]
    lines += [
        f"root      {it['root']} ({it['listed']:,} files, synced {it['synced_at'] or 'never'})"
        for it in data["collections"]
    ]
    lines += [_kept("history ", it, "commits") for it in data["histories"]]
    lines += [_kept("memories", it, "memories") for it in data["memories"]]
    counted = ", ".join(
        f"{data[name]:,} {name}" for name in ("records", "chunks", "symbols", "links", "calls", "vectors")
    )
    lines += [f"in files  {counted}", f"encoder   {data['encoder']}: {data['encoder_why']}"]
    lines.append(f"reranker  {data['reranker']}: {data['reranker_why']}")
    leader = data["watcher"]["leader"]
    followed = f"process {leader} follows the files" if leader else "not watching for changes; run `dowse watch`"
    lines.append(f"watcher   {followed}")
    if any(data["held_back"].values()):
        told = "files: {files:,}, changes in commits: {changes:,}, masked values: {values:,}".format(
            **data["held_back"]
        )
        lines.append(f"held back {told}")
    lines += [f"note      {note}" for note in data["freshness"]["notes"]]
    lines += _left_out_lines(data["left_out"], data["passed_over"])
    return [*lines, *_listed("skipped  ", data["skipped"], here), *_listed("unparsed ", data["quarantined"], here)]


def _left_out_lines(left_out: list[dict[str, Any]], passed_over: dict[str, int]) -> list[str]:
    lines = []
    for row in left_out:
        counts = sorted(row["suffixes"].items(), key=lambda it: (-it[1], it[0]))
        suffixes = _first_few([f"{suffix} {count:,}" for suffix, count in counts])
        advice = "; `--extra-extensions csv` indexes those that end in .csv" if row["reason"] == "data" else ""
        lines.append(f"left out  {row['files']:,} {row['reason']} files: {suffixes}{advice}")
    if passed_over:
        names = _first_few([f"{name} {count:,}" for name, count in passed_over.items()])
        lines.append(f"not read  directories that tools fill: {names}; what ignore files name is not counted")
    return lines


def _first_few(words: list[str]) -> str:
    more = f" and {len(words) - _SHOWN:,} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more


def _kept(title: str, collection: dict[str, Any], what: str) -> str:
    of = f"{collection['indexed']:,} of {max(collection['listed'], collection['indexed']):,} {what}"
    return f"{title}  {collection['root']} ({of}, synced {collection['synced_at'] or 'never'})"


def _listed(title: str, files: list[dict[str, str]], here: Paths) -> list[str]:
    if not files:
        return []
    common = Counter(it["reason"] for it in files).most_common(5)
    lines = [f"{title} {len(files):,}: {', '.join(f'{count:,} × {reason}' for reason, count in common)}"]
    lines += [f"          {here.show(it['path'], it['collection'])}: {it['reason']}" for it in files[:_SHOWN]]
    if len(files) > _SHOWN:
        lines.append(f"          … and {len(files) - _SHOWN:,} more; --json lists all")
    return lines
