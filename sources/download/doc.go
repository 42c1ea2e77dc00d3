// Package download finds a TU collection by name: on this machine if it is
// there, else on the net.
//
//	path, err := download.Find(ctx, "MUTAG", func(done, total int64) {
//		fmt.Fprintf(os.Stderr, "\r%d of %d bytes", done, total)
//	})
//	if err != nil {
//		return err
//	}
//	err = flow.From(tu.Source{Path: path}).To(sink).Run(ctx)
//
//	looked for                         what is found
//	NAME itself                        a zip or directory, if NAME is a path
//	$SANFLOW_DATA/tu/NAME[.zip]        data sets that were put in place by hand
//	<user cache>/sanflow/tu/NAME.zip   what was downloaded before, and has its checksum still
//	https://www.chrsmrrs.com/…         the collection of TU Dortmund (Morris et al. 2020, arXiv:2007.08663)
//
// A redirect from https to http is refused.
//
// # Where graphs are
//
// Find downloads the first of these; a program downloads the others itself and opens them with the
// source named.
//
//	https://chrsmrrs.github.io/datasets/docs/datasets/  graph classification: TU, by name
//	https://snap.stanford.edu/data/                     large networks: EdgeList, as they are (.txt.gz)
//	http://www-personal.umich.edu/~mejn/netdata/        power, polbooks, polblogs, astro-ph, in GML
//	https://networks.skewed.de/                         the same and many others: EdgeList from their .csv
//	https://law.di.unimi.it/datasets.php                webs such as cnr-2000: EdgeList from their ASCII form
//	https://linqs.org/datasets/                         Cora, CiteSeer, PubMed: nodes with features and classes
//	https://houseofgraphs.org/                          small graphs of note: package graph6
//	https://users.cecs.anu.edu.au/~bdm/data/            all small graphs of a kind: package graph6
//
// It is apart from package sources so that a program that reads files does not
// link an HTTP client.
package download
