// Package generate makes graphs of well-known families.
//
//	torus, _ := generate.Torus(5, 8)                    // 40 nodes, 4 neighbours each
//	social, _ := generate.PreferentialAttachment(40, 2, 1) // 40 nodes, 2 edges per newcomer
//	for _, g := range []*graph.Graph{torus, social} {
//		fmt.Println(g.N(), "nodes", g.M(), "edges")
//	}
//
//	Grid                    rows·cols nodes   4 or 8 neighbours, fewer at the border: the pixels of an image
//	Torus                   rows·cols nodes   4 neighbours each
//	RandomRegular           n nodes           d neighbours each
//	RandomDegrees           n nodes           degrees drawn from a distribution (configuration model)
//	ErdosRenyi              n nodes           m edges, all such graphs equally likely
//	PreferentialAttachment  n nodes           hubs: degrees follow a power law (Barabási and Albert 1999)
//	SmallWorld              n nodes           a ring with shortcuts (Watts and Strogatz 1998)
//	RMAT                    2^scale at most   hubs beside hubs, as in the web (Chakrabarti and others 2004)
//	RingOfCliques           cliques·size      dense groups joined in a ring
//	Communities             n nodes           groups with more edges within than between
//
// All graphs are undirected and without attributes. The random ones are
// determined by their arguments, seed included; another graph of the same
// family is another seed. A size that a family does not have is an error.
package generate
