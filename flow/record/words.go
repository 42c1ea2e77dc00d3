package record

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of the words of channels. A schema that has more is an error.
const (
	MaxWords     = 1 << 16 // words of a channel
	maxWordBytes = 1 << 20 // bytes of the words of all channels of a column
)

// maxChannels bounds the text of the channels of a column before it is parsed. JSON needs up to six
// bytes for a byte of a word.
const maxChannels = 8 * maxWordBytes

// WordsChannel returns the channel of a discrete attribute whose values are words:
// ascending, without repeats. Value i is word i; the last value, Unseen, is for all other
// words.
func WordsChannel(name string, words []string) Channel {
	if words == nil {
		words = []string{}
	}
	return Channel{Name: name, Card: len(words) + 1, Words: words}
}

// Unseen returns Card-1, the index for a word that is not in Words, or -1 for a channel without
// words.
func (c Channel) Unseen() int32 {
	if c.Words == nil {
		return -1
	}
	return int32(c.Card) - 1
}

// Index returns the index of a word: Unseen for a word that the channel does not have.
func (c Channel) Index(word string) int32 {
	if i, ok := slices.BinarySearch(c.Words, word); ok {
		return int32(i)
	}
	return c.Unseen()
}

// Word returns the word of an index. ok is false for Unseen, for an index out of range, and for
// a channel without words.
func (c Channel) Word(index int32) (string, bool) {
	if index < 0 || int(index) >= len(c.Words) {
		return "", false
	}
	return c.Words[index], true
}

// Equal reports whether two channels have the same name, values, words and offset.
func (c Channel) Equal(other Channel) bool {
	return c.Name == other.Name && c.Card == other.Card && c.Offset == other.Offset && (c.Words == nil) == (other.Words == nil) && slices.Equal(c.Words, other.Words)
}

// SortWords returns different words in ascending order, and for each given word its place
// there.
func SortWords(words []string) (sorted []string, place []int32) {
	order := make([]int32, len(words))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return strings.Compare(words[i], words[j]) })
	sorted, place = make([]string, len(words)), make([]int32, len(words))
	for at, i := range order {
		sorted[at], place[i] = words[i], int32(at)
	}
	return sorted, place
}

// checkWords returns an error for the first channel of a column whose words are invalid.
func checkWords(column string, channels []Channel) error {
	size := 0
	for _, c := range channels {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("channel %q of %s: %w", c.Name, column, fmt.Errorf(format, args...))
		}
		switch {
		case c.Words == nil:
			continue
		case len(c.Words) > MaxWords:
			return fail("%d words, want at most %d", len(c.Words), MaxWords)
		case c.Card != len(c.Words)+1:
			return fail("%d values with %d words, want one more, for unseen words", c.Card, len(c.Words))
		}
		for i, w := range c.Words {
			size += len(w)
			switch {
			case !utf8.ValidString(w):
				return fail("word %d, %.40q, is not UTF-8", i, w)
			case i > 0 && w <= c.Words[i-1]:
				return fail("word %d, %.40q, is not above the word before, %.40q", i, w, c.Words[i-1])
			}
		}
		if size > maxWordBytes {
			return fail("the words of the column have more than %d bytes", maxWordBytes)
		}
	}
	return nil
}
