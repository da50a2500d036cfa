{{/* What the gateway's templates share. All take the root. */}}

{{- define "reprise.gateway.labels" -}}
{{ include "reprise.labels" (dict "root" . "component" "gateway") }}
{{- end -}}

{{- define "reprise.gateway.selectorLabels" -}}
{{ include "reprise.selectorLabels" (dict "root" . "component" "gateway") }}
{{- end -}}

{{- define "reprise.gateway.serviceAccountName" -}}
{{- $account := .Values.gateway.serviceAccount -}}
{{- default (ternary (include "reprise.fullname" .) "default" $account.create) $account.name -}}
{{- end -}}

{{- define "reprise.gateway.configMapName" -}}
{{- default (printf "%s-config" (include "reprise.fullname" .)) .Values.gateway.existingConfigMap -}}
{{- end -}}

{{- define "reprise.gateway.claimName" -}}
{{- default (printf "%s-data" (include "reprise.fullname" .)) .Values.gateway.persistence.existingClaim -}}
{{- end -}}

{{/* The configuration file: what the chart knows, and over it what the values say. */}}
{{- define "reprise.gateway.config" -}}
{{- $config := dict
      "version" 1
      "admin" (dict "token" "${REPRISE_ADMIN_TOKEN:-}")
      "persist" (dict "redis" (dict "url" "${REPRISE_REDIS_URL:-}"))
      "tenancy" (dict "secret" "${REPRISE_SECRET:-}") -}}
{{- if not (or .Values.gateway.config.upstream .Values.gateway.config.upstreams) -}}
{{- $_ := set $config "upstream" .Values.gateway.upstream -}}
{{- end -}}
{{- toYaml (mergeOverwrite $config (deepCopy .Values.gateway.config)) -}}
{{- end -}}

{{/* "true" where the gateway has a Redis, as far as the values tell. */}}
{{- define "reprise.gateway.hasRedis" -}}
{{- if or .Values.redis.url .Values.redis.existingSecret (dig "persist" "redis" "url" "" .Values.gateway.config) -}}
true
{{- end -}}
{{- end -}}

{{/* "true" where there may be more than one pod. */}}
{{- define "reprise.gateway.isSeveral" -}}
{{- if .Values.gateway.autoscaling.enabled -}}
{{- if gt (int .Values.gateway.autoscaling.maxReplicas) 1 }}true{{ end -}}
{{- else if gt (int .Values.gateway.replicas) 1 -}}
true
{{- end -}}
{{- end -}}

{{/*
SIGTERM comes after the sleep; then requests have `shutdown.grace`, and the proxy a few seconds to
write what it has learnt. `policy.finish_within` ends with the grace at the latest.
*/}}
{{- define "reprise.gateway.terminationGracePeriodSeconds" -}}
{{- if kindIs "invalid" .Values.gateway.terminationGracePeriodSeconds -}}
{{- $grace := include "reprise.seconds" (dig "shutdown" "grace" "30s" .Values.gateway.config) -}}
{{- add (int .Values.gateway.preStopSleepSeconds) (int $grace) 10 -}}
{{- else -}}
{{- int .Values.gateway.terminationGracePeriodSeconds -}}
{{- end -}}
{{- end -}}

{{/* The ports of upstreams, Redis and a collector of traces that a NetworkPolicy opens, as a JSON list, sorted. */}}
{{- define "reprise.gateway.egressPorts" -}}
{{- $urls := list (default "" .Values.gateway.config.upstream) (dig "tracing" "endpoint" "" .Values.gateway.config) -}}
{{- range .Values.gateway.config.upstreams -}}
{{- $urls = concat $urls (list .url (default "" .admin_url)) -}}
{{- end -}}
{{- if not (or .Values.gateway.config.upstream .Values.gateway.config.upstreams) -}}
{{- $urls = append $urls .Values.gateway.upstream -}}
{{- end -}}
{{- $ports := dict "443" 443 -}}
{{- range $urls -}}
{{- $port := regexFind ":[0-9]+$" (regexFind "^https?://[^/]+" .) | trimPrefix ":" -}}
{{- if and (not $port) (hasPrefix "http://" .) -}}
{{- $port = "80" -}}
{{- end -}}
{{- if $port -}}
{{- $_ := set $ports $port (int $port) -}}
{{- end -}}
{{- end -}}
{{- if include "reprise.gateway.hasRedis" . -}}
{{- $url := default (dig "persist" "redis" "url" "" .Values.gateway.config) .Values.redis.url -}}
{{- $found := regexFindAll ":[0-9]+(,|/|\\?|$)" (regexReplaceAll "^[a-z+]+://([^@/]*@)?" $url "") -1 -}}
{{- range $found -}}
{{- $port := regexFind "[0-9]+" . -}}
{{- $_ := set $ports $port (int $port) -}}
{{- end -}}
{{- if or (not $found) (contains "sentinel" $url) -}}
{{- $_ := set $ports "6379" 6379 -}}
{{- end -}}
{{- if and (not $found) (or (not $url) (contains "sentinel" $url)) -}}
{{- $_ := set $ports "26379" 26379 -}}
{{- end -}}
{{- end -}}
{{- $list := list -}}
{{- range $port := keys $ports | sortAlpha -}}
{{- $list = append $list (get $ports $port) -}}
{{- end -}}
{{- toJson $list -}}
{{- end -}}
