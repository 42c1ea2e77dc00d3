package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds has the kinds of settings of interface types, by type.
type Kinds map[reflect.Type]Kind

// Kind reads and writes settings of one interface type.
type Kind struct {
	Parse  func(text string) (any, error)
	Format func(v any) (string, error)
}

// Parse returns the value of a text: a name, which named resolves, and settings in parentheses
// separated by commas, as in "pagerank(damping=0.9)".
func Parse[T any](text string, named func(name string) (T, error), kinds Kinds) (T, error) {
	name, list, ok := strings.Cut(strings.TrimSpace(text), "(")
	base, err := named(strings.TrimSpace(name))
	if err != nil || !ok {
		return base, err
	}
	list, ok = strings.CutSuffix(list, ")")
	if !ok {
		return base, fmt.Errorf("%q does not end in a parenthesis", text)
	}
	parts, err := Split(list)
	if err != nil {
		return base, fmt.Errorf("%q: %w", text, err)
	}
	c, err := Copy(base)
	if err != nil {
		return base, err
	}
	for _, part := range parts {
		name, value, given := strings.Cut(part, "=")
		f, err := c.Field(strings.TrimSpace(name))
		if err == nil {
			err = set(f, strings.TrimSpace(value), given, kinds)
		}
		if err != nil {
			return base, fmt.Errorf("%q: %w", text, err)
		}
	}
	return c.Value(base), nil
}

// set parses text and stores the value in a field. Without given the setting has no value, which a
// bool takes as true.
func set(f Field, text string, given bool, kinds Kinds) error {
	v := f.Value
	kind, nested := kinds[v.Type()]
	var err error
	switch {
	case !given && v.Kind() == reflect.Bool:
		v.SetBool(true)
	case !given:
		return fmt.Errorf("the setting %s has no value", f.Name)
	case nested:
		var x any
		if x, err = kind.Parse(text); err == nil {
			v.Set(reflect.ValueOf(x))
		}
	case v.Kind() == reflect.String && !strings.HasPrefix(text, `"`):
		if !utf8.ValidString(text) {
			err = errors.New("it is not UTF-8")
		}
		v.SetString(text)
	default:
		err = FromJSON([]byte(text), v.Addr().Interface())
	}
	if err != nil {
		return fmt.Errorf("the setting %s is %s: %w", f.Name, Shown(text), err)
	}
	return nil
}

// Write returns name and the settings in which v differs from base, as Parse reads them.
func Write(name string, base, v any, kinds Kinds) (string, error) {
	var parts []string
	for _, f := range Changed(base, v) {
		first, n := utf8.DecodeRuneInString(f.Name)
		setting := string(unicode.ToLower(first)) + f.Name[n:]
		var value string
		var err error
		kind, nested := kinds[f.Value.Type()]
		switch v := f.Value; {
		case v.Kind() == reflect.Bool && v.Bool():
			parts = append(parts, setting)
			continue
		case nested && !v.IsNil():
			value, err = kind.Format(v.Interface())
		default:
			var text []byte
			text, err = json.Marshal(v.Interface())
			value = string(text)
		}
		if err != nil {
			return "", fmt.Errorf("the setting %s cannot be written: %w", f.Name, Plain(err))
		}
		parts = append(parts, setting+"="+value)
	}
	if len(parts) == 0 {
		return name, nil
	}
	return name + "(" + strings.Join(parts, ", ") + ")", nil
}

// Split splits a list at its commas, except those in brackets and strings. An empty list has no
// parts.
func Split(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var parts []string
	depth, begin, quoted := 0, 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, list[begin:i])
			begin = i + 1
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 || quoted {
		return nil, errors.New("brackets or quotes do not match")
	}
	return append(parts, list[begin:]), nil
}
