"""Prints the ten losses of TestTenLosses: python3 nn/testdata/losses.py

The network in plain Python, double precision: its own generator (PCG-DXSM,
from its definition), automatic differentiation instead of written-out
gradients, one-hot inputs instead of gathered rows.
"""
import math

M64 = 2**64 - 1


class PCG:
    def __init__(self, hi, lo):
        self.state = hi << 64 | lo

    def next(self):
        mul = 2549297995355413924 << 64 | 4865540595714422341
        inc = 6364136223846793005 << 64 | 1442695040888963407
        self.state = (self.state * mul + inc) % 2**128
        hi, lo = self.state >> 64, self.state & M64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & M64
        hi ^= hi >> 48
        return hi * (lo | 1) & M64


class Value:
    """A number that remembers what it was computed from."""

    def __init__(self, x, parents=()):
        self.x, self.parents, self.grad = x, parents, 0.0

    def __add__(a, b):
        b = b if isinstance(b, Value) else Value(b)
        return Value(a.x + b.x, ((a, 1.0), (b, 1.0)))

    def __mul__(a, b):
        b = b if isinstance(b, Value) else Value(b)
        return Value(a.x * b.x, ((a, b.x), (b, a.x)))

    def exp(self):
        return Value(math.exp(self.x), ((self, math.exp(self.x)),))

    def log(self):
        return Value(math.log(self.x), ((self, 1 / self.x),))

    def relu(self):
        return Value(max(self.x, 0.0), ((self, float(self.x > 0)),))

    def backward(self):
        order, seen = [], set()

        def visit(v):
            if id(v) not in seen:
                seen.add(id(v))
                for p, _ in v.parents:
                    visit(p)
                order.append(v)

        visit(self)
        self.grad = 1.0
        for v in reversed(order):
            for p, d in v.parents:
                p.grad += d * v.grad


def affine(bias, pairs):
    s = bias
    for x, w in pairs:
        s = w * x + s
    return s


W, K, CATS, ATTRS, CLASSES, ROWS = 3, 2, 3, 1, 2, 4
MAPS1, MAPS2, SIZE2, HIDDEN = 4, 3, 2, 5
STEPS2 = W - SIZE2 + 1
RATE, DECAY, EPS, SEED = 0.01, 0.9, 1e-7, 1

init = PCG(SEED, 1)


def glorot(n, fan_in, fan_out):
    limit = math.sqrt(6 / (fan_in + fan_out))
    return [Value((2 * ((init.next() >> 40) / 2**24) - 1) * limit) for _ in range(n)]


def zeros(n):
    return [Value(0.0) for _ in range(n)]


fan = K * (CATS + ATTRS), K * MAPS1
table, attr, b1 = glorot(K * CATS * MAPS1, *fan), glorot(K * ATTRS * MAPS1, *fan), zeros(MAPS1)
w2, b2 = glorot(SIZE2 * MAPS1 * MAPS2, SIZE2 * MAPS1, SIZE2 * MAPS2), zeros(MAPS2)
w3, b3 = glorot(STEPS2 * MAPS2 * HIDDEN, STEPS2 * MAPS2, HIDDEN), zeros(HIDDEN)
w4, b4 = glorot(HIDDEN * CLASSES, HIDDEN, CLASSES), zeros(CLASSES)
weights = table + attr + b1 + w2 + b2 + w3 + b3 + w4 + b4
square = [0.0] * len(weights)

cat = [j * j % 5 - 1 for j in range(ROWS * W * K)]  # -1, 0 or 3; 3 is made 2
cat = [min(v, 2) for v in cat]
val = [(j * 5 % 7 - 3) / 4 for j in range(ROWS * W * K)]
target = [i % 2 for i in range(ROWS)]


def hidden(i):
    y1 = []
    for f in range(W):
        for m in range(MAPS1):
            pairs = []
            for p in range(K):
                v = (i * W + f) * K + p
                for c in range(CATS):
                    pairs.append((float(cat[v] == c), table[(p * CATS + c) * MAPS1 + m]))
                pairs.append((val[v], attr[p * MAPS1 + m]))
            y1.append(affine(b1[m], pairs).relu())
    y2 = []
    for s in range(STEPS2):
        for m in range(MAPS2):
            span = range(SIZE2 * MAPS1)
            y2.append(affine(b2[m], [(y1[s * MAPS1 + j], w2[j * MAPS2 + m]) for j in span]).relu())
    return [affine(b3[h], [(x, w3[j * HIDDEN + h]) for j, x in enumerate(y2)]).relu() for h in range(HIDDEN)]


def loss(h, t):
    z = [affine(b4[c], [(x, w4[j * CLASSES + c]) for j, x in enumerate(h)]) for c in range(CLASSES)]
    total = z[0].exp()
    for v in z[1:]:
        total = total + v.exp()
    return total.log() + z[t] * -1.0


for step in range(10):
    y = [hidden(i) for i in range(ROWS)]
    print(f"{sum(loss(y[i], target[i]).x for i in range(ROWS)) / ROWS:.7f},")

    drop, mask = PCG(SEED, 2 | step << 32), []
    while len(mask) < ROWS * HIDDEN:
        bits = drop.next()
        mask += [2.0 * (bits >> 16 * j & 0xFFFF >= 0x8000) for j in range(4)]
    learn = Value(0.0)
    for i in range(ROWS):
        h = [x * mask[i * HIDDEN + j] for j, x in enumerate(y[i])]
        learn = learn + loss(h, target[i]) * (1 / ROWS)
    for w in weights:
        w.grad = 0.0
    learn.backward()
    for n, w in enumerate(weights):
        square[n] = DECAY * square[n] + (1 - DECAY) * w.grad**2
        w.x -= RATE * w.grad / (math.sqrt(square[n]) + EPS)
