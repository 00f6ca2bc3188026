package flagvalue

import "testing"

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "65536": 65536, "64KiB": 64 << 10, "64kib": 64 << 10, "8MiB": 8 << 20, "1GiB": 1 << 30} {
		var s, again int64
		v := Size(&s)
		if err := v.Set(text); err != nil || s != want {
			t.Errorf("%s is %d, %v", text, s, err)
		}
		if err := Size(&again).Set(v.String()); err != nil || again != s {
			t.Errorf("%d prints as %s, which is %d, %v", s, v, again, err)
		}
	}
	for _, text := range []string{"", "KiB", "-1", "1.5MiB", "8MB", "8 MiB", "9223372036854775807KiB", "1e3"} {
		if n, err := ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}
