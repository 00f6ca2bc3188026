package chat

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/terminal"
)

// Help is what /help shows.
const Help = `Each line is a message. Ctrl-C cancels a running task; Ctrl-C twice or Ctrl-D leaves.
  /attach PATH   attach a file to the next message
  /new           start a new conversation
  /task [ID]     show the current task, or continue another
  /save [DIR]    save the last task's files, here or in DIR
  /help          show this
  /quit          leave
  //text         send a message that begins with a slash`

// Mistake is a line that cannot be executed: no request was made.
type Mistake struct{ text string }

func (m *Mistake) Error() string { return m.text }

func mistakef(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }

// names are the commands, for completion.
var names = []string{"/attach", "/help", "/new", "/quit", "/save", "/task"}

func (s *Session) command(ctx context.Context, line string) (leave bool, err error) {
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch word {
	case "/help":
		for l := range strings.SplitSeq(Help, "\n") {
			s.Say(l)
		}
	case "/quit", "/exit":
		return true, nil
	case "/new":
		s.TaskID, s.ContextID, s.last, s.parts = "", "", nil, nil
		s.Say("the next message begins a new conversation")
	case "/attach":
		return false, s.attach(arg)
	case "/task":
		return false, s.task(ctx, arg)
	case "/save":
		return false, s.save(ctx, arg)
	default:
		return false, mistakef("unknown command %s: /help lists them, and /%s sends it as a message", word, line)
	}
	return false, nil
}

func (s *Session) attach(path string) error {
	if path == "" {
		return mistakef("/attach wants the path of a file: /attach report.pdf")
	}
	part, err := s.Attach(unquote(path))
	if err != nil {
		return mistakef("/attach %s: %v", path, err)
	}
	s.parts = append(s.parts, part)
	var files []string
	for _, p := range s.parts {
		files = append(files, p.Filename)
	}
	s.Say("the next message takes along: " + strings.Join(files, ", "))
	return nil
}

// unquote decodes a path as a terminal inserts it on dragging or completion.
func unquote(path string) string {
	if len(path) > 1 && (path[0] == '\'' || path[0] == '"') && path[len(path)-1] == path[0] {
		path = path[1 : len(path)-1]
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

func (s *Session) task(ctx context.Context, id string) error {
	if id != "" {
		t, err := s.Look(ctx, id)
		if err != nil {
			return err
		}
		s.TaskID, s.ContextID, s.last = "", t.ContextID, t
		if !t.Status.State.Terminal() {
			s.TaskID = t.ID
		}
	}
	if s.last == nil && s.ContextID == "" {
		s.Say("there is no task yet")
		return nil
	}
	if t := s.last; t != nil {
		if now, err := s.Look(ctx, t.ID); err == nil {
			s.last = now
		}
		s.Say(fmt.Sprintf("task %s is %s", t.ID, terminal.Word(s.last.Status.State)))
	}
	s.Say("context " + s.ContextID)
	return nil
}

func (s *Session) save(ctx context.Context, dir string) error {
	if s.last == nil {
		return mistakef("/save: there is no task yet whose files could be saved")
	}
	dir = cmp.Or(dir, ".")
	return s.Save(ctx, s.last.ID, unquote(dir))
}

// Complete returns the possible continuations of a line, for the line editor: names of
// commands, and paths after commands that take one. The text after the cursor stays.
func Complete(line string, at int) (head string, words []string, tail string) {
	runes := []rune(line)
	before, tail := string(runes[:at]), string(runes[at:])
	for _, word := range []string{"/attach ", "/save "} {
		if path, ok := strings.CutPrefix(before, word); ok {
			return word, paths(path, word == "/save "), tail
		}
	}
	if strings.HasPrefix(before, "/") && !strings.Contains(before, " ") {
		for _, name := range names {
			if strings.HasPrefix(name, before) {
				words = append(words, name+" ")
			}
		}
		return "", words, tail
	}
	return before, nil, tail
}

// paths returns the paths that begin with begun; folders end with their separator.
func paths(begun string, foldersOnly bool) (list []string) {
	dir, name := filepath.Split(begun)
	open := cmp.Or(unquote(dir), ".")
	entries, err := os.ReadDir(open)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(name, ".")
		if hidden || !strings.HasPrefix(e.Name(), name) || strings.ContainsFunc(e.Name(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
			continue
		}
		switch st, err := os.Stat(filepath.Join(open, e.Name())); {
		case err != nil:
		case st.IsDir():
			list = append(list, dir+e.Name()+string(filepath.Separator))
		case !foldersOnly:
			list = append(list, dir+e.Name())
		}
	}
	slices.Sort(list)
	return list
}
