package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A slip is a pattern of sentences that read as translated.
type slip struct {
	pattern *regexp.Regexp
	instead string
}

// finite are verbs that a clause begins with or that a sentence hangs on.
const finite = `(is|are|was|were|has|have|had|does|do|did|cannot|can|may|must|needs|counts|stays?|ends|gets|goes|comes|came|shows|follows|replaces|arrives|knows|belongs|takes|depends|costs|says|wants|asks|runs|calls|waits|leaves|reads|writes|sends)`

// Questions are no slips: no pattern goes past a question mark.
var slips = []slip{
	{regexp.MustCompile(`((^|[.?!:] )Who|; who) [^.?!:;]{18,}([.;]|$)`),
		`name the subject: "a client that leaves", not "who leaves"`},
	{regexp.MustCompile(`\b([Ff]or|[Bb]y|[Oo]f|[Ff]rom|[Tt]o|[Ww]ith|than|lets|keeps) who ` + finite + `\b`),
		`name the person: "the caller that has it", not "who has it"`},
	{regexp.MustCompile(`(^|[.?!;] )What [^.?!:,;]*\b` + finite + ` [^.?!:,;]*\w ` + finite + `\b[^.?!]*(\.|$)`),
		`name the thing: "a call that fails is sent again", not "what fails is sent again"`},
	{regexp.MustCompile(`\b([^t\W]\w*|t[^h\W]\w*|the|they|that|this|\d|"") (is|are|was|were) none([.,;:)]|$)`),
		`say what it is: "invalid key", not "what is given is none"`},
	{regexp.MustCompile(`\b[Ss]uch as (a |the )?(wait|have|are|do|is|has|can|may|were|was|come|go|want|cannot|must)\b`),
		`repeat the noun behind "such as"`},
	{regexp.MustCompile(`\b[Ll]ikewise\b`), `repeat the verb, or say "also"`},
	{regexp.MustCompile(`\bin vain\b`), `say what did not happen`},
	{regexp.MustCompile(`\b(keeps|takes|hinders) nobody\b`), `say who goes on: "holds up no other caller"`},
	{regexp.MustCompile(`\w (is|are|was|were) who(m)?\b[^?]*([.;]|$)`), `name the party: "a player is an agent that runs", not "a player is who runs"`},
	{regexp.MustCompile(`\bwhat (came|became) of\b`), `say "the outcome of"`},
}

// fine are sentences that match and may stay: the file, and a piece of the sentence.
var fine = map[string]string{
	"test/pages/words_test.go": "", // the patterns, and what they are tried on
}

// TestWords: comments, texts of the program and pages keep to the words that
// CONTRIBUTING asks for.
func TestWords(t *testing.T) {
	t.Chdir("../..")
	files, err := exec.Command("git", "ls-files", "*.go", "*.md").Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	used := map[string]bool{}
	for _, name := range strings.Fields(string(files)) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, and not committed yet
		}
		report := func(line int, paragraph string) {
			for _, found := range look(paragraph) {
				if piece, listed := fine[name]; listed && strings.Contains(found.text, piece) {
					used[name] = true
					continue
				}
				t.Errorf("%s:%d: %q: %s", name, line, found.text, found.instead)
			}
		}
		if strings.HasSuffix(name, ".go") {
			sayings(t, name, text, report)
		} else {
			prose(string(text), report)
		}
	}
	for name := range fine {
		if !used[name] {
			t.Errorf("nothing in %s needs its exception", name)
		}
	}
}

type finding struct{ text, instead string }

func look(paragraph string) (found []finding) {
	paragraph = strings.Join(strings.Fields(paragraph), " ")
	for _, s := range slips {
		for _, text := range s.pattern.FindAllString(paragraph, -1) {
			found = append(found, finding{text, s.instead})
		}
	}
	return found
}

// sayings reports the paragraphs of a Go file's comments and those of its strings
// that are sentences.
func sayings(t *testing.T, name string, text []byte, report func(line int, paragraph string)) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	if ast.IsGenerated(f) {
		return
	}
	for _, group := range f.Comments {
		line := fset.Position(group.Pos()).Line
		for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
			if !strings.HasPrefix(paragraph, "# ") { // a heading is no sentence
				report(line, paragraph)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || !strings.Contains(lit.Value, " ") {
			return true
		}
		said, err := strconv.Unquote(lit.Value)
		if err != nil {
			return true
		}
		for paragraph := range strings.SplitSeq(said, "\n\n") {
			report(fset.Position(lit.Pos()).Line, paragraph)
		}
		return true
	})
}

// prose reports the paragraphs of a page, its items and the cells of its tables, but
// for code and headings.
func prose(page string, report func(line int, paragraph string)) {
	var paragraph []string
	code := false
	flush := func(line int) {
		report(line-len(paragraph), strings.Join(paragraph, " "))
		paragraph = nil
	}
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
			flush(i + 1)
			continue
		}
		if code || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "|") {
			for cell := range strings.SplitSeq(line, "|") {
				report(i+1, cell)
			}
			continue
		}
		item := strings.TrimLeft(line, "*-0123456789. ")
		if line == "" || item != line {
			flush(i + 1)
		}
		paragraph = append(paragraph, item)
	}
	flush(len(lines) + 1)
}

// TestSlips: each pattern finds its kind of sentence, also across lines, and leaves
// plain ones alone.
func TestSlips(t *testing.T) {
	for _, text := range []string{
		"Who cannot hold a connection has the updates of a task posted.",
		"It is over. Who\nleaves is forgotten.",
		"This is for who has it.",
		"What a crash has interrupted is taken up when the server is back.",
		"what is given as an API key is none",
		"All are kept by such as wait.",
		"Errors are likewise posted.",
		"It waited in vain.",
		"A slow reader keeps nobody.",
		"Player is who runs.",
		"accepted is what came of a message.",
	} {
		if len(look(text)) != 1 {
			t.Errorf("%q: %v", text, look(text))
		}
	}
	for _, text := range []string{
		"Who calls? What does it want, and who is it?",
		"Records of who called.",
		"Who may call: its owner.",
		"the list is empty if there is none.",
		"What a caller may do.",
		"Fields such as a name are kept.",
	} {
		if found := look(text); found != nil {
			t.Errorf("%q: %v", text, found)
		}
	}
}
