package a2a

// AppendJSON appends the ProtoJSON form.
func (c *TaskPushNotificationConfig) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", c.Tenant)
	b = optText(b, "id", c.ID)
	b = optText(b, "taskId", c.TaskID)
	b = text(b, "url", c.URL)
	b = optText(b, "token", string(c.Token))
	b = optObject(b, "authentication", c.Authentication)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (c TaskPushNotificationConfig) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (c *TaskPushNotificationConfig) UnmarshalJSON(doc []byte) error { return unmarshalRequest(doc, c) }

func (c *TaskPushNotificationConfig) decode(d *decoder) *fault {
	*c = TaskPushNotificationConfig{}
	var inner *TaskPushNotificationConfig
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&c.Tenant)
		case "id":
			return d.string(&c.ID)
		case "taskId", "task_id":
			return d.string(&c.TaskID)
		case "url":
			return d.string(&c.URL)
		case "token":
			return d.string((*string)(&c.Token))
		case "authentication":
			return pointer(d, &c.Authentication)
		// The drafts of 1.0 had all but the task's id in an object of its own.
		case "config", "pushNotificationConfig", "push_notification_config":
			return pointer(d, &inner)
		}
		return d.ignore()
	})
	if c.URL == "" && inner != nil {
		c.URL, c.Token, c.Authentication = inner.URL, inner.Token, inner.Authentication
		if c.ID == "" {
			c.ID = inner.ID
		}
	}
	return f
}

// AppendJSON appends the ProtoJSON form.
func (a *AuthenticationInfo) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "scheme", a.Scheme)
	b = optText(b, "credentials", string(a.Credentials))
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (a AuthenticationInfo) MarshalJSON() ([]byte, error) { return a.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (a *AuthenticationInfo) UnmarshalJSON(doc []byte) error { return unmarshal(doc, a) }

func (a *AuthenticationInfo) decode(d *decoder) *fault {
	*a = AuthenticationInfo{}
	var schemes []string
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "scheme":
			return d.string(&a.Scheme)
		case "schemes": // a list, in the drafts of 1.0
			return d.strings(&schemes)
		case "credentials":
			return d.string((*string)(&a.Credentials))
		}
		return d.ignore()
	})
	if a.Scheme == "" && len(schemes) > 0 {
		a.Scheme = schemes[0]
	}
	return f
}

// AppendJSON appends the ProtoJSON form.
func (r *GetTaskPushNotificationConfigRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	b = text(b, "taskId", r.TaskID)
	b = text(b, "id", r.ID)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r GetTaskPushNotificationConfigRequest) MarshalJSON() ([]byte, error) {
	return r.AppendJSON(nil), nil
}

// UnmarshalJSON reads the ProtoJSON form.
func (r *GetTaskPushNotificationConfigRequest) UnmarshalJSON(doc []byte) error {
	return unmarshalRequest(doc, r)
}

func (r *GetTaskPushNotificationConfigRequest) decode(d *decoder) *fault {
	*r = GetTaskPushNotificationConfigRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		case "taskId", "task_id":
			return d.string(&r.TaskID)
		case "id":
			return d.string(&r.ID)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (r *DeleteTaskPushNotificationConfigRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	b = text(b, "taskId", r.TaskID)
	b = text(b, "id", r.ID)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r DeleteTaskPushNotificationConfigRequest) MarshalJSON() ([]byte, error) {
	return r.AppendJSON(nil), nil
}

// UnmarshalJSON reads the ProtoJSON form.
func (r *DeleteTaskPushNotificationConfigRequest) UnmarshalJSON(doc []byte) error {
	return unmarshalRequest(doc, r)
}

func (r *DeleteTaskPushNotificationConfigRequest) decode(d *decoder) *fault {
	*r = DeleteTaskPushNotificationConfigRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		case "taskId", "task_id":
			return d.string(&r.TaskID)
		case "id":
			return d.string(&r.ID)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (r *ListTaskPushNotificationConfigsRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	b = text(b, "taskId", r.TaskID)
	b = optInteger(b, "pageSize", r.PageSize)
	b = optText(b, "pageToken", r.PageToken)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r ListTaskPushNotificationConfigsRequest) MarshalJSON() ([]byte, error) {
	return r.AppendJSON(nil), nil
}

// UnmarshalJSON reads the ProtoJSON form.
func (r *ListTaskPushNotificationConfigsRequest) UnmarshalJSON(doc []byte) error {
	return unmarshalRequest(doc, r)
}

func (r *ListTaskPushNotificationConfigsRequest) decode(d *decoder) *fault {
	*r = ListTaskPushNotificationConfigsRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		case "taskId", "task_id":
			return d.string(&r.TaskID)
		case "pageSize", "page_size":
			return d.int32(&r.PageSize)
		case "pageToken", "page_token":
			return d.string(&r.PageToken)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (r *ListTaskPushNotificationConfigsResponse) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optObjects(b, "configs", r.Configs)
	b = optText(b, "nextPageToken", r.NextPageToken)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r ListTaskPushNotificationConfigsResponse) MarshalJSON() ([]byte, error) {
	return r.AppendJSON(nil), nil
}

// UnmarshalJSON reads the ProtoJSON form.
func (r *ListTaskPushNotificationConfigsResponse) UnmarshalJSON(doc []byte) error {
	return unmarshal(doc, r)
}

func (r *ListTaskPushNotificationConfigsResponse) decode(d *decoder) *fault {
	*r = ListTaskPushNotificationConfigsResponse{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "configs":
			return list(d, &r.Configs)
		case "nextPageToken", "next_page_token":
			return d.string(&r.NextPageToken)
		}
		return d.ignore()
	})
}
