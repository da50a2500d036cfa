{{/*
What values.schema.json cannot say in words. Each mistake ends the rendering and names the values.
Takes the root.
*/}}
{{- define "reprise.gateway.check" -}}
{{- $gateway := .Values.gateway -}}
{{- $config := $gateway.config -}}
{{- if not $gateway.existingConfigMap -}}
{{- if and $config.upstream $config.upstreams -}}
{{- fail "gateway.config has upstream and upstreams: keep one of the two" -}}
{{- end -}}
{{- if not (or $gateway.upstream $config.upstream $config.upstreams) -}}
{{- fail "gateway.upstream is empty: name the LLM server, such as http://vllm.models:8000" -}}
{{- end -}}
{{- if and (eq (dig "semantic" "index" "memory" $config) "redis") (not (include "reprise.gateway.hasRedis" .)) -}}
{{- fail "gateway.config.semantic.index is redis, and there is no Redis: set redis.url or redis.existingSecret" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.redis.url .Values.redis.existingSecret -}}
{{- fail "redis.url and redis.existingSecret are both set: keep one of the two" -}}
{{- end -}}
{{- $autoscaling := $gateway.autoscaling -}}
{{- if $autoscaling.enabled -}}
{{- if gt (int $autoscaling.minReplicas) (int $autoscaling.maxReplicas) -}}
{{- fail "gateway.autoscaling.minReplicas is more than gateway.autoscaling.maxReplicas" -}}
{{- end -}}
{{- if not (dig "requests" "cpu" "" $gateway.resources) -}}
{{- fail "gateway.autoscaling needs gateway.resources.requests.cpu: it counts in per cent of that" -}}
{{- end -}}
{{- end -}}
{{- $persistence := $gateway.persistence -}}
{{- if and $persistence.existingClaim (not $persistence.enabled) -}}
{{- fail "gateway.persistence.existingClaim is set, and gateway.persistence.enabled is false" -}}
{{- end -}}
{{- if and $persistence.enabled (include "reprise.gateway.isSeveral" .) -}}
{{- fail "gateway.persistence is for one replica: set gateway.replicas to 1 without gateway.autoscaling, or share by redis.url" -}}
{{- end -}}
{{- if and (dig "persist" "disk" "enabled" true $config | toString | eq "true") (not $persistence.existingClaim) -}}
{{- $bound := dig "persist" "disk" "max_bytes" "1GiB" $config -}}
{{- $key := ternary "size" "emptyDirSizeLimit" $persistence.enabled -}}
{{- if lt (include "reprise.bytes" (get $persistence $key) | int64) (include "reprise.bytes" $bound | int64) -}}
{{- fail (printf "gateway.persistence.%s is %s, less than gateway.config.persist.disk.max_bytes, %s" $key (get $persistence $key) (toString $bound)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
