package stored

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestIDsGrowAndCannotBeGuessed: stores rely on the one to be quick, callers
// without an identity on the other.
func TestIDsGrowAndCannotBeGuessed(t *testing.T) {
	const n = 4096
	begun := time.Now()
	last := ""
	var ones [128]int
	for range n {
		s := NewID()
		if s <= last {
			t.Fatalf("%s comes after %s", s, last)
		}
		last = s
		id := uuid.MustParse(s)
		if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s is of version %d, %s", s, id.Version(), id.Variant())
		}
		for bit := range ones {
			ones[bit] += int(id[bit/8]>>(7-bit%8)) & 1
		}
	}
	for bit := 66; bit < 128; bit++ { // behind the time, the version and the variant
		if ones[bit] < n/2-n/8 || ones[bit] > n/2+n/8 {
			t.Errorf("bit %d is set in %d of %d ids", bit, ones[bit], n)
		}
	}
	sec, nsec := uuid.MustParse(last).Time().UnixTime()
	if at := time.Unix(sec, nsec); at.Before(begun.Add(-time.Minute)) || at.After(begun.Add(time.Minute)) {
		t.Errorf("%s says that it was made at %s", last, at)
	}
}
