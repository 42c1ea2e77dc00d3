// Package jetstream reads records from streams of NATS JetStream.
package jetstream
