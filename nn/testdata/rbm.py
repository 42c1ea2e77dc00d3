"""The peer of BenchmarkRBM: CD-1 in numpy, float32, 81 visible and 100 hidden units.

    OPENBLAS_NUM_THREADS=1 python3 nn/testdata/rbm.py

The same work as nn.RBM.Step: hidden states and visible rows are drawn, the
hidden units of the contrast are probabilities, the reconstruction error is
computed. Prints rows a second of processor time, the best of five.
"""

import time

import numpy as np

N, M, RATE = 81, 100, np.float32(0.01)
rng = np.random.default_rng(1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def draw(p):
    return (rng.random(p.shape, dtype=np.float32) < p).astype(np.float32)


def step(v, w, b, c):
    h = sigmoid(v @ w + c)
    p = sigmoid(draw(h) @ w.T + b)
    error = np.mean((v - p) ** 2)
    u = draw(p)
    k = sigmoid(u @ w + c)
    rate = RATE / np.float32(len(v))
    w += rate * (v.T @ h - u.T @ k)
    b += rate * (v - u).sum(0)
    c += rate * (h - k).sum(0)
    return error


for rows in 10, 100:
    batches = [(rng.random((rows, N)) < 0.3).astype(np.float32) for _ in range(8)]
    w = (0.01 * rng.standard_normal((N, M))).astype(np.float32)
    b, c = np.zeros(N, np.float32), np.zeros(M, np.float32)
    best = 0
    for _ in range(5):
        start, n = time.process_time(), 0
        while time.process_time() - start < 0.3:
            for v in batches:
                step(v, w, b, c)
                n += rows
        best = max(best, n / (time.process_time() - start))
    print(f"batch={rows} {best:.0f} rows/s")
