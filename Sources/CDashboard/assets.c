// The files of the folder Assets. A test compares this list with the folder. The compiler copies the files; an array in Swift would take
// it minutes.
#include "CDashboard.h"

static const unsigned char addlines_js[] = {
#embed "Assets/addlines.js"
};
static const unsigned char api_js[] = {
#embed "Assets/api.js"
};
static const unsigned char app_css[] = {
#embed "Assets/app.css"
};
static const unsigned char commands_js[] = {
#embed "Assets/commands.js"
};
static const unsigned char decisionform_js[] = {
#embed "Assets/decisionform.js"
};
static const unsigned char docs_css[] = {
#embed "Assets/docs.css"
};
static const unsigned char docs_html[] = {
#embed "Assets/docs.html"
};
static const unsigned char docs_js[] = {
#embed "Assets/docs.js"
};
static const unsigned char dom_js[] = {
#embed "Assets/dom.js"
};
static const unsigned char format_js[] = {
#embed "Assets/format.js"
};
static const unsigned char icon_svg[] = {
#embed "Assets/icon.svg"
};
static const unsigned char index_html[] = {
#embed "Assets/index.html"
};
static const unsigned char keys_js[] = {
#embed "Assets/keys.js"
};
static const unsigned char live_js[] = {
#embed "Assets/live.js"
};
static const unsigned char main_js[] = {
#embed "Assets/main.js"
};
static const unsigned char openapi_json[] = {
#embed "Assets/openapi.json"
};
static const unsigned char plot_js[] = {
#embed "Assets/plot.js"
};
static const unsigned char problem_html[] = {
#embed "Assets/problem.html"
};
static const unsigned char stream_js[] = {
#embed "Assets/stream.js"
};
static const unsigned char tasktext_js[] = {
#embed "Assets/tasktext.js"
};
static const unsigned char vendor_rapidoc_js[] = {
#embed "Assets/vendor/rapidoc.js"
};
static const unsigned char vendor_uplot_css[] = {
#embed "Assets/vendor/uplot.css"
};
static const unsigned char vendor_uplot_js[] = {
#embed "Assets/vendor/uplot.js"
};
static const unsigned char views_add_js[] = {
#embed "Assets/views/add.js"
};
static const unsigned char views_decisions_js[] = {
#embed "Assets/views/decisions.js"
};
static const unsigned char views_deliveries_js[] = {
#embed "Assets/views/deliveries.js"
};
static const unsigned char views_endpoints_js[] = {
#embed "Assets/views/endpoints.js"
};
static const unsigned char views_groups_js[] = {
#embed "Assets/views/groups.js"
};
static const unsigned char views_overview_js[] = {
#embed "Assets/views/overview.js"
};
static const unsigned char views_sessions_js[] = {
#embed "Assets/views/sessions.js"
};
static const unsigned char views_settings_js[] = {
#embed "Assets/views/settings.js"
};
static const unsigned char views_task_js[] = {
#embed "Assets/views/task.js"
};
static const unsigned char views_tasks_js[] = {
#embed "Assets/views/tasks.js"
};
static const unsigned char virtuallist_js[] = {
#embed "Assets/virtuallist.js"
};
static const unsigned char waterfall_js[] = {
#embed "Assets/waterfall.js"
};

#define FILE(name, bytes) {name, bytes, sizeof bytes}
static const DashboardFile files[] = {
    FILE("addlines.js", addlines_js),
    FILE("api.js", api_js),
    FILE("app.css", app_css),
    FILE("commands.js", commands_js),
    FILE("decisionform.js", decisionform_js),
    FILE("docs.css", docs_css),
    FILE("docs.html", docs_html),
    FILE("docs.js", docs_js),
    FILE("dom.js", dom_js),
    FILE("format.js", format_js),
    FILE("icon.svg", icon_svg),
    FILE("index.html", index_html),
    FILE("keys.js", keys_js),
    FILE("live.js", live_js),
    FILE("main.js", main_js),
    FILE("openapi.json", openapi_json),
    FILE("plot.js", plot_js),
    FILE("problem.html", problem_html),
    FILE("stream.js", stream_js),
    FILE("tasktext.js", tasktext_js),
    FILE("vendor/rapidoc.js", vendor_rapidoc_js),
    FILE("vendor/uplot.css", vendor_uplot_css),
    FILE("vendor/uplot.js", vendor_uplot_js),
    FILE("views/add.js", views_add_js),
    FILE("views/decisions.js", views_decisions_js),
    FILE("views/deliveries.js", views_deliveries_js),
    FILE("views/endpoints.js", views_endpoints_js),
    FILE("views/groups.js", views_groups_js),
    FILE("views/overview.js", views_overview_js),
    FILE("views/sessions.js", views_sessions_js),
    FILE("views/settings.js", views_settings_js),
    FILE("views/task.js", views_task_js),
    FILE("views/tasks.js", views_tasks_js),
    FILE("virtuallist.js", virtuallist_js),
    FILE("waterfall.js", waterfall_js),
};
const unsigned long cdashboard_count = sizeof files / sizeof *files;

const DashboardFile *cdashboard_file(unsigned long index) { return &files[index]; }
