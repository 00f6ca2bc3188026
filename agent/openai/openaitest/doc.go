// Package openaitest is a fake of an endpoint that speaks OpenAI's protocol of
// chat completions, for tests and to try things without a model.
//
//	fake := openaitest.New()                   // answers with the words it was told
//	fake.Add(openaitest.Text("Hello", " you")) // but first with these
//	srv := httptest.NewServer(fake)
//	// the base is srv.URL + "/v1"
//
// It is strict: it refuses what the real API refuses, in the same words where they
// are known, so that a test that passes means something. And it plays what the
// servers of several vendors send that is not as OpenAI sends it: see [Fixture].
//
// A Server may be used from several goroutines.
package openaitest
