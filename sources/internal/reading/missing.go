package reading

import "bytes"

// Missing is a set of texts that stand for no value, such as NA.
type Missing map[string]bool

// MissingOf returns the set of some texts.
func MissingOf(texts []string) Missing {
	m := Missing{}
	for _, text := range texts {
		m[string(usual([]byte(text)))] = true
	}
	return m
}

// Has reports whether a text stands for no value. Blanks around it and the spelling of a whole number,
// as -999.0, make no difference.
func (m Missing) Has(text []byte) bool { return len(m) > 0 && m[string(usual(text))] }

func usual(text []byte) []byte {
	text, _ = WholeNumber(bytes.TrimSpace(text))
	return text
}
