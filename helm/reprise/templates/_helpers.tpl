{{/*
What all templates share. Those that take a part of the release are called with a dict:
  include "reprise.labels" (dict "root" $ "component" "injector")
*/}}

{{- define "reprise.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
At most 40 characters, to leave room for what is put behind, such as -injector-webhook. What is
longer ends with a digest of the whole, so that two long names stay two.
*/}}
{{- define "reprise.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := default (ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name)) .Values.fullnameOverride -}}
{{- if gt (len $full) 40 -}}
{{- $full = printf "%s-%s" (trunc 31 $full | trimSuffix "-") (sha256sum $full | trunc 8) -}}
{{- end -}}
{{- $full | trimSuffix "-" -}}
{{- end -}}

{{- define "reprise.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "reprise.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels by which selectors find a part's pods. They never change. */}}
{{- define "reprise.selectorLabels" -}}
app.kubernetes.io/name: {{ include "reprise.name" .root | toYaml }}
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The labels of every object; with `labels`, those of this one too. */}}
{{- define "reprise.labels" -}}
{{ include "reprise.selectorLabels" . }}
app.kubernetes.io/part-of: reprise
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ include "reprise.chart" .root }}
{{- with include "reprise.givenLabels" . }}
{{ . }}
{{- end }}
{{- end -}}

{{/*
Labels of the values: `labels`, which win, and commonLabels. Those that selectors ask for, or that
are written anyhow, cannot be among them. Takes (dict "root" . "labels" LABELS).
*/}}
{{- define "reprise.givenLabels" -}}
{{- $labels := merge (dict) (default dict .labels) .root.Values.commonLabels -}}
{{- range $key := keys $labels | sortAlpha -}}
{{- if regexMatch "^(app\\.kubernetes\\.io/(name|instance|component|part-of|managed-by|version)|helm\\.sh/chart|reprise\\.dev/.*)$" $key -}}
{{- fail (printf "the label %s is the chart's own: take it out of commonLabels, podLabels and labels" $key) -}}
{{- end -}}
{{- end -}}
{{- with $labels }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* The image as a container names it; a digest wins over a tag. Takes the root. */}}
{{- define "reprise.image" -}}
{{- $image := .Values.image -}}
{{- with $image.registry }}{{ . | trimSuffix "/" }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest -}}
@{{ $image.digest }}
{{- else -}}
:{{ default .Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{/* The pod's imagePullSecrets, with the key; nothing where there are none. Takes the root. */}}
{{- define "reprise.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Whole seconds, rounded up, of a duration such as 250ms, 30s, 1h30m or 0, as the proxy writes them. */}}
{{- define "reprise.seconds" -}}
{{- $text := toString . -}}
{{- if not (regexMatch "^(0|0\\.0|([0-9]+(\\.[0-9]+)?d)?([0-9]+(\\.[0-9]+)?h)?([0-9]+(\\.[0-9]+)?m)?([0-9]+(\\.[0-9]+)?s)?([0-9]+(\\.[0-9]+)?ms)?)$" $text) -}}
{{- fail (printf "%q is not a duration that the chart can add up; write such as 30s or 5m, or set gateway.terminationGracePeriodSeconds" $text) -}}
{{- end -}}
{{- $units := dict "d" 86400.0 "h" 3600.0 "m" 60.0 "s" 1.0 "ms" 0.001 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?(ms|d|h|m|s)" $text -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $sum = addf $sum (mulf (float64 (trimSuffix $unit .)) (get $units $unit)) -}}
{{- end -}}
{{- int64 (ceil $sum) -}}
{{- end -}}

{{/* Bytes of a size of the proxy (64KiB, 500MB) or of Kubernetes (2Gi, 500M); 0 where it cannot be told. */}}
{{- define "reprise.bytes" -}}
{{- $text := ternary (printf "%.0f" .) (toString .) (kindIs "float64" .) -}}
{{- $unit := regexFind "[A-Za-z]*$" $text | trimSuffix "B" -}}
{{- $factors := dict
      "" 1.0 "k" 1e3 "K" 1e3 "M" 1e6 "G" 1e9 "T" 1e12
      "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- if and (hasKey $factors $unit) (regexMatch "^[0-9]+(\\.[0-9]+)? ?[A-Za-z]*$" $text) -}}
{{- mulf (float64 (regexFind "^[0-9.]+" $text)) (get $factors $unit) | int64 -}}
{{- else -}}
0
{{- end -}}
{{- end -}}
