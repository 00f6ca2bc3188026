package storetest_test

import (
	"testing"

	"github.com/parley-a2a/parley/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Opener { return storetest.Memory() })
}

func BenchmarkMemory(b *testing.B) {
	storetest.Benchmark(b, func(testing.TB) storetest.Opener { return storetest.Memory() })
}
