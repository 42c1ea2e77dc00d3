package sources_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources"
)

// A column that is a key and an attribute has its values in both uses, from any format.
func TestColumnOfTwoUses(t *testing.T) {
	for name, table := range map[string]sources.Table{
		"CSV":       sources.CSV{Path: "t", Reader: strings.NewReader("shop,x\na,1\nb,2\n")},
		"Text":      sources.Text{Path: "t", Reader: strings.NewReader("shop\tx\na\t1\nb\t2\n")},
		"JSONLines": sources.JSONLines{Path: "t", Reader: strings.NewReader("{\"shop\":\"a\",\"x\":1}\n{\"shop\":\"b\",\"x\":2}\n")},
	} {
		set, err := sources.Rows{Tables: []sources.RowTable{{Table: table, Keys: []sources.Key{{Column: "shop"}}, Attributes: []string{"shop"}}}}.Read(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		g, channel := set.Graph, set.Channels.NodeCat[1]
		if got := fmt.Sprint(set.RowKeys, channel.Index("a"), channel.Index("b"), g.NodeCat[1], g.NodeCat[3]); got != "[2 3] 0 1 0 1" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
