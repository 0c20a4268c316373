package debug

import (
	"embed"
	"net/http"
	"path"
)

// policy lets the page load what is served beside it, and nothing else from
// anywhere; nothing inline either.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page.html page.css page.js
var assets embed.FS

// assetOf is the file that a query names. The page's own address with a query is
// where its files are: whatever route the page was mounted at, with or without a
// slash at its end, that is served here too.
func assetOf(query string) (name string, ok bool) {
	switch query {
	case "page.css", "page.js":
		return query, true
	}
	return "", false
}

func serveAsset(w http.ResponseWriter, name string) {
	content, err := assets.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	w.Header().Set("Content-Type", map[string]string{
		".html": "text/html; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
	}[path.Ext(name)])
	_, _ = w.Write(content) // who asked may have left
}
