package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// GRULayer is a gated recurrent unit (Cho et al., EMNLP 2014) over n steps of in channels, in the variant of
// cuDNN and PyTorch, which multiplies the state once. It begins with h = 0:
//
//	r = σ(x·Wr + h·Ur + br)
//	z = σ(x·Wz + h·Uz + bz)
//	c = tanh(x·Wc + bc + r∘(h·Uc + uc))
//	h = (1-z)∘c + z∘h
//
// The three of W, of U and of b lie side by side, in this order.
type GRULayer struct {
	N, In, Units int

	Input  *Weight // W (in, 3·units)
	State  *Weight // U (units, 3·units)
	Bias   *Weight // b (3·units)
	Inside *Weight // uc (units)

	// Activations of a batch: r, z and c of every step (B, n, 3·units), h·Uc + uc (B, n, units), and the
	// states (B, n+1, units), of which the first is 0.
	gates, cand, h []float32
	q              []float32 // h·U of one step (B, 3·units)

	dgates, dq, dh []float32 // gradients of x·W + b (B, n, 3·units), of q and of h (B, units)
}

func NewGRULayer(p *Params, name string, n, in, units int) *GRULayer {
	return &GRULayer{
		N: n, In: in, Units: units,
		Input:  p.Add(name+".input", in, 3*units),
		State:  p.Add(name+".state", units, 3*units),
		Bias:   p.Add(name+".bias", 3*units),
		Inside: p.Add(name+".inside", units),
	}
}

func (l *GRULayer) Init(r random.Source) {
	Glorot(l.Input.W, l.In, l.Units, r)
	Glorot(l.State.W, l.Units, l.Units, r)
}

// Forward computes the states h after every step from x (rows, n, in).
func (l *GRULayer) Forward(x []float32, rows int) {
	n, u := l.N, l.Units
	l.gates = scratch.Resize(l.gates, rows*n*3*u)
	l.cand = scratch.Resize(l.cand, rows*n*u)
	l.h = scratch.Resize(l.h, rows*(n+1)*u)
	l.q = scratch.Resize(l.q, rows*3*u)
	kernel.Gemm(rows*n, 3*u, l.In, x, l.In, l.Input.W, 3*u, l.gates, 3*u, false)
	Linear.Forward(l.gates, rows*n, 3*u, l.Bias.W)
	for i := range rows {
		clear(l.h[i*(n+1)*u : i*(n+1)*u+u])
	}
	for t := range n {
		kernel.Gemm(rows, 3*u, u, l.h[t*u:], (n+1)*u, l.State.W, 3*u, l.q, 3*u, false)
		for i := range rows {
			at, q := i*n+t, l.q[i*3*u:(i+1)*3*u]
			h := l.h[(i*(n+1)+t)*u:]
			l.step(l.gates[at*3*u:(at+1)*3*u], l.cand[at*u:(at+1)*u], q, h[:u], h[u:2*u])
		}
	}
}

// step computes the gates, the candidate and the next state of one row. gates holds x·W + b, and q holds h·U.
func (l *GRULayer) step(gates, cand, q, h, next []float32) {
	u := l.Units
	kernel.Axpy(1, q[:2*u], gates[:2*u])
	kernel.Overflow(gates[:2*u], nil)
	kernel.Sigmoid(gates[:2*u], gates[:2*u])
	r, z, c := gates[:u], gates[u:2*u], gates[2*u:]
	for j, v := range q[2*u:] {
		cand[j] = v + l.Inside.W[j]
		c[j] += r[j] * cand[j]
	}
	kernel.Overflow(c, nil)
	kernel.Tanh(c, c)
	for j, v := range c {
		next[j] = (1-z[j])*v + z[j]*h[j]
	}
}

// Output returns the state of row i after step t.
func (l *GRULayer) Output(i, t int) []float32 {
	at := (i*(l.N+1) + t + 1) * l.Units
	return l.h[at : at+l.Units]
}

// Backward sets the gradients of the weights and dx (rows, n, in). dy is the
// gradient of the state after the last step (rows, units); x is that of forward.
func (l *GRULayer) Backward(dx, dy, x []float32, rows int) {
	n, u := l.N, l.Units
	l.dgates = scratch.Resize(l.dgates, rows*n*3*u)
	l.dq = scratch.Resize(l.dq, rows*3*u)
	l.dh = scratch.Resize(l.dh, rows*u)
	dh := l.dh[:rows*u]
	copy(dh, dy)
	ClearGrad(l.Input, l.State, l.Bias, l.Inside)
	for t := n - 1; t >= 0; t-- {
		for i := range rows {
			at := i*n + t
			l.stepBack(l.dgates[at*3*u:(at+1)*3*u], l.dq[i*3*u:(i+1)*3*u], dh[i*u:(i+1)*u],
				l.gates[at*3*u:(at+1)*3*u], l.cand[at*u:(at+1)*u], l.h[(i*(n+1)+t)*u:])
		}
		kernel.GemmTN(rows, 3*u, u, l.h[t*u:], (n+1)*u, l.dq, 3*u, l.State.G, 3*u, true)
		kernel.GemmNT(rows, 3*u, u, l.dq, 3*u, l.State.W, 3*u, dh, u, true)
	}
	kernel.GemmTN(rows*n, 3*u, l.In, x, l.In, l.dgates, 3*u, l.Input.G, 3*u, false)
	kernel.AddBiasGrad(l.Bias.G, l.dgates, rows*n, 3*u)
	kernel.GemmNT(rows*n, 3*u, l.In, l.dgates, 3*u, l.Input.W, 3*u, dx, l.In, false)
}

// stepBack sets the gradients of x·W + b and of q = h·U of one row. It replaces dh, the gradient of the next
// state, by the gradient of h without the part through q.
func (l *GRULayer) stepBack(dgates, dq, dh, gates, cand, h []float32) {
	u := l.Units
	for j := range u {
		r, z, c := gates[j], gates[u+j], gates[2*u+j]
		dc := dh[j] * (1 - z) * (1 - c*c)
		dz := dh[j] * (h[j] - c) * z * (1 - z)
		dr := dc * cand[j] * r * (1 - r)
		dh[j] *= z
		dgates[j], dgates[u+j], dgates[2*u+j] = dr, dz, dc
		dq[j], dq[u+j], dq[2*u+j] = dr, dz, dc*r
		l.Inside.G[j] += dc * r
	}
}
