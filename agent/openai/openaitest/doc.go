// Package openaitest is a fake endpoint that speaks OpenAI's protocol of chat
// completions, for tests and for trials without a model.
//
//	fake := openaitest.New()                   // answers with the words it was told
//	fake.Add(openaitest.Text("Hello", " you")) // but first with these
//	srv := httptest.NewServer(fake)
//	// the base is srv.URL + "/v1"
//
// It is strict: it refuses what the real API refuses, in the same words if they are
// known, so that a passing test means something. It also plays streams of several
// vendors that differ from OpenAI's: see [Fixture].
//
// A Server may be used from several goroutines.
package openaitest
