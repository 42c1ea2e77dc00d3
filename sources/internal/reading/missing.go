package reading

import "bytes"

// Missing is a set of texts that stand for no value.
type Missing map[string]bool

func MissingOf(texts []string) Missing {
	m := Missing{}
	for _, text := range texts {
		m[string(usual([]byte(text)))] = true
	}
	return m
}

// Has reports whether a text stands for no value. It ignores surrounding blanks and the spelling of whole
// numbers, such as -999.0.
func (m Missing) Has(text []byte) bool { return len(m) > 0 && m[string(usual(text))] }

// MissingHint is the end of an error about a text in a numeric column. It names the flag for missing values,
// and is empty for a text with digits.
func MissingHint(text []byte) string {
	if text = bytes.TrimSpace(text); len(text) == 0 || bytes.ContainsAny(text, "0123456789") {
		return ""
	}
	return "; -missing " + string(text) + " reads it as missing"
}

func usual(text []byte) []byte {
	text, _ = WholeNumber(bytes.TrimSpace(text))
	return text
}
