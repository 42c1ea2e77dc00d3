package choose

import (
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/sources/links"
)

// Positive returns the name of the positive class, which AUC, AP, precision and recall are about.
// It is name, if that is set, and of pairs of nodes the link. The default for two classes is the
// rarer one: rows has the number of rows of each class, and of equals the class with the greater
// name is positive. Numbers and, without a name, more than two classes have no positive class: the
// result is "". A name that is no class is an error.
func Positive(classes []string, name string, rows []int) (string, error) {
	switch {
	case name != "" && len(classes) == 0:
		return "", fmt.Errorf("the positive class is %q, and numbers are learned", name)
	case name != "" && !slices.Contains(classes, name):
		return "", fmt.Errorf("the positive class is %.80q, want one of the classes %.200q", name, classes)
	case name != "" || len(classes) != 2:
		return name, nil
	case slices.Equal(classes, links.Classes()):
		return classes[1], nil
	case rows[0] < rows[1] || rows[0] == rows[1] && classes[0] > classes[1]:
		return classes[0], nil
	}
	return classes[1], nil
}
