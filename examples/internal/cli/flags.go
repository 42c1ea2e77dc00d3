package cli

import (
	"flag"
	"fmt"
)

// Flags returns the flags of a command; -h begins with what about says of it.
func Flags(name, about string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "%s: %s\n\n", name, about)
		f.PrintDefaults()
	}
	return f
}

// Alias lets a flag be given by another name as well.
func Alias(f *flag.FlagSet, alias, name string) {
	f.Var(f.Lookup(name).Value, alias, "the same as -"+name)
}
