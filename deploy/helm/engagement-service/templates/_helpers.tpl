{{- define "engagement.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "engagement.labels" -}}
{{ include "engagement.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "engagement.env" -}}
- name: BASE_URL
  value: {{ .Values.baseUrl | quote }}
- name: TRUSTED_PROXIES
  value: {{ .Values.trustedProxies | quote }}
- name: SHUTDOWN_GRACE_SECONDS
  value: {{ .Values.shutdownGraceSeconds | quote }}
- name: DRAIN_SECONDS
  value: {{ .Values.drainSeconds | quote }}
- name: PORT
  value: "4000"
- name: WORKER_PORT
  value: "4000"
- name: METRICS_PORT
  value: "9464"
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "engagement.pod" -}}
automountServiceAccountToken: false
# Kubernetes would set REDIS_PORT, WORKER_PORT and such for Services of those names.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ add .Values.shutdownGraceSeconds 10 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
imagePullSecrets:
  {{- toYaml .Values.imagePullSecrets | nindent 2 }}
volumes:
  - name: tmp
    emptyDir: {}
{{- end }}

{{- define "engagement.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef:
      name: {{ .Values.existingSecret }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- end }}

{{- define "engagement.probes" -}}
ports:
  - name: http
    containerPort: 4000
  - name: metrics
    containerPort: 9464
# Nothing listens before the migrations are applied.
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  failureThreshold: 300
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: http }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}
