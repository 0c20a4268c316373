// Package report writes what package check found: for people as text, with colour
// on a terminal, and as Markdown; for programs as JSON, SARIF and GitHub's workflow
// commands.
package report
