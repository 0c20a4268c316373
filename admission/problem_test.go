package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake"
)

func TestWriteErrorTellsBusyFromLateFromBroken(t *testing.T) {
	for _, c := range []struct {
		err        error
		status     int
		retryAfter string
		close      bool
	}{
		{&offtake.Error{Err: offtake.ErrBusy}, 429, "1", false},
		{&offtake.Error{Err: offtake.ErrBusy, RetryAfter: 2100 * time.Millisecond}, 429, "3", false},
		{&offtake.Error{Err: offtake.ErrBusy, RetryAfter: time.Hour}, 429, "30", false},
		{&url.Error{Op: "Get", URL: "https://secret", Err: &offtake.Error{Err: offtake.ErrBusy}}, 429, "1", false},
		{offtake.ErrBusy, 429, "1", false},
		{&offtake.Error{Err: offtake.ErrClosed}, 503, "1", true},
		{context.DeadlineExceeded, 504, "", false},
		{&url.Error{Op: "Get", Err: context.DeadlineExceeded}, 504, "", false},
		{fmt.Errorf("call: %w", os.ErrDeadlineExceeded), 504, "", false},
		{errors.New("secret"), 502, "", false},
		{errors.Join(errors.New("secret"), context.DeadlineExceeded), 504, "", false},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Etag", "old")
		WriteError(w, c.err)
		h := w.Header()
		if w.Code != c.status || h.Get("Retry-After") != c.retryAfter || (h.Get("Connection") == "close") != c.close || h.Get("Etag") != "" {
			t.Errorf("WriteError(%v) = %d with %v, want %d, Retry-After %q, close %v, no Etag", c.err, w.Code, h, c.status, c.retryAfter, c.close)
		}
		var p struct {
			Type, Title, Detail string
			Status              int
		}
		decoder := json.NewDecoder(w.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&p); err != nil {
			t.Errorf("WriteError(%v) body: %v", c.err, err)
		}
		if p.Type != "about:blank" || p.Title != http.StatusText(c.status) || p.Status != c.status || p.Detail == "" {
			t.Errorf("WriteError(%v) body = %+v, want about:blank with the status's own title", c.err, p)
		}
		if strings.Contains(p.Detail, "secret") {
			t.Errorf("WriteError(%v) tells %q", c.err, p.Detail)
		}
	}
}

func TestWriteErrorSaysNothingToAClientThatLeft(t *testing.T) {
	for _, err := range []error{context.Canceled, &url.Error{Op: "Get", Err: context.Canceled}} {
		w := httptest.NewRecorder()
		WriteError(w, err)
		if w.Code != statusClientClosed || w.Body.Len() != 0 || len(w.Header()) != 0 {
			t.Errorf("WriteError(%v) = %d, %q, %v, want a bare 499", err, w.Code, w.Body, w.Header())
		}
	}
}
