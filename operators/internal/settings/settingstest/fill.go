// Package settingstest fills settings at random, so that tests of what is
// written and read back leave no field out.
package settingstest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Fill sets every field that v, a struct, has to a value other than zero; of an
// interface it takes what ask returns for its type. A field that is not exported
// fails the test: nothing could write it.
func Fill(tb testing.TB, rng *rand.Rand, v reflect.Value, ask func(reflect.Type) reflect.Value) {
	tb.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				tb.Fatalf("%s has the field %s, which is not exported", v.Type(), f.Name)
			}
			Fill(tb, rng, v.Field(i), ask)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+rng.IntN(3), 3))
		for i := range v.Len() {
			Fill(tb, rng, v.Index(i), ask)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("(%c\",= \\%d", 'a'+rng.IntN(600), rng.Int()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(1 + rng.Uint64()>>(65-v.Type().Bits())))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1 | rng.Uint64()>>(64-v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat(float64(float32(rng.NormFloat64())))
	case reflect.Float64:
		v.SetFloat(rng.NormFloat64())
	case reflect.Interface:
		v.Set(ask(v.Type()))
	default:
		tb.Fatalf("%s cannot be written as text", v.Type())
	}
}

// Declared returns the exported types of the package in dir that have a method of
// that name, in order.
func Declared(tb testing.TB, dir fs.FS, method string) []string {
	tb.Helper()
	files, err := fs.Glob(dir, "*.go")
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			tb.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			tb.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != method {
				continue
			}
			t := f.Recv.List[0].Type
			if star, ok := t.(*ast.StarExpr); ok {
				t = star.X
			}
			if id, ok := t.(*ast.Ident); ok && id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
