package temporal

import (
	"fmt"
	"math"
)

// Features is the number of features of a candidate.
const Features = 60

// Describe sets dst, (candidates, Features) row-major, to the features of candidates as the target of an edge
// of source at time now. lag is the number of edges that arrived and are not added yet, for a model that
// learns in batches. Features of unknown nodes are 0. Large numbers are log(1+x).
func (h *History) Describe(source int32, now int64, lag int, candidates []int32, dst []float32) error {
	if len(dst) != len(candidates)*Features {
		return fmt.Errorf("temporal: %d values for %d candidates, want %d for each", len(dst), len(candidates), Features)
	}
	clear(dst)
	if len(candidates) == 0 {
		return nil
	}
	most := source
	for _, v := range candidates {
		if most = max(most, v); v < 0 {
			return fmt.Errorf("temporal: candidate %d, want nodes from 0", v)
		}
	}
	if source < 0 {
		return fmt.Errorf("temporal: source %d, want nodes from 0", source)
	}
	h.grow(most)
	h.paths(source, now)
	s := &h.nodes[source]
	// Ranks of the last targets; the others have the rank mostWalked.
	h.begin()
	ranked := h.Recent(h.list[:0], source, mostWalked) // the last targets; all others have the rank len(ranked)
	h.list = ranked
	row := sourceFeatures(s, now, lag)
	h.find(source, candidates)
	for i, v := range candidates {
		x := dst[i*Features : (i+1)*Features : (i+1)*Features]
		copy(x, row[:])
		d := &h.nodes[v]
		if j := h.found[i]; j >= 0 {
			h.pairFeatures(x[8:27], s, d, &h.pairs[j], ranked, now)
		}
		if d.got > 0 {
			h.targetFeatures(x[27:46], d, source, v, now)
		}
		if d.sent > 0 {
			x[46], x[47] = 1, logOf(elapsed(d.outTime, now))
			if j, ok := h.index[key(v, source)]; ok {
				p := &h.pairs[j]
				x[48], x[49], x[50] = 1, logOf(elapsed(p.time, now)), logOf(float64(p.count))
				x[51] = 1 / (1 + float32(s.got-p.got))
			}
		}
		x[52], x[53] = logOf(float64(h.near.count[v])), logOf(float64(h.near.weight[v]))
		x[54], x[55], x[56] = logOf(float64(h.far.count[v])), logOf(float64(h.far.weight[v])), h.far.latest[v]
		if s.last >= 0 {
			if f := &h.nodes[s.last].followers; f.n > 0 {
				n := float32(f.count(v))
				x[57], x[58] = n, n/float32(f.len())
				if f.newest(0) == v {
					x[59] = 1
				}
			}
		}
	}
	return nil
}

// find sets found, by the list of the source if it is shorter than the candidates.
func (h *History) find(source int32, candidates []int32) {
	h.found = h.found[:0]
	if s := &h.nodes[source]; int(s.targets) > len(candidates) {
		for _, v := range candidates {
			j, ok := h.index[key(source, v)]
			if !ok {
				j = -1
			}
			h.found = append(h.found, j)
		}
		return
	}
	if len(h.pairOf) < len(h.nodes) {
		h.pairOf = append(h.pairOf, make([]int32, len(h.nodes)-len(h.pairOf))...)
	}
	for j := h.nodes[source].newest; j >= 0; j = h.pairs[j].older {
		h.pairOf[h.pairs[j].target] = j + 1
	}
	for _, v := range candidates {
		h.found = append(h.found, h.pairOf[v]-1)
	}
	for j := h.nodes[source].newest; j >= 0; j = h.pairs[j].older {
		h.pairOf[h.pairs[j].target] = 0
	}
}

func sourceFeatures(s *node, now int64, lag int) (x [8]float32) {
	if s.sent > 0 {
		x = [8]float32{1, logOf(elapsed(s.outTime, now)), logOf(float64(s.outs)), logOf(float64(s.targets)), s.outNew, 0, logOf(float64(s.run)), s.outGap}
	}
	x[5] = logOf(float64(lag))
	return x
}

func (h *History) pairFeatures(x []float32, s, d *node, p *pair, ranked []int32, now int64) {
	rank := len(ranked)
	for i, v := range ranked {
		if v == p.target {
			rank = i
			break
		}
	}
	x[0], x[1] = 1, 1/float32(1+rank)
	if rank < 2 {
		x[2+rank] = 1
	}
	x[4], x[5] = logOf(elapsed(p.time, now)), logOf(float64(p.count))
	x[6] = float32(p.count) / float32(max(s.outs, 1))
	for k, scale := range pairScales {
		x[7+k] = logOf(float64(p.decayed[k] * h.faded(p.time, now, scale)))
	}
	x[10], x[11] = logOf(float64(d.got-p.got)), logOf(float64(s.sent-p.sent))
	if s.before == p.target {
		x[12] = 1
	}
	x[13] = logOf(elapsed(p.begin, now))
	if s.last >= 0 {
		n, of := s.path.followed(s.last, p.target)
		x[14], x[17] = float32(n), (float32(n)+0.1)/float32(of+1)
	}
	x[15] = p.value
	x[16] = x[4] - s.outGap
	x[18] = float32(s.path.count(p.target)) / mostWalked
}

func (h *History) targetFeatures(x []float32, d *node, source, v int32, now int64) {
	x[0], x[1] = 1, logOf(elapsed(d.inTime, now))
	behind := h.edges - d.inAt
	x[2], x[3] = logOf(float64(behind)), 1/float32(max(behind, 1))
	for k, scale := range nodeScales {
		f := h.faded(d.inTime, now, scale)
		x[4+k] = logOf(float64(d.decayed[k] * f))
		if k == 1 || k == 2 {
			x[15+k] = logOf(float64(d.fresh[k-1] * f))
		}
	}
	x[8], x[9], x[10] = logOf(float64(d.ins)), logOf(float64(d.sources)), d.inNew
	x[11] = float32(d.sources) / float32(max(d.ins, 1))
	last := d.visitors.newest(0)
	if last == source {
		x[12] = 1
	}
	visitor := &h.nodes[last]
	x[13], x[14] = logOf(float64(visitor.sent)), visitor.outNew
	if visitor.last == v {
		x[15] = 1
	}
	x[18] = x[1] - d.inGap
}

// The baselines. Common neighbours and Adamic–Adar are computed in the graph of the last neighbours
// of each node; in a bipartite stream, in which no node is a source and a target, they count the
// paths of three edges.
const (
	EdgeBank        = "edgebank" // 1 where there was such an edge (Poursafaei et al. 2022)
	Recency         = "recency"  // the last targets of the source, then the last targets of all
	CommonNeighbors = "common_neighbours"
	AdamicAdar      = "adamic_adar"
)

// Baselines returns all of them.
func Baselines() []string { return []string{EdgeBank, Recency, CommonNeighbors, AdamicAdar} }

// Score sets scores to the scores of the candidates by a baseline. Call it after Describe for the same
// source, without an Add in between, because it uses the paths of Describe.
func (h *History) Score(b string, source int32, candidates []int32, scores []float64) {
	w := &h.far
	if h.both {
		w = &h.near
	}
	for i, v := range candidates {
		j := h.found[i]
		switch scores[i] = 0; b {
		case EdgeBank:
			if j >= 0 {
				scores[i] = 1
			}
		case Recency:
			if d := &h.nodes[v]; j >= 0 {
				scores[i] = float64(h.edges + 1 + h.pairs[j].at)
			} else if d.got > 0 {
				scores[i] = float64(d.inAt + 1)
			}
		case CommonNeighbors:
			scores[i] = float64(w.count[v])
		case AdamicAdar:
			scores[i] = float64(w.weight[v])
		}
	}
}

// logs has the binary logarithms from 1 to 2.
var logs = func() (t [1 << 12]float32) {
	for i := range t {
		t[i] = float32(math.Log2(1 + (float64(i)+0.5)/float64(len(t))))
	}
	return t
}()

// logOf returns log(1+x) of x ≥ 0 with an error below 0.0002, in a tenth of the time of
// math.Log1p: features take most of the time of a question.
func logOf(x float64) float32 {
	if x <= 0 {
		return 0
	}
	b := math.Float32bits(float32(x) + 1)
	return (float32(int(b>>23)-127) + logs[b>>11&(1<<12-1)]) * math.Ln2
}
