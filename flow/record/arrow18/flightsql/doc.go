// Package flightsql has no code. Its tests make graphs of the answers of a Flight SQL server: that
// of arrow-go, which asks SQLite, over gRPC on this machine. Its example shows the code of a
// program. See sources.Tables and arrow18.Rows.
//
// This package is a module of its own. The server needs modernc.org/sqlite, which so stays out
// of the go.sum of module arrow18.
package flightsql
