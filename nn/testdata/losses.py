"""Prints the ten losses of TestTenLosses and those of TestTenLossesMerged:
python3 nn/testdata/losses.py

The networks in plain Python, double precision: its own generator (PCG-DXSM,
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


W, K, CATS, ATTRS, EDGE_CATS, EDGE_ATTRS, CLASSES, ROWS = 3, 2, 3, 1, 2, 1, 2, 4
MAPS1, MAPS2, SIZE2, HIDDEN = 4, 3, 2, 5
STEPS2 = W - SIZE2 + 1
RATE, SEED = 0.01, 1

cat = [min(j * j % 5 - 1, 2) for j in range(ROWS * W * K)]
val = [(j * 5 % 7 - 3) / 4 for j in range(ROWS * W * K)]
edge_cat = [j * 3 % 7 % 3 - 1 for j in range(ROWS * W * K * K)]
edge_val = [(j * 4 % 9 - 4) / 5 for j in range(ROWS * W * K * K)]
target = [i % 2 for i in range(ROWS)]


def rmsprop(g, m, v, t):
    """The step of one weight, and its memory."""
    v = 0.9 * v + 0.1 * g**2
    return RATE * g / (math.sqrt(v) + 1e-7), m, v


def adam(g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return RATE * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v


def losses(merged, optimizer, decay):
    init = PCG(SEED, 1)

    def glorot(n, fan_in, fan_out):
        limit = math.sqrt(6 / (fan_in + fan_out))
        return [Value((2 * ((init.next() >> 40) / 2**24) - 1) * limit) for _ in range(n)]

    def zeros(n):
        return [Value(0.0) for _ in range(n)]

    def first_layer(n, cats, attrs):
        """A convolution over fields of n cells: table, weights, biases."""
        fan = n * (cats + attrs), n * MAPS1
        return glorot(n * cats * MAPS1, *fan), glorot(n * attrs * MAPS1, *fan), zeros(MAPS1)

    def tower(n, cats, attrs):
        """Two convolutions: the weights of both, then the biases of both."""
        table, attr, b1 = first_layer(n, cats, attrs)
        w2, b2 = glorot(SIZE2 * MAPS1 * MAPS2, SIZE2 * MAPS1, SIZE2 * MAPS2), zeros(MAPS2)
        return table, attr, w2, b1, b2

    nodes = tower(K, CATS, ATTRS)
    edges = tower(K * K, EDGE_CATS, EDGE_ATTRS) if merged else ([], [], [], [], [])
    flat = STEPS2 * MAPS2 * (2 if merged else 1)
    w3, b3 = glorot(flat * HIDDEN, flat, HIDDEN), zeros(HIDDEN)
    w4, b4 = glorot(HIDDEN * CLASSES, HIDDEN, CLASSES), zeros(CLASSES)
    decaying = sum(nodes[:3] + edges[:3], []) + w3 + w4
    weights = decaying + sum(nodes[3:] + edges[3:], []) + b3 + b4
    memory = [(0.0, 0.0)] * len(weights)

    def convolved(layers, i, n, kinds, kind, value):
        """What the tower of fields of n cells makes of graph i."""
        table, attr, w2, b1, b2 = layers
        y1 = []
        for f in range(i * W, (i + 1) * W):
            for m in range(MAPS1):
                pairs = []
                for p in range(n):
                    v = f * n + p
                    for c in range(kinds):
                        pairs.append((float(kind[v] == c), table[(p * kinds + c) * MAPS1 + m]))
                    pairs.append((value[v], attr[p * MAPS1 + m]))
                y1.append(affine(b1[m], pairs).relu())
        y2 = []
        for s in range(STEPS2):
            for m in range(MAPS2):
                span = range(SIZE2 * MAPS1)
                y2.append(affine(b2[m], [(y1[s * MAPS1 + j], w2[j * MAPS2 + m]) for j in span]).relu())
        return y2

    def hidden(i):
        x = convolved(nodes, i, K, CATS, cat, val)
        if merged:
            x += convolved(edges, i, K * K, EDGE_CATS, edge_cat, edge_val)
        return [affine(b3[h], [(v, w3[j * HIDDEN + h]) for j, v in enumerate(x)]).relu() for h in range(HIDDEN)]

    def loss(h, t):
        z = [affine(b4[k], [(x, w4[j * CLASSES + k]) for j, x in enumerate(h)]) for k in range(CLASSES)]
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
            down, *memory[n] = optimizer(w.grad, *memory[n], step + 1)
            w.x -= down
        for w in decaying:
            w.x -= RATE * decay * w.x


print("TestTenLosses")
losses(merged=False, optimizer=rmsprop, decay=0.0)
print("TestTenLossesMerged")
losses(merged=True, optimizer=adam, decay=0.5)
