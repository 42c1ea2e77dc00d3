# Fits scikit-learn's SVC on Gram matrices, for TestSVMPeer:
#
#	python3 svc.py DIR    # NAME.gram (n, n) of float64, NAME.class (n) of int32
#
# prints for each NAME and C the support vectors and the decisions of all rows, and
# how long ten folds take, each the rows i % 10 == fold left out, at C = 1.
import json
import pathlib
import sys
import time

import numpy as np
from sklearn.svm import SVC

out = []
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.gram")):
    y = np.fromfile(path.with_suffix(".class"), dtype=np.int32)
    gram = np.fromfile(path).reshape(len(y), len(y))
    result = {"name": path.stem, "fits": []}
    start, right = time.process_time(), 0
    for fold in range(10):
        test = np.arange(len(y)) % 10 == fold
        svc = SVC(C=1, kernel="precomputed", cache_size=1000).fit(gram[np.ix_(~test, ~test)], y[~test])
        right += int((svc.predict(gram[np.ix_(test, ~test)]) == y[test]).sum())
    result["seconds"], result["right"] = time.process_time() - start, right
    if len(y) < 1000:
        for c in (0.1, 1, 10, 1000):
            svc = SVC(C=c, kernel="precomputed").fit(gram, y)
            result["fits"].append({
                "c": c, "support": sorted(svc.support_.tolist()), "decisions": (-svc.decision_function(gram)).tolist(),
            })
    out.append(result)
print(json.dumps(out))
