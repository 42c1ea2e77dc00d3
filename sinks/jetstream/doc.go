// Package jetstream publishes records to streams of NATS JetStream, from which
// sources/jetstream reads them on other machines; its documentation has the whole
// picture.
package jetstream
