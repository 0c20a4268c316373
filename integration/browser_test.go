package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser is one tab of a headless Chromium, and what its console said.
type browser struct {
	ctx context.Context

	mu   sync.Mutex
	said []string
}

// openBrowser starts a browser with a profile of its own, until the test ends.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program := need(t, "chromium", "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	b := &browser{ctx: ctx}
	console := chromedp.Console(ctx) // starts it
	var reading sync.WaitGroup
	reading.Go(func() {
		for m, err := range console {
			if err != nil {
				return // it was closed
			}
			b.mu.Lock()
			b.said = append(b.said, m.String())
			b.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("the browser ended with %v", err)
		}
		closeTab()
		stop()
		reading.Wait()
	})
	return b
}

func (b *browser) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// run is do for a step that has a value.
func run[T any](t *testing.T, b *browser, step chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, step)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wantScript waits until an expression of the page has a value.
func wantScript[T comparable](t *testing.T, b *browser, expression string, want T) {
	t.Helper()
	eventually(t, 40*time.Second, fmt.Sprintf("%s = %v", expression, want), func() (any, bool) {
		got := run(t, b, chromedp.Evaluate[T](expression))
		return got, got == want
	})
}

// photograph keeps a picture of the page; go test -artifacts says where.
func (b *browser) photograph(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), run(t, b, chromedp.CaptureScreenshot()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *browser) scheme(t *testing.T, scheme string) {
	t.Helper()
	params := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, params); err != nil {
		t.Fatal(err)
	}
}

// wantNames asks the browser's own accessibility tree, which is what a screen
// reader has, for what can be operated and has no name.
func (b *browser) wantNames(t *testing.T) {
	t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		switch role := string(n.Role.Value); strings.Trim(role, `"`) {
		case "button", "link", "searchbox", "textbox", "checkbox", "image", "DisclosureTriangle":
			if n.Name == nil || strings.Trim(string(n.Name.Value), `" `) == "" {
				t.Errorf("a %s has no name for a screen reader", role)
			}
			named++
		}
	}
	if named < 5 {
		t.Errorf("the accessibility tree has %d things to operate or look at, want 5 at least", named)
	}
}

// contrast is a script that returns the texts whose contrast to what is behind
// them is less than 4.5 (WCAG 2.2, 1.4.3; 3 for large ones), by the formula there.
const contrast = `(() => {
	const rgb = (s) => s.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
		.map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const c = rgb(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] === 1) return c;
		}
		return [255, 255, 255];
	};
	const poor = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const e = n.parentElement;
		if (!n.textContent.trim() || !e.checkVisibility()) continue;
		const style = getComputedStyle(e);
		const [a, b] = [light(rgb(style.color)), light(behind(e))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
		if (ratio < (large ? 3 : 4.5)) poor.push(ratio.toFixed(2) + ": " + n.textContent.trim().slice(0, 40));
	}
	return poor.join("\n");
})()`

func (b *browser) wantContrast(t *testing.T) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(t, scheme)
		if poor := run(t, b, chromedp.Evaluate[string](contrast)); poor != "" {
			t.Errorf("in %s, these texts have a poor contrast:\n%s", scheme, poor)
		}
	}
}

func (b *browser) wantQuietConsole(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.said {
		t.Errorf("the console says: %s", m)
	}
}
