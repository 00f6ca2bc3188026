package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

func newMessageID() string { return rand.Text() }

func matrixSend(t *testing.T, p *caller) {
	task := p.task(t, "echo  two words\nand a line ")
	wantState(t, task, a2a.TaskStateCompleted)
	if task.ID == "" || task.ContextID == "" || artifactText(task, "echo") != " two words\nand a line " {
		t.Errorf("the task is %s", task.AppendJSON(nil))
	}
	m := followUp(task, "echo again")
	m.TaskID = ""
	if next := p.deliver(t, m); next.ContextID != task.ContextID || next.ID == task.ID {
		t.Errorf("a second task in the context is %s in %s", next.ID, next.ContextID)
	}
}

// fold reads a stream to its end.
func fold(t *testing.T, seq iter.Seq2[*a2a.StreamResponse, error]) (task *a2a.Task, els []*a2a.StreamResponse) {
	t.Helper()
	task = new(a2a.Task)
	for el, err := range seq {
		if err != nil {
			t.Fatalf("after %d elements: %v", len(els), err)
		}
		els = append(els, el)
		task.ApplyEvent(el)
	}
	return task, els
}

func matrixStream(t *testing.T, p *caller) {
	task, els := fold(t, p.SendStreamingMessage(t.Context(), p.request(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart("stream 5 1")}})))
	wantState(t, task, a2a.TaskStateCompleted)
	if got, want := artifactText(task, "stream"), "chunk 1\nchunk 2\nchunk 3\nchunk 4\nchunk 5\n"; got != want {
		t.Errorf("the stream amounts to %q", got)
	}
	n := 0
	for _, el := range els {
		if u := el.ArtifactUpdate; u != nil {
			if n++; u.Append != (n > 1) || u.LastChunk != (n == 5) {
				t.Errorf("chunk %d: append %v, last %v", n, u.Append, u.LastChunk)
			}
		}
	}
	if n != 5 {
		t.Errorf("%d chunks", n)
	}
	if (els[0].Task == nil) != p.old() {
		t.Errorf("the stream begins with %v", els[0])
	}
	asked, _ := fold(t, p.SendStreamingMessage(t.Context(), p.request(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart("ask who?")}})))
	wantState(t, asked, a2a.TaskStateInputRequired) // here the stream ends
	said, _ := fold(t, p.SendStreamingMessage(t.Context(), p.request(followUp(asked, "me"))))
	if wantState(t, said, a2a.TaskStateCompleted); artifactText(said, "answer") != "me" {
		t.Errorf("answered in a stream: %s", said.AppendJSON(nil))
	}
}

func matrixGet(t *testing.T, p *caller) {
	sent := p.task(t, "ask who?")
	for _, n := range []int32{1, 2, 10} {
		task, err := p.GetTask(t.Context(), &a2a.GetTaskRequest{ID: sent.ID, HistoryLength: &n})
		if err != nil {
			t.Fatal(err)
		}
		if wantState(t, task, a2a.TaskStateInputRequired); task.Status.Message.Text() != "who?" || len(task.History) > int(n) {
			t.Errorf("with a history of %d: %s", n, task.AppendJSON(nil))
		}
		if n > 1 && (len(task.History) != 1 || task.History[0].Text() != "ask who?") {
			t.Errorf("the history is %s", task.AppendJSON(nil))
		}
	}
	task, err := p.GetTask(t.Context(), &a2a.GetTaskRequest{ID: sent.ID})
	if err != nil || task.ContextID != sent.ContextID || (len(task.History) == 0) != p.old() {
		t.Errorf("without a limit: %v, %v", task, err)
	}
}

func matrixList(t *testing.T, p *caller) {
	one := p.task(t, "echo one")
	page, err := p.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: one.ContextID, IncludeArtifacts: true})
	switch {
	case p.old(), p.protoForm() && p.Interface().ProtocolBinding == a2a.BindingGRPC:
		wantCode(t, err, a2a.CodeUnsupportedOperation) // there is none
	case err != nil:
		t.Error(err)
	case len(page.Tasks) != 1 || page.Tasks[0].ID != one.ID || artifactText(page.Tasks[0], "echo") != "one":
		t.Errorf("the page is %s", page.AppendJSON(nil))
	}
}

// running begins a task that works until it is canceled. The channel gets the
// rest of its stream.
func running(t *testing.T, p *caller, text string) (task *a2a.Task, rest <-chan *a2a.Task) {
	t.Helper()
	began, ended := make(chan *a2a.Task, 1), make(chan *a2a.Task, 1)
	go func() {
		defer close(ended)
		defer close(began)
		fold := new(a2a.Task)
		for el, err := range p.SendStreamingMessage(t.Context(), p.request(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart(text)}})) {
			if err != nil {
				t.Errorf("the stream of %q: %v", text, err)
				return
			}
			fold.ApplyEvent(el)
			if fold.Status.State == a2a.TaskStateWorking {
				select {
				case began <- fold.Snapshot():
				default:
				}
			}
		}
		ended <- fold
	}()
	task = receive(t, began, "working")
	if task == nil {
		t.FailNow()
	}
	return task, ended
}

func matrixCancel(t *testing.T, p *caller) {
	task, rest := running(t, p, "sleep 600")
	canceled, err := p.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, canceled, a2a.TaskStateCanceled)
	wantState(t, receive(t, rest, "the end of the stream"), a2a.TaskStateCanceled)
	done := p.task(t, "echo x")
	_, err = p.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: done.ID})
	wantCode(t, err, a2a.CodeTaskNotCancelable)
}

func matrixSubscribe(t *testing.T, p *caller) {
	task, rest := running(t, p, "sleep 600")
	joined, seen := make(chan bool, 1), make(chan *a2a.Task, 1)
	go func() {
		defer close(seen)
		fold := new(a2a.Task)
		for el, err := range p.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
			if err != nil {
				t.Errorf("subscribe: %v", err)
				return
			}
			fold.ApplyEvent(el)
			select {
			case joined <- true:
			default:
			}
		}
		seen <- fold
	}()
	receive(t, joined, "the first element")
	if _, err := p.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		t.Fatal(err)
	}
	for what, ch := range map[string]<-chan *a2a.Task{"sender": rest, "subscriber": seen} {
		end := receive(t, ch, what)
		if end == nil {
			t.Fatalf("the %s saw no end", what)
		}
		wantState(t, end, a2a.TaskStateCanceled)
		if end.ID != task.ID {
			t.Errorf("the %s saw task %q", what, end.ID)
		}
	}
}

func matrixSubscribeFinished(t *testing.T, p *caller) {
	task := p.task(t, "echo x")
	if p.dialect < dialect.V10 {
		end, _ := fold(t, p.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
		wantState(t, end, a2a.TaskStateCompleted)
		return
	}
	for el, err := range p.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
		if err == nil {
			t.Errorf("an element %v", el)
		}
		wantCode(t, err, a2a.CodeUnsupportedOperation)
	}
}

func matrixMultiTurn(t *testing.T, p *caller) {
	asked := p.task(t, "ask how many?")
	if wantState(t, asked, a2a.TaskStateInputRequired); asked.Status.Message.Text() != "how many?" {
		t.Errorf("the question is %q", asked.Status.Message.Text())
	}
	done := p.deliver(t, followUp(asked, "three"))
	if wantState(t, done, a2a.TaskStateCompleted); done.ID != asked.ID || done.ContextID != asked.ContextID || artifactText(done, "answer") != "three" {
		t.Errorf("answered: %s", done.AppendJSON(nil))
	}
}

func matrixAuth(t *testing.T, p *caller) {
	asked := p.task(t, "auth")
	wantState(t, asked, p.state(a2a.TaskStateAuthRequired))
	if asked.Status.Message.Text() == "" {
		t.Error("nothing says what is needed")
	}
	if done := p.deliver(t, followUp(asked, "here")); artifactText(done, "auth") != "authorized" {
		t.Errorf("authorized: %s", done.AppendJSON(nil))
	}
	failed := p.task(t, "reject not today")
	if wantState(t, failed, p.state(a2a.TaskStateRejected)); failed.Status.Message.Text() != "not today" {
		t.Errorf("rejected: %s", failed.AppendJSON(nil))
	}
}

func matrixMessage(t *testing.T, p *caller) {
	req := func() *a2a.SendMessageRequest {
		return p.request(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart("message hi")}})
	}
	res, err := p.SendMessage(t.Context(), req())
	if err != nil {
		t.Fatal(err)
	}
	task, els := fold(t, p.SendStreamingMessage(t.Context(), req()))
	if p.old() { // which has no such result
		for _, task := range []*a2a.Task{res.Task, task} {
			if wantState(t, task, a2a.TaskStateCompleted); task.Status.Message.Text() != "hi" {
				t.Errorf("answered: %s", task.AppendJSON(nil))
			}
		}
		return
	}
	if len(els) != 1 || els[0].Message == nil {
		t.Fatalf("the stream is %v", els)
	}
	for _, m := range []*a2a.Message{res.Message, els[0].Message} {
		if m.Text() != "hi" || m.Role != a2a.RoleAgent || m.ContextID == "" || m.MessageID == "" {
			t.Errorf("answered: %s", m.AppendJSON(nil))
		}
	}
}

func matrixReturn(t *testing.T, p *caller) {
	if p.old() {
		return // it has no such switch
	}
	req := p.request(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart("sleep 600")}})
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	res, err := p.SendMessage(t.Context(), req)
	if err != nil || res.Task == nil || res.Task.Status.State.Terminal() {
		t.Fatalf("answered %v, %v", res, err)
	}
	if _, err := p.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: res.Task.ID}); err != nil {
		t.Error(err)
	}
}

func matrixErrors(t *testing.T, p *caller) {
	const nobody = "8f14e45f-0000-4000-8000-000000000000"
	_, err := p.GetTask(t.Context(), &a2a.GetTaskRequest{ID: nobody})
	wantCode(t, err, a2a.CodeTaskNotFound)
	_, err = p.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: nobody})
	wantCode(t, err, a2a.CodeTaskNotFound)
	for _, err := range p.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: nobody}) {
		wantCode(t, err, a2a.CodeTaskNotFound)
	}
	_, err = p.SendMessage(t.Context(), p.request(&a2a.Message{Parts: []*a2a.Part{}}))
	wantCode(t, err, a2a.CodeInvalidParams)
	if err != nil && !strings.Contains(err.Error(), "parts") && !strings.Contains(err.Error(), "content") {
		t.Errorf("the error names no field: %v", err)
	}
	if failed := p.task(t, "fail no luck"); failed.Status.State != a2a.TaskStateFailed || failed.Status.Message.Text() != "no luck" {
		t.Errorf("failed: %s", failed.AppendJSON(nil))
	}
	if p.old() {
		return // a task that does not exist is begun by its client
	}
	_, err = p.SendMessage(t.Context(), p.request(&a2a.Message{TaskID: nobody, Parts: []*a2a.Part{a2a.TextPart("x")}}))
	wantCode(t, err, a2a.CodeTaskNotFound)
	asked := p.task(t, "ask x")
	m := followUp(asked, "y")
	m.ContextID = "another"
	_, err = p.SendMessage(t.Context(), p.request(m))
	wantCode(t, err, a2a.CodeInvalidParams)
}

func matrixFinished(t *testing.T, p *caller) {
	done := p.task(t, "echo first")
	res, err := p.SendMessage(t.Context(), p.request(followUp(done, "echo second")))
	if !p.old() {
		wantCode(t, err, a2a.CodeUnsupportedOperation)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	task := res.Task
	if wantState(t, task, a2a.TaskStateCompleted); task.ID != done.ID || len(task.Artifacts) != 2 || artifactText(task, "echo") != "firstsecond" {
		t.Errorf("reopened: %s", task.AppendJSON(nil))
	}
}

// pixel is the demo agent's picture.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAQMAAABJtOi3AAAAA1BMVEUrVsmdOxQdAAAADElEQVR42mNgGNwAAACgAAGO+7G0AAAAAElFTkSuQmCC"

func matrixPartsOut(t *testing.T, p *caller) {
	file := p.task(t, "file")
	if len(file.Artifacts) != 1 || len(file.Artifacts[0].Parts) != 2 {
		t.Fatalf("file: %s", file.AppendJSON(nil))
	}
	parts := file.Artifacts[0].Parts
	picture, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	want := []*a2a.Part{
		a2a.RawPart(picture, "image/png", "pixel.png"),
		a2a.URLPart("https://example.com/report.pdf", "application/pdf", "report.pdf"),
	}
	if d := cmp.Diff(want, parts); d != "" {
		t.Error(d)
	}
	data := p.task(t, "data")
	sameData(t, data.Artifacts[0].Parts[0].Data, `{"answer":42,"ok":true,"list":[1,"two",null],"nested":{"pi":3.5,"text":"héllo"}}`)
}

func sameData(t *testing.T, got a2a.JSON, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Error(d)
	}
}

// returned sends parts and returns what came back of them.
func returned(t *testing.T, p *caller, parts ...*a2a.Part) []*a2a.Part {
	t.Helper()
	task := p.deliver(t, &a2a.Message{Parts: append([]*a2a.Part{a2a.TextPart("parts")}, parts...)})
	wantState(t, task, a2a.TaskStateCompleted)
	if len(task.Artifacts) != 1 || len(task.Artifacts[0].Parts) != len(parts)+1 {
		t.Fatalf("came back: %.1000s", task.AppendJSON(nil))
	}
	return task.Artifacts[0].Parts[1:]
}

func matrixPartsIn(t *testing.T, p *caller) {
	note := a2a.TextPart("x")
	note.MediaType, note.Metadata = "text/markdown", a2a.JSON(`{"k":[1,{"v":null}]}`)
	sent := []*a2a.Part{
		note,
		a2a.RawPart([]byte{0, 255, 128, '\n'}, "application/octet-stream", "ünï.bin"),
		a2a.RawPart([]byte("QUJD"), "text/plain", "looks-like-base64.txt"),
		a2a.RawPart(nil, "text/plain", "empty.txt"),
		a2a.URLPart("https://example.com/a?b=c&d=<e>", "text/html", ""),
		a2a.DataPart(a2a.JSON(`{"a":{"b":[true,null,-1.5e3]}}`)),
		a2a.DataPart(a2a.JSON(`[1,"two",null]`)),
		a2a.DataPart(a2a.JSON(`"text"`)),
		a2a.DataPart(a2a.JSON(`42`)),
	}
	got := returned(t, p, sent...)
	for i := range sent {
		g, s := *got[i], *sent[i]
		if s.Kind == a2a.PartData {
			sameData(t, g.Data, string(s.Data))
			g.Data, s.Data = nil, nil
		}
		if p.dialect < dialect.V10 && s.Kind != a2a.PartRaw && s.Kind != a2a.PartURL {
			s.MediaType = "" // has no place there; it goes into the metadata, as mimeType
			if s.Kind == a2a.PartText {
				s.Metadata = a2a.JSON(`{"k":[1,{"v":null}],"mimeType":"text/markdown"}`)
			}
		}
		if len(s.Metadata) > 0 {
			sameData(t, g.Metadata, string(s.Metadata))
			g.Metadata, s.Metadata = nil, nil
		}
		if p.protoForm() && string(s.Raw) == "QUJD" {
			s.Raw = []byte("ABC") // base64 of text is taken for a second layer: see the codec of 0.3
		}
		if !bytes.Equal(g.Raw, s.Raw) {
			t.Errorf("part %d holds %q, want %q", i, g.Raw, s.Raw)
		}
		g.Raw, s.Raw = nil, nil
		if d := cmp.Diff(s, g); d != "" {
			t.Errorf("part %d (-sent +came back):\n%s", i, d)
		}
	}
}

func matrixUnicode(t *testing.T, p *caller) {
	text := "héllo ☃ 世界 👩‍👩‍👧 \u2028 \u0000 \t \" \\ <b>&amp; \ufeff"
	task := p.task(t, "echo "+text)
	if got := artifactText(task, "echo"); got != text {
		t.Errorf("came back: %q, want %q", got, text)
	}
	asked := p.task(t, "ask "+text)
	if got := asked.Status.Message.Text(); got != text {
		t.Errorf("asked: %q", got)
	}
}

func matrixLarge(t *testing.T, p *caller) {
	raw := make([]byte, 1<<20)
	_, _ = rand.Read(raw)
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	got := returned(t, p, a2a.RawPart(raw, "application/octet-stream", "a"), a2a.TextPart(text))
	if !bytes.Equal(got[0].Raw, raw) || got[1].Text != text {
		t.Error("a MiB does not come back as it was")
	}
}

func matrixExtendedCard(t *testing.T, p *caller) {
	card, err := p.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
	switch {
	case p.old():
		wantCode(t, err, a2a.CodeUnsupportedOperation)
	case err != nil:
		t.Error(err)
	case card.Description != "for those who are known" || len(card.Skills) == 0 || len(card.SupportedInterfaces) == 0:
		t.Errorf("the card is %s", card.AppendJSON(nil))
	}
}

func matrixGenerations(t *testing.T, p *caller) {
	asked := p.task(t, "ask who?")
	if p.dialect != dialect.V11 {
		if asked.Generation != 0 {
			t.Errorf("%s has a generation: %d", p.dialect, asked.Generation)
		}
		return
	}
	if asked.Generation < 2 {
		t.Fatalf("generation %d", asked.Generation)
	}
	// A poll waits for the next one.
	polled := make(chan *a2a.Task, 1)
	go func() {
		defer close(polled)
		task, err := p.GetTask(t.Context(), &a2a.GetTaskRequest{ID: asked.ID, CurrentGeneration: &asked.Generation})
		if err != nil {
			t.Error(err)
			return
		}
		polled <- task
	}()
	stale := asked.Generation - 1
	req := p.request(followUp(asked, "me"))
	req.Configuration = &a2a.SendMessageConfiguration{IfGenerationMatch: &stale}
	_, err := p.SendMessage(t.Context(), req)
	wantCode(t, err, a2a.CodeTaskGenerationMismatch)
	req.Configuration.IfGenerationMatch = &asked.Generation
	res, err := p.SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, res.Task, a2a.TaskStateCompleted)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case task := <-polled:
		if task == nil || task.Generation <= asked.Generation {
			t.Errorf("the poll brought %v", task)
		}
	case <-ctx.Done():
		t.Error("the poll does not end")
	}
	// Events count without a gap.
	last := int64(0)
	for el, err := range p.SendStreamingMessage(t.Context(), p.request(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart("stream 5 1")}})) {
		if err != nil {
			t.Fatal(err)
		}
		now := int64(0)
		switch {
		case el.Task != nil:
			now = el.Task.Generation
		case el.StatusUpdate != nil:
			now = el.StatusUpdate.Generation
		case el.ArtifactUpdate != nil:
			now = el.ArtifactUpdate.Generation
		}
		if last > 0 && now != last+1 {
			t.Errorf("generation %d follows %d", now, last)
		}
		last = now
	}
}
