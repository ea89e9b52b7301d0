// Renders a Helm chart like Helm, with the features that Ferry's chart uses: Go's templates, sprig's functions, and JSON numbers.
// usage: render CHART RELEASE NAMESPACE OUTPUT [VALUES ...]
// Writes the merged values to OUTPUT.values.json, the manifests to OUTPUT.yaml, and the notes to OUTPUT.txt.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func main() {
	chart, release, namespace := os.Args[1], os.Args[2], os.Args[3]
	values := read(filepath.Join(chart, "values.yaml"))
	output := os.Args[4]
	for _, path := range os.Args[5:] {
		merge(values, read(path))
	}
	document, err := json.MarshalIndent(values, "", "  ")
	check(err)
	check(os.WriteFile(output+".values.json", document, 0o644))
	about := map[string]interface{}{}
	for name, value := range read(filepath.Join(chart, "Chart.yaml")) {
		about[strings.ToUpper(name[:1])+name[1:]] = value
	}
	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	// Helm removes these functions.
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = toYAML
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	root.Funcs(functions)

	var names []string
	check(filepath.Walk(filepath.Join(chart, "templates"), func(path string, info os.FileInfo, err error) error {
		check(err)
		if !info.IsDir() {
			text, err := os.ReadFile(path)
			check(err)
			template.Must(root.New(path).Parse(string(text)))
			if !strings.HasPrefix(filepath.Base(path), "_") {
				names = append(names, path)
			}
		}
		return nil
	}))
	sort.Strings(names)
	data := map[string]interface{}{
		"Values":  values,
		"Chart":   about,
		"Release": map[string]interface{}{"Name": release, "Namespace": namespace, "Service": "Helm", "IsInstall": true, "Revision": 1},
	}
	var manifests, notes bytes.Buffer
	for _, name := range names {
		var out bytes.Buffer
		check(root.ExecuteTemplate(&out, name, data))
		text := strings.ReplaceAll(out.String(), "<no value>", "")
		// The notes are not a manifest. A template that is switched off renders only blanks.
		if strings.HasSuffix(name, ".txt") {
			notes.WriteString(text)
		} else if strings.TrimSpace(text) != "" {
			fmt.Fprintf(&manifests, "---\n# Source: %s\n%s\n", name, text)
		}
	}
	check(os.WriteFile(output+".yaml", manifests.Bytes(), 0o644))
	check(os.WriteFile(output+".txt", notes.Bytes(), 0o644))
}

// Values pass through JSON, as in Helm, so a number is a float64 in a template.
func read(path string) map[string]interface{} {
	text, err := os.ReadFile(path)
	check(err)
	var read, found map[string]interface{}
	check(yaml.Unmarshal(text, &read))
	document, err := json.Marshal(read)
	check(err)
	check(json.Unmarshal(document, &found))
	return found
}

func toYAML(value interface{}) string {
	document, err := json.Marshal(value)
	check(err)
	var plain interface{}
	check(yaml.Unmarshal(document, &plain))
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	check(encoder.Encode(plain))
	return strings.TrimSuffix(out.String(), "\n")
}

// Merges maps and replaces all other values. null removes a member.
func merge(into, from map[string]interface{}) {
	for name, value := range from {
		below, isMap := value.(map[string]interface{})
		above, wasMap := into[name].(map[string]interface{})
		switch {
		case value == nil:
			delete(into, name)
		case isMap && wasMap:
			merge(above, below)
		default:
			into[name] = value
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
