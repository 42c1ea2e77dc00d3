// Package onnx writes the ONNX format, as far as the networks of package nn need it: a
// ModelProto of onnx.proto3, version 7 of the representation and 13 of the operators,
// in the encoding of protocol buffers. A message is a list of fields; a field is its
// number and kind, then a varint, or a length and bytes.
//
// A [Graph] grows by operators; values have names, which are all different. Tensors are
// row-major and little-endian. Slices of a caller are copied.
package onnx

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

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
	FloatType = 1
	Int32Type = 6
	Int64Type = 7
)

const (
	version   = 7  // of the intermediate representation
	operators = 13 // of the operators
)

// Graph is a GraphProto that grows. Values have names, which are all
// different.
type Graph struct {
	nodes, weights, inputs, outputs []proto
	count                           int
}

// Name returns a new one for the result of an operator.
func (g *Graph) Name(op string) string {
	g.count++
	return fmt.Sprintf("%s_%d", op, g.count)
}

// Node adds an operator, and returns the name of its result.
func (g *Graph) Node(op string, in []string, attributes ...proto) string {
	out := g.Name(op)
	g.NodeTo(out, op, in, attributes...)
	return out
}

// NodeTo adds an operator whose result has that name.
func (g *Graph) NodeTo(out, op string, in []string, attributes ...proto) {
	g.Add(op, in, []string{out}, attributes...)
}

// Add adds a NodeProto.
func (g *Graph) Add(op string, in, out []string, attributes ...proto) {
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

// Reshape gives x, whose first dimension is B, other dimensions behind it.
func (g *Graph) Reshape(x string, dims ...int) string {
	shape := []int64{-1}
	for _, d := range dims {
		shape = append(shape, int64(d))
	}
	return g.Node("Reshape", []string{x, g.Int64s(shape)})
}

// onnxInt returns an AttributeProto.
func Int(name string, v int) (p proto) {
	p.text(1, name)
	p.varint(3, uint64(int64(v)))
	p.varint(20, 2)
	return p
}

// onnxInts returns an AttributeProto of several numbers.
func Ints(name string, list ...int) (p proto) {
	p.text(1, name)
	for _, v := range list {
		p.varint(8, uint64(int64(v)))
	}
	p.varint(20, 7)
	return p
}

// weight adds the values of a weight under its name, which it returns.
func (g *Graph) Floats(name string, shape []int, x []float32) string {
	raw := make([]byte, 0, 4*len(x))
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return g.tensor(name, FloatType, shape, raw)
}

func (g *Graph) Int32s(name string, shape []int, x []int32) string {
	var raw []byte
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
	}
	return g.tensor(name, Int32Type, shape, raw)
}

func (g *Graph) Int64s(x []int64) string {
	var raw []byte
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return g.tensor(g.Name("ints"), Int64Type, []int{len(x)}, raw)
}

// tensor adds a TensorProto.
func (g *Graph) tensor(name string, kind int, shape []int, raw []byte) string {
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

func (g *Graph) Input(name string, kind int, shape []int) {
	g.inputs = append(g.inputs, value(name, kind, shape))
}

func (g *Graph) Output(name string, shape []int) {
	g.outputs = append(g.outputs, value(name, FloatType, shape))
}

// onnxValue returns a ValueInfoProto. A dimension of -1 is B, and -2 is n.
func value(name string, kind int, shape []int) (p proto) {
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

// Model returns the ModelProto.
func (g *Graph) Model(name string, info map[string]string) []byte {
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
	opset.varint(2, operators)
	model.varint(1, version)
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
