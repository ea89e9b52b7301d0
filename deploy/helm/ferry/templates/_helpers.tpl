{{- define "ferry.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Short enough for what Kubernetes adds to the names of a StatefulSet's pods. */}}
{{- define "ferry.fullname" -}}
{{- $name := include "ferry.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "ferry.selector" -}}
app.kubernetes.io/name: {{ include "ferry.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "ferry.labels" -}}
{{ include "ferry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "ferry.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{- define "ferry.secret" -}}
{{- if .Values.tokens.lines }}{{ include "ferry.fullname" . }}{{ else }}{{ .Values.tokens.existingSecret }}{{ end }}
{{- end }}

{{- define "ferry.secretKey" -}}
{{- if .Values.tokens.lines }}tokens{{ else }}{{ .Values.tokens.key }}{{ end }}
{{- end }}
