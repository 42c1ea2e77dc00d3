package nn

import (
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// gruLayer is a gated recurrent unit (Cho et al., EMNLP 2014) over n steps of in
// channels, in the form that reads its state in one product (cuDNN's, ONNX's
// with linear_before_reset, PyTorch's). It begins with h = 0 and takes the steps
// in order:
//
//	r = σ(x·Wr + h·Ur + br)
//	z = σ(x·Wz + h·Uz + bz)
//	c = tanh(x·Wc + bc + r∘(h·Uc + uc))
//	h = (1-z)∘c + z∘h
//
// The three of W, of U and of b lie side by side, in this order.
type gruLayer struct {
	n, in, units int

	input  *weight // W (in, 3·units)
	state  *weight // U (units, 3·units)
	bias   *weight // b (3·units)
	inside *weight // uc (units)

	// Of a batch: r, z and c of every step (B, n, 3·units), h·Uc + uc (B, n,
	// units), and the states (B, n+1, units), of which the first is 0.
	gates, cand, h []float32
	q              []float32 // h·U of one step (B, 3·units)

	dgates, dq, dh []float32 // gradients of x·W + b (B, n, 3·units), of q and of h (B, units)
}

func newGRULayer(p *params, name string, n, in, units int) *gruLayer {
	return &gruLayer{
		n: n, in: in, units: units,
		input:  p.add(name+".input", in, 3*units),
		state:  p.add(name+".state", units, 3*units),
		bias:   p.add(name+".bias", 3*units),
		inside: p.add(name+".inside", units),
	}
}

func (l *gruLayer) init(r random.Source) {
	glorot(l.input.w, l.in, l.units, r)
	glorot(l.state.w, l.units, l.units, r)
}

// forward computes the states after every step, h, from x (rows, n, in).
func (l *gruLayer) forward(x []float32, rows int) {
	n, u := l.n, l.units
	l.gates = kernel.Grown(l.gates, rows*n*3*u)
	l.cand = kernel.Grown(l.cand, rows*n*u)
	l.h = kernel.Grown(l.h, rows*(n+1)*u)
	l.q = kernel.Grown(l.q, rows*3*u)
	kernel.Gemm(rows*n, 3*u, l.in, x, l.in, l.input.w, 3*u, l.gates, 3*u, false)
	linear.forward(l.gates, rows*n, 3*u, l.bias.w)
	for i := range rows {
		clear(l.h[i*(n+1)*u : i*(n+1)*u+u])
	}
	for t := range n {
		kernel.Gemm(rows, 3*u, u, l.h[t*u:], (n+1)*u, l.state.w, 3*u, l.q, 3*u, false)
		for i := range rows {
			at, q := i*n+t, l.q[i*3*u:(i+1)*3*u]
			h := l.h[(i*(n+1)+t)*u:]
			l.step(l.gates[at*3*u:(at+1)*3*u], l.cand[at*u:(at+1)*u], q, h[:u], h[u:2*u])
		}
	}
}

// step computes the gates, the inner part of the candidate and the next state
// of one row. gates holds x·W + b, q holds h·U.
func (l *gruLayer) step(gates, cand, q, h, next []float32) {
	u := l.units
	kernel.Axpy(1, q[:2*u], gates[:2*u])
	kernel.Sigmoid(gates[:2*u], gates[:2*u])
	r, z, c := gates[:u], gates[u:2*u], gates[2*u:]
	for j, v := range q[2*u:] {
		cand[j] = v + l.inside.w[j]
		c[j] += r[j] * cand[j]
	}
	kernel.Tanh(c, c)
	for j, v := range c {
		next[j] = (1-z[j])*v + z[j]*h[j]
	}
}

// output returns the state of row i after step t.
func (l *gruLayer) output(i, t int) []float32 {
	at := (i*(l.n+1) + t + 1) * l.units
	return l.h[at : at+l.units]
}

// backward sets the gradients of the weights and dx (rows, n, in). dy is the
// gradient of the state after the last step (rows, units), or with every that of
// the state after each; x is that of forward.
func (l *gruLayer) backward(dx, dy []float32, every bool, x []float32, rows int) {
	n, u := l.n, l.units
	l.dgates = kernel.Grown(l.dgates, rows*n*3*u)
	l.dq = kernel.Grown(l.dq, rows*3*u)
	l.dh = kernel.Grown(l.dh, rows*u)
	dh := l.dh[:rows*u]
	copy(dh, dy)
	clearGrad(l.input, l.state, l.bias, l.inside)
	for t := n - 1; t >= 0; t-- {
		if every && t < n-1 {
			kernel.Axpy(1, dy[:rows*u], dh)
		}
		for i := range rows {
			at := i*n + t
			l.stepBack(l.dgates[at*3*u:(at+1)*3*u], l.dq[i*3*u:(i+1)*3*u], dh[i*u:(i+1)*u],
				l.gates[at*3*u:(at+1)*3*u], l.cand[at*u:(at+1)*u], l.h[(i*(n+1)+t)*u:])
		}
		kernel.GemmTN(rows, 3*u, u, l.h[t*u:], (n+1)*u, l.dq, 3*u, l.state.g, 3*u, true)
		kernel.GemmNT(rows, 3*u, u, l.dq, 3*u, l.state.w, 3*u, dh, u, true)
	}
	kernel.GemmTN(rows*n, 3*u, l.in, x, l.in, l.dgates, 3*u, l.input.g, 3*u, false)
	kernel.AddBiasGrad(l.bias.g, l.dgates, rows*n, 3*u)
	kernel.GemmNT(rows*n, 3*u, l.in, l.dgates, 3*u, l.input.w, 3*u, dx, l.in, false)
}

// stepBack sets the gradients of x·W + b and of q = h·U of one row, and replaces
// dh, the gradient of the next state, by that of h but for the part that goes
// through q.
func (l *gruLayer) stepBack(dgates, dq, dh, gates, cand, h []float32) {
	u := l.units
	for j := range u {
		r, z, c := gates[j], gates[u+j], gates[2*u+j]
		dc := dh[j] * (1 - z) * (1 - c*c)
		dz := dh[j] * (h[j] - c) * z * (1 - z)
		dr := dc * cand[j] * r * (1 - r)
		dh[j] *= z
		dgates[j], dgates[u+j], dgates[2*u+j] = dr, dz, dc
		dq[j], dq[u+j], dq[2*u+j] = dr, dz, dc*r
		l.inside.g[j] += dc * r
	}
}
