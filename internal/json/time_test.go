package json

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestTimesAreWrittenAsPackageTimeWritesThem(t *testing.T) {
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		at := time.Unix(first+r.Int64N(last-first), r.Int64N(1e9)).In(time.FixedZone("", int(r.Int64N(7200))))
		if got, want := string(AppendTime(nil, at)), at.UTC().Format(`"2006-01-02T15:04:05.000Z"`); got != want {
			t.Fatalf("%v is %s, want %s", at, got, want)
		}
	}
}
