package labeling

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sanflow/sanflow/operators/internal/settings"
)

// Format writes a labeling with all its settings, such as
// "sampled-betweenness(sources=50, seed=7)", so that Parse returns one that is
// equal to it. A labeling whose type is not registered is an error, and so is one
// with a setting that no text holds, such as a function or a NaN.
func Format(l Labeling) (string, error) {
	text, err := format(l)
	if err != nil {
		return "", fmt.Errorf("labeling: %w", err)
	}
	return text, nil
}

func format(l Labeling) (string, error) {
	if l == nil {
		return "", errors.New("the labeling is nil")
	}
	e, ok := registry.Typed(l)
	if !ok {
		return "", fmt.Errorf("%T is not known by a name: labeling.Register gives it one", l)
	}
	text, err := write(e.Name, e.Base, l)
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.Name, err)
	}
	if back, err := parse(text); err != nil || !reflect.DeepEqual(back, l) {
		return "", fmt.Errorf("%#v is more than %s says", l, text)
	}
	return text, nil
}

// write writes the settings in which l differs from base behind name.
func write(name string, base, l Labeling) (string, error) {
	var parts []string
	for _, f := range settings.Changed(base, l) {
		first, n := utf8.DecodeRuneInString(f.Name)
		setting := string(unicode.ToLower(first)) + f.Name[n:]
		var value string
		var err error
		switch v := f.Value; {
		case v.Kind() == reflect.Bool && v.Bool():
			parts = append(parts, setting)
			continue
		case v.Type() == labelingType && !v.IsNil():
			value, err = format(v.Interface().(Labeling))
		default:
			var text []byte
			text, err = json.Marshal(v.Interface())
			value = string(text)
		}
		if err != nil {
			return "", fmt.Errorf("the setting %s cannot be written: %w", f.Name, settings.Plain(err))
		}
		parts = append(parts, setting+"="+value)
	}
	if len(parts) == 0 {
		return name, nil
	}
	return name + "(" + strings.Join(parts, ", ") + ")", nil
}

// describe is write for String, which has no error to return: of a setting that
// cannot be written the name is left.
func describe(name string, base, l Labeling) string {
	text, err := write(name, base, l)
	if err != nil {
		return name
	}
	return text
}
