package operators

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/internal/settings"
	"github.com/sanflow/sanflow/operators/labeling"
)

// registry has the operators of Register. It is complete once the program has started.
var registry settings.Registry[flow.Operator]

func init() {
	for _, op := range []flow.Operator{
		Assemble{}, Batch{}, Beliefs{}, Channel{}, Check{}, Chunk{}, Count{}, Describe{}, Expect{}, ExpectColumns{}, Intervals{}, KnownClasses{}, MaskWords{}, Normalize{}, PerRoot{}, Replay{}, Roots{},
		Select{}, Shuffle{}, Propagate{}, Standardize{},
	} {
		if err := Register(reflect.TypeOf(op).Name(), op); err != nil {
			panic(err.Error())
		}
	}
}

// Register makes your operator known to recipes under a name. base is a struct, or a pointer to
// one. Its exported fields are the settings and their values the defaults: numbers, strings,
// booleans, lists, maps and structs of these, labelings, and lists of counters. A registered
// name, a registered type and a type with a function among its settings are errors. Call it at the start of the program, before the first recipe is read.
func Register(name string, base flow.Operator) error {
	if err := registry.Add(name, base); err != nil {
		return fmt.Errorf("operators: register: %w", err)
	}
	return nil
}

// operatorKey is the JSON key of the name of an operator.
const operatorKey = "operator"

// formatOperator returns an operator as a JSON object, with its name first.
func formatOperator(op flow.Operator) ([]byte, error) {
	if op == nil {
		return nil, errors.New("an operator is nil")
	}
	known, _ := op.(KnownClasses)
	if believed, _ := op.(Beliefs); known.Class != nil || believed.Probs != nil {
		return nil, fmt.Errorf("operators.%s has the classes of nodes by their numbers, which are not written: sinks.Known keeps them by the ids of the nodes", op)
	}
	e, ok := registry.Typed(op)
	if !ok {
		if err := settings.Unwritable(op); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%T is not known by a name: operators.Register gives it one", op)
	}
	text, err := json.Marshal(e.Name)
	text = append([]byte(`{"`+operatorKey+`":`), text...)
	for _, f := range settings.Changed(e.Base, op) {
		var value []byte
		if err == nil {
			value, err = formatSetting(f.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the setting %s cannot be written: %w", e.Name, f.Name, settings.Plain(err))
		}
		text = fmt.Appendf(text, ",%q:%s", f.Name, value)
	}
	text = append(text, '}')
	if back, err := parseOperator(text); err != nil || !reflect.DeepEqual(back, op) {
		return nil, fmt.Errorf("%s: it is more than its settings say: %s", e.Name, text)
	}
	return text, nil
}

var (
	labelingType = reflect.TypeFor[labeling.Labeling]()
	countersType = reflect.TypeFor[[]count.Counter]()
)

func formatSetting(v reflect.Value) ([]byte, error) {
	switch {
	case v.Type() == labelingType && !v.IsNil():
		text, err := labeling.Format(v.Interface().(labeling.Labeling))
		if err != nil {
			return nil, err
		}
		return json.Marshal(text)
	case v.Type() == countersType && !v.IsNil():
		texts := make([]string, v.Len())
		for i, c := range v.Interface().([]count.Counter) {
			var err error
			if texts[i], err = count.Format(c); err != nil {
				return nil, err
			}
		}
		return json.Marshal(texts)
	}
	return json.Marshal(v.Interface())
}

func parseOperators(text []byte) (Recipe, error) {
	var list []json.RawMessage
	if err := fromJSON(text, &list); err != nil {
		return nil, err
	}
	r := make(Recipe, len(list))
	for i, text := range list {
		var err error
		if r[i], err = parseOperator(text); err != nil {
			return nil, fmt.Errorf("operator %d: %w", i+1, err)
		}
	}
	return r, nil
}

func parseOperator(text []byte) (flow.Operator, error) {
	var given map[string]json.RawMessage
	if err := fromJSON(text, &given); err != nil {
		return nil, err
	}
	var name string
	if given[operatorKey] == nil {
		return nil, fmt.Errorf("it has no name, as %q", operatorKey)
	}
	if err := fromJSON(given[operatorKey], &name); err != nil {
		return nil, fmt.Errorf("its name: %w", err)
	}
	e, ok := registry.Named(name)
	if !ok {
		return nil, fmt.Errorf("there is no operator %q: operators.Register makes one known", name)
	}
	c, err := settings.Copy(e.Base)
	if err != nil {
		return nil, err
	}
	delete(given, operatorKey)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		f, err := c.Field(key)
		if err == nil {
			err = setSetting(f.Value, given[key])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", e.Name, settings.Shown(key), err)
		}
	}
	return c.Value(e.Base), nil
}

func setSetting(v reflect.Value, text []byte) error {
	switch v.Type() {
	case labelingType:
		var name *string
		if err := fromJSON(text, &name); err != nil {
			return err
		}
		if name == nil {
			v.SetZero()
			return nil
		}
		l, err := labeling.Parse(*name)
		if err != nil {
			return err
		}
		v.Set(reflect.ValueOf(l))
		return nil
	case countersType:
		var names []string
		if err := fromJSON(text, &names); err != nil {
			return err
		}
		v.SetZero()
		if names == nil {
			return nil
		}
		list := make([]count.Counter, len(names))
		for i, name := range names {
			var err error
			if list[i], err = count.Parse(name); err != nil {
				return err
			}
		}
		v.Set(reflect.ValueOf(list))
		return nil
	}
	return fromJSON(text, v.Addr().Interface())
}

func fromJSON(text []byte, into any) error { return settings.FromJSON(text, into) }
