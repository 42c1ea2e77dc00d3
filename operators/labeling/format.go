package labeling

import (
	"errors"
	"fmt"
	"reflect"

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
	text, err := settings.Write(e.Name, e.Base, l, kinds())
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.Name, err)
	}
	if back, err := parse(text); err != nil || !reflect.DeepEqual(back, l) {
		return "", fmt.Errorf("%#v is more than %s says", l, text)
	}
	return text, nil
}

// describe is settings.Write for String, which has no error to return: of a setting that
// cannot be written the name is left.
func describe(name string, base, l Labeling) string {
	text, err := settings.Write(name, base, l, kinds())
	if err != nil {
		return name
	}
	return text
}
