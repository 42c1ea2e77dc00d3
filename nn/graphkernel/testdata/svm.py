# Makes golden/svm.json: what scikit-learn's SVC (LIBSVM) learns from counts of
# Weisfeiler-Lehman colours of generated graphs. TestSVMGolden compares.
#
#	python3 svm.py > golden/svm.json      # scikit-learn 1.2.1, numpy 1.24
import json
import random

import numpy as np
from sklearn.svm import SVC

rng = random.Random(1)
colors = {}


def color(key):
    return colors.setdefault(key, len(colors))


def graph(kind):
    """A cycle with chords, a tree, or both in one."""
    n = rng.randrange(8, 17)
    if kind == 0 or rng.random() < 0.25:
        edges = {(v, (v + 1) % n) for v in range(n)}
        edges |= {tuple(sorted(rng.sample(range(n), 2))) for _ in range(n // 4)}
    else:
        edges = {(rng.randrange(v), v) for v in range(1, n)}
    if kind == 2:
        edges |= {(v, v + 1) for v in range(n // 2, n - 1)}
    near = [set() for _ in range(n)]
    for u, v in edges:
        near[u].add(v)
        near[v].add(u)
    return near


def words(near, height=2):
    counts = {}
    now = [color(len(x)) for x in near]
    for h in range(height + 1):
        for c in now:
            counts[c] = counts.get(c, 0) + 1
        now = [color((h, now[v], tuple(sorted(now[u] for u in near[v])))) for v in range(len(near))]
    return sorted(counts.items())


n = 75
classes = [i % 3 for i in range(n)]
rows = [words(graph(c)) for c in classes]
x = np.zeros((n, len(colors)))
for i, row in enumerate(rows):
    for c, k in row:
        x[i, c] = k
length = np.sqrt((x * x).sum(1))
grams = {
    "linear": x @ x.T,
    "cosine": x @ x.T / np.outer(length, length),
    "min": np.minimum(x[:, None, :], x[None, :, :]).sum(2),
}
fits = []
for kernel, gram in grams.items():
    for some in (2, 3):  # classes
        at = [i for i in range(n) if classes[i] < some]
        for c in (0.1, 1, 10, 1000):
            svc = SVC(C=c, kernel="precomputed", decision_function_shape="ovo", tol=1e-4)
            svc.fit(gram[np.ix_(at, at)], [classes[i] for i in at])
            d = svc.decision_function(gram[:, at])
            if some == 2:
                d = -d[:, None]  # positive for the first class, as of more than two
            fits.append({
                "kernel": kernel, "classes": some, "c": c,
                "support": sorted(at[i] for i in svc.support_.tolist()),
                "decisions": [[float("%.9g" % v) for v in r] for r in d[::5]],
            })
print(json.dumps({
    "class": classes, "ids": [[c for c, _ in r] for r in rows], "counts": [[k for _, k in r] for r in rows],
    "fits": fits,
}, separators=(",", ":")))
