// Package fraudpb is the fraud check as a generated stub: what any service has for
// its upstreams.
package fraudpb

//go:generate go run github.com/bufbuild/buf/cmd/buf@v1.75.0 generate
