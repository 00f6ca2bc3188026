package mcpserver

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
)

// sendArgs are the arguments of the tools that send a message.
type sendArgs struct {
	Message   string     `json:"message,omitempty" jsonschema:"what to say to the agent"`
	Data      any        `json:"data,omitempty" jsonschema:"structured data for the agent, any JSON value"`
	Files     []fileArgs `json:"files,omitempty" jsonschema:"files for the agent"`
	ContextID string     `json:"context_id,omitempty" jsonschema:"the conversation to go on with, from an earlier result"`
	Wait      *int       `json:"wait_seconds,omitempty" jsonschema:"how long to wait for the task; 0 returns at once"`
}

// fileArgs is one file: its content or its URL.
type fileArgs struct {
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Text      string `json:"text,omitempty" jsonschema:"the content, if it is text"`
	Base64    string `json:"base64,omitempty" jsonschema:"the content otherwise, in base64"`
	URL       string `json:"url,omitempty" jsonschema:"or where the agent finds it"`
}

type answerArgs struct {
	TaskID string `json:"task_id" jsonschema:"the task that asked"`
	sendArgs
}

type getArgs struct {
	TaskID string `json:"task_id"`
	Wait   *int   `json:"wait_seconds,omitempty" jsonschema:"how long to wait for the task to end or to ask; 0, the default, does not wait"`
}

type taskArgs struct {
	TaskID string `json:"task_id"`
}

type listArgs struct {
	ContextID string `json:"context_id,omitempty" jsonschema:"only tasks of this conversation"`
	State     string `json:"state,omitempty" jsonschema:"only tasks in this state: submitted, working, completed, failed, canceled, input_required, rejected or auth_required"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many, 1 to 100; 20 if it is not given"`
	PageToken string `json:"page_token,omitempty" jsonschema:"next_page_token of the page before"`
}

func (s *Server) addTools(m *mcp.Server) {
	yes, no := true, false
	sends := &mcp.ToolAnnotations{OpenWorldHint: &yes}
	looks := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	if s.opts.Skills && len(s.card.Skills) > 0 {
		names := map[string]bool{"answer_task": true, "get_task": true, "list_tasks": true, "cancel_task": true}
		for _, skill := range s.card.Skills[:min(len(s.card.Skills), maxSkills)] {
			mcp.AddTool(m, &mcp.Tool{
				Name: toolName(skill, names), Title: cut(skill.Name, 200), Annotations: sends, Description: describe(skill),
			}, s.send(skill.ID))
		}
	} else {
		mcp.AddTool(m, &mcp.Tool{
			Name: "send_message", Title: "Send a message to " + cut(s.card.Name, 200), Annotations: sends, Description: s.describe(),
		}, s.send(""))
	}
	mcp.AddTool(m, &mcp.Tool{
		Name: "answer_task", Title: "Answer a task", Annotations: sends,
		Description: "Send a message to a task of the agent that needs input, or that takes more messages while it works.",
	}, s.answer)
	mcp.AddTool(m, &mcp.Tool{
		Name: "get_task", Title: "Look at a task", Annotations: looks,
		Description: "How a task of the agent stands, with all that it has made so far.",
	}, s.get)
	mcp.AddTool(m, &mcp.Tool{
		Name: "list_tasks", Title: "List tasks", Annotations: looks,
		Description: "Your tasks of the agent, those that changed last first.",
	}, s.list)
	mcp.AddTool(m, &mcp.Tool{
		Name: "cancel_task", Title: "Cancel a task", Annotations: &mcp.ToolAnnotations{IdempotentHint: true, OpenWorldHint: &no},
		Description: "Cancel a task of the agent that has not ended.",
	}, s.cancel)
}

// maxSkills is how many skills become tools.
const maxSkills = 100

// toolName returns a name for a skill that MCP allows and that is not yet in use.
func toolName(skill *a2a.AgentSkill, taken map[string]bool) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, skill.ID)
	name = name[:min(len(name), 60)]
	name = cmp.Or(name, "skill")
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	taken[unique] = true
	return unique
}

// maxDescription caps the description of one tool for a model, in bytes.
const maxDescription = 4 << 10

func (s *Server) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Send a message to the agent %q and wait for the outcome. %s", cut(s.card.Name, 200), cut(s.card.Description, 2000))
	if len(s.card.Skills) > 0 {
		b.WriteString("\n\nIts skills:")
	}
	for _, skill := range s.card.Skills {
		if b.Len() > maxDescription {
			break
		}
		fmt.Fprintf(&b, "\n- %s", describe(skill))
	}
	return cut(b.String(), 2*maxDescription)
}

func describe(skill *a2a.AgentSkill) string {
	text := cut(skill.Name, 200) + ": " + cut(skill.Description, 1000)
	if len(skill.Examples) > 0 {
		text += " For example: " + cut(strings.Join(skill.Examples[:min(len(skill.Examples), 3)], "; "), 500)
	}
	return text
}

// parts returns the parts for arguments. raw is their JSON.
func (a *sendArgs) parts(raw json.RawMessage) ([]*a2a.Part, error) {
	var parts []*a2a.Part
	if a.Message != "" {
		parts = append(parts, a2a.TextPart(a.Message))
	}
	if a.Data != nil {
		var same struct { // numbers stay as they came
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(raw, &same); err != nil {
			return nil, err
		}
		p := a2a.DataPart(a2a.JSON(same.Data))
		p.MediaType = "application/json"
		parts = append(parts, p)
	}
	for i, f := range a.Files {
		switch {
		case f.URL != "":
			parts = append(parts, a2a.URLPart(f.URL, f.MediaType, f.Name))
		case f.Base64 != "":
			b, err := base64.StdEncoding.DecodeString(f.Base64)
			if err != nil {
				return nil, fmt.Errorf("files[%d].base64 is not base64", i)
			}
			parts = append(parts, a2a.RawPart(b, f.MediaType, f.Name))
		case f.Text != "":
			kind := cmp.Or(f.MediaType, "text/plain")
			parts = append(parts, a2a.RawPart([]byte(f.Text), kind, f.Name))
		default:
			return nil, fmt.Errorf("files[%d] has no text, no base64 and no url", i)
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("there is nothing to send: give a message, data or files")
	}
	return parts, nil
}

func (s *Server) send(skill string) mcp.ToolHandlerFor[sendArgs, any] {
	return func(ctx context.Context, r *mcp.CallToolRequest, in sendArgs) (*mcp.CallToolResult, any, error) {
		w := s.work(r, in.Wait)
		w.skill = skill
		return w.run(ctx, "", in.ContextID, &in)
	}
}

func (s *Server) answer(ctx context.Context, r *mcp.CallToolRequest, in answerArgs) (*mcp.CallToolResult, any, error) {
	return s.work(r, in.Wait).run(ctx, in.TaskID, in.ContextID, &in.sendArgs)
}

func (s *Server) get(ctx context.Context, r *mcp.CallToolRequest, in getArgs) (*mcp.CallToolResult, any, error) {
	if in.Wait == nil {
		in.Wait = new(int)
	}
	w := s.work(r, in.Wait)
	if w.wait == 0 {
		t, err := s.agent.GetTask(ctx, &a2a.GetTaskRequest{ID: in.TaskID})
		if err != nil {
			return s.failure(err), nil, nil
		}
		return s.result(t, false), nil, nil
	}
	if err := w.follow(ctx, nil, in.TaskID); err != nil {
		if ctx.Err() != nil {
			return s.failure(context.Canceled), nil, nil // only the waiting ends; the task goes on
		}
		return w.end(ctx, err), nil, nil
	}
	return s.result(w.task, false), nil, nil
}

func (s *Server) cancel(ctx context.Context, _ *mcp.CallToolRequest, in taskArgs) (*mcp.CallToolResult, any, error) {
	t, err := s.agent.CancelTask(ctx, &a2a.CancelTaskRequest{ID: in.TaskID})
	if err != nil {
		return s.failure(err), nil, nil
	}
	return s.result(t, false), nil, nil
}

func (s *Server) list(ctx context.Context, _ *mcp.CallToolRequest, in listArgs) (*mcp.CallToolResult, any, error) {
	size := int32(20)
	if in.Limit > 0 {
		size = int32(min(in.Limit, a2a.MaxPageSize))
	}
	req := &a2a.ListTasksRequest{ContextID: in.ContextID, PageSize: &size, PageToken: in.PageToken, HistoryLength: new(int32)}
	if in.State != "" {
		state, ok := a2a.ParseTaskState("TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(in.State, "-", "_")))
		if !ok || state == a2a.TaskStateUnspecified {
			return nil, nil, fmt.Errorf("there is no state %q", cut(in.State, 50))
		}
		req.Status = state
	}
	page, err := s.agent.ListTasks(ctx, req)
	if err != nil {
		return s.failure(err), nil, nil
	}
	var b strings.Builder
	tasks := make([]map[string]any, 0, len(page.Tasks))
	for _, t := range page.Tasks {
		about := summary(t)
		if !t.Status.Timestamp.IsZero() {
			about["updated"] = t.Status.Timestamp.UTC().Format("2006-01-02T15:04:05Z")
		}
		text := ""
		if m := t.Status.Message; m != nil {
			text = cut(m.Text(), 200)
			about["text"] = text
		}
		tasks = append(tasks, about)
		fmt.Fprintf(&b, "%s %s %s\n", t.ID, shortState(t.Status.State), text)
	}
	if len(tasks) == 0 {
		b.WriteString("no tasks")
	}
	all := map[string]any{"tasks": tasks}
	if page.NextPageToken != "" {
		all["next_page_token"] = page.NextPageToken
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: strings.TrimSpace(b.String())}},
		StructuredContent: all,
	}, nil, nil
}
