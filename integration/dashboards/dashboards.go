// Package dashboards builds the dashboards of observability/grafana.
//
// They are tables of panels here, and JSON for Grafana there: a test keeps the
// two the same, and another runs each query against a Prometheus that scrapes a
// service under load. JSON alone would be one more file that nobody can review.
package dashboards

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Dashboard is a table of panels.
type Dashboard struct {
	UID, Title, About string
	Variables         []Variable
	Rows              []Row
}

// Variable is a choice above the panels: the values of a label.
type Variable struct{ Name, Query string }

// Row is a question, and the panels that answer it.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel is a graph, or a single figure.
type Panel struct {
	Title, About string
	Unit         string  // as Grafana names it: "s", "percentunit", "reqps"
	Figure       bool    // a single figure
	Warn, Bad    float64 // thresholds; none if both are 0
	Queries      []Query
}

// Query is a line, or many, of a panel.
type Query struct{ Expr, Legend string }

const (
	columns     = 24 // of Grafana's grid
	figureWidth = 6
	graphWidth  = 8
)

// JSON renders a dashboard for Grafana to import.
func (d Dashboard) JSON() ([]byte, error) {
	b := dashboard.NewDashboardBuilder(d.Title). //nolint:staticcheck // every Grafana in use imports this version, and not the next
							Uid(d.UID).
							Description(d.About).
							Tags([]string{"offtake"}).
							Time("now-1h", "now").
							Refresh("30s").
							Timezone("browser").
							Tooltip(dashboard.DashboardCursorSyncCrosshair).
							WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus"))
	for _, v := range d.Variables {
		query := v.Query
		b.WithVariable(dashboard.NewQueryVariableBuilder(v.Name).
			Label(v.Name).
			Datasource(source()).
			Query(dashboard.StringOrMap{String: &query}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
			Sort(dashboard.VariableSortAlphabeticalAsc).
			Multi(true).IncludeAll(true).AllValue(".*"))
	}
	for _, r := range d.Rows {
		b.WithRow(dashboard.NewRowBuilder(r.Title))
		for _, p := range r.Panels {
			if p.Figure {
				b.WithPanel(p.figure())
			} else {
				b.WithPanel(p.graph())
			}
		}
	}
	built, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("dashboards: %s: %w", d.Title, err)
	}
	content, err := json.MarshalIndent(built, "", "  ")
	return append(content, '\n'), err
}

func (p Panel) figure() *stat.PanelBuilder {
	b := stat.NewPanelBuilder().Title(p.Title).Description(p.About).Datasource(source()).
		Unit(p.Unit).Height(5).Span(figureWidth).NoValue("no traffic").
		ColorMode(common.BigValueColorModeBackground).
		GraphMode(common.BigValueGraphModeArea).
		Thresholds(p.thresholds())
	for i, q := range p.Queries {
		b.WithTarget(q.target(i))
	}
	return b
}

func (p Panel) graph() *timeseries.PanelBuilder {
	b := timeseries.NewPanelBuilder().Title(p.Title).Description(p.About).Datasource(source()).
		Unit(p.Unit).Height(8).Span(graphWidth).Min(0).
		FillOpacity(8).ShowPoints(common.VisibilityModeNever).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom))
	if p.Warn != 0 || p.Bad != 0 {
		b.Thresholds(p.thresholds()).
			ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	for i, q := range p.Queries {
		b.WithTarget(q.target(i))
	}
	return b
}

func (p Panel) thresholds() *dashboard.ThresholdsConfigBuilder {
	steps := []dashboard.Threshold{{Color: "green"}}
	if p.Warn != 0 {
		steps = append(steps, dashboard.Threshold{Value: &p.Warn, Color: "orange"})
	}
	if p.Bad != 0 {
		steps = append(steps, dashboard.Threshold{Value: &p.Bad, Color: "red"})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

func (q Query) target(i int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source()).
		RefId(string(rune('A' + i))).Expr(q.Expr).LegendFormat(q.Legend).Range()
}

func source() common.DataSourceRef {
	kind, uid := "prometheus", "${datasource}"
	return common.DataSourceRef{Type: &kind, Uid: &uid}
}

// All are the dashboards, by the names of their files.
func All() map[string]Dashboard {
	return map[string]Dashboard{"owner.json": owner(), "mesh.json": mesh()}
}
