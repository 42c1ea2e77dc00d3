"""Writes measures.json: answers with ties, and what scikit-learn (Debian's python3-sklearn)
says of them. Probabilities are sixteenths, so that float32 holds them exactly.

    /usr/bin/python3 measures.py >measures.json
"""
import json
import numpy as np
import sklearn
from sklearn import metrics
from sklearn.preprocessing import label_binarize

rng = np.random.default_rng(1)
cases = []
for classes, rows in ((2, 12), (2, 60), (3, 40), (5, 90)):
    p = rng.multinomial(16, np.full(classes, 1 / classes), rows) / 16
    y = rng.integers(0, classes, rows)
    y[:classes] = range(classes)  # each class occurs
    said = p.argmax(1)
    one = np.eye(classes)[y]
    if classes == 2:
        auc, ap = metrics.roc_auc_score(y, p[:, 1]), metrics.average_precision_score(y, p[:, 1])
        brier = metrics.brier_score_loss(y, p[:, 1])
    else:
        auc = metrics.roc_auc_score(y, p, multi_class="ovr", average="macro")
        ap = metrics.average_precision_score(label_binarize(y, classes=range(classes)), p, average="macro")
        brier = ((p - one) ** 2).sum(1).mean()  # of more classes only later releases have it
    # Log loss where no probability of the class of a row is 0; rows of other answers are moved.
    q = (p * 16 + 1) / (16 + classes)
    ece = 0.0
    bins = np.minimum(9, (10 * p.max(1)).astype(int))
    for b in range(10):
        m = bins == b
        if m.any():
            ece += m.mean() * abs((said == y)[m].mean() - p.max(1)[m].mean())
    cases.append({
        "classes": classes, "class": y.tolist(), "probs": p.ravel().tolist(), "smooth": q.ravel().tolist(),
        "accuracy": metrics.accuracy_score(y, said), "balanced": metrics.balanced_accuracy_score(y, said),
        "auc": auc, "ap": ap, "logloss": metrics.log_loss(y, q), "brier": brier, "calibration": ece,
        # Scores without ties: the rank that label_ranking_average_precision_score takes is the last of equals.
        "untied": (u := rng.permuted(np.tile(np.arange(classes), (rows, 1)), axis=1) / 16).ravel().tolist(),
        "mrr": metrics.label_ranking_average_precision_score(one, u),
    })
want = rng.normal(size=50)
said = want + rng.normal(size=50)
numbers = {
    "want": want.tolist(), "said": said.tolist(),
    "rmse": metrics.mean_squared_error(want, said) ** 0.5, "mae": metrics.mean_absolute_error(want, said),
}
print(json.dumps({"sklearn": sklearn.__version__, "cases": cases, "numbers": numbers}))
