// Package v03 holds the protocol buffers of version 0.3, generated from a2a.proto and never
// edited. Package dialect converts them. Otherwise only package acts, which shares no code with
// dialect, and tests should use them.
//
// To regenerate, with protoc 3.21 or later and the protoc-gen-go of go.mod:
//
//	go generate ./internal/pb/v03
package v03

//go:generate go build -o protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go
//go:generate protoc -I ../../.. --plugin=protoc-gen-go --go_out=../../.. --go_opt=paths=source_relative internal/pb/v03/a2a.proto
//go:generate rm protoc-gen-go
