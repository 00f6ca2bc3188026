package openaitest

import "testing"

// No request leaves the machine, whatever the address of the model is.
func TestClientOfAnyScheme(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		res, err := New().Client().Get(scheme + "://model.test/v1/chat/completions")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
}
