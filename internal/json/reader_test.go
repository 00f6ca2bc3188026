package json

import "testing"

func TestHalf(t *testing.T) {
	for text, want := range map[string]bool{
		`"plain"`: false, `"\u00e9\n"`: false, `"\ud83d\ude00"`: false, `"\uD83D\uDE00"`: false, `"\\ud83d"`: false, `"\ufffd"`: false,
		`"\ud83d"`: true, `"\ude00"`: true, `"\ude00\ud83d"`: true, `"\ud83dx\ude00"`: true, `"\ud83d\n\ude00"`: true, `"\ud83d\ud83d\ude00"`: true, `"a\\\ude00"`: true,
	} {
		if !Valid([]byte(text), Deepest) {
			t.Errorf("%s is no JSON", text)
		}
		if got := Half([]byte(text)); got != want {
			t.Errorf("Half(%s) is %v", text, got)
		}
	}
}
