"""Every labelled set as one row: how it is read and measured, what others published, what is aimed at.

Published figures, and those of plain FTS5, come with the sets (their SOURCE.md).
"""

from __future__ import annotations

from labelled.model import LabelledSet, Published
from labelled.readers import beir, chroma, dialogue, octocode, semble, swebench

DEEP, PAGE, FEW = 100, 10, 5


SETS = {
    it.name: it
    for it in (
        LabelledSet(
            "scifact",
            beir,
            ("ndcg@10", "recall@100", "mrr"),
            files=True,
            depth=DEEP,
            published=(
                Published("plain FTS5", {"ndcg@10": 0.6874}),
                Published("Anserini BM25", {"ndcg@10": 0.6789}),
                Published("bge-small-en-v1.5", {"ndcg@10": 0.713}),
                Published("all-MiniLM-L6-v2", {"ndcg@10": 0.645}),
            ),
            targets={"ndcg@10": 0.74},
        ),
        LabelledSet(
            "cranfield",
            beir,
            ("ndcg@10", "recall@100", "mrr"),
            files=True,
            depth=DEEP,
            published=(Published("plain FTS5", {"ndcg@10": 0.3772}), Published("bm25s", {"ndcg@10": 0.3661})),
        ),
        LabelledSet(
            "vaswani",
            beir,
            ("ndcg@10", "recall@100", "mrr"),
            files=True,
            depth=DEEP,
            published=(Published("plain FTS5", {"ndcg@10": 0.4317}), Published("bm25s", {"ndcg@10": 0.4449})),
        ),
        LabelledSet(
            "anthropic_docs",
            beir,
            ("ndcg@10", "precision@3", "recall@3", "mrr@3"),
            files=True,
            depth=DEEP,
            published=(
                Published("plain FTS5", {"ndcg@10": 0.6957, "precision@3": 0.3933, "recall@3": 0.6283, "mrr@3": 0.75}),
                Published("voyage embeddings", {"precision@3": 0.4283, "recall@3": 0.6592, "mrr@3": 0.7367}),
                Published("… + LLM summaries", {"precision@3": 0.4533, "recall@3": 0.7142, "mrr@3": 0.7733}),
                Published("… + LLM reranking", {"precision@3": 0.4367, "recall@3": 0.6933, "mrr@3": 0.865}),
            ),
            targets={"precision@3": 0.4283, "recall@3": 0.6592, "mrr@3": 0.7367},
        ),
        LabelledSet(
            "anthropic_codebase",
            beir,
            ("ndcg@10", "pass@5", "pass@10", "pass@20"),
            files=True,
            depth=DEEP,
            published=(
                Published("plain FTS5", {"ndcg@10": 0.5646}),
                Published("FTS5, split identifiers", {"pass@5": 0.7692, "pass@10": 0.8226, "pass@20": 0.8675}),
                Published("voyage-2 embeddings", {"pass@5": 0.8092, "pass@10": 0.8715, "pass@20": 0.9006}),
                Published("… + LLM contexts", {"pass@5": 0.8637, "pass@10": 0.9281, "pass@20": 0.9378}),
            ),
            targets={"pass@5": 0.8092, "pass@10": 0.8715, "pass@20": 0.9006},
        ),
        LabelledSet(
            "octocode_docs",
            octocode,
            ("ndcg@10", "hit@5", "mrr"),
            files=False,
            depth=PAGE,
            published=(
                Published("FTS5 over headings", {"ndcg@10": 0.591, "hit@5": 0.764}),
                Published("BM25, tree-sitter chunks", {"ndcg@10": 0.644, "mrr": 0.618}),
                Published("paid embedder and reranker", {"ndcg@10": 0.801}),
            ),
            targets={"ndcg@10": 0.80},
        ),
        LabelledSet(
            "semble_code",
            semble,
            ("ndcg@10",),
            kinds=("code",),
            files=True,
            depth=PAGE,
            published=(
                Published("raw BM25", {"ndcg@10": 0.665}),
                Published("semble without a model", {"ndcg@10": 0.834}),
                Published("semble", {"ndcg@10": 0.861}),
                Published("CodeRankEmbed hybrid", {"ndcg@10": 0.865}),
            ),
            targets={"ndcg@10": 0.89},
            static_targets={"ndcg@10": 0.87},
        ),
        LabelledSet(
            "semble_passages",
            semble,
            ("ndcg@10",),
            folder="semble_code",
            kinds=("code",),
            files=False,
            depth=PAGE,
            published=(Published("FTS5, windows of 50 lines", {"ndcg@10": 0.661}),),
            targets={"ndcg@10": 0.85},
            static_targets={"ndcg@10": 0.83},
        ),
        LabelledSet(
            "swebench_loc",
            swebench,
            ("acc@5", "acc@1", "acc@3", "acc@10"),
            kinds=("code",),
            files=True,
            depth=PAGE,
            published=(
                Published("FTS5 over whole files", {"acc@1": 0.362, "acc@3": 0.590, "acc@5": 0.697, "acc@10": 0.814}),
                Published("CodeRankEmbed, another split", {"acc@1": 0.526, "acc@3": 0.777, "acc@5": 0.847}),
            ),
            targets={"acc@5": 0.83},
        ),
        LabelledSet(
            "chroma_chunking",
            chroma,
            ("recall", "precision", "iou"),
            files=False,
            depth=FEW,
            published=(
                Published("FTS5, pieces of 800 characters", {"recall": 0.8298, "precision": 0.066, "iou": 0.0654}),
                Published("text-embedding-3-large, 200 tokens", {"recall": 0.881, "precision": 0.07, "iou": 0.069}),
            ),
        ),
        LabelledSet("notes", dialogue, ("ndcg@10", "recall@100", "mrr"), files=True, depth=DEEP),
        LabelledSet(
            "qmd_eval",
            beir,
            ("ndcg@10", "mrr"),
            files=True,
            depth=DEEP,
            published=(Published("plain FTS5", {"ndcg@10": 0.98}),),
            smoke=True,
        ),
    )
}
