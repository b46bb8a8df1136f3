{{- define "sluice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* Of at most 52 characters: the pods' names, and the label of their revision, add to it. */}}
{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "sluice.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "sluice.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ include "sluice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "sluice.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "sluice.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "sluice.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Long enough for a whole stop: docs/operations.md, "Start and stop". */}}
{{- define "sluice.graceSeconds" -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{- $drain := index .Values.options "drain-timeout-ms" | default 30000 | int -}}
{{- add .Values.preStopSeconds (div (add (mul 2 $drain) 999) 1000) 60 -}}
{{- else -}}
{{- .Values.terminationGracePeriodSeconds -}}
{{- end -}}
{{- end -}}

{{- define "sluice.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  {{- if .root.Values.tls.existingSecret }}
  scheme: HTTPS
  {{- end }}
{{- end -}}

{{/* What a schema cannot say. */}}
{{- define "sluice.check" -}}
{{- $isExternal := and .Values.postgres.existingSecret .Values.clickhouse.existingSecret -}}
{{- if and (gt (int .Values.replicas) 1) (not $isExternal) -}}
{{- fail (printf "replicas is %d: more than one node needs a PostgreSQL and a ClickHouse that they share. Set postgres.existingSecret and clickhouse.existingSecret, or replicas: 1" (int .Values.replicas)) -}}
{{- end -}}
{{- if and .Values.rebuildProjection (gt (int .Values.replicas) 1) -}}
{{- fail "rebuildProjection needs replicas: 1: other nodes must not run while it begins" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.enabled needs ingress.host" -}}
{{- end -}}
{{- end -}}
