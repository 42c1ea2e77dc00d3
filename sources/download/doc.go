// Package download finds a TU collection by name: on this machine if it is
// there, else on the net.
//
//	path, err := download.Find(ctx, "MUTAG", download.Options{
//		Progress: func(done, total int64) { fmt.Fprintf(os.Stderr, "\r%d of %d bytes", done, total) },
//	})
//	if err != nil {
//		return err
//	}
//	err = flow.From(sources.TU{Path: path}).To(sink).Run(ctx)
//
//	looked for                         what is found
//	NAME itself                        a zip or directory, where NAME is a path
//	$SANFLOW_DATA/tu/NAME[.zip]        data sets that were put in place by hand
//	<user cache>/sanflow/tu/NAME.zip   what was downloaded before, and has its checksum still
//	https://www.chrsmrrs.com/…         the collection of TU Dortmund (Morris et al. 2020, arXiv:2007.08663)
//
// It is apart from package sources so that a program that reads files does not
// link an HTTP client.
package download
