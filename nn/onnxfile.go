package nn

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// The ONNX format, as far as a network of ours needs it: a ModelProto of
// onnx.proto3, in the encoding of protocol buffers. A message is a list of
// fields; a field is its number and kind, then a varint, or a length and bytes.

// proto is an encoded message.
type proto []byte

func (p *proto) varint(field int, v uint64) {
	*p = binary.AppendUvarint(*p, uint64(field)<<3)
	*p = binary.AppendUvarint(*p, v)
}

func (p *proto) bytes(field int, v []byte) {
	*p = binary.AppendUvarint(*p, uint64(field)<<3|2)
	*p = binary.AppendUvarint(*p, uint64(len(v)))
	*p = append(*p, v...)
}

func (p *proto) text(field int, s string) { p.bytes(field, []byte(s)) }

// Types of elements.
const (
	onnxFloat = 1
	onnxInt32 = 6
	onnxInt64 = 7
)

const (
	onnxVersion = 7  // of the intermediate representation
	onnxOpset   = 13 // of the operators
)

// onnxGraph is a GraphProto that grows. Values have names, which are all
// different.
type onnxGraph struct {
	nodes, weights, inputs, outputs []proto
	count                           int
}

// name returns a new one for the result of an operator.
func (g *onnxGraph) name(op string) string {
	g.count++
	return fmt.Sprintf("%s_%d", op, g.count)
}

// node adds an operator, and returns the name of its result.
func (g *onnxGraph) node(op string, in []string, attributes ...proto) string {
	out := g.name(op)
	g.nodeTo(out, op, in, attributes...)
	return out
}

// nodeTo adds an operator whose result has that name.
func (g *onnxGraph) nodeTo(out, op string, in []string, attributes ...proto) {
	g.add(op, in, []string{out}, attributes...)
}

// add adds a NodeProto.
func (g *onnxGraph) add(op string, in, out []string, attributes ...proto) {
	var p proto
	for _, name := range in {
		p.text(1, name)
	}
	for _, name := range out {
		p.text(2, name)
	}
	p.text(4, op)
	for _, a := range attributes {
		p.bytes(5, a)
	}
	g.nodes = append(g.nodes, p)
}

// reshape gives x, whose first dimension is B, other dimensions behind it.
func (g *onnxGraph) reshape(x string, dims ...int) string {
	shape := []int64{-1}
	for _, d := range dims {
		shape = append(shape, int64(d))
	}
	return g.node("Reshape", []string{x, g.int64s(shape)})
}

// onnxInt returns an AttributeProto.
func onnxInt(name string, v int) (p proto) {
	p.text(1, name)
	p.varint(3, uint64(int64(v)))
	p.varint(20, 2)
	return p
}

// onnxInts returns an AttributeProto of several numbers.
func onnxInts(name string, list ...int) (p proto) {
	p.text(1, name)
	for _, v := range list {
		p.varint(8, uint64(int64(v)))
	}
	p.varint(20, 7)
	return p
}

// weight adds the values of a weight under its name, which it returns.
func (g *onnxGraph) floats(name string, shape []int, x []float32) string {
	raw := make([]byte, 0, 4*len(x))
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return g.tensor(name, onnxFloat, shape, raw)
}

func (g *onnxGraph) int32s(name string, shape []int, x []int32) string {
	var raw []byte
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
	}
	return g.tensor(name, onnxInt32, shape, raw)
}

func (g *onnxGraph) int64s(x []int64) string {
	var raw []byte
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return g.tensor(g.name("ints"), onnxInt64, []int{len(x)}, raw)
}

// tensor adds a TensorProto.
func (g *onnxGraph) tensor(name string, kind int, shape []int, raw []byte) string {
	var p proto
	for _, d := range shape {
		p.varint(1, uint64(d))
	}
	p.varint(2, uint64(kind))
	p.text(8, name)
	p.bytes(9, raw)
	g.weights = append(g.weights, p)
	return name
}

func (g *onnxGraph) input(name string, kind int, shape []int) {
	g.inputs = append(g.inputs, onnxValue(name, kind, shape))
}

func (g *onnxGraph) output(name string, shape []int) {
	g.outputs = append(g.outputs, onnxValue(name, onnxFloat, shape))
}

// onnxValue returns a ValueInfoProto. A dimension of -1 is B, and -2 is n.
func onnxValue(name string, kind int, shape []int) (p proto) {
	var dims, tensor, of proto
	for _, d := range shape {
		var dim proto
		if d < 0 {
			dim.text(2, map[int]string{-1: "B", -2: "n"}[d])
		} else {
			dim.varint(1, uint64(d))
		}
		dims.bytes(1, dim)
	}
	tensor.varint(1, uint64(kind))
	tensor.bytes(2, dims)
	of.bytes(1, tensor)
	p.text(1, name)
	p.bytes(2, of)
	return p
}

// model returns the ModelProto.
func (g *onnxGraph) model(name string, info map[string]string) []byte {
	var graph, opset, model proto
	for _, part := range []struct {
		field int
		list  []proto
	}{{1, g.nodes}, {5, g.weights}, {11, g.inputs}, {12, g.outputs}} {
		for _, p := range part.list {
			graph.bytes(part.field, p)
		}
	}
	graph.text(2, name)
	opset.text(1, "")
	opset.varint(2, onnxOpset)
	model.varint(1, onnxVersion)
	model.text(2, "sanflow")
	model.bytes(7, graph)
	model.bytes(8, opset)
	for _, key := range slices.Sorted(maps.Keys(info)) {
		var entry proto
		entry.text(1, key)
		entry.text(2, info[key])
		model.bytes(14, entry)
	}
	return model
}
