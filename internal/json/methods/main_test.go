package main

import (
	"bytes"
	"os"
	"testing"
)

func TestMethodsAreUpToDate(t *testing.T) {
	src, err := os.ReadFile("../../../a2a/codec.go")
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(src)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../../a2a/codec_methods.go"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a2a/codec_methods.go is not up to date (%v): go generate ./a2a", err)
	}
}
